"""The source `gaussian-tree`: a Gaussian generator for each lane, a tree of constant comparators.

A lane draws the bits of its word from the top: the sign, then the seven bits of the magnitude m.
The next bit of m is 1 if the word v of that level's LFSR is at most a constant, which depends on
the bits of m that are decided: the probability that this bit of a half-normal magnitude is 1,
given those, rounded to the LFSR's resolution. Eight LFSRs of 7 to 10 bits, 68 in all, feed a lane.

The word is u = 2 m + 1 or -(2 m + 1) and stands for u / 64: the middle of one of 256 intervals of
1/32 standard deviations. In w = (u - 1) / 2, which is m or its complement, it has 8 bits and the
standard deviation 32.

**LFSRs.** They are those of the bank, one sparse XOR for each bit, so that no bit of a word is a
copy of an earlier one; with shift registers a magnitude would resemble the one before (correlation
0.3). Of all ways to share 68 bits out such that no two levels in a row have LFSRs of the same size,
which would stay in step for ever, this one comes nearest to the normal distribution. The sign is
the XOR of one bit of four LFSRs of different sizes, because a lane whose sign came from one of 7
bits would repeat it after 127 groups.

**Seeds.** While a seed is loaded, bits of a wide generator that expands it (`golden.wide`) choose
what the LFSRs do in each clock: t = M v, and then t_i ^= t_j for some rows i, or not. Each choice
can be undone, so a state is never 0, and two lanes that take the same choices never meet. The two
lowest levels take the same ones in all lanes: their states differ between lanes at the beginning,
hence always, for every seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from . import lfsr
from .matrices import MATRICES
from .seeded import SeededSequence
from .wide import RademacherSequence

if TYPE_CHECKING:
    from pezo_hw.config import Config

SIGMA = 32
"""Standard deviation of the half-normal distribution of m + 1/2 that the thresholds are made of."""

SEEDER_BITS = 256
"""k of the wide generator that expands the seed."""

FILL = 24
"""Clocks in which its bits go to the LFSRs. After them each state is as likely as any other, to
within some 10^-5."""

# Rows i and j of "t_i ^= t_j" by the bits of an LFSR. j < i, so that it can be undone. Of the
# choices of four whose row fits one LUT6, some of those that mix fastest.
_CHOICES: dict[int, tuple[tuple[int, int], ...]] = {
    7: ((1, 0), (2, 1), (4, 2), (6, 4)),
    8: ((3, 1), (4, 3), (5, 0), (7, 5)),
    9: ((5, 2), (6, 3), (7, 6), (8, 5)),
    10: ((2, 0), (3, 2), (7, 4), (9, 6)),
}

# Blocks of groups that are computed at once, for memory's sake.
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Level:
    """A level of the tree.

    Attributes
    ----------
    name : str
        "sign", or "m6" to "m0" by the bit of the magnitude.
    bits : int
        Bits of its LFSR.
    common : bool
        Whether the seed's choices are the same in all lanes.
    signs : bool
        Whether bit 0 of its LFSR takes part in the sign.
    thresholds : tuple of int
        The bit is 1 if the LFSR's word is at most this: by the bits that are decided, as a number,
        the one decided first at the top. Empty for the sign.
    """

    name: str
    bits: int
    common: bool = False
    signs: bool = False
    thresholds: tuple[int, ...] = ()

    @property
    def matrix(self) -> lfsr.Matrix:
        """Row masks of the LFSR's step."""
        return MATRICES[self.bits]

    @property
    def states(self) -> int:
        """States of the LFSR, 2^bits - 1."""
        return (1 << self.bits) - 1

    @property
    def choices(self) -> tuple[tuple[int, int], ...]:
        """Rows i and j of each of the seed's choices."""
        return _CHOICES[self.bits]


def _magnitude(bit: int, bits: int, *, common: bool = False, signs: bool = False) -> Level:
    def mass(low: int, high: int) -> float:
        root = SIGMA * math.sqrt(2)
        return math.erfc(low / root) - math.erfc(high / root)

    size, states = 2 << bit, (1 << bits) - 1
    thresholds = []
    for low in range(0, 128, size):
        share = mass(low + size // 2, low + size) / mass(low, low + size)
        thresholds.append(min(max(round(share * states), 1), states))
    return Level(f"m{bit}", bits, common=common, signs=signs, thresholds=tuple(thresholds))


LEVELS: tuple[Level, ...] = (
    Level("sign", 7, signs=True),
    _magnitude(6, 9, signs=True),
    _magnitude(5, 10, signs=True),
    _magnitude(4, 8, signs=True),
    _magnitude(3, 10),
    _magnitude(2, 7),
    _magnitude(1, 9, common=True),
    _magnitude(0, 8, common=True),
)
"""The levels, from the top."""


class TreeSequence(SeededSequence):
    """Words of a tree for each of P lanes.

    Parameters
    ----------
    lanes : int
        P.

    Attributes
    ----------
    seeder : RademacherSequence
        Groups 0 to `FILL` - 1 of its stream of a seed make the choices.
    """

    bits = 9
    fraction_bits = 6

    def __init__(self, lanes: int):
        self.words = lanes
        self.seeder = RademacherSequence(SEEDER_BITS)
        # The seeder's bits take one register to get to the LFSRs.
        self.load_clocks = self.seeder.load_clocks + 1 + FILL
        self._known: tuple[int, list[NDArray[np.int64]]] | None = None

    @property
    def period(self) -> int:
        """Groups after which all LFSRs are where they were, for every seed."""
        return math.lcm(*(level.states for level in LEVELS))

    def resets(self, level: Level) -> NDArray[np.int64]:
        """Return the state that a level's LFSRs are set to at first, shape (P,)."""
        return np.arange(self.words) % level.states + 1

    def feeds(self, level: Level) -> NDArray[np.int64]:
        """Return the seeder's bit that makes each choice of a level, shape (P, choices).

        The choices of a lane have bits of their own: triangular numbers, as well as their products
        with an odd number, are all different modulo a power of two.
        """
        lanes = np.zeros if level.common else np.arange
        lane = lanes(self.words, dtype=np.int64)[:, None]
        first = sum(len(other.choices) for other in LEVELS[: LEVELS.index(level)])
        number = np.arange(first, first + len(level.choices))
        places = number * (number + 1) // 2
        return (lane + (2 * (lane // SEEDER_BITS) + 1) * places) % SEEDER_BITS

    def states(self, seed: int) -> list[NDArray[np.int64]]:
        """Return the state of each level's LFSRs after a seed has been loaded, each (P,)."""
        chosen = self.seeder.state_bits(seed, 0, FILL).astype(np.int64)
        states = []
        for level in LEVELS:
            tables = _choice_tables(level)
            feeds = self.feeds(level)
            cycle, places = _cycle(level)
            # Before the first choice the LFSRs step while the seeder expands the seed.
            waited = self.seeder.load_clocks
            state = cycle[(places[self.resets(level)] + waited) % level.states]
            for bits in chosen:
                state = tables[bits[feeds] @ (1 << np.arange(feeds.shape[1])), state]
            states.append(state.astype(np.int64))
        return states

    def groups(self, seed: int, start: int, count: int) -> NDArray[np.integer]:
        """Return the words u, shape (count, P)."""
        if self._known is None or self._known[0] != seed:
            states = self.states(seed)
            places = [_cycle(level)[1][v] for level, v in zip(LEVELS, states, strict=True)]
            self._known = seed, places
        result = np.empty((count, self.words), dtype=self.word_dtype)
        rows = max(1, _CHUNK // self.words)
        for first in range(0, count, rows):
            block = result[first : first + rows]
            block[:] = self._words(self._known[1], start + first, len(block)).T
        return result

    def _words(
        self, places: Sequence[NDArray[np.int64]], start: int, count: int
    ) -> NDArray[np.int16]:
        """Return words by lane and group, shape (P, count)."""
        magnitude = np.zeros((self.words, count), dtype=np.int16)
        sign = np.zeros_like(magnitude)
        for level, place in zip(LEVELS, places, strict=True):
            cycle, _ = _cycle(level)
            runs = sliding_window_view(np.resize(cycle, level.states + count - 1), count)
            v = runs[(place + start % level.states) % level.states]
            if level.signs:
                sign ^= v & 1
            if level.thresholds:
                bit = v <= np.array(level.thresholds, dtype=np.int16)[magnitude]
                magnitude <<= 1
                magnitude |= bit
        return (1 - 2 * sign) * (2 * magnitude + 1)

    @cached_property
    def mean_square(self) -> Fraction:
        """Mean of u^2 by the documented distribution."""
        return sum((share * u * u for u, share in distribution().items()), Fraction(0))

    def describe(self) -> dict[str, Any]:
        """Return the manifest's keys; see `pezo_hw.export.manifest`."""
        return {
            "levels": [
                {
                    "name": level.name,
                    "lfsr_bits": level.bits,
                    "matrix": list(level.matrix),
                    "choices": [list(pair) for pair in level.choices],
                    "resets": self.resets(level).tolist(),
                    "feeds": self.feeds(level).T.tolist(),
                    "signs": level.signs,
                    "thresholds": list(level.thresholds),
                }
                for level in LEVELS
            ],
            "wait_clocks": self.seeder.load_clocks,
            "fill_clocks": FILL,
            "seeder": generator_keys(self.seeder),
        }


def generator_keys(sequence: RademacherSequence) -> dict[str, Any]:
    """Return the manifest's keys of a generator inside a source."""
    return {key: value for key, value in sequence.describe().items() if key != "places"}


def of(config: Config) -> TreeSequence:
    """Build the sequence of a configuration with ``source.kind = "gaussian-tree"``."""
    return TreeSequence(config.words)


@cache
def distribution() -> dict[int, Fraction]:
    """Return the probability of each word u: what its levels' states, all equally likely, give.

    The exact product of the levels' probabilities, and a correction below 10^-6 for the sign, which
    shares bits with some levels and whose own LFSR has one 1 more than it has 0s.
    """
    whole = math.prod(level.states for level in LEVELS)
    shares = {}
    for m, (even, odd) in enumerate(_counts()):
        shares[2 * m + 1] = Fraction(even, whole)
        shares[-2 * m - 1] = Fraction(odd, whole)
    return dict(sorted(shares.items()))


def _counts() -> Iterator[tuple[int, int]]:
    """Yield for each magnitude how many states of all LFSRs give it with sign 0, and with 1."""
    # Of one LFSR, the states with bit 0 clear and set; a sum and a difference make both of all.
    ones = (LEVELS[0].states + 1) // 2
    total, balance = LEVELS[0].states, LEVELS[0].states - 2 * ones
    for m in range(128):
        every, signed = total, balance
        for number, level in enumerate(LEVELS[1:]):
            threshold = level.thresholds[m >> (7 - number)]
            below = threshold, threshold - 2 * ((threshold + 1) // 2)
            above = level.states - below[0], -1 - below[1]
            part = below if m >> (6 - number) & 1 else above
            every *= part[0]
            signed *= part[1] if level.signs else part[0]
        yield (every + signed) // 2, (every - signed) // 2


@cache
def _cycle(level: Level) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return an LFSR's states in order, from 1 on, and the place of each state in them."""
    step = _step_table(level)
    states = np.empty(level.states, dtype=np.int16)
    state = 1
    for index in range(level.states):
        states[index] = state
        state = int(step[state])
    places = np.zeros(level.states + 1, dtype=np.int64)
    places[states] = np.arange(level.states)
    return states, places


@cache
def _step_table(level: Level) -> NDArray[np.int64]:
    """Return the next state of every state, 0 included."""
    table = np.zeros(level.states + 1, dtype=np.int64)
    states = np.arange(level.states + 1)
    for row, mask in enumerate(level.matrix):
        table |= (np.bitwise_count(states & mask).astype(np.int64) & 1) << row
    return table


@cache
def _choice_tables(level: Level) -> NDArray[np.int64]:
    """Return the next state by the choices made, bit i for choice i, and by the state."""
    choices = level.choices
    tables = np.empty((1 << len(choices), level.states + 1), dtype=np.int64)
    for made in range(1 << len(choices)):
        table = _step_table(level).copy()
        # From the top down: what a row takes has not been changed yet.
        for number, (row, other) in sorted(enumerate(choices), key=lambda c: -c[1][0]):
            if made >> number & 1:
                table ^= (table >> other & 1) << row
        tables[made] = table
    return tables
