"""Where the perturbations of an optimiser come from: any core of this package, or random numbers.

A source gives, for a start, one endless row of real numbers z. An optimiser reads it in chunks, as
often as it has to, and never keeps it. Positions of the row are the lanes of the core, beat after
beat.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import shown
from pezo_hw.config.advice import starts_warning
from pezo_hw.config.text import closest
from pezo_hw.errors import PezoError
from pezo_hw.golden import reuse, zoqo
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.seeded import SEEDS, SeededEngine
from pezo_hw.golden.signs import CyclicSigns

if TYPE_CHECKING:
    from pezo_hw.config import Config

# Weights in a chunk: with their perturbations they fit a second-level cache.
CHUNK = 1 << 18
# Blocks of fewer words than this are moved faster as opaque runs than as rows of numbers.
_FEW_WORDS = 8
# Groups whose signs are made at once, and how many such blocks are kept.
_SIGNS = 4096
_KEPT_SIGNS = 4

Floats = NDArray[np.float32]


class Source(ABC):
    """Perturbations z of a step.

    Attributes
    ----------
    name : str
    factor : float
        z times this has a mean square of 1; the optimiser folds it into epsilon and rate. It is 1
        for a source that is meant to be used as it is.
    grain : int
        Positions of a group: passes and chunks begin at its multiples.
    chunk : int
        Positions that are read at once at most, a multiple of `grain`.
    word_bits : int
        Bits of a word, of which a parameter group may use fewer; 0 if there are no words.
    """

    name: str
    factor: float = 1.0
    grain: int = 1
    chunk: int = CHUNK
    word_bits: int = 0

    @abstractmethod
    def first(self, seed: int) -> int:
        """Return the start of the first step of a training with this seed."""

    @abstractmethod
    def after(self, start: int, length: int) -> int:
        """Return the start that follows a pass over `length` positions from `start`."""

    @abstractmethod
    def fill(
        self,
        out: Floats,
        *,
        start: int,
        first: int,
        scale: float,
        bits: int = 0,
        sign: bool = False,
    ) -> None:
        """Write perturbations times a scale.

        Parameters
        ----------
        out : ndarray of float32, shape (n,)
            At most `chunk` positions.
        start : int
            Of the step.
        first : int
            Position of the first one, a multiple of `chunk`.
        scale : float
            Multiplies z; rounded to float32 once, and so is each product.
        bits : int
            Use the high bits of each word only, as a tensor table does; 0: all of them.
        sign : bool
            Write the sign of z times the scale instead.
        """

    @abstractmethod
    def levels(self, out: NDArray[np.int32], *, start: int, first: int, most: int) -> None:
        """Write integers, uniform on -most .. most, made from the same words (ZOQO)."""

    def check_levels(self) -> None:
        """Raise PezoError if `levels` cannot be used."""
        return

    def weakness(self, length: int) -> str | None:
        """Return a warning if training with passes over `length` positions visits few starts."""
        del length
        return None

    def describe(self) -> dict[str, Any]:
        """Return what a training log keeps to make this source again; see `from_description`."""
        return {"kind": self.name}


class PezoSource(Source):
    """What a core delivers, bit for bit: z = u 2^e / 2^F, lane by lane.

    Parameters
    ----------
    config : Config
        A checked configuration of either kind.
    """

    def __init__(self, config: Config):
        self.config = config
        self.name = config.source.kind
        self.engine = engine_of(config)
        self.factor = self.engine.leftover
        self.grain = self.engine.lane_count
        self.chunk = max(1, CHUNK // self.grain) * self.grain
        self.word_bits = self.engine.bits
        words, stride = self.engine.words, self.engine.stride
        self._blocks = self.grain // words
        # Lane block m reads its words `m stride` places on, so blocks are overlapping windows of a
        # row that repeats the group.
        self._span = min(words // math.gcd(words, stride), self._blocks)
        self._length = (self._span - 1) * stride + words
        self._kept_signs: dict[int, NDArray[np.integer]] = {}
        self._rows: Floats = np.empty((0, self._length), dtype=np.float32)

    def first(self, seed: int) -> int:
        """Return a start; far apart for seeds of a periodic source."""
        if isinstance(self.engine, SeededEngine):
            # Each step takes the next seed, so trainings are kept 2^24 steps apart.
            return (self.engine.reset_seed + seed * (1 << 24)) % SEEDS
        # The golden section keeps any number of starts apart around the period of the words, which
        # is what the hardware can be told to start at.
        period = self.engine.sequence.period
        return int(seed * 0.6180339887498949 * period) % period

    def after(self, start: int, length: int) -> int:
        """Return where `capture` ends."""
        if isinstance(self.engine, SeededEngine):
            return (start + 1) % SEEDS
        return (start - (-length // self.grain)) % self.engine.period

    def weakness(self, length: int) -> str | None:
        """Return what `pezo check` says of so many parameters."""
        return starts_warning(self.config, parameters=length)

    def _groups(self, start: int, first: int, count: int, *, bits: int) -> NDArray[np.integer]:
        """Return the scaled words of `count` groups from position `first` on, shape (count, W)."""
        engine = self.engine
        index = first // self.grain
        if isinstance(engine, SeededEngine):
            engine.start(start)
        else:
            index += start
        if bits in (0, engine.bits):
            return engine.scaled(index, count)
        words = narrow(engine.groups(index, count), drop=engine.bits - bits).astype(np.int32)
        return words << engine.exponents(index, count)[:, None].astype(np.int32)

    def fill(
        self,
        out: Floats,
        *,
        start: int,
        first: int,
        scale: float,
        bits: int = 0,
        sign: bool = False,
    ) -> None:
        """Write perturbations times a scale; see `Source.fill`."""
        count = -(-len(out) // self.grain)
        words = self._groups(start, first, count, bits=bits)
        if sign:
            words = np.sign(words)
        else:
            scale *= self.engine.scale
        if words.dtype != np.int16:
            words = words.astype(np.float32)  # exact: fewer than 24 bits
        whole = out if len(out) == count * self.grain else np.empty(count * self.grain, np.float32)
        by_block = whole.reshape(count, self._blocks, -1)
        self._spread(words, np.float32(scale), by_block)
        signs = self._signs(start, first, count)
        if signs is not None:
            by_block *= signs[:, :, None].astype(np.float32)
        if whole is not out:
            out[:] = whole[: len(out)]

    def _signs(self, start: int, first: int, count: int) -> NDArray[np.integer] | None:
        """Return the sign of each block of lanes, shape (count, blocks), if there are any."""
        engine, index = self.engine, first // self.grain
        if engine.signs is None:
            return None
        if isinstance(engine, SeededEngine):
            return engine.signs.values(start, index, count)
        # A jump to a far group takes as long as many groups, so they are made in blocks.
        begin = start + index
        first_block, last_block = begin // _SIGNS, (begin + count - 1) // _SIGNS
        blocks = [self._signs_block(block) for block in range(first_block, last_block + 1)]
        signs = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return signs[begin - first_block * _SIGNS :][:count]

    def _signs_block(self, block: int) -> NDArray[np.integer]:
        if block not in self._kept_signs:
            if len(self._kept_signs) >= _KEPT_SIGNS:
                self._kept_signs.pop(next(iter(self._kept_signs)))
            assert isinstance(self.engine.signs, CyclicSigns)
            self._kept_signs[block] = self.engine.signs.values(block * _SIGNS, _SIGNS)
        return self._kept_signs[block]

    def _spread(self, words: NDArray[Any], scale: np.float32, out: Floats) -> None:
        """Scale each word once and hand it to its lanes, shape (count, blocks, W)."""
        count, width = words.shape
        if self._blocks == 1:
            np.multiply(words, scale, out=out[:, 0], casting="same_kind")
            return
        if width < _FEW_WORDS:
            scaled = np.multiply(words, scale, dtype=np.float32)
            lanes = reuse.spread(scaled, lanes=self.grain, stride=self.engine.stride)
            out[:] = lanes.reshape(out.shape)
            return
        if len(self._rows) < count:
            self._rows = np.empty((count, self._length), dtype=np.float32)
        rows = self._rows[:count]
        np.multiply(words, scale, out=rows[:, :width], casting="same_kind")
        done = width
        while done < self._length:
            more = min(done, self._length - done)
            rows[:, done : done + more] = rows[:, :more]
            done += more
        row, item = rows.strides
        windows = np.lib.stride_tricks.as_strided(
            rows, (count, self._span, width), (row, self.engine.stride * item, item)
        )
        for block in range(0, self._blocks, self._span):
            part = out[:, block : block + self._span]
            part[:] = windows[:, : part.shape[1]]

    def levels(self, out: NDArray[np.int32], *, start: int, first: int, most: int) -> None:
        """Write integers, uniform on -most .. most: ((2 most + 1) v >> b) - most."""
        self.check_levels()
        engine = self.engine
        count = -(-len(out) // self.grain)
        words = engine.groups(first // self.grain + start, count)
        level = zoqo.perturbation(words, bits=engine.bits, levels=most)
        lanes = reuse.spread(level, lanes=self.grain, stride=engine.stride)
        signs = self._signs(start, first, count)
        if signs is not None:
            lanes = reuse.signed(lanes, signs)
        out[:] = lanes.reshape(-1)[: len(out)]

    def check_levels(self) -> None:
        """Refuse words that are not uniform."""
        if self.name not in ("on-the-fly", "pre-generated"):
            raise PezoError(
                "a source for zoqo must have uniform words, on-the-fly or pre-generated, not "
                f"{self.name}; choose another configuration"
            )

    def lanes(self, start: int, groups: int) -> NDArray[np.integer]:
        """Return what `pezo vectors` writes as ``lanes``, shape (groups, P)."""
        lanes = reuse.spread(
            self._groups(start, 0, groups, bits=0), lanes=self.grain, stride=self.engine.stride
        )
        signs = self._signs(start, 0, groups)
        return lanes if signs is None else reuse.signed(lanes, signs)

    def describe(self) -> dict[str, Any]:
        """Return the configuration."""
        return {"kind": "pezo", "config": self.config.model_dump(mode="json", exclude_none=True)}


def narrow(words: NDArray[np.integer], *, drop: int) -> NDArray[np.integer]:
    """Return words whose low `drop` bits read as 1 0 .. 0, so that they stay centred on 0."""
    if drop <= 0:
        return words
    return (words >> drop << drop) | (1 << (drop - 1))


class _Random(Source):
    """Base of the sources that software draws: a generator of its own for each chunk."""

    factor = 1.0

    def first(self, seed: int) -> int:
        """Return a start 2^20 steps from that of the next seed."""
        return seed << 20

    def after(self, start: int, length: int) -> int:
        """Return the next start: each step has numbers of its own."""
        return start + 1

    def _generator(self, start: int, first: int) -> np.random.Generator:
        # SFC64 is the fastest of numpy's generators for normal numbers.
        return np.random.Generator(np.random.SFC64([start, first // self.chunk]))

    def fill(
        self,
        out: Floats,
        *,
        start: int,
        first: int,
        scale: float,
        bits: int = 0,
        sign: bool = False,
    ) -> None:
        """Write perturbations times a scale; see `Source.fill`."""
        if bits:
            raise PezoError(f"word bits must be 0 with the source {self.name}: it has no words")
        self.draw(self._generator(start, first), out)
        if sign:
            np.sign(out, out=out)
        out *= np.float32(scale)

    @abstractmethod
    def draw(self, generator: np.random.Generator, out: Floats) -> None:
        """Write z."""

    def levels(self, out: NDArray[np.int32], *, start: int, first: int, most: int) -> None:
        """Write integers, uniform on -most .. most."""
        out[:] = self._generator(start, first).integers(-most, most + 1, len(out), dtype=np.int32)


class Gaussian(_Random):
    """Standard normal numbers: MeZO."""

    name = "gaussian"

    def draw(self, generator: np.random.Generator, out: Floats) -> None:
        """Write z."""
        generator.standard_normal(len(out), dtype=np.float32, out=out)


class Rademacher(_Random):
    """+1 or -1."""

    name = "rademacher"

    def draw(self, generator: np.random.Generator, out: Floats) -> None:
        """Write z."""
        bits = np.unpackbits(
            np.frombuffer(generator.bytes(-(-len(out) // 8)), dtype=np.uint8), count=len(out)
        )
        np.multiply(bits, np.float32(2), out=out, casting="same_kind")
        out -= 1


class Uniform(_Random):
    """Uniform numbers in (-1, 1) without any scaling: a third of a Gaussian's mean square."""

    name = "uniform"

    def draw(self, generator: np.random.Generator, out: Floats) -> None:
        """Write z."""
        generator.random(len(out), dtype=np.float32, out=out)
        out *= 2
        out -= 1


RANDOM: dict[str, type[_Random]] = {
    source.name: source for source in (Gaussian, Rademacher, Uniform)
}
"""Software's sources by name; a new one is an entry here."""


def source_of(what: str | Path | Config | Source) -> Source:
    """Return a source from a name of `RANDOM`, a preset's name or file, or a configuration."""
    from pezo_hw.config import Config, load, preset_names

    if isinstance(what, Source):
        return what
    if isinstance(what, str) and what in RANDOM:
        return RANDOM[what]()
    if isinstance(what, Config):
        return PezoSource(what)
    names = [*RANDOM, *preset_names()]
    guess = closest(what, names) if isinstance(what, str) else None
    if guess in RANDOM and not Path(what).exists():
        raise PezoError(
            f"source must be {', '.join(RANDOM)}, a preset or a configuration, not {shown(what)}; "
            f"did you mean {guess}?"
        )
    if not isinstance(what, str | Path):
        raise PezoError(
            f"source must be {', '.join(RANDOM)}, a preset or a configuration, not {shown(what)}; "
            'give e.g. "zcu102-onthefly"'
        )
    return PezoSource(load(what))


def from_description(description: dict[str, Any]) -> Source:
    """Make the source that `Source.describe` told of."""
    kind = description.get("kind")
    if kind == "pezo":
        from pezo_hw.config import from_mapping

        mapping = description.get("config", {})
        return PezoSource(from_mapping(mapping, where="the source of a training log"))
    if isinstance(kind, str) and kind in RANDOM:
        return RANDOM[kind]()
    raise PezoError(
        f"the source of a training log must be pezo or {', '.join(RANDOM)}, not {shown(kind)}; "
        "a log of gaussian-torch is for pezo_hw.train.torch"
    )
