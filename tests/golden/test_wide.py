"""Wide generators: rows, the expansion of seeds, and the words cut from the states."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.golden import wide
from pezo_hw.golden.wide_matrices import WIDE

SIZES = sorted(WIDE)


def clock(matrix: tuple[int, ...], state: int) -> int:
    """The next state, bit by bit."""
    return sum(((row & state).bit_count() % 2) << j for j, row in enumerate(matrix))


@pytest.mark.parametrize("size", SIZES)
def test_rows(size: int) -> None:
    generator = wide.Generator(size)
    taps = [row.bit_count() for row in generator.matrix]
    assert len(taps) == size
    assert min(taps) >= 2 and max(taps) <= 5
    # A LUT holds the row, the product of two bits while the seed is expanded, and the seed's bit in
    # the first clock of that.
    assert not set(generator.products) & set(generator.seed_bits)
    for row, mask in enumerate(generator.matrix):
        inputs = mask.bit_count()
        if row in generator.products:
            one, other = generator.products[row]
            inputs = (mask | 1 << one | 1 << other).bit_count() + 1
            assert inputs == mask.bit_count() + 3
        if row in generator.seed_bits:
            inputs += 2
        assert inputs <= 5
    assert sorted(generator.seed_bits.values()) == list(range(32))
    assert len(generator.products) > size // 8
    # What two rows share would be a LUT of its own, in front of theirs.
    pairs = [
        pair
        for row in generator.matrix
        for pair in itertools.combinations([i for i in range(size) if row >> i & 1], 2)
    ]
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize(("words", "bits"), [(w, b) for w in (2, 3, 8, 16, 31, 64) for b in (4, 9)])
def test_two_taps_are_in_different_words(words: int, bits: int) -> None:
    """A bit that is the sum of two of one word would be bound to the square of that word."""
    sequence = wide.UniformSequence(words, bits=bits)
    word_of = {place: word for word, places in enumerate(sequence.places) for place in places}
    for row in sequence.generator.matrix:
        taps = [i for i in range(sequence.generator.size) if row >> i & 1]
        if len(taps) == 2 and set(taps) <= set(word_of):
            assert word_of[taps[0]] != word_of[taps[1]]


@pytest.mark.parametrize("size", SIZES)
def test_no_bit_is_a_copy_of_one_of_the_last_8_groups(size: int) -> None:
    rows = [{i for i in range(size) if row >> i & 1} for row in wide.Generator(size).matrix]
    power = rows
    for _ in range(8):
        assert min(len(row) for row in power) >= 2
        following = []
        for row in rows:
            mixed: set[int] = set()
            for i in row:
                mixed ^= power[i]
            following.append(mixed)
        power = following


@pytest.mark.parametrize("size", SIZES)
def test_steps_and_jumps(size: int) -> None:
    generator, rng = wide.Generator(size), random.Random(size)
    for state in (1, 1 << size - 1, 2**size - 1, *(rng.getrandbits(size) for _ in range(20))):
        assert generator.step(state) == clock(generator.matrix, state)
    state = stepped = rng.getrandbits(size)
    for count in range(70):
        if count in (0, 1, 2, 63, 69):
            assert generator.jump(state, count) == stepped
        stepped = generator.step(stepped)
    far, near = rng.getrandbits(size), rng.getrandbits(40)
    assert generator.jump(generator.jump(state, far), near) == generator.jump(state, far + near)
    assert generator.jump(state, generator.period) == state
    assert generator.jump(generator.step(state), generator.period - 1) == state


def undone(generator: wide.Generator, following: int) -> int:
    """Take back a clock of the expansion, from its rows, or fail if there is no unique way."""
    size, low = generator.size, generator.table.shift
    row_of = [generator._row(j) for j in range(size)]
    t = [following >> row & 1 for row in row_of]
    # The lowest rows are equations among themselves: solve them.
    rows = [generator.matrix[row_of[j]] | t[j] << size for j in range(low)]
    for j in range(low):
        assert row_of[j] not in generator.products
        pivot = next(r for r in range(j, low) if rows[r] >> j & 1)
        rows[j], rows[pivot] = rows[pivot], rows[j]
        for r in range(low):
            if r != j and rows[r] >> j & 1:
                rows[r] ^= rows[j]
    assert [row & (1 << size) - 1 for row in rows] == [1 << j for j in range(low)]
    state = sum((row >> size) << j for j, row in enumerate(rows))
    # Each of the others adds bits below it.
    for j in range(low, size):
        mask = generator.matrix[row_of[j]]
        assert mask >> j == 1
        value = t[j] ^ (mask & state).bit_count() % 2
        if row_of[j] in generator.products:
            one, other = generator.products[row_of[j]]
            assert max(one, other) < j
            value ^= (state >> one) & (state >> other) & 1
        state |= value << j
    return state


@pytest.mark.parametrize("size", SIZES)
def test_two_seeds_never_meet_and_no_state_is_0(size: int) -> None:
    """Each clock of the expansion can be undone, and the seed enters beside bits that are not 0."""
    generator, rng = wide.Generator(size), random.Random(size)
    for _ in range(10):
        state = rng.getrandbits(size)
        following = generator._turned(generator._mixed(state, products=True))
        assert undone(generator, following) == state
    # The products of 0 are 0, so that 0 comes from 0 only.
    assert generator._mixed(0, products=True) == 0
    entered = sum(1 << row for row in generator.seed_bits)
    for seed in (0, 1, 2**32 - 1, rng.getrandbits(32)):
        first = generator.expand(seed, clocks=1)
        assert first & ~entered
        assert first ^ generator.expand(0, clocks=1) == sum(
            1 << row for row, i in generator.seed_bits.items() if seed >> i & 1
        )
        assert generator.expand(seed) == generator._turned(
            generator._mixed(generator.expand(seed, clocks=wide.EXPANSION - 1), products=True)
        )


def mixing_fault(generator: wide.Generator, *, clocks: int) -> str:
    """Say what is wrong with the mixing of a seed, "" if nothing is."""
    size, rng = generator.size, random.Random(7)
    seeds = [rng.getrandbits(32) for _ in range(60)]
    for bit in range(32):
        changed, total = 0, 0
        for seed in seeds:
            difference = generator.expand(seed, clocks=clocks)
            difference ^= generator.expand(seed ^ 1 << bit, clocks=clocks)
            changed |= difference
            total += difference.bit_count()
        if changed != 2**size - 1:
            return f"some bit does not depend on bit {bit} of the seed"
        if abs(total / len(seeds) / size - 0.5) > 6 * 0.5 / math.sqrt(size * len(seeds)):
            return f"bit {bit} of the seed changes {total / len(seeds)} bits"
    return ""


@pytest.mark.parametrize("size", SIZES)
def test_every_bit_of_the_state_depends_on_every_bit_of_the_seed(size: int) -> None:
    generator = wide.Generator(size)
    assert mixing_fault(generator, clocks=wide.EXPANSION // 2) == ""
    assert mixing_fault(generator, clocks=wide.EXPANSION) == ""
    # The check fails a mixing that is too short.
    assert mixing_fault(generator, clocks=5).startswith("some bit does not depend")


def test_seeds_give_different_streams() -> None:
    generator = wide.Generator(256)
    seen: dict[int, tuple[int, int]] = {}
    for seed in [*range(150), *range(2**32 - 100, 2**32)]:
        state = generator.expand(seed)
        for index in range(100):
            assert state not in seen, (seed, index, seen[state])
            seen[state] = (seed, index)
            state = generator.step(state)


class _Linear(wide.Generator):
    """Expands the seed without products."""

    def expand(self, seed: int, *, clocks: int = wide.EXPANSION) -> int:
        state = self.reset ^ sum((seed >> i & 1) << row for row, i in self.seed_bits.items())
        for _ in range(clocks):
            state = self.step(state)
        return state


def directions(sequence: wide.RademacherSequence, first: int, *, size: int) -> NDArray[np.float64]:
    """First groups of `size` successive seeds, cut to as many lanes."""
    seeds = [(first + i) % 2**32 for i in range(size)]
    rows = [sequence.groups(seed, 0, 1)[0, :size] for seed in seeds]
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize("first", [0, 1, 700, 12_345_678, 2**31 - 200, 2**32 - 100])
def test_successive_steps_span_everything(first: int) -> None:
    z = directions(wide.RademacherSequence(1024), first, size=512)
    assert np.linalg.matrix_rank(z) == 512


def test_an_expansion_without_products_is_caught() -> None:
    sequence = wide.RademacherSequence(1024)
    sequence.generator = _Linear(1024)
    assert mixing_fault(sequence.generator, clocks=wide.EXPANSION) != ""
    assert np.linalg.matrix_rank(directions(sequence, 0, size=512)) < 400


@pytest.mark.parametrize("start", [0, 1, 10**6, 10**30])
@pytest.mark.parametrize("seed", [1, 2**32 - 1])
def test_successive_groups_span_everything(seed: int, start: int) -> None:
    z = wide.RademacherSequence(1024).groups(seed, start, 512)[:, :512]
    assert np.linalg.matrix_rank(z.astype(np.float64)) == 512


def test_steps_of_several_groups_span_everything() -> None:
    """D = 512 on 64 lanes: eight groups a step."""
    sequence = wide.RademacherSequence(64)
    z = np.array([sequence.groups(seed, 0, 8).ravel() for seed in range(9, 9 + 512)], dtype=float)
    assert np.linalg.matrix_rank(z) == 512


def test_sizes() -> None:
    for bits, size in ((1, 64), (64, 64), (65, 128), (256, 256), (257, 512), (1024, 1024)):
        assert wide.size_of(bits) == size
    with pytest.raises(ValueError, match=r"^bits must be at most 1024, not 1025$"):
        wide.size_of(1025)
    assert wide.RademacherSequence(40).groups(1, 0, 3).shape == (3, 40)


def chi_square(values: NDArray[np.integer], levels: NDArray[np.int64]) -> float:
    """Normalised: about 0 with a standard deviation of 1 if all levels are equally likely."""
    counts = np.array([(values == level).sum() for level in levels])
    assert counts.sum() == values.size, "a value that is no level"
    expected = values.size / len(levels)
    statistic = ((counts - expected) ** 2).sum() / expected
    return float((statistic - (len(levels) - 1)) / math.sqrt(2 * (len(levels) - 1)))


@pytest.mark.parametrize(("words", "bits"), [(32, 8), (16, 4), (1, 16), (64, 16), (5, 7)])
def test_words(words: int, bits: int) -> None:
    sequence = wide.UniformSequence(words, bits=bits)
    assert (sequence.bits, sequence.fraction_bits) == (bits + 1, bits)
    u = sequence.groups(77, 5, 4096)
    assert u.shape == (4096, words) and u.dtype == (np.int16 if bits < 16 else np.int32)
    assert np.all(u % 2 == 1) and np.abs(u).max() < 2**bits
    # Every 16th word of the range, else too few of each come.
    coarse = (u.astype(np.int64) + 2**bits) >> (bits + 1 - 4)
    levels = np.arange(16)
    assert abs(chi_square(coarse, levels)) < 5
    spoilt = np.where(coarse == 3, 4, coarse)
    assert chi_square(spoilt, levels) > 5
    assert float(sequence.mean_square) == np.mean(np.arange(1 - 2**bits, 2**bits, 2.0) ** 2)
    # Words do not depend on how a stream is asked for.
    again = np.concatenate([sequence.groups(77, 5, 7), sequence.groups(77, 12, 3)])
    assert np.array_equal(again, u[:10])
    assert np.array_equal(sequence.groups(77, 9, 1), u[4:5])
    assert np.array_equal(sequence.groups(77, 5 + sequence.period, 2), u[:2])


def test_rademacher() -> None:
    u = wide.RademacherSequence(1000).groups(3, 0, 2000)
    assert u.dtype == np.int16 and set(np.unique(u)) == {-1, 1}
    assert abs(u.sum()) < 5 * math.sqrt(u.size)
    # Neither neighbours nor successive groups are alike: correlations within 5.5 deviations.
    limit = 5.5 / math.sqrt(len(u))
    z = u.astype(np.float64)
    assert np.abs(z.T @ z / len(z) - np.eye(1000)).max() < limit
    for lag in range(1, 9):
        assert np.abs(z[lag:].T @ z[:-lag] / (len(z) - lag)).max() < 1.1 * limit


def test_seed_must_be_one() -> None:
    with pytest.raises(ValueError, match=r"^seed must be 0 to 4294967295, not 4294967296$"):
        wide.RademacherSequence(64).groups(2**32, 0, 1)
