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
# seed. A power of two.
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
def _tables(log2_steps: int) -> NDArray[np.uint64]:
    """Return M^(2^log2_steps) as the images of the 256 values of each byte, shape (8, 256)."""
    columns = np.array(lfsr.transpose(_power(log2_steps)), dtype=np.uint64).reshape(-1, 8)
    tables = np.zeros((len(columns), 256), dtype=np.uint64)
    for bit in range(8):
        # Entries with this bit are those without it, changed by the bit's column.
        size = 1 << bit
        tables[:, size : 2 * size] = tables[:, :size] ^ columns[:, bit, None]
    return tables


def _apply(log2_steps: int, states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the states 2^log2_steps beats later."""
    parts = states.astype("<u8").view(np.uint8).reshape(-1, STATE_BITS // 8)
    images = _tables(log2_steps)[np.arange(STATE_BITS // 8), parts]
    return np.bitwise_xor.reduce(images, axis=1)


def state_bits(seed: int, count: int) -> NDArray[np.uint8]:
    """Return the bits of the states of `count` beats after the warm-up, shape (count, 64)."""
    states = np.empty(count, dtype=np.uint64)
    states[:1] = _apply(WARM_UP.bit_length() - 1, np.array([load(seed)], dtype=np.uint64))
    # Each round doubles the states that are known.
    done, log2_steps = 1, 0
    while done < count:
        known = states[: min(done, count - done)]
        further = _apply(log2_steps, known)
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
    return (state_bits(seed, count) @ _places(words, shift)).astype(np.int64)


@cache
def _places(words: int, shift: int) -> NDArray[np.float64]:
    """Return what each state bit adds to each word's dither, shape (64, W)."""
    order = bit_order(words, shift=shift)
    places = np.zeros((STATE_BITS, words))
    for j in range(words):
        places[order[j], j] = 2.0 ** np.arange(shift)
    places.setflags(write=False)
    return places
