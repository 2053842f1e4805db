"""The words of a source by themselves: histogram, moments, bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import checks, limits
from .checks import Check
from .source import Expectation

# Bins of the chi-square test are merged until so many words are expected in each.
_LEAST_EXPECTED = 5.0
# With fewer bins, counts may be exactly as expected by chance.
_LEAST_DEGREES = 10
# Bins of the histogram that is shown.
_MOST_BINS = 256


@dataclass(frozen=True, eq=False)
class Words:
    """Figures of the unscaled words u of some groups.

    Attributes
    ----------
    groups : int
        Groups looked at.
    draws : int
        Independent words behind them.
    mean, variance, kurtosis : float
        In LSBs; the kurtosis of a normal variable is 3. A constant word has the kurtosis 0.
    values, counts : ndarray of int64, shape (V,)
        How often each value came.
    foreign : int
        Words that are none of the values.
    chi_square : float
        Of the counts, for `draws` words, bins merged.
    degrees : int
        Degrees of freedom; 0 if there are too few words for two bins.
    bit_deviation : float
        How far the share of ones is off, in standard deviations, at worst.
    bit_place : (int, int)
        Position in the group and bit of the word where that is.
    bit_tests : int
        Positions times bits.
    """

    groups: int
    draws: int
    mean: float
    variance: float
    kurtosis: float
    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    foreign: int
    chi_square: float
    degrees: int
    bit_deviation: float
    bit_place: tuple[int, int]
    bit_tests: int

    def to_json(self) -> dict[str, Any]:
        """Return the figures; neighbouring values share a bin where there are many."""
        step = -(-len(self.values) // _MOST_BINS)
        edges = [int(v) for v in self.values[::step]] + [int(self.values[-1]) + 1]
        counts = np.add.reduceat(self.counts, np.arange(0, len(self.values), step))
        return {
            "mean": self.mean,
            "variance": self.variance,
            "kurtosis": self.kurtosis,
            "chi_square": self.chi_square,
            "degrees": self.degrees,
            "draws": self.draws,
            "histogram": {"edges": edges, "counts": counts.tolist()},
        }


def measure(groups: NDArray[np.integer[Any]], expectation: Expectation, *, bits: int) -> Words:
    """Return the figures of `groups`, shape (G, W).

    Parameters
    ----------
    groups : ndarray of int
    expectation : Expectation
    bits : int
        b.
    """
    seen, seen_counts = np.unique(groups, return_counts=True)
    seen = seen.astype(np.int64)
    size = groups.size
    # Exact: at most 2^22 words of 16 bits or so.
    mean = int(seen_counts @ seen) / size
    offset = seen - mean
    variance = float(seen_counts @ offset**2) / size
    kurtosis = float(seen_counts @ offset**4) / size / variance**2 if variance else 0.0

    place = np.searchsorted(expectation.values, seen).clip(max=len(expectation.values) - 1)
    known = expectation.values[place] == seen
    counts = np.zeros(len(expectation.values), dtype=np.int64)
    counts[place[known]] = seen_counts[known]
    draws = min(size, expectation.fresh_words or size)
    chi_square, degrees = _chi_square(
        np.asarray(counts * (draws / size), dtype=np.float64),
        expectation.probabilities * draws,
        exact=draws == size,
    )
    deviation, where, tests = _bits(groups, expectation, bits=bits)
    return Words(
        groups=len(groups),
        draws=draws,
        mean=mean,
        variance=variance,
        kurtosis=kurtosis,
        values=expectation.values,
        counts=counts,
        foreign=int(seen_counts[~known].sum()),
        chi_square=chi_square,
        degrees=degrees,
        bit_deviation=deviation,
        bit_place=where,
        bit_tests=tests,
    )


def _chi_square(
    counts: NDArray[np.float64], expected: NDArray[np.float64], *, exact: bool
) -> tuple[float, int]:
    """Return chi-square and its degrees of freedom, small neighbouring bins merged."""
    if exact and np.all(np.abs(expected - np.rint(expected)) < 1e-6):
        # So that a histogram as flat as can be gives 0 and not 1e-20.
        expected = np.rint(expected)
    starts, filled = [], _LEAST_EXPECTED
    for i, amount in enumerate(expected):
        if filled >= _LEAST_EXPECTED:
            starts.append(i)
            filled = 0.0
        filled += amount
    if filled < _LEAST_EXPECTED and len(starts) > 1:
        starts.pop()
    got, wanted = np.add.reduceat(counts, starts), np.add.reduceat(expected, starts)
    return float(((got - wanted) ** 2 / wanted).sum()), len(starts) - 1


def _bits(
    groups: NDArray[np.integer[Any]], expectation: Expectation, *, bits: int
) -> tuple[float, tuple[int, int], int]:
    """Return the worst deviation of a bit's share of ones, where it is, and how many there are."""
    values = expectation.values
    # The state v of a word; a source whose words need more room starts at its least word.
    lift = max(1 << (bits - 1), -int(values[0]))
    count = max(1, (int(values[-1]) + lift).bit_length())
    total, words = groups.shape
    draws = min(total, expectation.fresh_groups or total)
    worst, where = -1.0, (0, 0)
    lifted = groups.astype(np.int32) + lift
    for bit in range(count):
        probability = float(expectation.probabilities @ ((values + lift >> bit) & 1))
        shares = ((lifted >> bit) & 1).mean(axis=0)
        # A bit that always is the same may not deviate at all: one word counts as a deviation of 1.
        spread = (probability * (1 - probability) / draws) ** 0.5 or 1 / total
        deviations = np.abs(shares - probability) / max(spread, 1 / total)
        position = int(deviations.argmax())
        if deviations[position] > worst:
            worst, where = float(deviations[position]), (position, bit)
    return worst, where, count * words


def verdicts(words: Words, expectation: Expectation) -> list[Check]:
    """Return the checks of the words."""
    total = int(words.counts.sum()) + words.foreign
    result = [
        checks.exactly(
            "range", words.foreign, 0, basis="promise: words that the source cannot give"
        )
    ]
    if expectation.block is not None and words.groups % expectation.block == 0:
        flat = f"promise: every word comes equally often in {expectation.block} groups"
        ideal = expectation.probabilities * total
        off = int(np.count_nonzero(np.abs(words.counts - ideal) > 1e-6 * ideal))
        result += [
            checks.exactly("mean", words.mean, expectation.mean, basis=flat),
            checks.within(
                "variance", words.variance, _about(expectation.variance), basis=flat, promised=True
            ),
            checks.within(
                "kurtosis", words.kurtosis, _about(expectation.kurtosis), basis=flat, promised=True
            ),
            checks.exactly("histogram", off, 0, basis=f"{flat}; values that do not"),
        ]
    else:
        result += _statistical(words, expectation)
    position, bit = words.bit_place
    result.append(
        checks.at_most(
            "bits",
            words.bit_deviation,
            limits.sigmas(words.bit_tests),
            basis="share of ones, binomial; standard deviations, largest of positions and bits",
            note=f"bit {bit} at position {position}",
        )
    )
    return result


def _statistical(words: Words, expectation: Expectation) -> list[Check]:
    draws, sigmas = words.draws, limits.SIGMAS
    of = f"{draws} independent words of the nominal distribution, 5 sigma"
    mean_spread = (expectation.variance / draws) ** 0.5
    fourth = expectation.central_moment(4)
    variance_spread = ((fourth - expectation.variance**2) / draws) ** 0.5
    # Where the first order vanishes, as for words +1 and -1, the estimated mean's square is left.
    second = 4 * sigmas**2 / draws
    kurtosis_spread = (expectation.kurtosis_variance / draws) ** 0.5
    result = [
        checks.within(
            "mean", words.mean, _around(expectation.mean, sigmas * mean_spread), basis=of
        ),
        checks.within(
            "variance",
            words.variance,
            _positive(
                expectation.variance, sigmas * variance_spread + second * expectation.variance
            ),
            basis=of,
        ),
        checks.within(
            "kurtosis",
            words.kurtosis,
            _around(expectation.kurtosis, sigmas * kurtosis_spread + second * expectation.kurtosis),
            basis=of,
        ),
    ]
    if words.degrees < 1:
        result.append(checks.skipped("histogram", f"{draws} words are too few for two bins"))
    else:
        basis = f"chi-square with {words.degrees} degrees of freedom, 5 sigma, for {draws} words"
        low, high = limits.chi_square_limits(words.degrees)
        if words.degrees < _LEAST_DEGREES:
            low = 0.0
        result.append(checks.within("histogram", words.chi_square, (low, high), basis=basis))
    return result


def _around(value: float, distance: float) -> tuple[float, float]:
    return value - distance, value + distance


def _positive(value: float, distance: float) -> tuple[float, float]:
    """Return a range around a figure that cannot be negative."""
    return max(0.0, value - distance), value + distance


def _about(value: float) -> tuple[float, float]:
    """Return the range of what differs by rounding only."""
    return _around(value, 1e-9 * abs(value))
