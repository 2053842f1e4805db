"""Recompute what a generated core delivers, from its manifest alone.

Usage: python recompute.py FOLDER START COUNT
"""

import json
import sys
from pathlib import Path

import numpy as np


def words(source, start, count):
    """Return the signed words u of `count` groups from index `start` on, shape (count, W)."""
    bits, width = source["bits"], source["words"]
    k = np.arange(start, start + count)[:, None]
    position = np.arange(width)
    if source["kind"] == "pre-generated":
        pool = np.array(source["pool"])
        return pool[(width * k + position) % len(pool)]
    # All states of one generator, from the state 1 on.
    states = [1]
    while len(states) < 2**bits - 1:
        bit_of_row = [(row & states[-1]).bit_count() % 2 for row in source["matrix"]]
        states.append(sum(bit << j for j, bit in enumerate(bit_of_row)))
    phase = np.array([states.index(state) for state in source["states"]])
    turn = k if source["rotation"] == "clock" else k // (2**bits - 1)
    generator = (position + turn) % width
    v = np.array(states)[(phase[generator] + k) % (2**bits - 1)]
    return v - 2 ** (bits - 1)


def lanes(source, start, count):
    """Return the lane values u 2^e of `count` groups, shape (count, P)."""
    k = np.arange(start, start + count)
    exponents = np.array(source["exponents"])  # until words come again, or one for all groups
    scaled = words(source, start, count) << exponents[k % len(exponents)][:, None]
    block, place = np.divmod(np.arange(source["lanes"]), source["words"])
    values = scaled[:, (place + block * source["stride"]) % source["words"]]
    if source["signs"] is not None:
        values *= signs(source["signs"], start, count)[:, block]
    return values


def signs(signs, start, count):
    """Return +1 or -1 for `count` groups and all bits of a generator; block m has bit m."""
    rows, state = [int(row, 16) for row in signs["matrix"]], int(signs["state"], 16)
    result = []
    for _ in range(start + count):
        result.append([1 - 2 * (state >> i & 1) for i in range(signs["state_bits"])])
        bits = [(row & state).bit_count() % 2 for row in rows]
        state = sum(bit << i for i, bit in enumerate(bits))
    return np.array(result[start:])


if __name__ == "__main__":
    folder, start, count = sys.argv[1:]
    manifest = json.loads(Path(folder, "pezo.json").read_text())
    print(lanes(manifest["source"], int(start), int(count)))
