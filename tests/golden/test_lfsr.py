"""LFSR arithmetic against dense GF(2) algebra in NumPy, brute force stepping and `galois`."""

from math import gcd

import galois
import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.golden import lfsr
from pezo_hw.golden.matrices import POLYNOMIALS

WORD_BITS = range(4, 17)
GF2 = galois.GF(2)
GF2.compile("python-calculate")  # compiling to machine code takes longer than all these tests

IRREDUCIBLE_NOT_PRIMITIVE = 0b11111  # x^4 + x^3 + x^2 + x + 1 divides x^5 - 1


def dense(matrix: lfsr.Matrix) -> NDArray[np.int64]:
    """Return entry [j, i] = 1 if the next bit j taps bit i."""
    bits = len(matrix)
    return np.array([[(row >> i) & 1 for i in range(bits)] for row in matrix], dtype=np.int64)


def to_bits(state: int, bits: int) -> NDArray[np.int64]:
    return np.array([(state >> i) & 1 for i in range(bits)], dtype=np.int64)


def random_matrix(rng: np.random.Generator, bits: int) -> lfsr.Matrix:
    return tuple(int(row) for row in rng.integers(0, 1 << bits, size=bits))


def shift_register(polynomial: int, count: int) -> list[int]:
    """Return the bits that the polynomial's recurrence produces from 1, 0, 0, ..., 0."""
    degree = polynomial.bit_length() - 1
    bits = [1] + [0] * (degree - 1)
    while len(bits) < count:
        oldest = len(bits) - degree
        bits.append(sum(bits[oldest + i] for i in range(degree) if (polynomial >> i) & 1) % 2)
    return bits


def brute_force_period(matrix: lfsr.Matrix, start: int = 1) -> int:
    """Step bit by bit until the start comes back."""
    state, steps = start, 0
    while True:
        following = 0
        for j, row in enumerate(matrix):
            if (state & row).bit_count() % 2:
                following += 2**j
        state = following
        steps += 1
        if state == start:
            return steps
        if steps > 2 ** len(matrix):
            raise AssertionError("the start never comes back")


def bit_polynomial(matrix: lfsr.Matrix) -> int:
    """Return the minimal polynomial of bit 0 as `galois` finds it."""
    state, stream = 1, []
    for _ in range(2 * len(matrix) + 2):
        stream.append(state & 1)
        state = lfsr.apply(matrix, state)
    return int(galois.berlekamp_massey(GF2(stream)))


@pytest.mark.parametrize("bits", [1, 4, 7, 16, 33])
def test_arithmetic_against_dense_algebra(bits: int) -> None:
    rng = np.random.default_rng(bits)
    a, b = random_matrix(rng, bits), random_matrix(rng, bits)
    state = int(rng.integers(0, 1 << bits))
    assert np.array_equal(to_bits(lfsr.apply(a, state), bits), dense(a) @ to_bits(state, bits) % 2)
    assert np.array_equal(dense(lfsr.multiply(a, b)), dense(a) @ dense(b) % 2)
    assert np.array_equal(dense(lfsr.transpose(a)), dense(a).T)
    assert np.array_equal(dense(lfsr.identity(bits)), np.eye(bits, dtype=np.int64))
    assert lfsr.taps(a) == tuple(dense(a).sum(axis=1))
    assert lfsr.fan_out(a) == tuple(dense(a).sum(axis=0))

    expected = np.eye(bits, dtype=np.int64)
    for exponent in range(12):
        assert np.array_equal(dense(lfsr.power(a, exponent)), expected)
        after = expected @ to_bits(state, bits) % 2
        assert np.array_equal(to_bits(lfsr.step(a, state, count=exponent), bits), after)
        expected = dense(a) @ expected % 2


def test_row_and_column_are_not_mixed_up() -> None:
    matrix = (0b10, 0b00)  # the next bit 0 taps bit 1
    assert lfsr.apply(matrix, 0b10) == 0b01
    assert lfsr.apply(matrix, 0b01) == 0
    assert lfsr.sequence(matrix, 2).tolist() == [2, 1, 0]


def test_multiply_is_right_to_left() -> None:
    down, swap = (0b10, 0b00), (0b10, 0b01)
    assert lfsr.multiply(down, swap) == (0b01, 0b00)
    assert lfsr.multiply(swap, down) == (0b00, 0b10)


@pytest.mark.parametrize("bits", range(1, 9))
def test_characteristic_polynomial_of_any_matrix(bits: int) -> None:
    rng = np.random.default_rng(bits)
    matrices = [random_matrix(rng, bits) for _ in range(40)]
    singular = (matrices[0][-1], *matrices[0][1:])
    matrices += [singular, (0,) * bits, lfsr.identity(bits)]
    for matrix in matrices:
        # det(x I - M) over the integers, which is det(x I + M) modulo 2
        coefficients = np.rint(np.poly(dense(matrix).astype(np.float64)).real).astype(int) % 2
        expected = sum(int(c) << (bits - k) for k, c in enumerate(coefficients))
        assert lfsr.characteristic_polynomial(matrix) == expected


@pytest.mark.parametrize("degree", range(1, 11))
def test_is_primitive_counts(degree: int) -> None:
    # There are phi(2^n - 1) / n primitive polynomials of degree n.
    period = 2**degree - 1
    phi = sum(gcd(k, period) == 1 for k in range(1, period + 1))
    found = [p for p in range(1 << degree, 2 << degree) if lfsr.is_primitive(p)]
    assert len(found) * degree == phi
    for polynomial in found[:3]:
        assert brute_force_period(lfsr.companion(polynomial)) == period


@pytest.mark.parametrize("degree", [5, 8, 12])
def test_is_primitive_against_galois(degree: int) -> None:
    for polynomial in range((1 << degree) + 1, (1 << degree) + 64):
        expected = galois.Poly.Int(polynomial).is_primitive()
        assert lfsr.is_primitive(polynomial) == expected, hex(polynomial)


def test_is_primitive_bad_polynomials() -> None:
    assert not lfsr.is_primitive(IRREDUCIBLE_NOT_PRIMITIVE)
    assert not lfsr.is_primitive(0b10010)  # no constant term: the register runs dry
    assert not lfsr.is_primitive(0b110011)  # an even number of terms
    # The polynomial of AES, irreducible with period 51.
    assert galois.Poly.Int(0x11B).is_irreducible()
    assert not lfsr.is_primitive(0x11B)


@pytest.mark.parametrize("degree", [33, 63, 65, 127])
def test_is_primitive_unknown_degree(degree: int) -> None:
    with pytest.raises(
        ValueError, match=f"^the factors of 2\\^n - 1 are known .* not for {degree}$"
    ):
        lfsr.is_primitive(1 << degree | 1)


@pytest.mark.parametrize("polynomial", [0, -5])
def test_is_primitive_not_a_polynomial(polynomial: int) -> None:
    with pytest.raises(ValueError, match="^a polynomial must be a positive integer"):
        lfsr.is_primitive(polynomial)


@pytest.mark.parametrize("degree", [*range(1, 33), 64, 128])
def test_prime_factors(degree: int) -> None:
    factors = lfsr.prime_factors(degree)
    rest = 2**degree - 1
    for q in factors:
        assert galois.is_prime(q)
        assert rest % q == 0
        while rest % q == 0:
            rest //= q
    assert rest == 1
    assert list(factors) == sorted(factors)


@pytest.mark.parametrize("bits", WORD_BITS)
def test_default_polynomial_is_the_usual_one(bits: int) -> None:
    assert lfsr.default_polynomial(bits) == int(galois.primitive_poly(2, bits, terms="min"))


@pytest.mark.parametrize("bits", [64, 128])
def test_default_polynomial_wide(bits: int) -> None:
    assert galois.Poly.Int(lfsr.default_polynomial(bits)).is_primitive()
    assert lfsr.is_primitive(lfsr.default_polynomial(bits))


def test_default_polynomial_unknown() -> None:
    assert set(POLYNOMIALS) == {*WORD_BITS, 64, 128}
    with pytest.raises(ValueError, match=r"^bits must be one of 4, 5, .*, 128, not 3$"):
        lfsr.default_polynomial(3)


@pytest.mark.parametrize("bits", WORD_BITS)
def test_companion_has_the_documented_polynomial(bits: int) -> None:
    polynomial = lfsr.default_polynomial(bits)
    reverse = int(f"{polynomial:b}"[::-1], 2)
    matrix = lfsr.companion(polynomial)
    assert bit_polynomial(matrix) == polynomial
    assert lfsr.characteristic_polynomial(matrix) == polynomial

    count = 4 * bits
    states = lfsr.sequence(matrix, length=count)
    for j in range(bits):  # every bit obeys the recurrence; bit j is bit 0, j clocks later
        expected = shift_register(polynomial, count + bits)[j : j + count]
        assert ((states >> j) & 1).tolist() == expected

    # With its taps in reverse order it is maximal too: only the polynomial gives it away.
    mutant = lfsr.companion(reverse)
    assert lfsr.is_maximal(mutant)
    assert bit_polynomial(mutant) != polynomial
    assert bit_polynomial(mutant) == reverse


def test_taps_off_by_one_are_caught() -> None:
    # x^8 + x^4 + x^3 + x^2 + 1 with its middle taps one place up, and one place down
    assert lfsr.is_primitive(0b100011101)
    for mutant in (0b100111001, 0b100001111):
        assert not lfsr.is_primitive(mutant)
        assert not lfsr.is_maximal(lfsr.companion(mutant))
        assert brute_force_period(lfsr.companion(mutant)) < 255


@pytest.mark.parametrize("polynomial", [0, 1, 0b10010])
def test_companion_refuses(polynomial: int) -> None:
    message = (
        f"^a polynomial must have degree 1 or more and the constant term 1, not {polynomial:#x}$"
    )
    with pytest.raises(ValueError, match=message):
        lfsr.companion(polynomial)


@pytest.mark.parametrize("leap", [1, 2, 7, 11])
def test_leap_takes_every_nth_state(leap: int) -> None:
    polynomial = lfsr.default_polynomial(12)
    classic = lfsr.sequence(lfsr.companion(polynomial))
    leaping = lfsr.sequence(lfsr.leap_matrix(polynomial, leap))
    assert np.array_equal(leaping, classic[np.arange(4095) * leap % 4095])


@pytest.mark.parametrize(("leap", "period"), [(11, 4095), (12, 1365), (13, 315)])
def test_leap_not_coprime_to_the_period(leap: int, period: int) -> None:
    matrix = lfsr.leap_matrix(lfsr.default_polynomial(12), leap)
    assert brute_force_period(matrix) == period
    assert lfsr.order(matrix) == period
    assert lfsr.is_maximal(matrix) == (period == 4095)


def test_leap_refuses() -> None:
    with pytest.raises(ValueError, match="^leap must be 1 or more, not 0$"):
        lfsr.leap_matrix(0b10011, 0)


def test_order_refuses() -> None:
    assert lfsr.order(lfsr.identity(8)) == 1
    with pytest.raises(ValueError, match=r"^the order of the matrix must divide 2\^4 - 1$"):
        lfsr.order((2, 4, 8, 0))  # singular
    with pytest.raises(ValueError, match=r"^the order of the matrix must divide 2\^2 - 1$"):
        lfsr.order((2, 1))  # a swap: order 2


@pytest.mark.parametrize("bits", WORD_BITS)
def test_sequence_is_repeated_stepping(bits: int) -> None:
    matrix = lfsr.companion(lfsr.default_polynomial(bits))
    states = lfsr.sequence(matrix)
    assert states.dtype == np.int64
    assert states.shape == (2**bits - 1,)
    assert np.array_equal(np.sort(states), np.arange(1, 2**bits))
    state = 1
    for k in range(100):
        assert states[k % len(states)] == state
        state = lfsr.apply(matrix, state)
    assert lfsr.apply(matrix, int(states[-1])) == 1


@pytest.mark.parametrize("length", [0, 1, 2, 3, 31, 32, 33, 100])
def test_sequence_length_and_start(length: int) -> None:
    rng = np.random.default_rng(length)
    for bits in (5, 63):
        matrix = random_matrix(rng, bits)
        start = (1 << bits) - 1
        expected = [lfsr.step(matrix, start, count=k) for k in range(length)]
        assert lfsr.sequence(matrix, start, length=length).tolist() == expected


def test_sequence_wide() -> None:
    matrix = lfsr.companion(lfsr.default_polynomial(64))
    states = lfsr.sequence_wide(matrix, 1 << 63, length=300)
    assert states.dtype == np.uint64
    state = 1 << 63
    for found in states.tolist():
        assert found == state
        state = lfsr.apply(matrix, state)


def test_zero_locks_up() -> None:
    matrix = lfsr.companion(0b10011)
    assert lfsr.apply(matrix, 0) == 0
    assert not lfsr.sequence(matrix, 0).any()


def test_sequence_refuses() -> None:
    wide = lfsr.identity(64)
    with pytest.raises(ValueError, match="^a sequence needs a matrix of 63 bits at most, not 64$"):
        lfsr.sequence(wide, length=1)
    with pytest.raises(ValueError, match="^a sequence needs a matrix of 64 bits at most, not 65$"):
        lfsr.sequence_wide(lfsr.identity(65), length=1)
    with pytest.raises(ValueError, match="^length must be given for more than 24 bits$"):
        lfsr.sequence(lfsr.identity(25))
    with pytest.raises(ValueError, match="^length must be 0 or more, not -1$"):
        lfsr.sequence(lfsr.identity(4), length=-1)
    for start in (-1, 16):
        with pytest.raises(ValueError, match=rf"^start must be 0 to 2\^4 - 1, not {start}$"):
            lfsr.sequence(lfsr.identity(4), start)


def test_arithmetic_refuses() -> None:
    with pytest.raises(ValueError, match="^matrices must have the same size, not 4 and 5$"):
        lfsr.multiply(lfsr.identity(4), lfsr.identity(5))
    with pytest.raises(ValueError, match="^exponent must be 0 or more, not -1$"):
        lfsr.power(lfsr.identity(4), -1)
    with pytest.raises(ValueError, match="^count must be 0 or more, not -1$"):
        lfsr.step(lfsr.identity(4), 1, count=-1)
    with pytest.raises(ValueError, match="^the modulus must not be the zero polynomial$"):
        lfsr.polynomial_modulo(5, 0)


@pytest.mark.parametrize("bits", WORD_BITS)
def test_signed_words(bits: int) -> None:
    states = np.arange(1, 2**bits, dtype=np.uint16)
    words = lfsr.signed(states, bits)
    half = 2 ** (bits - 1)
    assert words.dtype == np.int64
    assert (words.min(), words.max(), words.sum()) == (-(half - 1), half - 1, 0)
    # In two's complement: the state with its top bit inverted.
    assert np.array_equal(words & (2**bits - 1), states.astype(np.int64) ^ half)
    assert [lfsr.signed(v, bits) for v in (1, half, 2**bits - 1)] == [1 - half, 0, half - 1]


def test_signed_of_small_unsigned_states_does_not_wrap() -> None:
    states = np.array([1, 128, 255], dtype=np.uint8)
    assert (states - np.uint8(128)).tolist() != [-127, 0, 127]  # what the widening is there for
    assert lfsr.signed(states, 8).tolist() == [-127, 0, 127]
