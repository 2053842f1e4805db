"""The perturbation engine: a source of groups, its scaling, its index, and the reuse across lanes.

A source is a periodic sequence of groups with a current index k in [0, K). `advance` moves on,
`capture` remembers an index as the start of the step, `restore` goes back to it, `start` chooses
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import bank, cyclic, gaussian_clt, gaussian_tree, lfsr, matrices, norm, pool, reuse, wide
from .seeded import SeededEngine, SeededSequence
from .signs import cyclic_of

if TYPE_CHECKING:
    from pezo_hw.config import Config, OnTheFlySource

SEEDED: Mapping[str, Callable[[Config], SeededSequence]] = MappingProxyType(
    {
        "wide-uniform": wide.uniform_of,
        "rademacher": wide.rademacher_of,
        "gaussian-tree": gaussian_tree.of,
        "gaussian-clt": gaussian_clt.of,
    }
)
"""Who makes the sequence of each seeded kind of source; a new kind is a line here."""


def matrix_of(source: OnTheFlySource) -> lfsr.Matrix:
    """Return the row masks of a source's generators."""
    if source.polynomial is not None:
        return lfsr.leap_matrix(source.polynomial, leap=source.leap or 1)
    return matrices.MATRICES[source.bits]


def sequence_of(config: Config) -> bank.Bank | pool.Pool:
    """Build the unscaled sequence of groups that a configuration describes."""
    source = config.source
    level = config.scaling.mode == "group"
    if source.kind == "pre-generated":
        words = config.words
        contents = pool.draw(
            source.pool_size,
            bits=source.bits,
            words=words,
            seed=source.seed,
            level=level and source.phases == "auto",
        )
        return pool.Pool(bits=source.bits, contents=contents, words=words)
    if source.kind != "on-the-fly":
        raise ValueError(f"{source.kind} is a seeded source; use engine_of")
    matrix = matrix_of(source)
    if source.phases == "seeded":
        phases = bank.seeded_phases(config.words, bits=source.bits, seed=source.seed)
    else:
        phases = bank.auto_phases(config.words, matrix=matrix, seed=source.seed, level=level)
    return bank.Bank(matrix=matrix, phases=phases, rotation=source.rotation)


class Engine:
    """Bit-exact model of the perturbation engine.

    Parameters
    ----------
    config : Config
        A checked configuration. The choices that its seed makes are made here, once.

    Attributes
    ----------
    sequence : Bank or Pool
        The unscaled groups.
    signs : CyclicSigns or None
        Signs of the blocks of lanes; they make K that of words and signs together.
    index : int
        k, index of the group that comes next, 0 to K - 1.
    captured : int
        The index that `restore` goes back to.
    reset_index : int
        The index after a reset, 0.
    """

    def __init__(self, config: Config):
        self.sequence = sequence_of(config)
        self.bits = self.sequence.bits
        self.fraction_bits = self.bits - 1
        self.words = config.words
        self.lane_count = config.reuse.lanes
        self.stride = config.reuse.stride
        self.signs = cyclic_of(config)
        self.period = self.sequence.period
        if self.signs is not None:
            self.period = math.lcm(self.period, self.signs.period)
        self.exponent_table = self._exponent_table(config)
        self.reset_index = 0
        self.index = 0
        self.captured = 0

    def _exponent_table(self, config: Config) -> NDArray[np.int64]:
        mode, given = config.scaling.mode, config.scaling.exponent
        if mode == "none":
            return np.array([0])
        if given is not None:
            return np.array([given])
        table = norm.exponents_of_squares(self.sequence.squares, words=self.words, bits=self.bits)
        if mode == "constant":
            return np.array([int(np.bincount(table).argmax())])
        return table[:1] if np.all(table == table[0]) else table

    @property
    def index_bits(self) -> int:
        """Bits of the group index that the hardware can be told to start at.

        With signs K is more groups than anybody waits for; then these are the groups in which the
        words come up for the first time.
        """
        return max(1, (self.sequence.period - 1).bit_length())

    @property
    def scale(self) -> float:
        """The real number that a word u = 1 stands for."""
        return 2.0**-self.fraction_bits

    @property
    def live(self) -> bool:
        """Whether groups differ in their exponent, so that a table and shifters are needed."""
        return len(self.exponent_table) > 1

    @property
    def prefetched(self) -> bool:
        """Whether the hardware needs a register behind the source.

        For shifters or a block RAM, or for the words and their negatives.
        """
        signed = self.signs is not None
        return self.live or signed or not isinstance(self.sequence, bank.Bank)

    @property
    def restore_clocks(self) -> int:
        """Clocks from a restore to its first group."""
        return 1 + int(self.prefetched)

    @property
    def max_exponent(self) -> int:
        """Largest exponent of the period."""
        return int(self.exponent_table.max())

    @property
    def min_exponent(self) -> int:
        """Smallest exponent of the period."""
        return int(self.exponent_table.min())

    @property
    def value_bits(self) -> int:
        """Bits of a scaled word u 2^e as a signed number."""
        return self.bits + self.max_exponent

    @cached_property
    def leftover(self) -> float:
        """Real factor that makes the mean square of the perturbation 1 over a period.

        Over a whole period every group of the table comes equally often.
        """
        return norm.leftover(
            self.sequence.squares, self.exponent_table, words=self.words, bits=self.bits
        )

    def exponents(self, start: int, count: int) -> NDArray[np.int64]:
        """Return e_k for `count` groups from index `start` on, shape (count,)."""
        if not self.live:
            return np.broadcast_to(self.exponent_table, (count,))
        # The table's length divides K.
        return cyclic.read(self.exponent_table, start, count)

    def groups(self, start: int, count: int) -> NDArray[np.int16]:
        """Return the unscaled words u of `count` groups, shape (count, W)."""
        return self.sequence.groups(start, count)

    def scaled(self, start: int, count: int) -> NDArray[np.integer]:
        """Return the scaled words u 2^e of `count` groups, shape (count, W).

        The type is int16 where u 2^e fits it, else int32.
        """
        words = self.groups(start, count)
        if self.value_bits > 16:
            words = words.astype(np.int32)
        if self.live:
            return words << self.exponents(start, count)[:, None].astype(words.dtype)
        return words << words.dtype.type(self.max_exponent)

    def lanes(self, start: int, count: int) -> NDArray[np.integer]:
        """Return the scaled lane values of `count` groups, shape (count, P)."""
        lanes = reuse.spread(self.scaled(start, count), lanes=self.lane_count, stride=self.stride)
        if self.signs is None:
            return lanes
        return reuse.signed(lanes, self.signs.values(start, count))

    def start(self, index: int) -> None:
        """Choose the index, modulo K as the hardware does, and make it the start of the step."""
        self.index = self.captured = index % self.period

    def capture(self) -> None:
        """Remember the current index as the start of the step."""
        self.captured = self.index

    def restore(self) -> None:
        """Go back to the start of the step."""
        self.index = self.captured

    def advance(self, count: int = 1) -> NDArray[np.integer]:
        """Return the scaled words of the next groups, shape (count, W), and move past them."""
        words = self.scaled(self.index, count)
        self.index = (self.index + count) % self.period
        return words


AnyEngine: TypeAlias = Engine | SeededEngine
"""What `engine_of` returns."""


def engine_of(config: Config) -> AnyEngine:
    """Return the model of a configuration's perturbations, whatever its source."""
    make = SEEDED.get(config.source.kind)
    return Engine(config) if make is None else SeededEngine(config, make(config))
