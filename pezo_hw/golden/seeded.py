"""Sources that a 32-bit seed starts: fresh numbers for each group, no index to walk to.

A seeded sequence is a set of 2^32 streams of groups, one for each seed. Its hardware expands the
seed in a fixed number of clocks; `capture` adds 1 to the seed (modulo 2^32), so that each step has
a stream of its own, and `restore` expands the seed again. Nothing else has to be kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import reuse

if TYPE_CHECKING:
    from pezo_hw.config import Config

    from .signs import SeededSigns

SEED_BITS = 32
SEEDS = 1 << SEED_BITS


class SeededSequence(ABC):
    """The unscaled groups of a seeded source: what a new kind of source defines.

    Attributes
    ----------
    bits : int
        Bits of a word u as a signed number; |u| is at most 2^(bits-1) - 1.
    fraction_bits : int
        F: u stands for the real number u / 2^F.
    words : int
        Words in a group, W.
    load_clocks : int
        Clocks that the hardware takes from the first clock of an expansion, in which it goes to
        its reset state, to the clock in which it shows group 0; at least 3.
    """

    bits: int
    fraction_bits: int
    words: int
    load_clocks: int

    @property
    @abstractmethod
    def period(self) -> int:
        """Groups after which the stream of a seed repeats, K."""

    @property
    @abstractmethod
    def mean_square(self) -> Fraction:
        """Mean of u^2, over a period or by the documented distribution."""

    @abstractmethod
    def groups(self, seed: int, start: int, count: int) -> NDArray[np.integer]:
        """Return words u of a seed's stream.

        Parameters
        ----------
        seed : int
            0 to 2^32 - 1.
        start : int
            Index of the first group, 0 or more.
        count : int
            Groups.

        Returns
        -------
        ndarray of int16 or int32, shape (count, W)
            int16 where u fits it.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return for the manifest what anyone needs to recompute the streams."""

    @property
    def word_dtype(self) -> type[np.signedinteger[Any]]:
        """Type of the words that `groups` returns."""
        return np.int16 if self.bits <= 16 else np.int32


class SeededEngine:
    """Bit-exact model of the perturbation engine with a seeded source.

    It has the interface of `golden.engine.Engine`. An index of a group is one within the stream of
    the seed; `groups`, `scaled` and `lanes` take the first index as ``start`` and read the stream
    of the current `seed`.

    Parameters
    ----------
    config : Config
        A checked configuration; ``source.seed`` is the seed after a reset.
    sequence : SeededSequence
        The unscaled groups.

    Attributes
    ----------
    reset_seed, reset_index : int
        The seed after a reset.
    signs : SeededSigns or None
        Signs of the blocks of lanes; they make K that of words and signs together.
    seed : int
        The seed whose stream is read.
    index : int
        Index of the group that comes next in it.
    captured : int
        The seed that `restore` starts again.
    """

    live: ClassVar[bool] = False
    prefetched: ClassVar[bool] = False
    index_bits: ClassVar[int] = SEED_BITS

    def __init__(self, config: Config, sequence: SeededSequence):
        self.sequence = sequence
        self.bits = sequence.bits
        self.fraction_bits = sequence.fraction_bits
        self.words = sequence.words
        self.lane_count = config.reuse.lanes
        self.stride = config.reuse.stride
        self.load_clocks = sequence.load_clocks
        self.reset_seed = self.reset_index = config.source.seed
        self.signs = _signs_of(config)
        self._exponent = self._choose_exponent(config)
        self.seed = self.captured = self.reset_index
        self.index = 0

    def _choose_exponent(self, config: Config) -> int:
        if config.scaling.mode == "none":
            return 0
        if config.scaling.exponent is not None:
            return config.scaling.exponent
        # floor(log2(1 / rms) + 1/2), the limit of the rule for groups as W grows: the largest e
        # with mean square 4^e <= 2.
        square = self.sequence.mean_square / 4**self.fraction_bits
        return max(e for e in range(4) if e == 0 or square * 4**e <= 2)

    @property
    def period(self) -> int:
        """Groups after which the stream of a seed repeats."""
        if self.signs is None:
            return self.sequence.period
        return math.lcm(self.sequence.period, self.signs.period)

    @property
    def restore_clocks(self) -> int:
        """Clocks from a restore to its first group."""
        return self.load_clocks + 1

    @property
    def scale(self) -> float:
        """The real number that a word u = 1 stands for."""
        return 2.0**-self.fraction_bits

    @property
    def exponent_table(self) -> NDArray[np.int64]:
        """The exponent of all groups, shape (1,)."""
        return np.array([self._exponent])

    @property
    def max_exponent(self) -> int:
        """Exponent of all groups."""
        return self._exponent

    @property
    def min_exponent(self) -> int:
        """Exponent of all groups."""
        return self._exponent

    @property
    def value_bits(self) -> int:
        """Bits of a scaled word u 2^e as a signed number."""
        return self.bits + self._exponent

    @property
    def leftover(self) -> float:
        """Real factor that makes the mean square of the perturbation 1."""
        square = self.sequence.mean_square * 4**self._exponent / 4**self.fraction_bits
        return float(1 / square) ** 0.5

    def exponents(self, start: int, count: int) -> NDArray[np.int64]:
        """Return the exponent of `count` groups, shape (count,)."""
        return np.broadcast_to(self.exponent_table, (count,))

    def groups(self, start: int, count: int) -> NDArray[np.integer]:
        """Return the unscaled words u of `count` groups of the seed's stream, shape (count, W)."""
        return self.sequence.groups(self.seed, start, count)

    def scaled(self, start: int, count: int) -> NDArray[np.integer]:
        """Return the scaled words u 2^e of `count` groups, shape (count, W).

        The type is int16 where u 2^e fits it, else int32.
        """
        words = self.groups(start, count)
        if self.value_bits > 16:
            words = words.astype(np.int32)
        return words << words.dtype.type(self._exponent)

    def lanes(self, start: int, count: int) -> NDArray[np.integer]:
        """Return the scaled lane values of `count` groups, shape (count, P)."""
        lanes = reuse.spread(self.scaled(start, count), lanes=self.lane_count, stride=self.stride)
        if self.signs is None:
            return lanes
        return reuse.signed(lanes, self.signs.values(self.seed, start, count))

    def start(self, index: int) -> None:
        """Choose the seed, modulo 2^32 as the port does, and begin its stream."""
        self.captured = index % SEEDS
        self.restore()

    def capture(self) -> None:
        """Make the next seed's stream that of the next step; the current one goes on."""
        self.captured = (self.captured + 1) % SEEDS

    def restore(self) -> None:
        """Begin the stream of the captured seed."""
        self.seed = self.captured
        self.index = 0

    def advance(self, count: int = 1) -> NDArray[np.integer]:
        """Return the scaled words of the next groups, shape (count, W), and move past them."""
        words = self.scaled(self.index, count)
        self.index += count
        return words


def _signs_of(config: Config) -> SeededSigns | None:
    # Here and not at the top: their generator is a sequence of this module.
    from .signs import seeded_of

    return seeded_of(config)
