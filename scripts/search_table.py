"""Search the tables of the source `gaussian-clt`: makes pezo_hw/golden/gaussian_tables.py.

A table holds 32 odd magnitudes, drawn with a sign by six fair bits. Half the sum of n draws, each
added or subtracted, is to be as near as possible to a normal distribution with the standard
deviation 32. Near means here, for the whole distribution of the sum, which is computed exactly:

- the chi-square distance, which is how soon a test tells the two apart: it takes 1 / distance
  draws or more;
- and no excess kurtosis: then sums and differences of the same n draws are independent up to
  their fourth moments.

From rounded quantiles of the normal distribution on, up to three magnitudes at a time are moved at
random, and what is nearer is kept. The best end of some runs wins. The moves come from a generator
of this file, so the result is the same everywhere.

Run it without options to print the file, with --write to store it, with --check to compare.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

TABLE = Path(__file__).resolve().parent.parent / "pezo_hw" / "golden" / "gaussian_tables.py"
SIGMA = 32
ENTRIES = 32
# Largest magnitude by n: one more bit a word costs a LUT in the table and one in each adder.
LARGEST = {4: 127, 8: 63}
RUNS = 6
PATIENCE = 4000
KURTOSIS_WEIGHT = 0.05
# The distance counts cells that are less likely than this as if they were this likely.
RARE = 1e-9

TEMPLATE = '''\
"""Tables of the source `gaussian-clt`: data, made by scripts/search_table.py."""

# Written by `python scripts/search_table.py --write`; do not edit.
# fmt: off

MAGNITUDES: dict[int, tuple[int, ...]] = {{
{tables}}}
"""Magnitudes of a table's entries, by the number of terms in a sum; each comes with both signs."""
# fmt: on
'''


class Moves:
    """SplitMix64: reproducible everywhere."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        """Return a number from 0 to `limit` - 1 (a bias below 2^-50 does no harm here)."""
        mask = (1 << 64) - 1
        self._state = (self._state + 0x9E3779B97F4A7C15) & mask
        z = self._state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return (z ^ z >> 31) % limit


class Target:
    """The normal distribution that sums of n draws are compared with."""

    def __init__(self, terms: int) -> None:
        self.terms = terms
        self.largest = LARGEST[terms]
        top = terms * (self.largest + 1) // 2
        self.values = np.arange(-top, top + 1, dtype=np.float64)
        edges = np.append(self.values - 0.5, top + 0.5) / (SIGMA * math.sqrt(2))
        below = np.array([math.erf(edge) for edge in edges]) / 2
        self.normal = np.diff(below)

    def start(self) -> list[int]:
        """Return rounded quantiles of the half-normal distribution."""
        normal = NormalDist()
        wanted = [normal.inv_cdf(0.5 + (i + 0.5) / (2 * ENTRIES)) for i in range(ENTRIES)]
        spread = 2 * SIGMA / math.sqrt(self.terms)
        factor = spread / math.sqrt(sum(x * x for x in wanted) / ENTRIES)
        return [min(max(2 * round((x * factor - 1) / 2) + 1, 1), self.largest) for x in wanted]

    def distribution(self, magnitudes: list[int]) -> NDArray[np.float64]:
        """Return the probability of each of `values`, exactly but for the last division."""
        # By w of t = 2 w + 1; counts stay below 2^48.
        counts = np.zeros(self.largest + 1, dtype=np.int64)
        middle = (self.largest + 1) // 2
        for magnitude in magnitudes:
            counts[middle + (magnitude - 1) // 2] += 1
            counts[middle + (-magnitude - 1) // 2] += 1
        n = 1
        while n < self.terms:
            counts = np.convolve(counts, counts)
            n *= 2
        # The sum of all w is half the sum of all t, less n / 2.
        shares = np.zeros(len(self.values))
        shares[n // 2 : n // 2 + len(counts)] = counts / (2 * ENTRIES) ** n
        return shares

    def distance(self, magnitudes: list[int]) -> float:
        """Return how far sums are from the normal distribution."""
        shares = self.distribution(magnitudes)
        cells = (shares - self.normal) ** 2 / np.maximum(self.normal, RARE)
        return float(cells.sum()) + KURTOSIS_WEIGHT * self.kurtosis(shares) ** 2

    def kurtosis(self, shares: NDArray[np.float64]) -> float:
        """Return the excess kurtosis of a distribution of `values`."""
        squares = self.values**2
        return float(shares @ squares**2 / (shares @ squares) ** 2) - 3


def search(terms: int) -> tuple[int, ...]:
    """Return the best table for sums of `terms` draws."""
    target = Target(terms)
    best: tuple[float, list[int]] | None = None
    for run in range(RUNS):
        moves = Moves(1000 * terms + run)
        table = target.start()
        reached, stale = target.distance(table), 0
        while stale < PATIENCE:
            stale += 1
            other = list(table)
            for _ in range(1 + moves.below(3)):
                other[moves.below(ENTRIES)] += 2 * moves.below(7) - 6
            if min(other) < 1 or max(other) > target.largest:
                continue
            distance = target.distance(other)
            if distance < reached:
                table, reached, stale = other, distance, 0
        if best is None or reached < best[0]:
            best = reached, sorted(table)
    assert best is not None
    return tuple(best[1])


def text() -> str:
    """Return the file."""
    lines = []
    for terms in LARGEST:
        table = [str(magnitude) for magnitude in search(terms)]
        rows = [", ".join(table[i : i + 16]) for i in range(0, ENTRIES, 16)]
        body = "".join(f"        {row},\n" for row in rows)
        lines.append(f"    {terms}: (\n{body}    ),\n")
    return TEMPLATE.format(tables="".join(lines))


def main() -> int:
    """Run the search."""
    parser = argparse.ArgumentParser(description="Search the tables of gaussian-clt.")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    action.add_argument("--check", action="store_true", help=f"compare with {TABLE.name}")
    options = parser.parse_args()
    made = text()
    if options.write:
        TABLE.write_text(made, encoding="ascii")
    elif options.check:
        if made != TABLE.read_text(encoding="ascii"):
            print(f"error: {TABLE.name} differs from the search; run with --write", file=sys.stderr)
            return 1
    else:
        print(made, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
