"""Limits against scipy."""

from __future__ import annotations

import pytest
from scipy import special, stats

from pezo_hw.analysis import limits


def test_the_rate_of_false_alarms() -> None:
    assert pytest.approx(2 * stats.norm.sf(5), rel=1e-9) == limits.ALPHA
    for tests in (1, 2, 64, 65536, 10**9):
        each = stats.norm.isf(limits.ALPHA / 2 / tests)
        assert limits.sigmas(tests) == pytest.approx(each, rel=1e-9)
    assert limits.sigmas() == pytest.approx(5)


@pytest.mark.parametrize("a", [0.5, 1.0, 7.5, 127.0, 512.0, 32767.0])
def test_gamma_tail(a: float) -> None:
    for factor in (0.01, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0):
        x = a * factor
        exact = special.gammaincc(a, x)
        # Absolute near 1, relative in the far tail.
        assert limits.gamma_tail(a, x) == pytest.approx(exact, rel=1e-8, abs=1e-300), x
    assert limits.gamma_tail(a, 0.0) == 1.0


@pytest.mark.parametrize("degrees", [1, 2, 14, 254, 4094, 65534])
def test_chi_square_limits(degrees: int) -> None:
    low, high = limits.chi_square_limits(degrees)
    assert high == pytest.approx(stats.chi2.isf(limits.ALPHA / 2, degrees), rel=1e-6)
    # The far lower tail is a difference of numbers near 1, hence known to fewer digits.
    assert low == pytest.approx(stats.chi2.ppf(limits.ALPHA / 2, degrees), rel=1e-4)


@pytest.mark.parametrize("dimension", [1, 3, 32, 1000, 1001, 10**6])
def test_norms_of_gaussian_vectors(dimension: int) -> None:
    mean = limits.gaussian_norm(dimension)
    if dimension < 10**5:
        assert mean == pytest.approx(stats.chi.mean(dimension), rel=1e-9)
    else:
        assert mean**2 == pytest.approx(dimension - 0.5, rel=1e-9)
    if dimension <= 1000:
        for factor in (0.7, 1.0, 1.2):
            exact = stats.chi.cdf(mean * factor, dimension)
            assert limits.chi_cdf(mean * factor, dimension=dimension) == pytest.approx(
                exact, rel=1e-6, abs=1e-12
            )
