"""The dither of stochastic rounding: one wide F2-linear generator, its bits dealt to the words.

Each word's dither is S different bits of a 64-bit state of period 2^64 - 1, so it is uniform in
[0, 2^S). The most significant bits, which carry most of the variance, are different state bits for
every word.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from . import lfsr, matrices

STATE_BITS = 64
SEED_BITS = 32
# Clocks that mix a seed before its state is used: each state bit then depends on all bits of the
# seed.
WARM_UP = 16


def load(seed: int) -> int:
    """Return the state that a seed is loaded as: itself below, inverted above, so never 0."""
    seed &= (1 << SEED_BITS) - 1
    return seed | (seed ^ ((1 << SEED_BITS) - 1)) << SEED_BITS


def bit_order(words: int, *, shift: int) -> NDArray[np.int64]:
    """Return which state bit each dither bit is, shape (W, S), least significant bit first.

    Word j's most significant bit is state bit j, the others follow at offsets in bit-reversed order
    (32, 16, 48, ...), which share as few significant bits between words as possible.
    """
    offsets = [int(f"{r:06b}"[::-1], 2) for r in range(shift)]
    table = [[(j + offset) % STATE_BITS for offset in reversed(offsets)] for j in range(words)]
    return np.array(table, dtype=np.int64).reshape(words, shift)


@cache
def _power(log2_steps: int) -> lfsr.Matrix:
    if log2_steps == 0:
        return matrices.DITHER_64
    half = _power(log2_steps - 1)
    return lfsr.multiply(half, half)


@cache
def _columns(log2_steps: int) -> NDArray[np.uint64]:
    """Return the column masks of M^(2^log2_steps)."""
    return np.array(lfsr.transpose(_power(log2_steps)), dtype=np.uint64)


def state_bits(seed: int, count: int) -> NDArray[np.uint8]:
    """Return the bits of the states of `count` beats after the warm-up, shape (count, 64)."""
    states = np.empty(count, dtype=np.uint64)
    states[:1] = lfsr.step(matrices.DITHER_64, load(seed), count=WARM_UP)
    # Each round doubles the states that are known.
    done, log2_steps = 1, 0
    while done < count:
        known = states[: min(done, count - done)]
        further = np.zeros_like(known)
        for i, column in enumerate(_columns(log2_steps)):
            further ^= (known >> np.uint64(i) & np.uint64(1)) * column
        states[done : done + len(further)] = further
        done *= 2
        log2_steps += 1
    as_bytes = states.astype("<u8").view(np.uint8).reshape(count, STATE_BITS // 8)
    return np.unpackbits(as_bytes, axis=1, bitorder="little")


def dither(seed: int, count: int, *, words: int, shift: int) -> NDArray[np.int64]:
    """Return the dither of `count` beats, shape (count, W), uniform in [0, 2^S).

    Parameters
    ----------
    seed : int
        32-bit seed of the sweep.
    count : int
        Beats.
    words : int
        W, at most 64.
    shift : int
        S, at most 53 bits of dither: sums of powers of two are exact in float64 up to there.
    """
    bits = state_bits(seed, count)
    order = bit_order(words, shift=shift)
    weights = np.zeros((STATE_BITS, words))
    for j in range(words):
        weights[order[j], j] = 2.0 ** np.arange(shift)
    return (bits @ weights).astype(np.int64)
