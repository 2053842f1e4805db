"""The generator bank: n LFSRs of one matrix in lock-step, their words rotated over the positions.

Group k is ``[word of generator (i + R(k)) mod n at time k, for i in 0 .. n-1]`` with R(k) = k
(``rotation = "clock"``) or R(k) = k div (2^b - 1) (``"period"``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import cyclic, draws, lfsr, norm

# Draws that may be tried for phases whose groups all have the same exponent, as words looked at.
_SEARCH_WORK = 1 << 26
_SEARCH_ATTEMPTS = 256
# Whole periods are kept when they have at most this many words (8 MiB).
_CACHE_WORDS = 1 << 22


@dataclass(frozen=True, eq=False)
class Bank:
    """A bank of generators.

    Parameters
    ----------
    matrix : tuple of int
        Row masks: bit i of entry j set means that next bit j taps state bit i.
    phases : tuple of int
        Phase of each generator, in steps after the state 1; 0 to 2^b - 2, all different.
    rotation : str
        ``"clock"`` or ``"period"``.
    """

    matrix: lfsr.Matrix
    phases: tuple[int, ...]
    rotation: str = "clock"

    @property
    def bits(self) -> int:
        """Bits in a word, b."""
        return len(self.matrix)

    @property
    def words(self) -> int:
        """Words in a group, W = n."""
        return len(self.phases)

    @property
    def word_period(self) -> int:
        """Steps after which a generator repeats, 2^b - 1."""
        return (1 << self.bits) - 1

    @property
    def period(self) -> int:
        """Groups after which the bank repeats, K."""
        if self.rotation == "clock":
            return math.lcm(self.words, self.word_period)
        return self.words * self.word_period

    @cached_property
    def sequence(self) -> NDArray[np.int64]:
        """States of one generator from the state 1 on, shape (2^b - 1,)."""
        return lfsr.sequence(self.matrix)

    @property
    def states(self) -> tuple[int, ...]:
        """The n states of group 0, by position (= by generator)."""
        return tuple(int(self.sequence[phase]) for phase in self.phases)

    @cached_property
    def _signed(self) -> NDArray[np.int16]:
        return lfsr.signed(self.sequence, self.bits).astype(np.int16)

    @cached_property
    def squares(self) -> NDArray[np.int64]:
        """Sum of u^2 of the groups, shape (2^b - 1,): it depends on k mod (2^b - 1) only."""
        return _squares(self._signed, np.asarray(self.phases, dtype=np.int64))

    @cached_property
    def _whole(self) -> NDArray[np.int16]:
        return self._compute(0, self.period)

    def _compute(self, start: int, count: int) -> NDArray[np.int16]:
        words = self.words
        by_generator = np.empty((count, words), dtype=np.int16)
        for generator, phase in enumerate(self.phases):
            by_generator[:, generator] = cyclic.read(self._signed, phase + start, count)
        result = np.empty_like(by_generator)
        for rows, turn in self._turns(start, count):
            result[rows, : words - turn] = by_generator[rows, turn:]
            result[rows, words - turn :] = by_generator[rows, :turn]
        return result

    def _turns(self, start: int, count: int) -> list[tuple[slice, int]]:
        """Split `count` groups from `start` on into those of equal R(k) mod n: (rows, R) pairs."""
        words, period = self.words, self.word_period
        if self.rotation == "clock":
            return [
                (slice(row, None, words), (start + row) % words) for row in range(min(words, count))
            ]
        edges = [0, *range(period - start % period, count, period), count]
        return [
            (slice(begin, end), (start + begin) // period % words)
            for begin, end in itertools.pairwise(edges)
        ]

    def groups(self, start: int, count: int) -> NDArray[np.int16]:
        """Return `count` groups from index `start` on (taken modulo K), shape (count, n)."""
        if self.period * self.words <= _CACHE_WORDS:
            return cyclic.read(self._whole, start, count)
        return self._compute(start % self.period, count)

    def norm_index(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the entry of `squares` that belongs to the groups `index`."""
        return index % self.word_period


def _squares(words: NDArray[np.int16], phases: NDArray[np.int64]) -> NDArray[np.int64]:
    square = words.astype(np.int64) ** 2
    total = np.zeros_like(square)
    for phase in phases:
        total += np.roll(square, -int(phase))
    return total


def seeded_phases(generators: int, *, bits: int, seed: int) -> tuple[int, ...]:
    """Return different phases, arbitrary but fixed by `seed`."""
    period = (1 << bits) - 1
    for attempt in itertools.count():
        phases = draws.distinct(period, generators, seed=seed, attempt=attempt, purpose=1)
        if not repeats_early(phases, period=period):
            break
    return tuple(int(p) for p in phases)


def repeats_early(phases: NDArray[np.int64], *, period: int) -> bool:
    """Tell whether groups that turn every clock repeat before K = lcm(n, 2^b - 1).

    They do if the phases have a structure that turning and stepping undo together: three
    generators of 15 states with phases 0, 5, 10 give the same group after 5 clocks.

    Parameters
    ----------
    phases : ndarray of int64, shape (n,)
        All different.
    period : int
        2^b - 1.
    """
    count = len(phases)
    groups = math.lcm(count, period)
    # A shorter period divides K, and so at least one K / q for a prime q. Where q does not divide
    # both n and 2^b - 1, the turn or the step alone tells the groups K / q apart.
    shared = math.gcd(count, period)
    for q in range(2, shared + 1):
        if shared % q == 0:
            shift = groups // q
            if not np.any((np.roll(phases, -shift) + shift - phases) % period):
                return True
    return False


def auto_phases(generators: int, *, matrix: lfsr.Matrix, seed: int, level: bool) -> tuple[int, ...]:
    """Return phases that keep apart and, where a bounded search finds them, level the exponents.

    Two generators are at least (2^b - 1) div 4n steps apart, so that none repeats another a few
    clocks later where the period is long enough for that.

    Parameters
    ----------
    generators : int
        n.
    matrix : tuple of int
        Row masks of the generator.
    seed : int
        Picks among the choices.
    level : bool
        Look for one exponent for all groups; where no draw has it, the one whose commonest
        exponent covers most groups is taken. Otherwise the first draw is taken.
    """
    bits = len(matrix)
    period = (1 << bits) - 1
    words = lfsr.signed(lfsr.sequence(matrix), bits).astype(np.int16)
    attempts = max(1, min(_SEARCH_ATTEMPTS, _SEARCH_WORK // (period * generators)))
    best: tuple[int, NDArray[np.int64]] | None = None
    for phases in itertools.islice(_spreads(generators, period, seed=seed), attempts):
        if not level:
            return tuple(int(p) for p in phases)
        found = norm.exponents_of_squares(_squares(words, phases), words=generators, bits=bits)
        covered = int(np.bincount(found).max())
        if best is None or covered > best[0]:
            best = (covered, phases)
        if covered == period:
            break
    assert best is not None
    return tuple(int(p) for p in best[1])


def _spreads(count: int, period: int, *, seed: int) -> Iterator[NDArray[np.int64]]:
    """Draw phases again and again, without those whose groups repeat early."""
    for attempt in itertools.count():
        phases = _spread(count, period, seed=seed, attempt=attempt)
        if not repeats_early(phases, period=period):
            yield phases


def _spread(count: int, period: int, *, seed: int, attempt: int) -> NDArray[np.int64]:
    """Draw `count` phases in random order, at least period // (4 count) apart around the circle."""
    gap = max(1, period // (4 * count))
    # Choose positions on the circle that remains when each phase's gap is cut out, then put the
    # gaps back.
    free = period - count * (gap - 1)
    chosen = np.sort(draws.distinct(free, count, seed=seed, attempt=attempt, purpose=1))
    spread = chosen + np.arange(count) * (gap - 1)
    order = draws.distinct(count, count, seed=seed, attempt=attempt, purpose=3)
    return spread[order]
