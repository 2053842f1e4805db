"""Norms of groups against a Gaussian's, the exponents that set them, and what they leave over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import checks, limits
from .checks import Check
from .source import Expectation, Source

MAX_EXPONENT = 3

NARROW = (2**-0.5, 2**0.5)
"""What rounding a factor to a power of two leaves of it."""


@dataclass(frozen=True, eq=False)
class Norms:
    """Norms of scaled groups z_k, relative to E_W, the mean norm of a Gaussian vector.

    Attributes
    ----------
    groups, draws : int
        Groups and words looked at.
    mean, deviation, least, greatest : float
        Of ||z_k|| / E_W.
    outside : float
        Share of the groups whose norm is off by more than sqrt(2).
    gaussian_outside : float
        The same share of Gaussian vectors.
    gaussian_deviation : float
        Standard deviation of ||g|| / E_W.
    exponents : dict of int to float
        Share of the groups that have each exponent.
    wrong_exponents : int
        Groups whose exponent is not the one that their norm calls for.
    leftover : float
        Factor that makes the mean square of a scaled word 1.
    """

    groups: int
    draws: int
    mean: float
    deviation: float
    least: float
    greatest: float
    outside: float
    gaussian_outside: float
    gaussian_deviation: float
    exponents: dict[int, float]
    wrong_exponents: int
    leftover: float

    def to_json(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "mean": self.mean,
            "deviation": self.deviation,
            "least": self.least,
            "greatest": self.greatest,
            "outside": self.outside,
            "gaussian_outside": self.gaussian_outside,
            "gaussian_deviation": self.gaussian_deviation,
        }


def measure(source: Source, groups: NDArray[np.integer[Any]]) -> Norms:
    """Return the norms of a source's `groups` from index 0 on, shape (G, W)."""
    count, words = groups.shape
    mean_norm = limits.gaussian_norm(words)
    exponents = np.asarray(source.exponents(0, count), dtype=np.int64)
    z = source.scaled(0, count) * source.scale
    squares = np.einsum("ij,ij->i", z, z)
    ratio = np.sqrt(squares) / mean_norm
    u = groups * source.scale
    plain = np.sqrt(np.einsum("ij,ij->i", u, u)) / mean_norm
    with np.errstate(divide="ignore"):
        # No ratio of a norm to E_W lies so close to a threshold that rounding matters.
        wanted = np.floor(0.5 - np.log2(plain)).clip(0, MAX_EXPONENT)
    levels, shares = np.unique(exponents, return_counts=True)
    square = float(squares.mean()) / words
    low, high = (edge * mean_norm for edge in NARROW)
    inside = limits.chi_cdf(high, dimension=words) - limits.chi_cdf(low, dimension=words)
    return Norms(
        groups=count,
        draws=groups.size,
        mean=float(ratio.mean()),
        deviation=float(ratio.std()),
        least=float(ratio.min()),
        greatest=float(ratio.max()),
        outside=float(np.mean((ratio < NARROW[0]) | (ratio > NARROW[1]))),
        gaussian_outside=max(0.0, 1 - inside),
        gaussian_deviation=math.sqrt(max(0.0, words / mean_norm**2 - 1)),
        exponents={int(e): float(n) / count for e, n in zip(levels, shares, strict=True)},
        wrong_exponents=int(np.count_nonzero(exponents != wanted)),
        leftover=square**-0.5 if square else 1.0,
    )


def verdicts(norms: Norms, expectation: Expectation, *, whole: bool) -> list[Check]:
    """Return the checks of the norms.

    Parameters
    ----------
    norms : Norms
    expectation : Expectation
    whole : bool
        Whether the groups looked at give the means of a whole period.
    """
    shares = ", ".join(f"{e}: {100 * share:.4g} %" for e, share in norms.exponents.items())
    if expectation.group_scaling:
        exponents = checks.exactly(
            "exponents",
            norms.wrong_exponents,
            0,
            basis="promise: groups whose exponent is not floor(log2(E_W / ||r||) + 1/2), 0 to 3",
            note=shares,
        )
    else:
        exponents = checks.exactly(
            "exponents",
            len(norms.exponents),
            1,
            basis="promise: one exponent for all groups",
            note=shares,
        )
    result = [
        exponents,
        checks.at_most(
            "group-norm",
            norms.outside,
            norms.gaussian_outside,
            basis="share of groups off by more than sqrt(2), at most that of Gaussian vectors",
            note=f"{norms.mean:.4f} of E_W, {norms.least:.4f} to {norms.greatest:.4f}",
        ),
        checks.within(
            "scale",
            norms.leftover,
            NARROW,
            basis="factor to a mean square of 1: a power of two is right up to sqrt(2)",
        ),
    ]
    if expectation.leftover is not None:
        result.append(_leftover(norms, expectation, expectation.leftover, whole=whole))
    return result


def _leftover(norms: Norms, expectation: Expectation, handed_over: float, *, whole: bool) -> Check:
    found = norms.leftover
    if whole:
        off = 1e-9
        basis = "promise: what the host is given makes the mean square 1"
    else:
        off = limits.SIGMAS / 2 * math.sqrt((expectation.kurtosis - 1) / norms.draws) + 1e-9
        basis = f"what the host is given makes the mean square 1: {norms.draws} words, 5 sigma"
    return checks.within(
        "leftover",
        handed_over,
        (found * (1 - off), found * (1 + off)),
        basis=basis,
        promised=whole,
    )
