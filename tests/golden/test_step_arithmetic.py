"""The step's arithmetic against exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.config import load_preset
from pezo_hw.golden import step
from tests.golden.steps import configured, nearest

Rounding = Callable[[NDArray[Any], int], NDArray[np.int64]]


def rounds_right(rounding: Rounding, drop: int) -> bool:
    values = np.arange(-2047, 2048)
    expected = [nearest(Fraction(v) / Fraction(2) ** drop) for v in values.tolist()]
    return rounding(values, drop).tolist() == expected


@pytest.mark.parametrize("drop", range(-3, 13))
def test_rounding_half_away(drop: int) -> None:
    assert rounds_right(lambda v, d: step.round_half_away(v, drop=d), drop)
    values = np.arange(-2047, 2048)
    found = step.round_half_away(values, drop=drop)
    assert np.array_equal(found, -found[::-1])
    # The narrow type of the words does not limit the result.
    assert np.array_equal(step.round_half_away(values.astype(np.int16), drop=drop), found)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda v, d: v >> d, id="floor"),
        pytest.param(lambda v, d: np.sign(v) * (abs(v) >> d), id="toward zero"),
        pytest.param(lambda v, d: (v + (1 << d >> 1)) >> d, id="halves up"),
        pytest.param(lambda v, d: np.rint(v / 2**d).astype(np.int64), id="halves to even"),
    ],
)
@pytest.mark.parametrize("drop", [1, 2, 5, 11])
def test_wrong_rounding_is_seen(fault: Rounding, drop: int) -> None:
    assert not rounds_right(fault, drop)


def test_extreme_rounding_does_not_wrap() -> None:
    largest = np.array([-(2**15 - 1), 2**15 - 1], dtype=np.int16)
    assert step.round_half_away(largest, drop=-14).tolist() == [-32767 * 2**14, 32767 * 2**14]
    widest = np.array([-32767 * 8, 32767 * 8], dtype=np.int32)
    assert step.round_half_away(widest, drop=1).tolist() == [-32767 * 4, 32767 * 4]


FORMATS = [(16, 13, -7, 8), (16, 8, -8, 8), (8, 6, -5, 8), (16, 15, -1, 4), (16, 12, -3, 16)]


@pytest.mark.parametrize(("bits", "frac", "epsilon_log2", "word_bits"), FORMATS)
def test_the_perturbation_is_epsilon_times_the_word(
    bits: int, frac: int, epsilon_log2: int, word_bits: int
) -> None:
    source = {"kind": "on-the-fly", "bits": word_bits, "generators": 1}
    config = configured(
        source, weights=(bits, frac), epsilon_log2=epsilon_log2, stride=0, mode="none"
    )
    arithmetic = step.Arithmetic.of(config)
    largest = 2 ** (word_bits - 1) - 1
    for exponent in range(4):
        words = range(-largest, largest + 1, max(1, largest // 500))
        scaled = np.array([u * 2**exponent for u in words])
        # p stands for p / 2^frac = epsilon r 2^e, r = u / 2^(b-1)
        exact = [
            Fraction(u, 2 ** (word_bits - 1)) * 2**exponent * Fraction(2) ** (epsilon_log2 + frac)
            for u in words
        ]
        assert arithmetic.perturbation(scaled).tolist() == [nearest(value) for value in exact]
        peak = Fraction(largest * 2**exponent, 2 ** (word_bits - 1))
        most = nearest(peak * Fraction(2) ** (epsilon_log2 + frac))
        assert arithmetic.largest_perturbation(word_bits, exponent=exponent) == most
    assert arithmetic.weight_max == 2 ** (bits - 1) - 1


ARITHMETIC = step.Arithmetic(weight_bits=16, frac=13, drop=0, coefficient_bits=18, shift=16)


def test_the_update_is_a_floor() -> None:
    scaled = np.arange(-254, 255)
    for coefficient in (-131072, -1000, -1, 0, 1, 77, 131071):
        for drawn in (0, 1, 32768, 65535):
            dithers = np.full(scaled.shape, drawn)
            found = ARITHMETIC.update(scaled, coefficient=coefficient, dithers=dithers)
            expected = [(x * coefficient + drawn) // 65536 for x in scaled.tolist()]
            assert found.tolist() == expected
    # Truncation is something else for a negative product.
    assert ARITHMETIC.update(np.array([-1]), coefficient=1, dithers=np.array([0])).tolist() == [-1]
    assert int(-1 / 65536) == 0


def test_extreme_products_do_not_wrap() -> None:
    arithmetic = step.Arithmetic(weight_bits=16, frac=13, drop=0, coefficient_bits=25, shift=24)
    scaled = np.array([-32767 * 8, 32767 * 8], dtype=np.int32)
    dithers = np.full(2, 2**24 - 1)
    for coefficient in (-(2**24), 2**24 - 1):
        expected = [(x * coefficient + 2**24 - 1) // 2**24 for x in (-32767 * 8, 32767 * 8)]
        found = arithmetic.update(scaled, coefficient=coefficient, dithers=dithers)
        assert found.tolist() == expected
        assert max(abs(d) for d in expected) > 2**17


@pytest.mark.parametrize("bits", [8, 13, 18, 25])
def test_coefficients_that_do_not_fit(bits: int) -> None:
    arithmetic = step.Arithmetic(weight_bits=16, frac=13, drop=0, coefficient_bits=bits, shift=16)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    arithmetic.check_coefficient(low)
    arithmetic.check_coefficient(high)
    for wrong in (low - 1, high + 1):
        with pytest.raises(ValueError, match=rf"^coefficient must be within {low} \.\. {high} "):
            arithmetic.check_coefficient(wrong)
        with pytest.raises(ValueError, match="^coefficient must be within"):
            arithmetic.update(np.array([1]), coefficient=wrong, dithers=np.array([0]))


@pytest.mark.parametrize("bits", [8, 16])
def test_saturation(bits: int) -> None:
    arithmetic = step.Arithmetic(weight_bits=bits, frac=3, drop=0, coefficient_bits=18, shift=16)
    top = 2 ** (bits - 1) - 1
    values = np.array(
        [-top - 3, -top - 2, -top - 1, -top, 0, top - 1, top, top + 1, top + 2, 2**40]
    )
    limited, where = arithmetic.saturate(values)
    assert limited.tolist() == [min(max(v, -top - 1), top) for v in values.tolist()]
    assert where.tolist() == [v < -top - 1 or v > top for v in values.tolist()]


def test_only_a_step_has_arithmetic() -> None:
    with pytest.raises(ValueError, match=r"^a zo-step configuration has weights and zo sections$"):
        step.Arithmetic.of(load_preset("tiny"))
