r"""Norm scaling by a power of two: the exponent of a group.

A group of W words has the exponent

    e = floor(log2(E_W / ||r||) + 1/2), limited to 0 .. 3,      r_i = u_i / 2^(b-1)

with E_W = sqrt(2) Gamma((W+1)/2) / Gamma(W/2), the mean norm of a vector of W independent standard
normal numbers (PeZO, section on adaptive modulus scaling). The comparison is done on the integer
sum of squares, so the exponent is exact: E_W^2 is a rational number times pi or 1/pi, and no
integer can tie with a threshold.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

MAX_EXPONENT = 3

# 50 digits: thresholds are below 2^40, so their floors are exact with 30 digits to spare.
_PI = Fraction("3.14159265358979323846264338327950288419716939937511")


def expected_norm_squared(words: int) -> Fraction:
    """Return E_W^2, the squared mean norm of `words` independent standard normal numbers.

    Built from E_1^2 = 2 / pi and E_W E_(W+1) = W, which follows from Gamma(x + 1) = x Gamma(x).

    Parameters
    ----------
    words : int
        W, at least 1.
    """
    squared = 2 / _PI
    for w in range(1, words):
        squared = w * w / squared
    return squared


def thresholds(words: int, *, bits: int) -> tuple[int, ...]:
    """Return, for e = 1, 2, 3, the largest sum of squared words that still has an exponent of e.

    e >= m holds exactly when ||r|| <= E_W / 2^(m - 1/2), that is
    sum u^2 <= E_W^2 2^(2 (b-1)) / 2^(2m - 1).

    Parameters
    ----------
    words : int
        W, words in a group.
    bits : int
        b, bits in a word.
    """
    squared = expected_norm_squared(words) * 4 ** (bits - 1)
    return tuple(int(squared / 2 ** (2 * m - 1)) for m in range(1, MAX_EXPONENT + 1))


def exponents_of_squares(squares: NDArray[np.int64], *, words: int, bits: int) -> NDArray[np.int64]:
    """Return the exponent of each group from its sum of squared words.

    Parameters
    ----------
    squares : ndarray of int64
        Sums of u^2 over the words of a group, any shape.
    words, bits : int
        W and b.

    Returns
    -------
    ndarray of int64
        Same shape, values 0 to 3.
    """
    exponents = np.zeros(np.shape(squares), dtype=np.int64)
    for limit in thresholds(words, bits=bits):
        exponents += squares <= limit
    return exponents


def exponents(groups: NDArray[np.integer], *, bits: int) -> NDArray[np.int64]:
    """Return the exponents, shape (G,), of `groups`, shape (G, W), of signed words."""
    squares = (groups.astype(np.int64) ** 2).sum(axis=1)
    return exponents_of_squares(squares, words=groups.shape[1], bits=bits)


def leftover(
    squares: NDArray[np.int64], exponent: NDArray[np.int64], *, words: int, bits: int
) -> float:
    """Return the real factor that the power of two leaves over.

    A perturbation times this factor has a mean square of exactly 1 over a period, as a standard
    normal one has. The host folds it into epsilon and the learning rate.

    Parameters
    ----------
    squares : ndarray of int64, shape (K,)
        Sum of u^2 of every group of a period.
    exponent : ndarray of int64, shape (K,) or (1,)
        The exponents that apply to them.
    words, bits : int
        W and b.
    """
    # Python integers: 64-bit sums overflow for a long period of 16-bit words.
    total = sum(int(s) << (2 * int(e)) for s, e in _counted(squares, exponent))
    mean = Fraction(total, len(squares) * words) / 4 ** (bits - 1)
    return math.sqrt(1 / mean) if mean else 1.0


def _counted(squares: NDArray[np.int64], exponent: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Sum the squares of the groups that share an exponent, without overflow."""
    exponent = np.broadcast_to(exponent, squares.shape)
    pairs = []
    for e in np.unique(exponent):
        chosen = squares[exponent == e]
        # Two halves of 32 bits: each sum stays below 2^63 for up to 2^31 groups.
        low = int((chosen & 0xFFFFFFFF).sum())
        high = int((chosen >> 32).sum())
        pairs.append(((high << 32) + low, int(e)))
    return pairs
