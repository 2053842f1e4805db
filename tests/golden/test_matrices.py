"""The tables of matrices, checked without the code of the search and without `pezo_hw.golden.lfsr`.

Each check is a function that raises AssertionError, so that the bad generators at the end can show
that it does so.
"""

from collections.abc import Callable
from functools import cache

import galois
import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.golden.matrices import DITHER_64, DITHER_128, MATRICES, POLYNOMIALS

GF2 = galois.GF(2)
GF2.compile("python-calculate")  # compiling to machine code takes longer than all these tests

Matrix = tuple[int, ...]
Check = Callable[[Matrix], None]

WORD_BITS = range(4, 17)
LAGS = range(1, 9)
MOST_TAPS = 4  # and a restore input and its select: one LUT6
MOST_FAN_OUT = 4
# M^1 .. M^n have no row of a single tap.
COPY_FREE_POWERS = {4: 2, 5: 4} | {bits: 8 for bits in WORD_BITS if bits > 5} | {64: 8, 128: 8}
# As few as the search finds; the wide ones have 3 a row and one more.
TOTAL_TAPS = {bits: 2 * bits + 1 for bits in WORD_BITS} | {6: 14, 64: 193, 128: 385}
# Largest |correlation| at lags 1 to 8 that between words and squares.
CORRELATION_LIMIT = {4: 0.64, 5: 0.28, 6: 0.13} | {b: 10 / 2**b for b in WORD_BITS if b > 6}

WIDE = {64: DITHER_64, 128: DITHER_128}
ALL = MATRICES | WIDE


def dense(matrix: Matrix) -> NDArray[np.int64]:
    bits = len(matrix)
    return np.array([[(row >> i) & 1 for i in range(bits)] for row in matrix], dtype=np.int64)


@cache
def stepped(matrix: Matrix, count: int) -> list[int]:
    """Return the first `count` states from 1 on, made one bit at a time."""
    state, states = 1, []
    for _ in range(count):
        states.append(state)
        following = 0
        for j, row in enumerate(matrix):
            if (row & state).bit_count() % 2:
                following += 2**j
        state = following
    return states


def bit_polynomial(matrix: Matrix) -> galois.Poly:
    """Return the minimal polynomial of bit 0, the characteristic one of a maximal matrix."""
    stream = [state & 1 for state in stepped(matrix, 2 * len(matrix) + 2)]
    return galois.berlekamp_massey(GF2(stream))


def check_maximal(matrix: Matrix) -> None:
    """By brute force: every nonzero state once, then the first again."""
    states = stepped(matrix, 2 ** len(matrix))
    assert states[-1] == states[0], "the first state does not come back"
    assert len(set(states)) == len(states) - 1, "a state comes back too early"
    assert 0 not in states


def check_primitive(matrix: Matrix) -> None:
    """By algebra: of degree b and primitive, as `galois` says."""
    polynomial = bit_polynomial(matrix)
    assert polynomial.degree == len(matrix)
    assert polynomial.is_primitive()


def check_taps(matrix: Matrix) -> None:
    table = dense(matrix)
    assert all(row < 2 ** len(matrix) for row in matrix)
    assert table.sum(axis=1).min() >= 2
    assert table.sum(axis=1).max() <= MOST_TAPS
    assert table.sum(axis=0).min() >= 1
    assert table.sum(axis=0).max() <= MOST_FAN_OUT


def check_copies(matrix: Matrix) -> None:
    """No bit of a word is a copy of a bit of the words before it."""
    table = dense(matrix)
    current = table
    for n in range(1, COPY_FREE_POWERS[len(matrix)] + 1):
        assert current.sum(axis=1).min() >= 2, f"a row of M^{n} has a single tap"
        current = table @ current % 2


def word_series(matrix: Matrix) -> NDArray[np.float64]:
    bits = len(matrix)
    states = np.array(stepped(matrix, 2**bits)[:-1], dtype=np.float64)
    return states - float(2 ** (bits - 1))


def lag_correlation(a: NDArray[np.float64], b: NDArray[np.float64], lag: int) -> float:
    """Return the correlation over a whole period between a[k] and b[k + lag]."""
    return float(np.corrcoef(a, np.roll(b, -lag))[0, 1])


def check_uncorrelated(matrix: Matrix) -> None:
    """Words are as uncorrelated as words without 0 can be, as far as no bit is copied.

    Over all 2^b states the two words would be independent, with mean -1/2.  The state 0, the word
    -h with h = 2^(b-1), is left out: the products add up to h / 2 - h^2, the squares to
    (2 h - 1) h (h - 1) / 3.
    """
    words = word_series(matrix)
    least = -3 / (2 ** len(matrix) - 2)
    for lag in range(1, COPY_FREE_POWERS[len(matrix)] + 1):
        assert lag_correlation(words, words, lag) == pytest.approx(least, abs=1e-9)


def check_squares(matrix: Matrix) -> None:
    """Words and their squares are hardly correlated with each other at lags 1 to 8."""
    words = word_series(matrix)
    series = (words, words * words)
    for lag in LAGS:
        for now in series:
            for later in series:
                assert abs(lag_correlation(now, later, lag)) <= CORRELATION_LIMIT[len(matrix)]


def fails(check: Check, matrix: Matrix) -> bool:
    try:
        check(matrix)
    except AssertionError:
        return True
    return False


def test_tables_are_complete() -> None:
    assert list(MATRICES) == list(WORD_BITS)
    assert list(POLYNOMIALS) == [*WORD_BITS, 64, 128]
    assert all(len(matrix) == bits for bits, matrix in ALL.items())
    assert all(isinstance(row, int) for matrix in ALL.values() for row in matrix)


@pytest.mark.parametrize("bits", WORD_BITS)
def test_order_by_brute_force(bits: int) -> None:
    check_maximal(MATRICES[bits])


@pytest.mark.parametrize("bits", ALL)
def test_order_by_algebra(bits: int) -> None:
    check_primitive(ALL[bits])


@pytest.mark.parametrize("bits", ALL)
def test_taps(bits: int) -> None:
    check_taps(ALL[bits])
    assert dense(ALL[bits]).sum() == TOTAL_TAPS[bits]


@pytest.mark.parametrize("bits", ALL)
def test_no_copied_bits(bits: int) -> None:
    check_copies(ALL[bits])


@pytest.mark.parametrize("bits", WORD_BITS)
def test_lag_correlations(bits: int) -> None:
    check_uncorrelated(MATRICES[bits])
    check_squares(MATRICES[bits])


@pytest.mark.parametrize("bits", POLYNOMIALS)
def test_polynomials(bits: int) -> None:
    polynomial = galois.Poly.Int(POLYNOMIALS[bits])
    assert polynomial.degree == bits
    assert polynomial.is_primitive()


def classic(bits: int) -> Matrix:
    """Return the classic LFSR, one shift a word towards the top: the shift lives in the rows."""
    feedback = sum(2 ** (bits - 1 - i) for i in range(bits) if (POLYNOMIALS[bits] >> i) & 1)
    return (feedback, *(2**j for j in range(bits - 1)))


@pytest.mark.parametrize("bits", WORD_BITS)
def test_classic_lfsr_fails(bits: int) -> None:
    matrix = classic(bits)
    check_maximal(matrix)
    check_primitive(matrix)
    words = word_series(matrix)
    assert lag_correlation(words, words, 1) == pytest.approx(0.5, abs=3 / 2**bits)
    assert fails(check_taps, matrix)
    assert fails(check_copies, matrix)
    assert fails(check_uncorrelated, matrix)


@pytest.mark.parametrize("bits", [6, 8, 12])
def test_classic_lfsr_squares_fail(bits: int) -> None:
    assert fails(check_squares, classic(bits))


@pytest.mark.parametrize("bits", [4, 5, 6, 7, 8, 12])
def test_mutants_fail(bits: int) -> None:
    matrix = MATRICES[bits]
    checks = (check_taps, check_maximal, check_copies, check_uncorrelated)

    def caught(j: int, row: int) -> bool:
        mutant = (*matrix[:j], row, *matrix[j + 1 :])
        return any(fails(check, mutant) for check in checks)

    assert not caught(0, matrix[0])
    top = 2 ** (bits - 1)
    moved = 0
    for j, row in enumerate(matrix):
        assert caught(j, 0)
        assert caught(j, row & (row - 1)), "a lost tap"
        # Off by one: a few of these are good generators too, most are not.
        moved += caught(j, row << 1 & (2 * top - 1) | row // top)
    assert moved > bits // 2
    # A register that never moves.
    identity = tuple(2**j for j in range(bits))
    assert all(fails(check, identity) for check in (check_maximal, check_taps, check_copies))


@pytest.mark.parametrize("bits", WIDE)
def test_wide_mutants_fail(bits: int) -> None:
    matrix = WIDE[bits]
    for j in (0, bits // 2, bits - 1):
        mutant = (*matrix[:j], matrix[j] & (matrix[j] - 1), *matrix[j + 1 :])
        assert fails(check_primitive, mutant)
