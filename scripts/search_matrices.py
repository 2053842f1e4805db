"""Search the update matrices of the generators: makes pezo_hw/golden/matrices.py.

The search is a fixed function of the constants below: it draws from a generator of its own, so that
neither the Python version nor the number of processes changes the result.

A matrix for words of b bits, 4 to 16, must

- be maximal: its characteristic polynomial is primitive, the order is exactly 2^b - 1;
- have no row of a single tap in M^1 .. M^8 (M^1 .. M^2 for b = 4, M^1 .. M^4 for b = 5), so that
  no bit of a word is a copy of a bit of the 8 words before it;
- have rows of 2 or 3 taps, and columns that are balanced to within one tap.

Rows of 2 taps only would all be blind to the state of all ones, so 2 b + 1 taps are the least.  The
first total that has a solution is taken.  Among its solutions the one with the lowest correlations
between the words and their squares at lags 1 to 8 wins, and of those that tie the one whose first
copied bit comes latest.

The wide matrices have rows of 3 taps and one of 4 (3 taps everywhere would keep the state of all
ones).  They could do with fewer, but more taps lead out of states of few ones sooner, and a row
still fits a LUT.  The first one that fits is taken.

Run it without options to print the file, with --write to store it, with --check to compare.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path

import numpy as np

from pezo_hw.golden import lfsr

TABLE = Path(__file__).resolve().parent.parent / "pezo_hw" / "golden" / "matrices.py"
WORD_BITS = range(4, 17)
WIDE_BITS = (64, 128)
LAGS = 8
# More does not exist for the smallest words: their period is too short to keep clear of all copies.
COPY_FREE_POWERS = {4: 2, 5: 4}
SEED = 20250420
# Draws per total.  For b = 6 one in 20,000 is a solution, and the least total has none.
TRIES = {6: 60_000, 8: 20_000}
MOST_COPY_FREE_POWERS = 4096
# All degrees here have a trinomial or pentanomial whose middle terms are below this.
LARGEST_MIDDLE_TERM = 12

TEMPLATE = '''\
"""Update matrices of the generators: tables of data, made by scripts/search_matrices.py.

A matrix is a tuple of row masks: bit i of entry j is set if the next bit j taps bit i of the state.
"""

# Written by `python scripts/search_matrices.py --write`; do not edit.
# fmt: off

# Primitive polynomials by degree; bit i is the coefficient of x^i.  Fewest terms, then smallest.
POLYNOMIALS: dict[int, int] = {{
{polynomials}}}

# The update matrix of a generator, by bits per word.
MATRICES: dict[int, tuple[int, ...]] = {{
{words}}}

# Wide generators, for the dither of stochastic rounding.
{wide}# fmt: on
'''


class Stream:
    """SplitMix64: reproducible everywhere, unlike the standard library's shuffles."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        """Return a number from 0 to `limit` - 1 (a bias below 2^-50 does no harm here)."""
        mask = (1 << 64) - 1
        self._state = (self._state + 0x9E3779B97F4A7C15) & mask
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) * limit) >> 64

    def shuffle(self, items: list[int]) -> None:
        """Shuffle a list in place."""
        for i in range(len(items) - 1, 0, -1):
            k = self.below(i + 1)
            items[i], items[k] = items[k], items[i]


def draw(stream: Stream, bits: int, total: int) -> lfsr.Matrix:
    """Draw a matrix of `total` taps whose rows and columns are balanced to within one tap."""
    each, more = divmod(total, bits)
    while True:
        heavy_rows = [1] * more + [0] * (bits - more)
        heavy_columns = list(range(bits))
        stream.shuffle(heavy_rows)
        stream.shuffle(heavy_columns)
        slots = list(range(bits)) * each + heavy_columns[:more]
        stream.shuffle(slots)
        rows = []
        for heavy in heavy_rows:
            row = 0
            for _ in range(each + heavy):
                row |= 1 << slots.pop()
            rows.append(row)
        if sum(lfsr.taps(tuple(rows))) == total and len(set(rows)) == bits:
            return tuple(rows)


def copy_free_powers(matrix: lfsr.Matrix, limit: int) -> int:
    """Return the largest n <= `limit` for which no row of M^1 .. M^n has a single tap."""
    current = matrix
    for n in range(limit):
        if any(row & (row - 1) == 0 for row in current):
            return n
        current = lfsr.multiply(matrix, current)
    return limit


def figure(matrix: lfsr.Matrix) -> float:
    """Return the largest |correlation| between words, and squares of words, at lags 1 to 8."""
    bits = len(matrix)
    words = lfsr.signed(lfsr.sequence(matrix), bits).astype(np.float64)
    squares = words * words
    series = [(s - s.mean()) / s.std() for s in (words, squares)]
    return max(
        abs(float(np.mean(now * np.roll(later, -lag))))
        for lag in range(1, LAGS + 1)
        for now in series
        for later in series
    )


def search_word(bits: int) -> lfsr.Matrix:
    """Return the matrix of the generators of `bits` bits."""
    stream = Stream(SEED + bits)
    needed = COPY_FREE_POWERS.get(bits, LAGS)
    tries = TRIES.get(bits, 10_000)
    for total in range(2 * bits + 1, 3 * bits + 1):
        best: tuple[float, int] = (2.0, 0)
        found: lfsr.Matrix | None = None
        for _ in range(tries):
            matrix = draw(stream, bits, total)
            if copy_free_powers(matrix, needed) < needed or not lfsr.is_maximal(matrix):
                continue
            # Rounded, so that neither the order of a sum nor a hair's breadth decides.
            quality = round(figure(matrix), 4)
            if quality > best[0]:
                continue
            rank = (quality, -copy_free_powers(matrix, MOST_COPY_FREE_POWERS))
            if rank < best:
                best, found = rank, matrix
        if found is not None:
            return found
    raise SystemExit(f"no matrix of {bits} bits found")


def search_wide(bits: int) -> lfsr.Matrix:
    """Return the matrix of a wide generator."""
    stream = Stream(SEED + bits)
    while True:
        matrix = draw(stream, bits, 3 * bits + 1)
        if copy_free_powers(matrix, LAGS) == LAGS and lfsr.is_maximal(matrix):
            return matrix


def search_polynomial(bits: int) -> int:
    """Return the primitive polynomial of fewest terms, and of these the smallest.

    The number of terms is odd: with an even number, x + 1 divides the polynomial.
    """
    for middle_terms in range(1, bits, 2):
        # Combinations of descending exponents come out by value once they are sorted.
        for exponents in sorted(
            combo[::-1] for combo in combinations(range(1, LARGEST_MIDDLE_TERM), middle_terms)
        ):
            candidate = 1 << bits | 1 | sum(1 << e for e in exponents)
            if exponents[0] < bits and lfsr.is_primitive(candidate):
                return candidate
    raise SystemExit(f"no polynomial of degree {bits} found")


def run(job: tuple[str, int]) -> str:
    """Run one job, in a process of its own, and return the text of the result."""
    kind, bits = job
    if kind == "polynomial":
        return f"    {bits}: 0x{search_polynomial(bits):X},\n"
    if kind == "wide":
        return f"DITHER_{bits}: tuple[int, ...] = (\n{rows_text(search_wide(bits), 4)})\n"
    return f"    {bits}: (\n{rows_text(search_word(bits), 8)}    ),\n"


def rows_text(matrix: lfsr.Matrix, indent: int) -> str:
    """Return the rows as hexadecimal masks, wrapped."""
    digits = (len(matrix) + 3) // 4
    masks = [f"0x{row:0{digits}X}" for row in matrix]
    # A power of two a line, so that bit numbers are easy to find.
    each = 8 if digits <= 4 else 4 if digits <= 16 else 2
    lines = [", ".join(masks[i : i + each]) for i in range(0, len(masks), each)]
    return "".join(f"{' ' * indent}{line},\n" for line in lines)


def table_text() -> str:
    """Return the text of pezo_hw/golden/matrices.py."""
    polynomials = [("polynomial", bits) for bits in (*WORD_BITS, *WIDE_BITS)]
    words = [("word", bits) for bits in WORD_BITS]
    wide = [("wide", bits) for bits in WIDE_BITS]
    jobs = [*wide, *words, *polynomials]  # the longest first
    with ProcessPoolExecutor() as pool:
        text = dict(zip(jobs, pool.map(run, jobs), strict=True))
    return TEMPLATE.format(
        polynomials="".join(text[job] for job in polynomials),
        words="".join(text[job] for job in words),
        wide="\n".join(text[job] for job in wide),
    )


def main(arguments: list[str] | None = None) -> int:
    """Print, store or compare the table; return the exit code."""
    parser = argparse.ArgumentParser(
        description="Search the update matrices of the generators (takes about a minute)."
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    action.add_argument("--check", action="store_true", help=f"compare with {TABLE.name}")
    options = parser.parse_args(arguments)

    text = table_text()
    if options.write:
        TABLE.write_text(text, encoding="ascii")
    elif options.check:
        if TABLE.read_text(encoding="ascii") != text:
            print(f"error: {TABLE.name} differs from the search; run with --write", file=sys.stderr)
            return 1
        print(f"{TABLE.name} is what the search finds")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
