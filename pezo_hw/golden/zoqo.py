"""The arithmetic of ZOQO: perturbations of a few whole LSBs, and an update by their sign.

::

    p = ((2m + 1) v >> b) - m        v = u + 2^(b-1), the word without its sign
    d = C sign(p)                    C in whole LSBs

p is odd in u and takes the 2m + 1 values -m .. m as evenly as 2^b - 1 words can. The weights never
leave the grid of their LSBs, and nothing is rounded, so no dither is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def perturbation(words: NDArray[np.integer], *, bits: int, levels: int) -> NDArray[np.int64]:
    """Return p for words u of `bits` bits, in weight LSBs, same shape.

    Parameters
    ----------
    words : ndarray of int
        u, -(2^(b-1) - 1) to 2^(b-1) - 1.
    bits : int
        b.
    levels : int
        m, the largest perturbation.
    """
    positive = words.astype(np.int64) + (1 << (bits - 1))
    return ((2 * levels + 1) * positive >> bits) - levels


def update(
    perturbations: NDArray[np.int64], *, coefficient: int | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return d for perturbations p and the coefficient C, in weight LSBs; 0 where p is 0."""
    signs: NDArray[np.int64] = np.sign(perturbations)
    return signs * coefficient
