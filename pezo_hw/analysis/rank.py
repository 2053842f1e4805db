"""Exact ranks of integer matrices, by elimination modulo a prime."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRIME = 1_048_573
"""Prime below 2^20: 2^12 products of two residues add up to less than 2^52, exact in a double."""

EXACT_TERMS = 1 << 12


def rank_modulo(matrix: NDArray[np.float64]) -> int:
    """Return the rank of a matrix over the integers modulo `PRIME`.

    It is at most the rank over the rational numbers, and less only if the prime happens to divide
    all the determinants that count.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n, m)
        Integers 0 to PRIME - 1; n at most 4096.

    Raises
    ------
    ValueError
        If there are too many rows to stay exact.
    """
    if len(matrix) > EXACT_TERMS:
        raise ValueError(f"the matrix must have at most {EXACT_TERMS} rows, not {len(matrix)}")
    # Crout's elimination: L and U grow by a column and a row for each pivot, and each is made from
    # the matrix with one matrix-vector product.
    rows, columns = matrix.shape
    a = matrix.copy()
    lower = np.zeros((rows, min(rows, columns)))
    upper = np.zeros((min(rows, columns), columns))
    rank = 0
    for column in range(columns):
        if rank == rows:
            break
        head = a[rank:, column] - lower[rank:, :rank] @ upper[:rank, column]
        head %= PRIME
        nonzero = np.flatnonzero(head)
        if not len(nonzero):
            continue
        pivot = int(nonzero[0])
        if pivot:
            swap = [rank, rank + pivot]
            a[swap] = a[swap[::-1]]
            lower[swap] = lower[swap[::-1]]
            head[[0, pivot]] = head[[pivot, 0]]
        inverse = pow(int(head[0]), -1, PRIME)
        lower[rank:, rank] = head * inverse % PRIME
        row = a[rank, column:] - lower[rank, :rank] @ upper[:rank, column:]
        upper[rank, column:] = row % PRIME
        rank += 1
    return rank
