"""Numbers to and from the bits of wide ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NATIVE = (8, 16, 32, 64)


def pack(values: NDArray[Any], *, width: int) -> list[int]:
    """Put the lanes of each beat side by side, lane 0 in the lowest bits.

    Parameters
    ----------
    values : ndarray of int, shape (beats, lanes)
        Signed or unsigned; taken modulo 2**width.
    width : int
        Bits a lane, 1 to 64.

    Returns
    -------
    list of int
        One non-negative number of lanes * width bits a beat.
    """
    table = np.ascontiguousarray(values, dtype=np.int64)
    if table.ndim != 2:
        raise ValueError(f"values must have the shape (beats, lanes), not {table.shape}")
    if width in _NATIVE:
        octets = table.astype(f"<u{width // 8}").view(np.uint8)
    else:
        bits = (table[:, :, None] >> np.arange(width)) & 1
        octets = np.packbits(
            bits.astype(np.uint8).reshape(len(table), -1), axis=1, bitorder="little"
        )
    size, stream = octets.shape[1], octets.tobytes()
    places = range(0, len(stream), size)
    return [int.from_bytes(stream[place : place + size], "little") for place in places]


def unpack(beats: Sequence[int], *, width: int, lanes: int, signed: bool = True) -> NDArray[Any]:
    """Take beats apart into lanes; the inverse of `pack`.

    Returns
    -------
    ndarray of int64, shape (beats, lanes)
        For 64 unsigned bits: uint64.
    """
    size = -(-width * lanes // 8)
    stream = b"".join(beat.to_bytes(size, "little") for beat in beats)
    octets = np.frombuffer(stream, dtype=np.uint8).reshape(len(beats), size)
    if width in _NATIVE:
        kind = "i" if signed else "u"
        table = octets.view(f"<{kind}{width // 8}")
        return table.astype(np.uint64 if (kind, width) == ("u", 64) else np.int64)
    bits = np.unpackbits(octets, axis=1, bitorder="little", count=width * lanes)
    weights = np.left_shift(np.int64(1), np.arange(width, dtype=np.int64))
    if signed:
        weights[-1] = -weights[-1]
    # The product is in float64, which multiplies matrices faster than int64; exact below 2**53.
    if width <= 48:
        table = bits.reshape(-1, width).astype(np.float64) @ weights.astype(np.float64)
        return table.astype(np.int64).reshape(len(beats), lanes)
    return (bits.reshape(-1, width) @ weights).reshape(len(beats), lanes)


def shorten(text: str) -> str:
    """Return a short form of a bit string as simulators print it, for messages.

    A long one is cut in the middle; the lowest bit that is not 0 or 1 is named.
    """
    if len(text) <= 40:
        return text
    bad = [len(text) - 1 - place for place, bit in enumerate(text) if bit not in "01"]
    note = f", {len(bad)} of them not 0 or 1, the lowest bit {bad[-1]}" if bad else ""
    return f"{text[:16]}...{text[-16:]} ({len(text)} bits{note})"
