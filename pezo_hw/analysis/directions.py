"""The directions that training sees: period, start positions, rank, participation ratio, norm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.config import distinct_starts, groups_per_pass
from pezo_hw.errors import PezoError
from pezo_hw.golden.seeded import SEEDS

from . import limits
from .rank import EXACT_TERMS, PRIME, rank_modulo
from .source import Expectation, SeededSource, Source

DEFAULT_STEPS = 512
MOST_STEPS = EXACT_TERMS
MOST_VALUES = 1 << 28  # lane values behind the matrix of directions
MOST_PRODUCTS = 1 << 35  # multiplications for the products of directions with each other

_COMPARED = 1 << 22  # lane values that are compared before a shorter period is believed
_CHUNK = 1 << 25  # lane values in memory at a time
_SEEN_VALUES = 1 << 20  # lane values that decide which lanes may be the same
_TRIAL_DIVISION = 1 << 17


@dataclass(frozen=True)
class Period:
    """How a source repeats.

    Attributes
    ----------
    declared : int
        K as the source gives it.
    least : int
        Groups after which it really repeats; a divisor of K.
    wraps : bool
        Whether group K is group 0 again.
    complete : bool
        Whether all prime factors of K are known and were tried.
    """

    declared: int
    least: int
    wraps: bool
    complete: bool


def period_of(source: Source, expectation: Expectation) -> Period:
    """Return how a source repeats, found by comparing groups."""
    declared = least = source.period
    primes, complete = _primes(declared, expectation.period_factors)
    wraps = _equal(source, 0, declared, count=min(64, declared))
    for prime in primes:
        # A shorter period divides K / prime for one of its primes.
        while least % prime == 0 and _repeats(source, shift=least // prime, over=least):
            least //= prime
    return Period(declared, least, wraps, complete)


def _primes(number: int, known: tuple[int, ...] | None) -> tuple[list[int], bool]:
    if known is not None:
        return list(known), True
    primes, rest, divisor = [], number, 2
    while divisor * divisor <= rest and divisor < _TRIAL_DIVISION:
        if rest % divisor == 0:
            primes.append(divisor)
            while rest % divisor == 0:
                rest //= divisor
        divisor += 1
    complete = rest == 1 or divisor * divisor > rest
    if rest > 1 and complete:
        primes.append(rest)
    return primes, complete


def _equal(source: Source, a: int, b: int, *, count: int) -> bool:
    return np.array_equal(source.lanes(a, count), source.lanes(b, count))


def _repeats(source: Source, *, shift: int, over: int) -> bool:
    """Tell whether the groups of a period are those `shift` later; a difference shows up early."""
    compared, count = 0, 64
    most = min(over, max(64, _COMPARED // source.lane_count))
    while compared < most:
        count = min(count, most - compared)
        if not _equal(source, compared, compared + shift, count=count):
            return False
        compared += count
        count *= 4
    return True


@dataclass(frozen=True, eq=False)
class Directions:
    """Successive directions z of a training that begins at index 0, or with the reset's seed.

    Attributes
    ----------
    parameters : int
        D, weights.
    groups : int
        T, groups in a pass.
    steps : int
        S, directions looked at; step s starts at group s T mod K, or with the s-th next seed.
    distinct : int
        Different directions among them.
    rank : int
        Rank of the S x D matrix over the rational numbers. Certain to be no less; more with a
        probability of some millionths.
    singular : ndarray, shape (min(S, D),)
        Singular values of z, descending, relative to the largest right to about 1e-7.
    participation : float
        (sum of s^2)^2 / sum of s^4 of the singular values.
    gaussian_participation : float
        Mean of the same for Gaussian directions, to first order.
    norms : ndarray, shape (S,)
        ||z|| of each.
    own_words : float
        Weights in a direction that have a word of their own, in effect: (sum w)^2 / sum of w^2,
        where w weights share a word.
    own_magnitudes : float
        The same where w weights share the magnitude of a word.
    """

    parameters: int
    groups: int
    steps: int
    distinct: int
    rank: int
    singular: NDArray[np.float64]
    participation: float
    gaussian_participation: float
    norms: NDArray[np.float64]
    own_words: float
    own_magnitudes: float

    def to_json(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "steps": self.steps,
            "distinct": self.distinct,
            "rank": self.rank,
            "most": min(self.steps, self.parameters),
            "participation": self.participation,
            "gaussian_participation": self.gaussian_participation,
            "own_words": self.own_words,
            "own_magnitudes": self.own_magnitudes,
            "singular_values": self.singular.tolist(),
        }


def starts_visited(source: Source, groups: int, *, period: int) -> int:
    """Return how many starts a training visits whose passes take T = `groups` groups.

    K / gcd(T, K) positions, or the seeds of a seeded source.
    """
    if isinstance(source, SeededSource):
        return SEEDS
    return distinct_starts(groups, period=period)


@dataclass(frozen=True, eq=False)
class Matrix:
    """The S x D matrix of directions, before it is made: which of its columns are the same.

    Columns are the same where lanes share a word, and where a pass is longer than the period.

    Attributes
    ----------
    source : Source
    parameters : int
        D.
    groups : int
        T, groups in a pass.
    turn : int
        Groups of a pass that differ, min(T, K).
    twin : ndarray of int64, shape (P,)
        The first lane that has the same values as each lane.
    like : ndarray of int64, shape (P,)
        The first lane that has the same magnitudes.
    """

    source: Source
    parameters: int
    groups: int
    turn: int
    twin: NDArray[np.int64]
    like: NDArray[np.int64]

    @property
    def own_magnitudes(self) -> float:
        """Weights that have a magnitude of their own, in effect; see `Directions`."""
        lanes = np.bincount(self.like)
        turns, rest = divmod(self.groups, self.turn)
        squared = (rest * (turns + 1) ** 2 + (self.turn - rest) * turns**2) * (lanes**2).sum()
        # The words of a partly used last group are dropped.
        last = turns + (rest > 0)
        used = self.parameters - (self.groups - 1) * len(self.like)
        dropped = np.bincount(self.like[used:], minlength=len(lanes))
        squared += ((last * lanes - dropped) ** 2).sum() - (last * lanes**2 * last).sum()
        return self.parameters**2 / float(squared)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The lanes that differ, shape (R,)."""
        return np.unique(self.twin)

    def too_large(self, steps: int) -> str:
        """Return which bound the matrix of so many steps passes, or nothing."""
        values = steps * self.turn * self.source.lane_count
        if values > MOST_VALUES:
            return f"at most {MOST_VALUES} lane values, not {values}"
        products = steps * steps * min(self.parameters, self.turn * len(self.first))
        if products > MOST_PRODUCTS:
            return f"at most {MOST_PRODUCTS} multiplications, not {products}"
        return ""

    @cached_property
    def most_steps(self) -> int:
        """As many steps as fit, a power of two up to `DEFAULT_STEPS`; 0 if not even two do."""
        steps = DEFAULT_STEPS
        while steps > 1 and self.too_large(steps):
            steps //= 2
        return steps if steps > 1 else 0

    def check(self, steps: int) -> None:
        """Refuse a matrix that would take too long.

        Raises
        ------
        PezoError
            If there are too many steps, or too many for the parameters.
        """
        if not 1 <= steps <= MOST_STEPS:
            raise PezoError(f"--steps must be 1 to {MOST_STEPS}, not {steps}")
        if what := self.too_large(steps):
            hint = (
                f"--steps {self.most_steps} is possible"
                if self.most_steps
                else "use fewer parameters, or leave out --steps"
            )
            raise PezoError(
                f"--steps {steps} with {self.parameters} parameters may need {what}; {hint}"
            )

    def blocks(self, steps: int) -> Iterator[tuple[NDArray[np.integer[Any]], NDArray[np.int64]]]:
        """Yield different columns, shape (S, C), and how many columns each stands for, (C,)."""
        lanes = self.source.lane_count
        chunk = max(1, min(self.turn, _CHUNK // (steps * lanes)))
        for begin in range(0, self.turn, chunk):
            count = min(chunk, self.turn - begin)
            rows = self._rows(steps, begin, count)
            first, twin = self.first, self.twin
            if not np.array_equal(rows, rows[:, :, twin]):
                # Lanes that were the same for a while, but are not.
                first = twin = np.arange(lanes)
            weights = self._weights(begin, count, first=first, twin=twin).ravel()
            columns = rows[:, :, first].reshape(steps, -1)
            yield columns[:, weights > 0], weights[weights > 0]

    def _rows(self, steps: int, begin: int, count: int) -> NDArray[np.integer[Any]]:
        """Return groups begin .. begin + count - 1 of each step, shape (S, count, P)."""
        source = self.source
        if isinstance(source, SeededSource):
            rows = []
            for step in range(steps):
                source.start(source.reset_seed + step)
                rows.append(source.lanes(begin, count))
            source.start(source.reset_seed)
            return np.stack(rows)
        if count == self.groups:
            # Each step begins where the last one ended: one long run.
            return source.lanes(0, steps * count).reshape(steps, count, source.lane_count)
        starts = [(step * self.groups + begin) % source.period for step in range(steps)]
        return np.stack([source.lanes(start, count) for start in starts])

    def _weights(
        self, begin: int, count: int, *, first: NDArray[np.int64], twin: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many weights have the value of each group and differing lane, (count, R)."""
        place = np.searchsorted(first, twin)
        turns, rest = divmod(self.groups, self.turn)
        group = np.arange(begin, begin + count)
        weights = np.outer(turns + (group < rest), np.bincount(place, minlength=len(first)))
        # The words of a partly used last group are dropped.
        last = (self.groups - 1) % self.turn
        if begin <= last < begin + count:
            used = self.parameters - (self.groups - 1) * len(twin)
            weights[last - begin] -= np.bincount(place[used:], minlength=len(first))
        return weights


def matrix_of(source: Source, *, parameters: int) -> Matrix:
    """Return the matrix of directions for D = `parameters` weights."""
    lanes = source.lane_count
    groups = groups_per_pass(parameters, lanes=lanes)
    some = source.lanes(0, min(source.period, max(64, _SEEN_VALUES // lanes)))
    turn = min(groups, source.period)
    return Matrix(source, parameters, groups, turn, _twins(some), _twins(np.abs(some)))


def _twins(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the first column that is the same as each column."""
    seen: dict[bytes, int] = {}
    columns = np.ascontiguousarray(values.T)
    twins = [seen.setdefault(column.tobytes(), i) for i, column in enumerate(columns)]
    return np.array(twins, dtype=np.int64)


def measure(matrix: Matrix, *, steps: int) -> Directions:
    """Return the figures of `steps` successive directions."""
    parameters = matrix.parameters
    gram = np.zeros((steps, steps))
    mixed = np.zeros((steps, steps))
    squared = 0.0
    rng = np.random.Generator(np.random.PCG64(1))
    for columns, weights in matrix.blocks(steps):
        squared += float((weights.astype(np.float64) ** 2).sum())
        for begin in range(0, len(weights), EXACT_TERMS):
            part = columns[:, begin : begin + EXACT_TERMS].astype(np.float64)
            gram += part * weights[begin : begin + EXACT_TERMS] @ part.T
            # The rank of a product with a random matrix is that of the matrix itself.
            random = rng.integers(PRIME, size=(part.shape[1], steps)).astype(np.float64)
            mixed = (mixed + (part % PRIME) @ random) % PRIME
    gram *= matrix.source.scale**2
    eigenvalues = np.linalg.eigvalsh(gram)[::-1].clip(min=0.0)[: min(steps, parameters)]
    total, fourth = float(eigenvalues.sum()), float((eigenvalues**2).sum())
    return Directions(
        parameters=parameters,
        groups=matrix.groups,
        steps=steps,
        distinct=len({row.tobytes() for row in mixed}),
        rank=rank_modulo(mixed),
        singular=np.sqrt(eigenvalues),
        participation=total**2 / fourth if fourth else 0.0,
        gaussian_participation=(steps * parameters + 2) / (steps + parameters + 1),
        norms=np.sqrt(np.diag(gram)),
        own_words=parameters**2 / squared,
        own_magnitudes=matrix.own_magnitudes,
    )


def norm_limit(directions: Directions, expectation: Expectation) -> float:
    """Return how far the norm of a direction may be off, relative to a Gaussian's mean norm.

    ||z||^2 is a sum of so many independent squares as there are words, each with a relative
    variance of kurtosis - 1.
    """
    draws = min(directions.own_words, expectation.fresh_words or math.inf)
    if expectation.signs:
        draws = min(draws, directions.own_magnitudes)
    relative = (expectation.kurtosis - 1) / draws
    return (
        limits.sigmas(directions.steps) * math.sqrt(relative) / 2
        # The mean of a square root is less than the root of the mean.
        + relative / 2
        + 1 / directions.parameters
    )
