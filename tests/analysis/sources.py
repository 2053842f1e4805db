"""Sources made of recorded words: a sound one, and what can be wrong with one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.analysis import Expectation, uniform
from pezo_hw.golden import lfsr, norm

GROUPS, WORDS, BITS = 4099, 8, 8
Words = NDArray[np.int64]


class Recorded:
    """A source that replays words, shape (K, W), one lane for each word unless told otherwise."""

    def __init__(
        self, words: Words, *, bits: int = BITS, exponents: Words | None = None, copies: int = 1
    ):
        self.recorded = words
        self.bits = bits
        self.scale = 2.0 ** (1 - bits)
        self.period, self.words = words.shape
        self.lane_count = self.words * copies
        self.recorded_exponents = (
            norm.exponents(words, bits=bits) if exponents is None else exponents
        )

    def _indices(self, start: int, count: int) -> NDArray[np.int64]:
        return (start % self.period + np.arange(count)) % self.period

    def groups(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        return self.recorded[self._indices(start, count)].astype(np.int16)

    def exponents(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        return self.recorded_exponents[self._indices(start, count)]

    def scaled(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        return self.groups(start, count) * 2 ** self.exponents(start, count)[:, None]

    def lanes(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        return np.tile(self.scaled(start, count), self.lane_count // self.words)


class TwoLanesAlike(Recorded):
    """The last lane is wired to the first one's word."""

    def lanes(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        lanes = super().lanes(start, count)
        lanes[:, -1] = lanes[:, 0]
        return lanes


class LanesAlikeForAWhile(Recorded):
    """The second half of the lanes is like the first half, up to some group."""

    until = 1500

    def lanes(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        lanes = super().lanes(start, count)
        later = self._indices(start, count) >= self.until
        lanes[np.ix_(later, np.arange(self.words, self.lane_count))] *= -1
        return lanes


class Streams(Recorded):
    """A stream for each of so many seeds: seed s begins at the recorded group 7 s."""

    reset_seed = 3
    seed = reset_seed

    def start(self, index: int) -> None:
        self.seed = index

    def _indices(self, start: int, count: int) -> NDArray[np.int64]:
        return super()._indices(start + 7 * self.seed, count)

    def recorded_lanes(self, start: int, count: int) -> Words:
        rows = slice(start, start + count)
        scaled = self.recorded[rows] << self.recorded_exponents[rows, None]
        return np.tile(scaled, self.lane_count // self.words)


class NoWrap(Recorded):
    """The counter runs on past K, by one group."""

    def _indices(self, start: int, count: int) -> NDArray[np.int64]:
        return (start + np.arange(count)) % (self.period + 1) % self.period


def sound_words(
    seed: int = 1, *, groups: int = GROUPS, words: int = WORDS, bits: int = BITS
) -> Words:
    largest = (1 << (bits - 1)) - 1
    return np.random.default_rng(seed).integers(-largest, largest + 1, size=(groups, words))


def with_bit(words: Words, bit: int, ones: NDArray[np.bool_] | int, *, bits: int = BITS) -> Words:
    """Replace a bit of the states that words stand for."""
    half = 1 << (bits - 1)
    states = words + half & ~(1 << bit) | np.asarray(ones, dtype=np.int64) << bit
    return np.maximum(states, 1) - half


def expected(source: Recorded, **more: Any) -> Expectation:
    """Return what a source of uniform words and group scaling is supposed to be."""
    values, probabilities = uniform(source.bits)
    leftover = norm.leftover(
        (source.recorded**2).sum(axis=1),
        source.recorded_exponents,
        words=source.words,
        bits=source.bits,
    )
    keys: dict[str, Any] = {"least_period": True, "group_scaling": True, "leftover": leftover}
    return Expectation(values, probabilities, **(keys | more))


def one_shift(*, bits: int = 12, generators: int = 4) -> Words:
    """Return the words of classic LFSRs with one shift a word, at the same time."""
    matrix = lfsr.leap_matrix(lfsr.default_polynomial(bits), leap=1)
    states = lfsr.signed(lfsr.sequence(matrix), bits)
    gap = len(states) // generators
    return np.stack([np.roll(states, -gap * i) for i in range(generators)], axis=1)
