"""Search the wide generators: makes pezo_hw/golden/wide_matrices.py.

The search is a fixed function of the constants below. For each size k it draws parameters of the
structure that `pezo_hw.golden.wide` describes, and takes the first ones that

- have a primitive characteristic polynomial, so that the period is exactly 2^k - 1: the polynomial
  is the one that Berlekamp and Massey's algorithm finds for one bit of the state, it has degree k
  and is irreducible, and x^((2^k - 1) / q) is not 1 for any prime q that divides 2^k - 1;
- have no two rows that share two taps, because Yosys makes a LUT of its own for what they share;
- have no row of a single tap in M^1 .. M^8, so that no bit is a copy of a bit of the 8 groups
  before it;
- mix a seed: after half the clocks of an expansion every bit of the state depends on every bit of
  the seed, and one bit of the seed changes half of the state, as nearly as random states differ.

Run it without options to print the file, with --write to store it, with --check to compare.
It takes some five minutes on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from pezo_hw.golden import lfsr, wide
from pezo_hw.golden.wide_matrices import Wide

TABLE = Path(__file__).resolve().parent.parent / "pezo_hw" / "golden" / "wide_matrices.py"
SIZES = (64, 128, 256, 512, 1024)
COPY_FREE_POWERS = 8
SEED = 20250420

# 2^k - 1 is the product of the Fermat numbers 2^(2^n) + 1 below it; their prime factors.
FERMAT: tuple[tuple[int, ...], ...] = (
    (3,),
    (5,),
    (17,),
    (257,),
    (65537,),
    (641, 6700417),
    (274177, 67280421310721),
    (59649589127497217, 5704689200685129054721),
    (
        1238926361552897,
        93461639715357977769163558199606896584051237541638188580280321,
    ),
    (
        2424833,
        7455602825647884208337395736200454918783366342657,
        741640062627530801524787141901937474059940781097519023905821316144415759504705008092818711693940737,
    ),
)


class Draws:
    """Random numbers that follow from a text alone, whatever the Python version."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._count = 0

    def bits(self, count: int) -> int:
        """Return a number of `count` bits."""
        self._count += 1
        data = hashlib.shake_128(f"{self._text} {self._count}".encode()).digest(-(-count // 8))
        return int.from_bytes(data, "little") & ((1 << count) - 1)

    def within(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, both included; the bias is below 2^-50."""
        return low + self.bits(64) % (high - low + 1)


def main() -> int:
    """Print, store or compare the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store the table")
    parser.add_argument("--check", action="store_true", help="compare with the stored table")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="default: all")
    arguments = parser.parse_args()
    found = {size: search(size) for size in arguments.sizes}
    text = render(found)
    if arguments.check:
        stored = TABLE.read_text(encoding="utf-8")
        missing = [size for size, table in found.items() if entry(size, table) not in stored]
        print(f"differs for {missing}" if missing else "the same")
        return bool(missing)
    if arguments.write:
        TABLE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


def search(size: int) -> Wide:
    """Return the parameters of a generator of `size` bits."""
    for number, table in enumerate(candidates(size)):
        generator = wide.Generator(size, table)
        polynomial = minimal_polynomial(generator)
        if polynomial is None or not is_primitive(polynomial):
            continue
        problem = weakness(generator)
        print(f"{size} bits, draw {number}: {problem or 'taken'}", file=sys.stderr)
        if problem is None:
            return table._replace(polynomial=polynomial)
    raise AssertionError("there are more candidates than anyone can try")


def candidates(size: int) -> Iterator[Wide]:
    """Draw parameters; the polynomial is not yet known."""
    draws = Draws(f"pezo wide {SEED} {size}")
    # The bits of a word lie at most 64 apart and at most a quarter of the state. Primes beyond keep
    # the taps of a row in different words.
    least = min(64, size // 4)
    primes = [n for n in range(least, size // 2) if all(n % i for i in range(2, n))]
    while True:
        turns = (
            draws.within(size // 8, size - size // 8),
            draws.within(size // 16, size // 2 - size // 16),
        )
        shift, lag = (primes[draws.within(0, len(primes) - 1)] for _ in range(2))
        low_turns = (draws.within(1, shift - 1), draws.within(1, shift - 1))
        products = (draws.within(2, size // 4), draws.within(2, size // 4))
        mask = draws.bits(size - shift) << shift
        if len({shift, lag, *products}) != 4 or low_turns[0] == low_turns[1]:
            continue
        if gcd(1 << shift ^ 1, 1 ^ 1 << low_turns[0] ^ 1 << low_turns[1]) == 1:
            yield Wide(turns, shift, lag, low_turns, products, mask, 0)


def minimal_polynomial(generator: wide.Generator) -> int | None:
    """Return the characteristic polynomial if one bit's sequence shows it: its degree is k then.

    Berlekamp and Massey's algorithm. None if the degree is less, or if the polynomial has the root
    1 or 0, which no primitive one has.
    """
    size = generator.size
    state = 1
    connection, previous, length, gap = 1, 1, 0, 1
    window, limit = 0, (1 << (size + 1)) - 1
    for n in range(2 * size):
        window = (window << 1 | state & 1) & limit
        state = generator.step(state)
        if (connection & window).bit_count() & 1:
            changed = connection ^ previous << gap
            if 2 * length <= n:
                previous, length, gap = connection, n + 1 - length, 0
            connection = changed
        gap += 1
    if length != size or connection.bit_length() != size + 1 or not connection.bit_count() & 1:
        return None
    # The connection polynomial is the reverse of the characteristic one.
    return int(f"{connection:b}"[::-1], 2)


def is_primitive(polynomial: int) -> bool:
    """Tell whether a polynomial of a degree that is a power of two is primitive."""
    degree = polynomial.bit_length() - 1
    # Irreducible (Rabin): x^(2^k) = x, and no factor of a degree that divides k / 2. Most others
    # have a factor of a small degree i, which divides x^(2^i) - x.
    power = 2
    for i in range(1, degree + 1):
        power = square(power, polynomial)
        if (i <= 12 or i == degree // 2) and gcd(polynomial, power ^ 2) != 1:
            return False
    if power != 2:
        return False
    order = (1 << degree) - 1
    factors = [q for fermat in FERMAT[: degree.bit_length() - 1] for q in fermat]
    assert math.prod(factors) == order, "2^k - 1 must be the product of its prime factors"
    return all(wide._power_of_x(order // q, polynomial) != 1 for q in factors)


def square(value: int, modulus: int) -> int:
    """Return the square of a polynomial modulo another."""
    return lfsr.polynomial_modulo(int(f"{value:b}", 4), modulus)


def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor of two polynomials."""
    while b:
        a, b = b, lfsr.polynomial_modulo(a, b)
    return a


def weakness(generator: wide.Generator) -> str | None:
    """Return what speaks against a primitive generator, or None."""
    pairs: set[tuple[int, int]] = set()
    for row in generator.matrix:
        taps = [i for i in range(generator.size) if row >> i & 1]
        shared = set(itertools.combinations(taps, 2)) & pairs
        if shared:
            return f"two rows share the taps {shared.pop()}"
        pairs |= set(itertools.combinations(taps, 2))
    power = generator.matrix
    for exponent in range(1, COPY_FREE_POWERS + 1):
        if min(row.bit_count() for row in power) < 2:
            return f"M^{exponent} has a row of a single tap"
        power = lfsr.multiply(generator.matrix, power)
    return mixing(generator)


def mixing(generator: wide.Generator) -> str | None:
    """Return what is wrong with the mixing of a seed after half the clocks, or None."""
    size, clocks = generator.size, wide.EXPANSION // 2
    draws = Draws(f"pezo mixing {SEED}")
    seeds = [draws.bits(32) for _ in range(64)]
    changed = [0] * 32
    total = [0] * 32
    for seed in seeds:
        state = generator.expand(seed, clocks=clocks)
        for bit in range(32):
            difference = state ^ generator.expand(seed ^ 1 << bit, clocks=clocks)
            changed[bit] |= difference
            total[bit] += difference.bit_count()
    if any(mask != (1 << size) - 1 for mask in changed):
        return "a bit of the state does not depend on a bit of the seed"
    # Six standard deviations of the mean over the seeds.
    spread = 6 * math.sqrt(size / 4 / len(seeds))
    if any(abs(count / len(seeds) - size / 2) > spread for count in total):
        return "a bit of the seed changes more or less than half of the state"
    return None


def render(tables: dict[int, Wide]) -> str:
    """Return the text of the file."""
    text = TABLE.read_text(encoding="utf-8")
    head = text[: text.index("WIDE: dict")]
    entries = "".join(entry(size, table) for size, table in tables.items())
    return f"{head}WIDE: dict[int, Wide] = {{\n{entries}}}\n"


def entry(size: int, table: Wide) -> str:
    """Return the text of one generator."""
    lines = [
        f"turns={table.turns}",
        f"shift={table.shift}",
        f"lag={table.lag}",
        f"low_turns={table.low_turns}",
        f"products={table.products}",
        f"mask={_hex(table.mask, size)}",
        f"polynomial={_hex(table.polynomial, size + 1)}",
    ]
    return f"    {size}: Wide(\n" + "".join(f"        {line},\n" for line in lines) + "    ),\n"


def _hex(value: int, bits: int) -> str:
    digits = f"{value:0{-(-bits // 4)}X}"
    if len(digits) <= 66:
        return f"0x{digits}"
    rows = [digits[i : i + 64] for i in range(0, len(digits), 64)]
    quoted = "\n".join(f'            "{row}"' for row in rows)
    return f"int(\n{quoted},\n            16,\n        )"


if __name__ == "__main__":
    sys.exit(main())
