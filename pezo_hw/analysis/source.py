"""What is analysed: a source of groups, and what it is supposed to be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pezo_hw.config import Config, PreGeneratedSource
from pezo_hw.golden import gaussian_clt, gaussian_tree
from pezo_hw.golden.engine import AnyEngine


class Source(Protocol):
    """Whatever gives groups of words and spreads them over lanes; `golden.engine.Engine` is one.

    Group k is the same whenever it is asked for, and indices are taken modulo K.  A source without
    reuse has as many words as lanes.  Indices and K are Python integers of any size.  A training
    starts each step where the last one ended.
    """

    @property
    def bits(self) -> int:
        """Bits of a word u as a signed number."""

    @property
    def scale(self) -> float:
        """The real number that a word u = 1 stands for."""

    @property
    def words(self) -> int:
        """Words in a group, W."""

    @property
    def lane_count(self) -> int:
        """Lanes, P."""

    @property
    def period(self) -> int:
        """Groups after which the source repeats, K."""

    def groups(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        """Return the unscaled words u of `count` groups, shape (count, W)."""

    def exponents(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        """Return e_k of `count` groups, shape (count,)."""

    def scaled(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        """Return the scaled words u 2^e of `count` groups, shape (count, W)."""

    def lanes(self, start: int, count: int) -> NDArray[np.integer[Any]]:
        """Return the lane values of `count` groups, shape (count, P)."""


@runtime_checkable
class SeededSource(Source, Protocol):
    """A source with a stream of groups for each seed; each step of a training has the next seed.

    The other members are about the stream of the current seed; `golden.seeded.SeededEngine` is one.
    """

    @property
    def reset_seed(self) -> int:
        """The seed of the first step."""

    def start(self, index: int) -> None:
        """Change to the stream of a seed, taken modulo 2^32."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """What a source is supposed to be, and which of it the hardware promises.

    Attributes
    ----------
    values, probabilities : ndarray, shape (V,)
        The words that may come, ascending, and how probable each is.
    block : int or None
        Promise: over any so many groups in a row every word comes exactly as often as
        `probabilities` say.
    least_period : bool
        Promise: the groups do not repeat before K.
    group_scaling : bool
        Promise: each group has the exponent that its norm calls for; otherwise all have the same.
    leftover : float or None
        Promise: the factor that is handed to the host makes the mean square 1.
    fresh_words : int or None
        Independent draws behind all words of a period, where the words are not all different ones.
    fresh_groups : int or None
        Independent draws behind a sequence of words in time, where less than the groups looked at.
    period_factors : tuple of int or None
        The primes that divide K; None to find them by trial division.
    signs : bool
        Blocks of lanes that reuse words have a sign each, so that lanes share magnitudes only.
    word_period : int or None
        Groups after which the words come again, with other signs; None for K.
    """

    values: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    block: int | None = None
    least_period: bool = False
    group_scaling: bool = False
    leftover: float | None = None
    fresh_words: int | None = None
    fresh_groups: int | None = None
    period_factors: tuple[int, ...] | None = None
    signs: bool = False
    word_period: int | None = None

    def central_moment(self, order: int) -> float:
        """Return E (u - E u)^order."""
        return float(self.probabilities @ (self.values - self.mean) ** order)

    @cached_property
    def mean(self) -> float:
        """Mean of a word."""
        # Summed exactly, so that a symmetric distribution has the mean 0 and not 1e-15.
        return math.fsum(self.probabilities * self.values)

    @cached_property
    def variance(self) -> float:
        """Variance of a word."""
        return self.central_moment(2)

    @cached_property
    def kurtosis(self) -> float:
        """Fourth standardised moment of a word: 3 for a normal variable, 1.8 for a uniform one."""
        return self.central_moment(4) / self.variance**2

    @cached_property
    def kurtosis_variance(self) -> float:
        """Variance of the kurtosis of a sample, times the size of the sample, for large ones."""
        # The influence function of m4 / m2^2 where the mean is estimated too.
        z = (self.values - self.mean) / self.variance**0.5
        skew = float(self.probabilities @ z**3)
        influence = z**4 - self.kurtosis - 2 * self.kurtosis * (z**2 - 1) - 4 * skew * z
        return float(self.probabilities @ influence**2)


def uniform(bits: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return values and probabilities of signed words of `bits` bits; their range is symmetric."""
    largest = (1 << (bits - 1)) - 1
    values = np.arange(-largest, largest + 1, dtype=np.int64)
    return values, np.full(len(values), 1 / len(values))


def _bank(config: Config, engine: AnyEngine) -> Expectation:
    states = (1 << config.source.bits) - 1
    values, probabilities = uniform(config.source.bits)
    return Expectation(
        values,
        probabilities,
        block=states,
        least_period=True,
        group_scaling=config.scaling.mode == "group",
        leftover=engine.leftover,
        # All generators run through the same states, so a correlation is one of this sequence with
        # itself, or a mean of few such.
        fresh_groups=states,
        **_signs(config, engine),
    )


def _pool(config: Config, engine: AnyEngine) -> Expectation:
    assert isinstance(config.source, PreGeneratedSource)
    values, probabilities = uniform(config.source.bits)
    return Expectation(
        values,
        probabilities,
        group_scaling=config.scaling.mode == "group",
        leftover=engine.leftover,
        # A period reads every word, W / gcd(N, W) times.
        fresh_words=config.source.pool_size,
        **_signs(config, engine),
    )


def _wide(config: Config, engine: AnyEngine) -> Expectation:
    largest = config.source.largest_word
    # All odd numbers; all but equally often, for one state of 2^k never comes.
    values = np.arange(-largest, largest + 1, 2, dtype=np.int64)
    return Expectation(
        values,
        np.full(len(values), 1 / len(values)),
        least_period=True,
        leftover=engine.leftover,
        signs=config.reuse.signs,
    )


def _signs(config: Config, engine: AnyEngine) -> dict[str, Any]:
    """Return what signs change in the expectations of a bank or pool."""
    if not config.reuse.signs:
        return {}
    return {"signs": True, "word_period": engine.sequence.period}


def _gaussian(config: Config, engine: AnyEngine) -> Expectation:
    if config.source.kind == "gaussian-tree":
        known = gaussian_tree.distribution()
    else:
        assert config.source.kind == "gaussian-clt"
        known = gaussian_clt.distribution(config.source.terms)
    values = np.array(sorted(known), dtype=np.int64)
    probabilities = np.array([float(known[int(value)]) for value in values])
    return Expectation(values, probabilities, leftover=engine.leftover)


EXPECTATIONS: dict[str, Callable[[Config, AnyEngine], Expectation]] = {
    "on-the-fly": _bank,
    "pre-generated": _pool,
    "wide-uniform": _wide,
    "rademacher": _wide,
    "gaussian-tree": _gaussian,
    "gaussian-clt": _gaussian,
}
"""What each kind of source is supposed to be; a new one is a function and a line here."""


def expectation_of(config: Config, engine: AnyEngine) -> Expectation:
    """Return what the source of a configuration is supposed to be."""
    return EXPECTATIONS[config.source.kind](config, engine)
