"""Limits of statistical checks: how far chance alone goes.

Every statistical check has a false alarm rate of `ALPHA`, that of a normal variable beyond five
standard deviations, however many numbers it looks at: where it takes the largest of m, the limit
of each is raised until all m together have this rate (Bonferroni).
"""

from __future__ import annotations

import math
from statistics import NormalDist

SIGMAS = 5.0
ALPHA = 2 * NormalDist().cdf(-SIGMAS)

_PRECISION = 1e-15
_MOST_TERMS = 100_000


def sigmas(tests: int = 1) -> float:
    """Return the standard deviations that the largest of `tests` normal variables may reach.

    Parameters
    ----------
    tests : int
        At least 1; they need not be independent. 5.0 for one.
    """
    return -NormalDist().inv_cdf(ALPHA / (2 * max(1, tests)))


def gamma_tail(a: float, x: float) -> float:
    """Return Q(a, x), the regularised upper incomplete gamma function, for a > 0 and x >= 0."""
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        # P(a, x) = x^a e^-x / Gamma(a) (1/a + x/(a (a+1)) + ...), which converges fast here.
        term = total = 1 / a
        for n in range(1, _MOST_TERMS):
            term *= x / (a + n)
            total += term
            if term < total * _PRECISION:
                break
        return max(0.0, 1 - front * total)
    # The continued fraction x + 1 - a - 1 (1 - a) / (x + 3 - a - ...), by Lentz's method.
    tiny = 1e-300
    b = x + 1 - a
    c = 1 / tiny
    d = 1 / b
    fraction = d
    for n in range(1, _MOST_TERMS):
        factor = -n * (n - a)
        b += 2
        d = 1 / ((factor * d + b) or tiny)
        c = (b + factor / c) or tiny
        fraction *= d * c
        if abs(d * c - 1) < _PRECISION:
            break
    return front * fraction


def chi_square_tail(value: float, *, degrees: int) -> float:
    """Return the probability that chi-square with `degrees` of freedom exceeds `value`."""
    return gamma_tail(degrees / 2, value / 2)


def chi_square_limits(degrees: int) -> tuple[float, float]:
    """Return the range that chi-square leaves with a probability of `ALPHA`, half on each side."""
    return (
        _chi_square_quantile(1 - ALPHA / 2, degrees=degrees),
        _chi_square_quantile(ALPHA / 2, degrees=degrees),
    )


def _chi_square_quantile(tail: float, *, degrees: int) -> float:
    low, high = 0.0, 2.0 * degrees + 100
    for _ in range(60):
        middle = (low + high) / 2
        if chi_square_tail(middle, degrees=degrees) > tail:
            low = middle
        else:
            high = middle
    return high


def chi_cdf(value: float, *, dimension: int) -> float:
    """Return the probability that a vector of standard normal numbers is no longer than `value`."""
    return 1 - gamma_tail(dimension / 2, value * value / 2)


def gaussian_norm(dimension: int) -> float:
    """Return E_d, the mean norm of a vector of `dimension` independent standard normal numbers."""
    if dimension > 1000:
        # The difference of two huge logarithms loses digits; this series is exact to 1e-13.
        i = 1 / dimension
        return math.sqrt(dimension) * (1 - i / 4 + i**2 / 32 + 5 * i**3 / 128)
    half = dimension / 2
    return math.sqrt(2) * math.exp(math.lgamma(half + 0.5) - math.lgamma(half))
