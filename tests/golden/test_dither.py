"""The dither against a register that is clocked bit by bit, and what stochastic rounding needs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, chisquare

from pezo_hw.golden import dither
from pezo_hw.golden.matrices import DITHER_64
from pezo_hw.golden.step import Arithmetic

Dithers = NDArray[np.int64]
SEEDS = [0, 1, 0xDEADBEEF, 2**32 - 1]


def register(seed: int) -> list[int]:
    """Bits of the register when the first beat uses it: loaded, then stepped 16 times."""
    low = [seed >> i & 1 for i in range(32)]
    bits = low + [1 - bit for bit in low]
    for _ in range(16):
        bits = clocked(bits)
    return bits


def clocked(bits: list[int]) -> list[int]:
    return [sum(bits[i] for i in range(64) if row >> i & 1) % 2 for row in DITHER_64]


@cache
def significance_order() -> list[int]:
    """0, 32, 16, 48, 8, ...: each offset in turn is as far from the others as it can be."""
    order = [0]
    for half in (32, 16, 8, 4, 2, 1):
        order += [offset + half for offset in order]
    return order


def dealt(bits: list[int], *, words: int, shift: int) -> list[int]:
    """Word j's bits, the most significant first, are state bits j + 0, j + 32, j + 16, ..."""
    values = []
    for j in range(words):
        value = 0
        for offset in significance_order()[:shift]:
            value = 2 * value + bits[(j + offset) % 64]
        values.append(value)
    return values


def clock_by_clock(seed: int, count: int, *, words: int, shift: int) -> list[list[int]]:
    bits, beats = register(seed), []
    for _ in range(count):
        beats.append(dealt(bits, words=words, shift=shift))
        bits = clocked(bits)
    return beats


def test_the_order_of_significance() -> None:
    assert significance_order()[:8] == [0, 32, 16, 48, 8, 40, 24, 56]
    assert sorted(significance_order()) == list(range(64))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("words", "shift"), [(1, 1), (3, 5), (32, 16), (64, 24)])
def test_every_beat(seed: int, words: int, shift: int) -> None:
    expected = clock_by_clock(seed, 70, words=words, shift=shift)
    for count in (1, 2, 3, 64, 65, 70):
        found = dither.dither(seed, count, words=words, shift=shift)
        assert found.dtype == np.int64
        assert found.tolist() == expected[:count]
    assert dither.dither(seed, 0, words=words, shift=shift).shape == (0, words)
    # One step more or less, as if the warm-up were a clock longer, is seen.
    assert expected[1:] != expected[:-1]


def test_taps_in_reverse_order_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = dither.dither(5, 4, words=4, shift=8).tolist()
    backwards = tuple(int(f"{row:064b}"[::-1], 2) for row in DITHER_64)
    monkeypatch.setitem(globals(), "DITHER_64", backwards)
    assert clock_by_clock(5, 4, words=4, shift=8) != expected


def test_later_beats() -> None:
    """Far into a sweep, where the model doubles what it knows."""
    bits = register(77)
    for _ in range(1500):
        bits = clocked(bits)
    expected = dealt(bits, words=32, shift=16)
    assert dither.dither(77, 1501, words=32, shift=16)[1500].tolist() == expected


@pytest.mark.parametrize("seed", [*SEEDS, -1, 2**32, 2**40 + 3])
def test_no_seed_locks_the_register_up(seed: int) -> None:
    state = dither.load(seed)
    assert 0 < state < 2**64
    assert state % 2**32 == seed % 2**32
    assert state >> 32 == 2**32 - 1 - seed % 2**32
    # Exactly half of the bits, whatever the seed.
    assert state.bit_count() == 32


def test_every_dither_is_made_of_different_bits() -> None:
    for shift in (1, 5, 16, 24):
        order = dither.bit_order(64, shift=shift)
        assert order.shape == (64, shift)
        assert order.min() >= 0 and order.max() < 64
        for word in order.tolist():
            assert len(set(word)) == shift
        # The most significant bit of each word is its own.
        for place in range(shift):
            assert sorted(order[:, place].tolist()) == list(range(64))


def uniform(values: Dithers, *, cells: int) -> bool:
    """Chi-square over `cells` values, with a limit that one in 10^5 fair samples fails."""
    counts = np.bincount(values.ravel() % cells, minlength=cells)
    pvalue = float(chisquare(counts).pvalue)
    # Counts that are too even are not random either, but two may well be equal.
    return pvalue > 1e-5 and (cells < 16 or pvalue < 1 - 1e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shift", [1, 7, 16, 24])
def test_dithers_are_uniform(seed: int, shift: int) -> None:
    values = dither.dither(seed, 8192, words=64, shift=shift)
    assert values.min() >= 0 and values.max() < 2**shift
    cells = 2 ** min(shift, 6)
    for word in (0, 1, 31, 63):
        assert uniform(values[:, word] >> max(0, shift - 6), cells=cells), "upper bits"
        assert uniform(values[:, word], cells=cells), "lower bits"


def test_pairs_of_beats_and_of_words_are_uniform() -> None:
    upper = dither.dither(9, 8192, words=33, shift=16) >> 12
    for lag in (1, 2, 3, 8):
        assert uniform(upper[:-lag] * 16 + upper[lag:], cells=256), f"lag {lag}"
    for a, b in itertools.pairwise(range(33)):
        assert uniform(upper[:, a] * 16 + upper[:, b], cells=256), f"words {a}, {b}"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda d: d >> 1, id="top bit missing"),
        pytest.param(lambda d: d | 1, id="bottom bit stuck"),
        pytest.param(lambda d: np.maximum(d, 1 << 10), id="clipped"),
        pytest.param(lambda _: np.arange(8192), id="a counter"),
    ],
)
def test_bad_dithers_are_not_uniform(fault: Callable[[Dithers], Dithers]) -> None:
    values = fault(dither.dither(1, 8192, words=1, shift=16))
    assert not (uniform(values >> 10, cells=64) and uniform(values, cells=64))


def mean_errors(
    dithers: Dithers, *, words: list[int], coefficients: list[int], shift: int
) -> list[float]:
    """Return mean(d) - x C / 2^S in standard errors, for each word x and coefficient C."""
    arithmetic = Arithmetic(weight_bits=16, frac=13, drop=0, coefficient_bits=25, shift=shift)
    errors = []
    for word, coefficient in itertools.product(words, coefficients):
        scaled = np.full(dithers.shape, word)
        d = arithmetic.update(scaled, coefficient=coefficient, dithers=dithers)
        exact = Fraction(word * coefficient, 2**shift)
        rest = float(exact - math.floor(exact))
        difference = float(Fraction(int(d.sum()), d.size) - exact)
        deviation = math.sqrt(rest * (1 - rest) / d.size)
        if deviation == 0:
            assert difference == 0
        else:
            errors.append(difference / deviation)
    return errors


def unbiased(errors: list[float]) -> bool:
    """Tell whether the errors look like standard normal numbers: none far out, the sum of squares.

    One in 10^5 fair sets fails.
    """
    count = len(errors)
    if max(abs(error) for error in errors) > 6:
        return False
    return sum(error**2 for error in errors) < chi2.isf(1e-5, count)


WORDS = [1, -1, 3, -7, 64, -127, 200, -254]
COEFFICIENTS = [1, -1, 37, -1000, 12345, -70001, 131071]
DITHERED: dict[str, Callable[[Dithers, int], Dithers]] = {
    "fair": lambda d, _: d,
    "floor": lambda d, _: np.zeros_like(d),
    "rounded": lambda d, shift: np.full_like(d, 1 << (shift - 1)),
    "half": lambda d, _: d >> 1,
    "a bit short": lambda d, _: d * 15 // 16,
    "never zero": lambda d, shift: np.maximum(d, 1 << (shift - 3)),
}


@pytest.mark.parametrize("shift", [8, 16, 20])
@pytest.mark.parametrize("name", DITHERED)
def test_stochastic_rounding_is_unbiased(name: str, shift: int) -> None:
    """The mean of d over many beats is u 2^e C / 2^S, and dithers that are off are seen."""
    dithers = DITHERED[name](dither.dither(4, 4000, words=8, shift=shift), shift)
    errors = mean_errors(dithers, words=WORDS, coefficients=COEFFICIENTS, shift=shift)
    assert unbiased(errors) == (name == "fair")


@pytest.mark.parametrize("seed", SEEDS)
def test_each_word_alone_is_unbiased(seed: int) -> None:
    dithers = dither.dither(seed, 8192, words=64, shift=16)
    for word in (0, 31, 63):
        errors = mean_errors(
            dithers[:, word], words=[1, -127, 200], coefficients=[37, -1000, 131071], shift=16
        )
        assert unbiased(errors), word
