"""Sources cut from the state of one wide F2-linear generator: `wide-uniform` and `rademacher`.

A generator of k bits has one LUT and one flip-flop a bit. One clock is, on integers whose bit j is
bit j of the state, with shifts that drop what leaves the k bits::

    t = s ^ s << b ^ (s << c & m)            two taps a row, three where m has a 1
    x = the b lowest bits of s               whose rows would have a single tap:
    the b lowest bits of t = x ^ x rotated left by p ^ x rotated left by q
    s' = t, its lower half rotated left by a2, then all rotated left by a

While a seed is expanded, products of two bits are added to the first line::

    ^ (s << d & s << e & n)                  n: neither in m, nor one of the b lowest rows, nor in q
                                             q: the rows that the seed enters

The rotation of one half is there for the mixing: with a single one all moves of a bit commute, and
in r clocks it gets to some r^2 places only. The third line can be undone, because the trinomial
1 + x^p + x^q has no common factor with x^b - 1, and in the first a bit of t depends on itself and
on bits below it only. So each clock can be undone: two seeds never meet, and the state is never 0.

Without the products the first groups of successive seeds would be an affine image of the seeds: as
signs they are then Walsh functions of the seed, many lanes are the same function up to sign, and
512 successive steps span some 320 dimensions instead of 512. With them the expansion has a high
algebraic degree.

A row has at most five inputs: three taps, or two and a gated product, or three and a gated bit of
the seed. With six it would fit a LUT6 as well, but then Yosys often takes two LUTs. And no two rows
share two taps, else Yosys makes a LUT of its own for these, in front of both.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import lfsr
from .seeded import SEED_BITS, SEEDS, SeededSequence
from .wide_matrices import WIDE, Wide

if TYPE_CHECKING:
    from pezo_hw.config import Config

EXPANSION = 31
"""Clocks from the reset state to the first group: one to take in the seed, the others to mix it."""

# Up to this many groups are stepped over one by one; further ones are jumped over.
_MOST_STEPS = 1 << 14


class Generator:
    """A wide F2-linear generator with the expansion of its seed.

    Parameters
    ----------
    size : int
        k, bits of the state; a key of `WIDE`.
    table : Wide, optional
        Parameters of the structure. Default: those of `WIDE`.

    Attributes
    ----------
    reset : int
        State that an expansion begins with.
    """

    def __init__(self, size: int, table: Wide | None = None):
        self.size = size
        self.table = table = WIDE[size] if table is None else table
        self.reset = table.mask
        self._full = (1 << size) - 1
        self._seed_rows = [size // SEED_BITS * (i + 1) - 1 for i in range(SEED_BITS)]
        entered = sum(1 << row for row in self._seed_rows)
        self._lowest = (1 << table.shift) - 1
        self._free = self._full & ~(table.mask | self._lowest | entered)

    @property
    def period(self) -> int:
        """Clocks after which the state repeats, 2^k - 1."""
        return self._full

    @property
    def polynomial(self) -> int:
        """Characteristic polynomial of a clock; primitive."""
        return self.table.polynomial

    def step(self, state: int) -> int:
        """Return the state one clock later."""
        return self._turned(self._mixed(state))

    def expand(self, seed: int, *, clocks: int = EXPANSION) -> int:
        """Return the state of group 0 of a seed, 0 to 2^32 - 1; or after fewer clocks."""
        spread = sum((seed >> i & 1) << row for i, row in enumerate(self._seed_rows))
        state = self._turned(self._mixed(self.reset, products=True) ^ spread)
        for _ in range(clocks - 1):
            state = self._turned(self._mixed(state, products=True))
        return state

    def jump(self, state: int, count: int) -> int:
        """Return the state `count` clocks later, for any count, in some 10 ms."""
        factor = _power_of_x(count % self.period, self.polynomial)
        result = 0
        for digit in f"{factor:b}":
            result = self.step(result) ^ (state if digit == "1" else 0)
        return result

    def _mixed(self, s: int, *, products: bool = False) -> int:
        shift, lag, mask = self.table.shift, self.table.lag, self.table.mask
        t = s ^ s << shift ^ (s << lag & mask)
        x = s & self._lowest
        one, two = self.table.low_turns
        t ^= (x << one ^ x >> (shift - one) ^ x << two ^ x >> (shift - two)) & self._lowest
        if products:
            first, second = self.table.products
            t ^= s << first & s << second & self._free
        return t & self._full

    def _turned(self, t: int) -> int:
        turn, turn_low = self.table.turns
        half = self.size // 2
        low = t & self._full >> half
        low = (low << turn_low | low >> (half - turn_low)) & self._full >> half
        t = t >> half << half | low
        return (t << turn | t >> (self.size - turn)) & self._full

    # What follows is the same by rows, for the hardware and the manifest.

    def _row(self, j: int) -> int:
        """Return the row of the next state that bit j of t becomes."""
        turn, turn_low = self.table.turns
        half = self.size // 2
        if j < half:
            j = (j + turn_low) % half
        return (j + turn) % self.size

    @cached_property
    def matrix(self) -> lfsr.Matrix:
        """Row masks of a clock without products: bit i of entry j set if next bit j taps bit i."""
        size, shift, lag = self.size, self.table.shift, self.table.lag
        rows = []
        for j in range(size):
            taps = [j, j - shift]
            if j < shift:
                taps = [j, *((j - turn) % shift for turn in self.table.low_turns)]
            elif self.table.mask >> j & 1:
                taps.append(j - lag)
            rows.append(sum(1 << i for i in taps if i >= 0))
        turned = {self._row(j): row for j, row in enumerate(rows)}
        return tuple(turned[row] for row in range(size))

    @cached_property
    def products(self) -> dict[int, tuple[int, int]]:
        """The two state bits whose product a row takes while the seed is expanded, by row."""
        one, two = self.table.products
        first = max(one, two)
        free = [j for j in range(first, self.size) if self._free >> j & 1]
        return {self._row(j): (j - one, j - two) for j in free}

    @cached_property
    def seed_bits(self) -> dict[int, int]:
        """The bit of the seed that a row takes in the first clock of the expansion, by row."""
        return {self._row(row): i for i, row in enumerate(self._seed_rows)}


class _WideSequence(SeededSequence):
    """Groups cut from the state of a generator, which steps once a group.

    Attributes
    ----------
    generator : Generator
    places : list of list of int
        State bits of each word, least significant first.
    """

    def __init__(self, generator: Generator, places: list[list[int]]):
        self.generator = generator
        self.places = places
        self.words = len(places)
        self.load_clocks = EXPANSION + 1
        self._known = (0, 0, generator.expand(0))

    @property
    def period(self) -> int:
        """Groups after which the stream of a seed repeats, 2^k - 1."""
        return self.generator.period

    def state_bits(self, seed: int, start: int, count: int) -> NDArray[np.uint8]:
        """Return the bits of the states of `count` groups, shape (count, k)."""
        if not 0 <= seed < SEEDS:
            raise ValueError(f"seed must be 0 to {SEEDS - 1}, not {seed}")
        generator = self.generator
        state, step = self._state(seed, start % self.period), generator.step
        states = []
        for _ in range(count):
            states.append(state)
            state = step(state)
        self._known = (seed, (start + count) % self.period, state)
        size = generator.size // 8
        octets = b"".join(state.to_bytes(size, "little") for state in states)
        table = np.frombuffer(octets, dtype=np.uint8).reshape(count, size)
        return np.unpackbits(table, axis=1, bitorder="little")

    def _state(self, seed: int, index: int) -> int:
        # Most often the groups that follow the last ones are asked for.
        known_seed, known, state = self._known
        if known_seed != seed or known > index:
            known, state = 0, self.generator.expand(seed)
        if index - known > _MOST_STEPS:
            return self.generator.jump(state, index - known)
        for _ in range(index - known):
            state = self.generator.step(state)
        return state

    def describe(self) -> dict[str, Any]:
        """Return the manifest's keys; see `pezo_hw.export.manifest`."""
        generator = self.generator
        return {
            "state_bits": generator.size,
            "matrix": [f"{row:x}" for row in generator.matrix],
            "taps": max(row.bit_count() for row in generator.matrix),
            "polynomial": f"{generator.polynomial:x}",
            "expansion": {
                "reset": f"{generator.reset:x}",
                "clocks": EXPANSION,
                "seed_rows": [
                    row for row, _ in sorted(generator.seed_bits.items(), key=lambda item: item[1])
                ],
                "products": [[row, *pair] for row, pair in sorted(generator.products.items())],
            },
            "places": self.places,
        }


class UniformSequence(_WideSequence):
    """W words of b state bits: u = 2 w + 1, w the bits as a two's complement number.

    u is odd and symmetric, -(2^b - 1) .. 2^b - 1, and stands for r = u / 2^b. The bits of a word
    lie W apart in the state, so that neighbours, which are tapped together, are in different words.
    """

    def __init__(self, words: int, *, bits: int):
        generator = generator_of(words * bits)
        super().__init__(
            generator, [[i + words * bit for bit in range(bits)] for i in range(words)]
        )
        self.bits = bits + 1
        self.fraction_bits = bits

    @property
    def mean_square(self) -> Fraction:
        """Mean of u^2 of all 2^b values: (4^b - 1) / 3.

        Over a period a word is 2^-k less often w = 0 than any other value.
        """
        return Fraction(4**self.fraction_bits - 1, 3)

    def groups(self, seed: int, start: int, count: int) -> NDArray[np.integer]:
        """Return the words u, shape (count, W)."""
        bits = self.fraction_bits
        used = self.state_bits(seed, start, count)[:, : self.words * bits]
        weights = 2 << np.arange(bits, dtype=np.int32)
        weights[-1] = -weights[-1]
        u = np.einsum("b,gbw->gw", weights, used.reshape(count, bits, self.words), dtype=np.int32)
        return (u + 1).astype(self.word_dtype)


class RademacherSequence(_WideSequence):
    """A state bit for each of W lanes: u = +1 for 0, -1 for 1."""

    bits = 2
    fraction_bits = 0

    def __init__(self, words: int):
        super().__init__(generator_of(words), [[i] for i in range(words)])

    @property
    def mean_square(self) -> Fraction:
        """Mean of u^2, 1."""
        return Fraction(1)

    def groups(self, seed: int, start: int, count: int) -> NDArray[np.integer]:
        """Return the words u, shape (count, W)."""
        used = self.state_bits(seed, start, count)[:, : self.words]
        return np.int16(1) - (used.astype(np.int16) << 1)


def size_of(bits: int) -> int:
    """Return the size of the smallest generator with at least `bits` bits."""
    sizes = [size for size in WIDE if size >= bits]
    if not sizes:
        raise ValueError(f"bits must be at most {max(WIDE)}, not {bits}")
    return min(sizes)


@cache
def generator_of(bits: int) -> Generator:
    """Return the smallest generator with at least `bits` bits."""
    return Generator(size_of(bits))


def uniform_of(config: Config) -> UniformSequence:
    """Build the sequence of a configuration with ``source.kind = "wide-uniform"``."""
    return UniformSequence(config.words, bits=config.source.bits)


def rademacher_of(config: Config) -> RademacherSequence:
    """Build the sequence of a configuration with ``source.kind = "rademacher"``."""
    return RademacherSequence(config.words)


def _power_of_x(exponent: int, modulus: int) -> int:
    """Return x^exponent modulo a polynomial."""
    result = 1
    for digit in f"{exponent:b}":
        # The digits of a binary number read in base 4 are those of its square over GF(2).
        result = lfsr.polynomial_modulo(int(f"{result:b}", 4), modulus)
        if digit == "1":
            result = lfsr.polynomial_modulo(result << 1, modulus)
    return result
