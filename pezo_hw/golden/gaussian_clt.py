"""The source `gaussian-clt`: sums of n numbers from tables, made by additions and subtractions.

For each lane, six fair bits look up a number t in a table of 64 odd ones. The lanes come in blocks
of n, and lane i of a block gets half of the i-th row of the Hadamard transform of its block's
numbers::

    u_i = sum over j of (-1)^(number of ones in i & j) t_j / 2

which is n draws, added or subtracted, at the price of log2(n) adders a lane. The table makes up for
what sums of a few numbers lack of a normal distribution: its variance gives u the standard
deviation 32, its long tails are those that n numbers need for a sum without excess kurtosis. With
that, lanes of a block, which are made of the same numbers, are not only uncorrelated: moments up to
the fifth are those of independent numbers.

The bits are states of wide generators (`golden.wide`): bit i of all tables of up to 1024 lanes
comes from one generator, started from the seed with some of its bits inverted. No two generators
are ever in the same state, and none is with those of the next 2^24 seeds in the same rank.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .gaussian_tables import MAGNITUDES
from .gaussian_tree import generator_keys
from .seeded import SEED_BITS, SeededSequence
from .wide import RademacherSequence, size_of

if TYPE_CHECKING:
    from pezo_hw.config import Config

ADDRESS_BITS = 6
"""Bits that look up a table."""

MOST_LANES = 1024
"""Lanes that a set of generators serves; for more there are more sets."""


class Plane:
    """One bit of the tables' addresses, for some lanes.

    Attributes
    ----------
    flips : int
        Bits of the seed that are inverted for this generator.
    generator : RademacherSequence
        Its groups.
    places : ndarray of int, shape (lanes,)
        The generator's bit for each lane.
    """

    def __init__(self, bit: int, lanes: int, *, number: int):
        # The number of the plane, its lowest bit at the top of the seed.
        self.flips = int(f"{number:0{SEED_BITS}b}"[::-1], 2)
        size = size_of(lanes)
        self.generator = RademacherSequence(size)
        # In another order for each bit: the generators have the same taps, and the addresses of a
        # lane should not be the XOR of three addresses before it.
        self.places = (2 * bit + 1) * np.arange(lanes) % size

    def bits(self, seed: int, start: int, count: int) -> NDArray[np.uint8]:
        """Return a bit for each lane, shape (count, lanes)."""
        return self.generator.state_bits(seed ^ self.flips, start, count)[:, self.places]


class HadamardSequence(SeededSequence):
    """A word for each of P lanes, made of the table's numbers of its block.

    Parameters
    ----------
    lanes : int
        P, a multiple of `terms`.
    terms : int
        n, a key of `MAGNITUDES`.

    Attributes
    ----------
    table : ndarray of int, shape (64,)
        t by address; the top bit of the address makes it negative.
    planes : list of list of Plane
        For each set of generators the planes from address bit 0 on.
    """

    fraction_bits = 5

    def __init__(self, lanes: int, *, terms: int):
        if lanes % terms:
            raise ValueError(f"lanes must be a multiple of terms = {terms}, not {lanes}")
        self.words = lanes
        self.terms = terms
        self.stages = terms.bit_length() - 1
        magnitudes = np.array(MAGNITUDES[terms])
        self.table = np.concatenate([magnitudes, -magnitudes])
        self.bits = int(magnitudes.max() * terms // 2).bit_length() + 1
        self.planes = [
            [
                Plane(bit, min(MOST_LANES, lanes - first), number=ADDRESS_BITS * i + bit)
                for bit in range(ADDRESS_BITS)
            ]
            for i, first in enumerate(range(0, lanes, MOST_LANES))
        ]
        # A register behind the tables and one behind each adder.
        self.load_clocks = self.planes[0][0].generator.load_clocks + 1 + self.stages

    @property
    def period(self) -> int:
        """Groups after which the stream of a seed repeats."""
        return math.lcm(*(planes[0].generator.period for planes in self.planes))

    @cached_property
    def mean_square(self) -> Fraction:
        """Mean of u^2 with fair address bits: n / 4 times that of t^2."""
        return Fraction(self.terms * int((self.table**2).sum()), 4 * len(self.table))

    def groups(self, seed: int, start: int, count: int) -> NDArray[np.integer]:
        """Return the words u, shape (count, P)."""
        address = np.zeros((count, self.words), dtype=np.uint8)
        for i, planes in enumerate(self.planes):
            part = address[:, MOST_LANES * i : MOST_LANES * (i + 1)]
            for bit, plane in enumerate(planes):
                part |= plane.bits(seed, start, count) << np.uint8(bit)
        return self.transform(self.table.astype(self.word_dtype)[address])

    def transform(self, numbers: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the words of numbers t by lane, shape (count, P)."""
        for stage in range(self.stages):
            size = 1 << stage
            pairs = numbers.reshape(len(numbers), numbers.shape[1] // (2 * size), 2, size)
            low, high = pairs[:, :, 0], pairs[:, :, 1]
            sums = np.stack([low + high, low - high], axis=2)
            # Both are even at first, whatever the numbers.
            numbers = (sums >> 1 if stage == 0 else sums).reshape(numbers.shape)
        return numbers

    def describe(self) -> dict[str, Any]:
        """Return the manifest's keys; see `pezo_hw.export.manifest`."""
        return {
            "terms": self.terms,
            "table": self.table.tolist(),
            "sets": [
                {
                    "flips": [plane.flips for plane in planes],
                    "places": [plane.places.tolist() for plane in planes],
                    "generator": generator_keys(planes[0].generator),
                }
                for planes in self.planes
            ],
        }


def of(config: Config) -> HadamardSequence:
    """Build the sequence of a configuration with ``source.kind = "gaussian-clt"``."""
    source = config.source
    if source.kind != "gaussian-clt":
        raise ValueError(f"{source.kind} is not gaussian-clt")
    return HadamardSequence(config.words, terms=source.terms)


@cache
def distribution(terms: int) -> dict[int, Fraction]:
    """Return the probability of each word u with fair address bits, where it is not 0."""
    magnitudes = MAGNITUDES[terms]
    counts = np.zeros(2 * max(magnitudes) + 1, dtype=np.int64)
    for magnitude in magnitudes:
        counts[[max(magnitudes) + magnitude, max(magnitudes) - magnitude]] += 1
    total = counts
    for _ in range(terms - 1):
        total = np.convolve(total, counts)
    middle = len(total) // 2
    return {
        (index - middle) // 2: Fraction(int(total[index]), (2 * len(magnitudes)) ** terms)
        for index in np.flatnonzero(total).tolist()
    }
