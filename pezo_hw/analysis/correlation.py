"""Correlations: of words in time, of words of a group, of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import checks, limits
from .checks import Check
from .source import Expectation, Source

LAGS = 64
"""Groups in time over which a position is compared with itself."""

NEAR_LAGS = 8
"""Groups in time over which positions are compared with each other: a few clocks.

No bit of a generator is a copy of a bit of the 8 words before it, for 6 bits and more.
"""

LARGEST = 0.25
"""A correlation above this is weak however short the sequence.

Half of what the classic LFSR with one shift a word has. For a short sequence, where chance alone
would go further, it is the only limit.
"""

_WORDS = 1 << 20  # words that correlations are taken of
_LEAST_GROUPS = 2048  # enough for chance alone to stay below LARGEST
_LANE_VALUES = 1 << 22  # lane values that lanes are compared by
_POSITIONS = 512  # positions that are looked at
_LANES_SHOWN = 128


@dataclass(frozen=True)
class Peak:
    """The largest correlation of a kind, without its sign, and where it is.

    Attributes
    ----------
    value : float
        0 to 1.
    lag : int
        Groups in time between the two words.
    positions : (int, int)
        Where the earlier and the later word stand.
    tests : int
        How many correlations were compared.
    """

    value: float
    lag: int
    positions: tuple[int, int]
    tests: int


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations of the words u, and the sharing of words by lanes.

    A word that never changes counts as fully correlated with itself and with other such words.

    Attributes
    ----------
    groups : int
        Groups looked at.
    draws : int
        Independent draws behind them.
    largest, mean : ndarray, shape (L,)
        Correlation of a position with itself at lag 1 .. L: largest magnitude, and mean, over the
        positions.
    in_time : Peak or None
        The largest of these. None where there is nothing to compare; so for all peaks.
    across : Peak or None
        Of two positions at lags 1 .. `NEAR_LAGS`.
    words, squares : Peak or None
        Of two positions of one group: words, and the squares of their distances from the mean.
    positions : int
        Positions that were looked at.
    distinct_lanes : int
        Lanes whose values differ, not counting those that differ in a constant sign only.
    lanes : ndarray, shape (l, l)
        Correlation of the first lanes.
    """

    groups: int
    draws: int
    largest: NDArray[np.float64]
    mean: NDArray[np.float64]
    in_time: Peak | None
    across: Peak | None
    words: Peak | None
    squares: Peak | None
    positions: int
    distinct_lanes: int
    lanes: NDArray[np.float64]

    def to_json(self) -> dict[str, Any]:
        """Return the figures."""

        def peak(found: Peak | None) -> dict[str, Any] | None:
            if found is None:
                return None
            return {"value": found.value, "lag": found.lag, "positions": list(found.positions)}

        return {
            "groups": self.groups,
            "draws": self.draws,
            "autocorrelation": {
                "lags": list(range(1, len(self.largest) + 1)),
                "largest": self.largest.tolist(),
                "mean": self.mean.tolist(),
            },
            "in_time": peak(self.in_time),
            "across": peak(self.across),
            "words": peak(self.words),
            "squares": peak(self.squares),
            "distinct_lanes": self.distinct_lanes,
        }


def measure(source: Source, expectation: Expectation) -> Correlations:
    """Return the correlations of a source, over its period or the groups from index 0 on."""
    period = expectation.word_period or source.period
    count = min(period, max(_WORDS // source.words, _LEAST_GROUPS))
    # Over a whole period the sequence goes on with its beginning.
    cyclic = count == period
    chosen = _chosen(source.words)
    x = _standardised(source.groups(0, count)[:, chosen].astype(np.float64))
    lags = min(LAGS, count - 1 if cyclic else count // 2)
    largest, mean, in_time = _in_time(x, chosen, lags=lags, cyclic=cyclic)
    lanes = source.lanes(0, min(count, max(_LANE_VALUES // source.lane_count, 2 * LAGS)))
    shown = _standardised(lanes[:, :_LANES_SHOWN].astype(np.float64))
    return Correlations(
        groups=count,
        draws=min(count, expectation.fresh_groups or count),
        largest=largest,
        mean=mean,
        in_time=in_time,
        across=_across(x, chosen, lags=range(1, min(NEAR_LAGS, lags) + 1), cyclic=cyclic),
        words=_across(x, chosen, lags=range(1), cyclic=cyclic),
        # Words of one magnitude have no squares that could vary.
        squares=None
        if expectation.kurtosis < 1 + 1e-9
        else _across(_standardised(x**2), chosen, lags=range(1), cyclic=cyclic),
        positions=len(chosen),
        distinct_lanes=_distinct(lanes),
        lanes=shown.T @ shown / len(shown),
    )


def _chosen(words: int) -> NDArray[np.int64]:
    """Choose positions: neighbours at the beginning, and some all over the rest."""
    if words <= _POSITIONS:
        return np.arange(words)
    half = _POSITIONS // 2
    return np.concatenate([np.arange(half), np.linspace(half, words - 1, half).astype(np.int64)])


def _standardised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean 0 and variance 1; a constant column becomes all ones."""
    constant = np.ptp(x, axis=0) == 0
    x = x - x.mean(axis=0)
    x[:, constant] = 1.0
    return x / np.sqrt((x**2).mean(axis=0))


def _pair(
    x: NDArray[np.float64], lag: int, *, cyclic: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the words and those `lag` groups later."""
    if cyclic:
        return x, np.concatenate([x[lag:], x[:lag]])
    return x[: len(x) - lag], x[lag:]


def _in_time(
    x: NDArray[np.float64], chosen: NDArray[np.int64], *, lags: int, cyclic: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], Peak | None]:
    words = x.shape[1]
    if lags < 1:
        return np.zeros(0), np.zeros(0), None
    r = np.empty((lags, words))
    for lag in range(1, lags + 1):
        early, late = _pair(x, lag, cyclic=cyclic)
        r[lag - 1] = np.einsum("ij,ij->j", early, late) / len(early)
    size = np.abs(r)
    row, position = np.unravel_index(int(size.argmax()), size.shape)
    place = int(chosen[position])
    peak = Peak(float(size[row, position]), int(row) + 1, (place, place), lags * words)
    return size.max(axis=1), r.mean(axis=1), peak


def _across(
    x: NDArray[np.float64], chosen: NDArray[np.int64], *, lags: range, cyclic: bool
) -> Peak | None:
    """Return the largest correlation of two different positions."""
    words = x.shape[1]
    if words < 2 or not lags:
        return None
    best, place = -1.0, (0, 0, 0)
    for lag in lags:
        early, late = _pair(x, lag, cyclic=cyclic)
        r = np.abs(early.T @ late) / len(early)
        np.fill_diagonal(r, 0.0)
        i, j = np.unravel_index(int(r.argmax()), r.shape)
        if r[i, j] > best:
            best, place = float(r[i, j]), (lag, int(chosen[i]), int(chosen[j]))
    # Without a lag each pair was compared twice.
    tests = words * (words - 1) * len(lags) // (2 if lags[0] == 0 else 1)
    return Peak(best, place[0], place[1:], tests)


def _distinct(lanes: NDArray[np.integer[Any]]) -> int:
    """Count the lanes that differ by more than a constant sign."""
    series = np.ascontiguousarray(lanes.T)
    first = np.take_along_axis(series, (series != 0).argmax(axis=1)[:, None], axis=1)
    series = np.where(first < 0, -series, series)
    return len({lane.tobytes() for lane in series})


def verdicts(found: Correlations, source: Source) -> list[Check]:
    """Return the checks of the correlations."""
    result = [
        _verdict("lag-correlation", found.in_time, found, "a position with itself"),
        _verdict("neighbour-correlation", found.across, found, "two positions at different times"),
        _verdict("word-correlation", found.words, found, "two positions of a group"),
        _verdict("square-correlation", found.squares, found, "squares of two positions"),
    ]
    uses = source.lane_count / max(1, found.distinct_lanes)
    result.append(
        checks.at_least(
            "lanes",
            found.distinct_lanes,
            min(source.words, source.lane_count),
            basis="definition: lanes that differ, as many as there are words",
            note=f"each word serves {uses:.4g} of {source.lane_count} lanes",
        )
    )
    return result


def _verdict(name: str, peak: Peak | None, found: Correlations, what: str) -> Check:
    if peak is None:
        return checks.skipped(name, f"there is nothing to compare: {what}")
    chance = limits.sigmas(peak.tests) / found.draws**0.5
    basis = (
        f"{what}: normal, 1/sqrt({found.draws}), largest of {peak.tests}, 5 sigma"
        if chance < LARGEST
        else f"{what}: {LARGEST} at most, for {found.draws} draws are too few for a test"
    )
    i, j = peak.positions
    where = f"position {i}" if i == j else f"positions {i} and {j}"
    note = f"lag {peak.lag}, {where}" if peak.lag else where
    return checks.at_most(name, peak.value, min(chance, LARGEST), basis=basis, note=note)
