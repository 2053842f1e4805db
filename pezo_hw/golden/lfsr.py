"""Linear feedback shift registers (LFSRs) as matrices over GF(2).

A *matrix* of b bits is a tuple of b row masks: bit i of entry j is set if the next bit j taps bit i
of the state.  A *state* is an int whose bit j is bit j of the register.  One clock is ``v' = M v``.

A *polynomial* is an int as well: bit i is the coefficient of x^i, so ``0b10011`` is x^4 + x + 1.
The polynomial of a matrix is its characteristic polynomial, det(x I + M).  Every bit s of the
register then obeys the recurrence that the polynomial spells out: with
p(x) = x^b + c_(b-1) x^(b-1) + ... + c_1 x + c_0,
``s[k + b] = c_(b-1) s[k + b - 1] ^ ... ^ c_1 s[k + 1] ^ c_0 s[k]``.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from pezo_hw.golden.matrices import POLYNOMIALS

Matrix: TypeAlias = tuple[int, ...]
"""Row masks of a square matrix over GF(2)."""

# Prime factors of 2^n - 1 beyond what trial division finds at once.
_LARGE_FACTORS: dict[int, tuple[int, ...]] = {
    64: (3, 5, 17, 257, 641, 65537, 6700417),
    128: (3, 5, 17, 257, 641, 65537, 274177, 6700417, 67280421310721),
}
_TRIAL_DIVISION_DEGREE = 32  # needs divisors up to 2^16 at most
_FULL_PERIOD_BITS = 24  # a whole period in memory: 128 MiB at most


def identity(bits: int) -> Matrix:
    """Return the identity matrix of `bits` rows."""
    return tuple(1 << j for j in range(bits))


def apply(matrix: Matrix, state: int) -> int:
    """Return ``M v``: the state one clock later.

    Parameters
    ----------
    matrix : tuple of int
        b row masks.
    state : int
        0 to 2^b - 1.
    """
    result = 0
    for j, row in enumerate(matrix):
        result |= ((row & state).bit_count() & 1) << j
    return result


def step(matrix: Matrix, state: int, *, count: int = 1) -> int:
    """Return the state `count` clocks later (``count >= 0``; cheap for any count)."""
    if count < 0:
        raise ValueError(f"count must be 0 or more, not {count}")
    square = matrix
    while count:
        if count & 1:
            state = apply(square, state)
        count >>= 1
        if count:
            square = multiply(square, square)
    return state


def transpose(matrix: Matrix) -> Matrix:
    """Return the transposed matrix: its entries are the column masks."""
    bits = range(len(matrix))
    return tuple(sum(((matrix[j] >> i) & 1) << j for j in bits) for i in bits)


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """Return the product ``A B``: first a clock of `b`, then a clock of `a`."""
    if len(a) != len(b):
        raise ValueError(f"matrices must have the same size, not {len(a)} and {len(b)}")
    rows = []
    for row in a:
        mixed, left = 0, row
        while left:
            low = left & -left
            mixed ^= b[low.bit_length() - 1]
            left ^= low
        rows.append(mixed)
    return tuple(rows)


def power(matrix: Matrix, exponent: int) -> Matrix:
    """Return ``M^exponent`` for ``exponent >= 0``, by repeated squaring."""
    if exponent < 0:
        raise ValueError(f"exponent must be 0 or more, not {exponent}")
    result = identity(len(matrix))
    square = matrix
    while exponent:
        if exponent & 1:
            result = multiply(result, square)
        square = multiply(square, square)
        exponent >>= 1
    return result


def taps(matrix: Matrix) -> tuple[int, ...]:
    """Return the number of taps of each row: what one LUT has to read."""
    return tuple(row.bit_count() for row in matrix)


def fan_out(matrix: Matrix) -> tuple[int, ...]:
    """Return the number of rows that tap each bit."""
    return taps(transpose(matrix))


@cache
def prime_factors(degree: int) -> tuple[int, ...]:
    """Return the distinct prime factors of 2^degree - 1, in ascending order.

    Raises
    ------
    ValueError
        If they are not known: `degree` must be 1 to 32, 64 or 128.
    """
    if degree in _LARGE_FACTORS:
        return _LARGE_FACTORS[degree]
    if not 1 <= degree <= _TRIAL_DIVISION_DEGREE:
        known = ", ".join(str(n) for n in _LARGE_FACTORS)
        raise ValueError(
            f"the factors of 2^n - 1 are known for n = 1 to {_TRIAL_DIVISION_DEGREE}, {known}, "
            f"not for {degree}"
        )
    factors = []
    rest = (1 << degree) - 1
    divisor = 3
    while divisor * divisor <= rest:
        if rest % divisor == 0:
            factors.append(divisor)
            while rest % divisor == 0:
                rest //= divisor
        divisor += 2
    if rest > 1:
        factors.append(rest)
    return tuple(factors)


def polynomial_multiply(a: int, b: int) -> int:
    """Return the product of two polynomials over GF(2)."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        b >>= 1
    return product


def polynomial_modulo(a: int, modulus: int) -> int:
    """Return the remainder of polynomial `a` divided by `modulus`."""
    degree = modulus.bit_length() - 1
    if degree < 0:
        raise ValueError("the modulus must not be the zero polynomial")
    while a.bit_length() > degree:
        a ^= modulus << (a.bit_length() - 1 - degree)
    return a


def _power_of_x(exponent: int, modulus: int) -> int:
    result = polynomial_modulo(1, modulus)
    for digit in f"{exponent:b}":
        result = polynomial_modulo(polynomial_multiply(result, result), modulus)
        if digit == "1":
            result = polynomial_modulo(result << 1, modulus)
    return result


@lru_cache(maxsize=4096)
def is_primitive(polynomial: int) -> bool:
    """Tell whether a polynomial is primitive, so that its LFSR has period 2^b - 1.

    Parameters
    ----------
    polynomial : int
        Bit i is the coefficient of x^i, the leading term and the constant included.  The degree b
        must be 1 to 32, 64 or 128.

    Raises
    ------
    ValueError
        If the degree is none of these.
    """
    degree = polynomial.bit_length() - 1
    if polynomial <= 0:
        raise ValueError(f"a polynomial must be a positive integer, not {polynomial}")
    factors = prime_factors(degree)
    if not polynomial & 1:
        return False
    # If x has order 2^b - 1 then its powers are all the nonzero residues, all of them have an
    # inverse, and the polynomial is irreducible too.
    period = (1 << degree) - 1
    if _power_of_x(period, polynomial) != 1:
        return False
    # Degree 1 has period 1 and no prime factor; x + 1 is primitive.
    return all(_power_of_x(period // q, polynomial) != 1 for q in factors)


def default_polynomial(bits: int) -> int:
    """Return a primitive polynomial of degree `bits` (4 to 16, 64 or 128).

    It has the fewest terms that exist, and among these the smallest value.

    Raises
    ------
    ValueError
        If there is none in the table.
    """
    if bits not in POLYNOMIALS:
        known = ", ".join(str(n) for n in POLYNOMIALS)
        raise ValueError(f"bits must be one of {known}, not {bits}")
    return POLYNOMIALS[bits]


def companion(polynomial: int) -> Matrix:
    """Return the matrix of the classic LFSR of a polynomial: one shift a clock.

    The register shifts towards bit 0: the next bit j is bit j + 1, and the next bit b - 1 is the
    exclusive or of the bits i for which the polynomial has a term x^i, i < b.  So bit 0 runs
    through ``s[k + b] = c_(b-1) s[k + b - 1] ^ ... ^ c_0 s[k]``, and the characteristic polynomial
    is `polynomial` itself, not its reverse.

    Raises
    ------
    ValueError
        If the degree is less than 1 or the constant term is missing.
    """
    bits = polynomial.bit_length() - 1
    if polynomial < 2 or not polynomial & 1:
        raise ValueError(
            f"a polynomial must have degree 1 or more and the constant term 1, not {polynomial:#x}"
        )
    shifts = tuple(1 << (j + 1) for j in range(bits - 1))
    return (*shifts, polynomial ^ (1 << bits))


def leap_matrix(polynomial: int, leap: int = 1) -> Matrix:
    """Return the matrix of a leap-forward LFSR: `leap` classic shifts in one clock.

    The period stays 2^b - 1 only if `leap` and 2^b - 1 are coprime; see `order`.

    Raises
    ------
    ValueError
        If `leap` is less than 1, or as for `companion`.
    """
    if leap < 1:
        raise ValueError(f"leap must be 1 or more, not {leap}")
    return power(companion(polynomial), leap)


def characteristic_polynomial(matrix: Matrix) -> int:
    """Return det(x I + M) as a polynomial of degree b, for any matrix."""
    # Chains e, M e, M^2 e, ... are cut where they fall back into the space spanned so far.  In the
    # basis of all chains M is block triangular with companion blocks; the polynomial of a block is
    # the relation by which its chain was cut, and the determinant is their product.
    bits = len(matrix)
    basis: dict[int, tuple[int, int]] = {}  # leading bit: a vector, the members of the chain in it
    result = 1
    for start in range(bits):
        vector = 1 << start
        chain: list[int] = []
        for length in range(bits + 1):
            rest, mix = vector, 1 << length
            while rest and rest.bit_length() in basis:
                other, other_mix = basis[rest.bit_length()]
                rest ^= other
                mix ^= other_mix
            if not rest:
                break
            basis[rest.bit_length()] = (rest, mix)
            chain.append(rest.bit_length())
            vector = apply(matrix, vector)
        # `mix` now says which members of the chain add up to 0 modulo the earlier chains.
        result = polynomial_multiply(result, mix)
        for lead in chain:
            basis[lead] = (basis[lead][0], 0)
    return result


def is_maximal(matrix: Matrix) -> bool:
    """Tell whether the matrix runs through all 2^b - 1 nonzero states.

    Raises
    ------
    ValueError
        If b is not 1 to 32, 64 or 128.
    """
    return is_primitive(characteristic_polynomial(matrix))


def order(matrix: Matrix) -> int:
    """Return the least n > 0 with ``M^n = I``, for a matrix whose order divides 2^b - 1.

    That holds for every power of a maximal matrix.  The longest period of a state is the order.

    Raises
    ------
    ValueError
        If the order does not divide 2^b - 1 (a singular matrix has no order at all), or as for
        `is_maximal`.
    """
    bits = len(matrix)
    one = identity(bits)
    result = (1 << bits) - 1
    if power(matrix, result) != one:
        raise ValueError(f"the order of the matrix must divide 2^{bits} - 1")
    for q in prime_factors(bits):
        while result % q == 0 and power(matrix, result // q) == one:
            result //= q
    return result


def sequence(matrix: Matrix, start: int = 1, *, length: int | None = None) -> NDArray[np.int64]:
    """Return the states start, M start, M^2 start, ... as an array.

    Parameters
    ----------
    matrix : tuple of int
        b row masks, b at most 63.
    start : int
        First state, 0 to 2^b - 1.
    length : int, optional
        Number of states; by default 2^b - 1, one period of a maximal matrix (b at most 24 then).

    Returns
    -------
    ndarray of int64, shape (length,)

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    bits = len(matrix)
    if bits > 63:
        raise ValueError(f"a sequence needs a matrix of 63 bits at most, not {bits}")
    if length is None:
        if bits > _FULL_PERIOD_BITS:
            raise ValueError(f"length must be given for more than {_FULL_PERIOD_BITS} bits")
        length = (1 << bits) - 1
    return sequence_wide(matrix, start, length=length).astype(np.int64)


def sequence_wide(matrix: Matrix, start: int = 1, *, length: int) -> NDArray[np.uint64]:
    """Return the same as `sequence` for up to 64 bits, as uint64; `length` has no default.

    Mind that uint64 and a signed array make float64 in NumPy: take bits out first, then convert.
    """
    bits = len(matrix)
    if bits > 64:
        raise ValueError(f"a sequence needs a matrix of 64 bits at most, not {bits}")
    if length < 0:
        raise ValueError(f"length must be 0 or more, not {length}")
    if not 0 <= start < 1 << bits:
        raise ValueError(f"start must be 0 to 2^{bits} - 1, not {start}")
    states = np.zeros(length, dtype=np.uint64)
    if length:
        states[0] = start
    done = 1
    jump = matrix  # always M^done, so that each round doubles what is known
    one = np.uint64(1)
    while done < length:
        known = states[: min(done, length - done)]
        ahead = states[done : done + len(known)]
        for i, column in enumerate(transpose(jump)):
            ahead ^= ((known >> np.uint64(i)) & one) * np.uint64(column)
        done *= 2
        jump = multiply(jump, jump)
    return states


@overload
def signed(value: int, bits: int) -> int: ...
@overload
def signed(value: NDArray[np.integer], bits: int) -> NDArray[np.int64]: ...
def signed(value: int | NDArray[np.integer], bits: int) -> int | NDArray[np.int64]:
    """Return the signed word ``u = v - 2^(b-1)`` of a state or an array of states.

    A nonzero state gives -(2^(b-1) - 1) to 2^(b-1) - 1.  In two's complement the word is the state
    with its top bit inverted.  Arrays are widened to int64 first, so unsigned states cannot wrap.
    """
    half = 1 << (bits - 1)
    if isinstance(value, np.ndarray):
        return value.astype(np.int64) - half
    return value - half
