"""Exponents against the definition, worked out with 60 decimal digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import gammaln

from pezo_hw.golden import norm

DIGITS = 60


@cache
def pi() -> Decimal:
    """Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_of_inverse(x: int) -> int:
        total, power, n = 0, 10 ** (DIGITS + 10) // x, 0
        while power:
            total += (-1) ** n * (power // (2 * n + 1))
            power //= x * x
            n += 1
        return total

    scaled = 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)
    with localcontext(prec=DIGITS):
        return Decimal(scaled).scaleb(-(DIGITS + 10))


@cache
def gamma_of_half(twice: int) -> Decimal:
    """Gamma(twice / 2), from the factorials."""
    with localcontext(prec=DIGITS):
        m = twice // 2
        if twice % 2 == 0:
            return Decimal(math.factorial(m - 1))
        ratio = Decimal(math.factorial(2 * m)) / (4**m * math.factorial(m))
        return ratio * pi().sqrt()


@cache
def expected_norm(words: int) -> Decimal:
    with localcontext(prec=DIGITS):
        return Decimal(2).sqrt() * gamma_of_half(words + 1) / gamma_of_half(words)


def place(square: int, *, words: int, bits: int) -> Decimal:
    """log2(E_W / ||r||) + 1/2 for a group whose squares add up to `square`."""
    with localcontext(prec=DIGITS):
        length = Decimal(square).sqrt() / 2 ** (bits - 1)
        return (expected_norm(words) / length).ln() / Decimal(2).ln() + Decimal("0.5")


def by_definition(square: int, *, words: int, bits: int) -> int:
    if square == 0:
        return 3
    floor = int(place(square, words=words, bits=bits).to_integral_value(rounding=ROUND_FLOOR))
    return min(max(floor, 0), 3)


def floor_for_round(square: int, *, words: int, bits: int) -> int:
    """The fault of forgetting the 1/2."""
    if square == 0:
        return 3
    floor = math.floor(place(square, words=words, bits=bits) - Decimal("0.5"))
    return min(max(floor, 0), 3)


def test_the_reference_knows_pi() -> None:
    assert str(pi()).startswith("3.1415926535897932384626433832795028841971693993751058209")


@pytest.mark.parametrize("words", [1, 2, 3, 4, 7, 16, 31, 32, 33, 63, 64])
def test_expected_norm_against_scipy(words: int) -> None:
    by_scipy = math.sqrt(2) * math.exp(gammaln((words + 1) / 2) - gammaln(words / 2))
    assert math.sqrt(norm.expected_norm_squared(words)) == pytest.approx(by_scipy, rel=1e-12)


def test_expected_norm_to_forty_digits() -> None:
    for words in range(1, 65):
        squared = norm.expected_norm_squared(words)
        exact = Fraction(expected_norm(words)) ** 2
        assert abs(squared / exact - 1) < Fraction(1, 10**40), words


def edges_agree(exponent: Callable[..., int], *, words: int, bits: int) -> bool:
    """Tell whether a function changes exactly where `norm.thresholds` says."""
    limits = norm.thresholds(words, bits=bits)
    return all(
        exponent(limit, words=words, bits=bits) == m
        and exponent(limit + 1, words=words, bits=bits) == m - 1
        for m, limit in enumerate(limits, start=1)
        # A threshold of 0 is the all-zero group, which always has 3.
        if limit > 0
    )


@pytest.mark.parametrize("bits", range(4, 17))
def test_thresholds_are_where_the_definition_changes(bits: int) -> None:
    for words in range(1, 65):
        assert edges_agree(by_definition, words=words, bits=bits), words
        limits = norm.thresholds(words, bits=bits)
        assert limits[0] > limits[1] > limits[2] >= 0
        # No integer ties with a threshold, by a margin that 50 digits of pi see.
        for m, limit in enumerate(limits, start=1):
            for square in (limit, limit + 1):
                if square:
                    distance = abs(place(square, words=words, bits=bits) - m)
                    assert distance > Decimal("1e-20")


@pytest.mark.parametrize(("words", "bits"), [(1, 4), (3, 4), (32, 8), (64, 16)])
def test_the_edges_catch_floor_for_round(words: int, bits: int) -> None:
    assert not edges_agree(floor_for_round, words=words, bits=bits)


@pytest.mark.parametrize(("words", "bits"), [(1, 4), (2, 4), (3, 5), (4, 5)])
def test_every_sum_of_squares_of_small_words(words: int, bits: int) -> None:
    largest = words * ((1 << (bits - 1)) - 1) ** 2
    squares = np.arange(largest + 1)
    found = norm.exponents_of_squares(squares, words=words, bits=bits)
    expected = [by_definition(square, words=words, bits=bits) for square in range(largest + 1)]
    assert found.tolist() == expected
    assert set(expected) == {0, 1, 2, 3}


def group_of(square: int, *, words: int, largest: int) -> list[int]:
    """Return words whose squares add up to a given number.

    All but one are drawn near the root mean square, until a square is left for the last one.
    """
    rng = np.random.default_rng(square)
    middle = math.isqrt(square // words)
    reach = 2 + middle // 8
    for _ in range(50):
        drawn = middle + rng.integers(-reach, reach + 1, size=(4096, words - 1))
        drawn = drawn.clip(0, largest)
        rest = square - (drawn**2).sum(axis=1)
        last = np.sqrt(rest.clip(0)).round().astype(np.int64)
        fits = np.flatnonzero((last**2 == rest) & (last <= largest))
        if len(fits):
            return [*drawn[fits[0]].tolist(), int(last[fits[0]])]
    raise AssertionError(f"no group was found for {square}")


@pytest.mark.parametrize("bits", [4, 8, 12, 16])
@pytest.mark.parametrize("words", [5, 32, 33, 64])
def test_groups_on_the_edge(words: int, bits: int) -> None:
    largest = (1 << (bits - 1)) - 1
    for m, limit in enumerate(norm.thresholds(words, bits=bits), start=1):
        for square, expected in ((limit, m), (limit + 1, m - 1)):
            group = group_of(square, words=words, largest=largest)
            assert sum(u * u for u in group) == square
            # The narrow type of the model's words must not make their squares wrap.
            signs = np.where(np.arange(words) % 2, -1, 1)
            array = (np.array([group]) * signs).astype(np.int16)
            assert norm.exponents(array, bits=bits).tolist() == [expected]


def test_extreme_groups() -> None:
    for words in (1, 32, 64):
        for bits in (4, 16):
            zero = np.zeros((1, words), dtype=np.int16)
            full = np.full((1, words), -((1 << (bits - 1)) - 1), dtype=np.int16)
            assert norm.exponents(zero, bits=bits).tolist() == [3]
            assert norm.exponents(full, bits=bits).tolist() == [0]


def mean_square(squares: list[int], exponents: list[int], *, words: int, bits: int) -> Fraction:
    total = sum(square * 4**e for square, e in zip(squares, exponents, strict=True))
    return Fraction(total, len(squares) * words * 4 ** (bits - 1))


@pytest.mark.parametrize(
    ("words", "bits", "size"), [(1, 4, 15), (3, 5, 31), (32, 8, 255), (64, 16, 400)]
)
def test_leftover_makes_the_mean_square_one(words: int, bits: int, size: int) -> None:
    rng = np.random.default_rng(words)
    squares = rng.integers(0, words * 4 ** (bits - 1), size=size)
    exponents = rng.integers(0, 4, size=size)
    scale = norm.leftover(squares, exponents, words=words, bits=bits)
    mean = mean_square(squares.tolist(), exponents.tolist(), words=words, bits=bits)
    assert float(mean) * scale**2 == pytest.approx(1, rel=1e-14)
    one = norm.leftover(squares, np.array([2]), words=words, bits=bits)
    mean = mean_square(squares.tolist(), [2] * size, words=words, bits=bits)
    assert float(mean) * one**2 == pytest.approx(1, rel=1e-14)


def test_leftover_does_not_overflow() -> None:
    squares = np.full(9, 2**62 + 12345)
    scale = norm.leftover(squares, np.array([3]), words=1, bits=16)
    exact = Fraction((2**62 + 12345) * 64, 4**15)
    assert float(exact) * scale**2 == pytest.approx(1, rel=1e-14)


def test_leftover_of_nothing_is_one() -> None:
    assert norm.leftover(np.zeros(3, dtype=np.int64), np.array([3]), words=2, bits=4) == 1.0
