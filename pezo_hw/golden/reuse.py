"""Which word of a group each lane gets: lane m W + j gets word (j + m stride) mod W.

Where blocks have signs, lane m W + j has this word times the sign of block m.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Integer = TypeVar("_Integer", bound=np.integer)


def word_of_lane(lanes: int, *, words: int, stride: int) -> NDArray[np.int64]:
    """Return the position in the group that each lane reads, shape (P,).

    Parameters
    ----------
    lanes : int
        P, a multiple of `words`.
    words : int
        W.
    stride : int
        Places by which each further block of W lanes is rotated, 0 to W - 1.
    """
    lane = np.arange(lanes, dtype=np.int64)
    return (lane % words + lane // words * stride) % words


def spread(values: NDArray[_Integer], *, lanes: int, stride: int) -> NDArray[_Integer]:
    """Give the values of the words, shape (G, W), to the lanes, shape (G, P), as a new array."""
    count, words = values.shape
    blocks = lanes // words
    if blocks == 1:
        return values.copy()
    # A block is a run of `words` values somewhere in a group that is written twice. Moving runs as
    # opaque items is several times faster than an index for each lane.
    size = values.itemsize
    run = np.dtype((np.void, words * size))
    twice = np.empty((count, 2 * words), dtype=values.dtype)
    twice[:, :words] = twice[:, words:] = values
    runs = np.ndarray((count, words), run, twice, strides=(2 * words * size, size))
    moved = np.empty((count, blocks), run)
    turns = words // math.gcd(words, stride)
    for block in range(min(turns, blocks)):
        moved[:, block] = runs[:, block * stride % words]
    # From here on the turns repeat: double what is there.
    done = turns
    while done < blocks:
        more = min(blocks - done, done)
        moved[:, done : done + more] = moved[:, :more]
        done += more
    return moved.view(values.dtype)


def signed(values: NDArray[_Integer], signs: NDArray[np.integer]) -> NDArray[_Integer]:
    """Return lane values (G, P) with the signs (G, B) of their blocks."""
    count, blocks = signs.shape
    by_block = values.reshape(count, blocks, -1) * signs[:, :, None].astype(values.dtype)
    return by_block.reshape(values.shape)
