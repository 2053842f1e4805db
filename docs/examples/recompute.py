"""Recompute what a generated core delivers, from its manifest alone.

Usage: python recompute.py FOLDER START COUNT
"""

import json
import sys
from pathlib import Path

import numpy as np


def words(source, start, count):
    """Return the signed words u of `count` groups from index `start` on, shape (count, W)."""
    bits, width, period = source["bits"], source["words"], source["period"]
    k = np.arange(start, start + count)[:, None] % period
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
    k = np.arange(start, start + count) % source["period"]
    exponents = np.array(source["exponents"])  # of all groups, or a single one for all
    scaled = words(source, start, count) << exponents[k % len(exponents)][:, None]
    block, place = np.divmod(np.arange(source["lanes"]), source["words"])
    return scaled[:, (place + block * source["stride"]) % source["words"]]


if __name__ == "__main__":
    folder, start, count = sys.argv[1:]
    manifest = json.loads(Path(folder, "pezo.json").read_text())
    print(lanes(manifest["source"], int(start), int(count)))
