"""The period of the wide generators: 2^k - 1, because their polynomials are primitive.

The order is worked out on bits in NumPy, with the factors of 2^k - 1 that are listed here; no code
is shared with the search.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.golden import wide
from pezo_hw.golden.wide_matrices import WIDE

SIZES = sorted(WIDE)

# Prime factors of the Fermat numbers 2^(2^n) + 1, n = 0 to 9. 2^k - 1 is the product of those
# below it.
FERMAT: list[list[int]] = [
    [3],
    [5],
    [17],
    [257],
    [65537],
    [641, 6700417],
    [274177, 67280421310721],
    [59649589127497217, 5704689200685129054721],
    [1238926361552897, (2**256 + 1) // 1238926361552897],
    [
        2424833,
        7455602825647884208337395736200454918783366342657,
        (2**512 + 1) // (2424833 * 7455602825647884208337395736200454918783366342657),
    ],
]


def factors_of(size: int) -> list[int]:
    return [q for factors in FERMAT[: size.bit_length() - 1] for q in factors]


def is_probable_prime(number: int) -> bool:
    """Miller and Rabin's test, 24 bases: wrong for a composite with a probability below 2^-48."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    rng = random.Random(number)
    for _ in range(24):
        power = pow(rng.randrange(2, number - 1) if number > 4 else 2, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def bits_of(value: int, count: int) -> NDArray[np.uint8]:
    return np.array([value >> i & 1 for i in range(count)], dtype=np.uint8)


class Residues:
    """Residues of polynomials modulo a polynomial, as arrays of bits."""

    def __init__(self, polynomial: int):
        self.size = polynomial.bit_length() - 1
        low = bits_of(polynomial, self.size)
        # Row i is x^(size + i) modulo the polynomial.
        rows = [low]
        for _ in range(self.size - 1):
            last = rows[-1]
            rows.append(np.concatenate([[0], last[:-1]]).astype(np.uint8) ^ (last[-1] & low))
        self.rows = np.array(rows)

    def power_of_x(self, exponent: int) -> NDArray[np.uint8]:
        result = bits_of(1, self.size)
        for digit in f"{exponent:b}":
            square = np.zeros(2 * self.size, dtype=np.uint8)
            square[::2] = result
            if digit == "1":
                square = np.roll(square, 1)
            high = square[self.size :].astype(bool)
            result = square[: self.size] ^ np.bitwise_xor.reduce(self.rows[high], axis=0)
        return result


def order_fault(polynomial: int) -> str:
    """Say why x does not have the order 2^k - 1 modulo a polynomial of degree k, "" if it has."""
    residues = Residues(polynomial)
    order = (1 << residues.size) - 1
    one = bits_of(1, residues.size)
    if not np.array_equal(residues.power_of_x(order), one):
        return "the order does not divide 2^k - 1"
    for q in factors_of(residues.size):
        if np.array_equal(residues.power_of_x(order // q), one):
            return f"the order divides (2^k - 1) / {q}"
    return ""


def clock(matrix: tuple[int, ...], state: int) -> int:
    """The next state, bit by bit."""
    return sum(((row & state).bit_count() % 2) << j for j, row in enumerate(matrix))


def rank_over_2(vectors: list[int]) -> int:
    leading: dict[int, int] = {}
    for vector in vectors:
        rest = vector
        while rest and rest.bit_length() in leading:
            rest ^= leading[rest.bit_length()]
        if rest:
            leading[rest.bit_length()] = rest
    return len(leading)


@pytest.mark.parametrize("size", SIZES)
def test_factors(size: int) -> None:
    assert math.prod(factors_of(size)) == 2**size - 1
    assert all(is_probable_prime(q) for q in factors_of(size))
    assert not is_probable_prime(641 * 6700417)
    assert not is_probable_prime(561)


@pytest.mark.parametrize("size", SIZES)
def test_period(size: int) -> None:
    generator = wide.Generator(size)
    polynomial = generator.polynomial
    assert polynomial.bit_length() == size + 1
    assert order_fault(polynomial) == ""
    # The polynomial is the matrix's: the states from one on span everything, and it takes them to
    # 0. So it is the only one of its degree that does.
    states = [1]
    for _ in range(size):
        states.append(clock(generator.matrix, states[-1]))
    assert rank_over_2(states[:-1]) == size
    total = 0
    for i, state in enumerate(states):
        total ^= state if polynomial >> i & 1 else 0
    assert total == 0
    assert generator.period == 2**size - 1


def test_broken_periods_are_caught() -> None:
    # The first one is primitive, the second one is not even irreducible. The order of the third
    # power of a generator's clock is a third.
    assert order_fault(2**64 + 0b11011) == ""
    assert order_fault(2**64 + 0b11).startswith("the order")
    generator, state, bits = wide.Generator(64), 1, []
    for _ in range(128):
        bits.append(state & 1)
        for _ in range(3):
            state = generator.step(state)
    assert order_fault(_minimal_polynomial(bits)).endswith("/ 3")


def _minimal_polynomial(bits: list[int]) -> int:
    """Solve for the shortest recurrence of 64 taps, by elimination."""
    size = 64
    rows = []
    for k in range(size):
        row = sum(bits[k + i] << i for i in range(size)) | bits[k + size] << size
        rows.append(row)
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r] >> column & 1)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for r in range(size):
            if r != column and rows[r] >> column & 1:
                rows[r] ^= rows[column]
    return 1 << size | sum((row >> size) << i for i, row in enumerate(rows))
