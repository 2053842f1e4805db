"""The trees of comparators: thresholds, distribution, seeds, and what the numbers look like."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pezo_hw.config import load_preset
from pezo_hw.golden import gaussian_tree as tree
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.gaussian_tree import LEVELS, TreeSequence

Words = NDArray[np.integer]
WORDS = np.arange(-255, 256, 2)


def step(level: tree.Level, state: int) -> int:
    return sum(((state & mask).bit_count() & 1) << row for row, mask in enumerate(level.matrix))


class Lane:
    """A lane as the documentation describes it, bit by bit."""

    def __init__(self, sequence: TreeSequence, lane: int, seed: int):
        self.states = []
        chosen = sequence.seeder.state_bits(seed, 0, tree.FILL).tolist()
        for level in LEVELS:
            state = lane % level.states + 1
            for _ in range(sequence.seeder.load_clocks):
                state = step(level, state)
            feeds = sequence.feeds(level)[lane].tolist()
            for bits in chosen:
                plain = state = step(level, state)
                for (row, other), feed in zip(level.choices, feeds, strict=True):
                    state ^= (bits[feed] & plain >> other & 1) << row
            self.states.append(state)

    def word(self) -> int:
        magnitude, sign = 0, 0
        for level, state in zip(LEVELS, self.states, strict=True):
            if level.signs:
                sign ^= state & 1
            if level.name != "sign":
                magnitude = 2 * magnitude + (state <= level.thresholds[magnitude])
        self.states = [step(level, state) for level, state in zip(LEVELS, self.states, strict=True)]
        return (-1) ** sign * (2 * magnitude + 1)


def sample(*, lanes: int = 256, seeds: int = 40, groups: int = 100, first: int = 0) -> Words:
    """Return words of many seeds, shape (seeds, groups, lanes)."""
    sequence = TreeSequence(lanes)
    return np.array([sequence.groups(seed, 0, groups) for seed in range(first, first + seeds)])


@pytest.mark.parametrize("seed", [0, 1, 0x12345678, 2**32 - 1])
@pytest.mark.parametrize(("lanes", "lane"), [(1, 0), (300, 0), (300, 7), (300, 299)])
def test_a_lane_is_what_is_documented(seed: int, lanes: int, lane: int) -> None:
    sequence = TreeSequence(lanes)
    model = Lane(sequence, lane, seed)
    expected = [model.word() for _ in range(1200)]
    assert sequence.groups(seed, 0, 1200)[:, lane].tolist() == expected


def test_size() -> None:
    assert [level.bits for level in LEVELS] == [7, 9, 10, 8, 10, 7, 9, 8]
    assert sum(level.bits for level in LEVELS) == 68
    assert [len(level.thresholds) for level in LEVELS] == [0, *(2**i for i in range(7))]
    sequence = TreeSequence(4)
    assert (sequence.bits, sequence.fraction_bits, sequence.words) == (9, 6, 4)


def test_thresholds_are_rounded_conditional_probabilities() -> None:
    cdf = stats.norm(scale=32).cdf
    for number, level in enumerate(LEVELS[1:]):
        width = 64 >> number
        for prefix, threshold in enumerate(level.thresholds):
            low, middle, high = (cdf(2 * width * prefix + width * i) for i in range(3))
            share = (high - middle) / (high - low)
            assert 1 <= threshold <= level.states
            assert abs(threshold - share * level.states) <= 0.5 + 1e-9
            # Nowhere is the rounding so close that arithmetic could decide it.
            assert abs(share * level.states % 1 - 0.5) > 1e-6


def test_distribution_is_what_the_states_give() -> None:
    """Worked out anew, level by level, from every state of every LFSR."""
    shares: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(1)}
    for level in LEVELS:
        counts: dict[tuple[int, int], Fraction] = {}
        for (magnitude, sign), share in shares.items():
            found: dict[tuple[int, int], int] = {}
            for state in range(1, 2**level.bits):
                bit = level.name != "sign" and state <= level.thresholds[magnitude]
                after = 2 * magnitude + bit, sign ^ (state & level.signs)
                found[after] = found.get(after, 0) + 1
            for after, count in found.items():
                counts[after] = counts.get(after, Fraction(0)) + share * count / level.states
        shares = counts
    expected = {(1 - 2 * sign) * (2 * m + 1): share for (m, sign), share in shares.items()}
    assert tree.distribution() == expected
    assert sum(expected.values()) == 1
    product = math.prod(
        Fraction(level.thresholds[37 >> (7 - i)], level.states)
        if 37 >> (6 - i) & 1
        else 1 - Fraction(level.thresholds[37 >> (7 - i)], level.states)
        for i, level in enumerate(LEVELS[1:])
    )
    assert float(2 * expected[75] / product) == pytest.approx(1, abs=1e-6)


def test_moments() -> None:
    shares = np.array([float(share) for share in tree.distribution().values()])
    deviation = math.sqrt(shares @ WORDS**2)
    assert TreeSequence(1).mean_square == sum(
        share * u * u for u, share in tree.distribution().items()
    )
    # In units of w the normal distribution of the thresholds has 32, and its intervals' middles a
    # variance of 1/12 more.
    assert deviation / 2 == pytest.approx(32, rel=0.002)
    assert abs(shares @ WORDS) < 1e-6
    kurtosis = shares @ WORDS**4 / deviation**4 - 3
    assert -0.03 < kurtosis < 0
    engine = engine_of(load_preset("zcu102-gaussian-tree"))
    assert engine.leftover == pytest.approx(1, abs=2e-3)


def chi_square(words: Words, shares: dict[int, Fraction]) -> float:
    """Return the probability that words of a distribution are as far from it as these."""
    counts = np.bincount((words.ravel().astype(np.int64) + 255) // 2, minlength=256)
    expected = np.array([float(shares[u]) for u in WORDS.tolist()]) * words.size
    common = expected >= 10
    seen = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    return float(stats.chisquare(seen, wanted).pvalue)


SAMPLE = sample()


def test_chi_square() -> None:
    assert len(tree.distribution()) == 256
    assert chi_square(SAMPLE, tree.distribution()) > 0.001
    assert np.std(SAMPLE / 2) == pytest.approx(32, rel=0.02)
    assert np.std(SAMPLE / 2) == pytest.approx(32, rel=0.006)


@pytest.mark.parametrize("number", range(1, 8))
def test_chi_square_finds_a_wrong_threshold(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    level = LEVELS[number]
    # Off by some states, as after a rounding mistake or with a bit that is stuck.
    off = max(3, level.states // 100)
    wrong = replace(level, thresholds=tuple(max(1, t - off) for t in level.thresholds))
    monkeypatch.setattr(tree, "LEVELS", (*LEVELS[:number], wrong, *LEVELS[number + 1 :]))
    assert chi_square(sample(), tree.distribution.__wrapped__()) > 0.001
    words = sample()
    monkeypatch.undo()
    assert chi_square(words, tree.distribution()) < 0.001


def test_sizes_are_the_best_of_68_bits() -> None:
    """With no two levels in a row of the same size, the sign's own 7 bits included."""
    edges = stats.norm.cdf(np.arange(129) / 32)
    ideal = np.diff(edges) / (edges[-1] - edges[0])
    chances = {
        (bit, bits): np.array(tree._magnitude(bit, bits).thresholds) / (2**bits - 1)
        for bit in range(7)
        for bits in (7, 8, 9, 10)
    }

    def distance(sizes: tuple[int, ...]) -> float:
        shares = np.ones(1)
        for bit, bits in zip(range(6, -1, -1), sizes, strict=True):
            one = shares * chances[bit, bits]
            shares = np.stack([shares - one, one], axis=1).ravel()
        return float(((shares - ideal) ** 2 / ideal).sum())

    found = min(
        (
            sizes
            for sizes in itertools.product((7, 8, 9, 10), repeat=7)
            if sum(sizes) == 61 and all(a != b for a, b in itertools.pairwise((7, *sizes)))
        ),
        key=distance,
    )
    assert found == tuple(level.bits for level in LEVELS[1:])
    # Draws that a chi-square test needs to tell it from normal numbers.
    assert 1 / distance(found) > 70_000


def test_period() -> None:
    sequence = TreeSequence(3)
    assert sequence.period == math.lcm(*(2**b - 1 for b in (7, 8, 9, 10))) == 5_643_118_635
    start = sequence.groups(5, 0, 50)
    assert np.array_equal(sequence.groups(5, sequence.period, 50), start)
    for factor in (3, 5, 7, 11, 17, 31, 73, 127):
        assert not np.array_equal(sequence.groups(5, sequence.period // factor, 50), start)


def test_any_part_of_a_stream() -> None:
    sequence = TreeSequence(20)
    whole = sequence.groups(9, 0, 3000)
    for start, count in ((0, 1), (1, 5), (2999, 1), (700, 2000), (5, 0)):
        assert np.array_equal(sequence.groups(9, start, count), whole[start : start + count])
    assert whole.dtype == np.int16
    # In blocks, where there are more lanes than fit at once.
    wide = TreeSequence(16384)
    assert np.array_equal(
        wide.groups(1, 0, 40), np.vstack([wide.groups(1, i, 8) for i in range(0, 40, 8)])
    )
    with pytest.raises(ValueError, match=r"^seed must be 0 to 4294967295, not -1$"):
        sequence.groups(-1, 0, 1)


# --- Seeds and lanes


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_choices_can_be_undone(level: tree.Level) -> None:
    tables = tree._choice_tables(level)
    for table in tables:
        assert table[0] == 0
        assert sorted(table.tolist()) == list(range(level.states + 1))
    # At most 5 bits of the state and one of the seeder: one LUT6.
    for row, other in level.choices:
        assert other < row
        assert (level.matrix[row] | level.matrix[other]).bit_count() <= 5
    assert len({row for row, _ in level.choices}) == len(level.choices)


def spread(level: tree.Level, choices: int, clocks: int) -> float:
    """Return how far from uniform a state is after fair choices, for the worst first state.

    Half the sum of the differences between the probabilities and equal ones.
    """
    tables = tree._choice_tables(level)[: 1 << choices, 1:] - 1
    states = np.zeros((level.states, level.states))
    rows = np.arange(level.states)
    for table in tables:
        np.add.at(states, (rows, table), 1 / len(tables))
    after = np.linalg.matrix_power(states, clocks)
    return float(np.abs(after - 1 / level.states).sum(axis=1).max()) / 2


@pytest.mark.parametrize("number", [0, 1, 3])
def test_fair_choices_make_all_states_equally_likely(number: int) -> None:
    assert spread(LEVELS[number], 4, tree.FILL) < 1e-4
    assert spread(LEVELS[number], 4, 8) > 0.01
    assert spread(LEVELS[number], 1, tree.FILL) > 0.1


def states_of(sequence: TreeSequence, seed: int) -> NDArray[np.int64]:
    return np.array(sequence.states(seed))


def test_no_lfsr_is_ever_zero_and_no_two_lanes_are_equal() -> None:
    sequence = TreeSequence(1024)
    common = [i for i, level in enumerate(LEVELS) if level.common]
    for seed in [*range(60), *range(2**32 - 20, 2**32)]:
        states = states_of(sequence, seed)
        assert states.min() >= 1
        assert all((states[i] <= level.states).all() for i, level in enumerate(LEVELS))
        # Enough for all seeds: see `test_common_levels_tell_lanes_apart`.
        assert len(set(zip(*states[common].tolist(), strict=True))) == 1024
        assert len({column.tobytes() for column in sequence.groups(seed, 0, 40).T.copy()}) == 1024


def test_common_levels_tell_lanes_apart() -> None:
    """What differs at first differs for ever: a step or a choice maps states one to one."""
    sequence = TreeSequence(16384)
    common = [level for level in LEVELS if level.common]
    resets = zip(*(sequence.resets(level).tolist() for level in common), strict=True)
    assert len(set(resets)) == 16384
    for level in common:
        assert (sequence.feeds(level) == sequence.feeds(level)[0]).all()
    for level in LEVELS:
        assert sequence.resets(level).min() == 1
        assert sequence.resets(level).max() == level.states


def test_feeds() -> None:
    sequence = TreeSequence(4096)
    feeds = [sequence.feeds(level) for level in LEVELS]
    for level, part in zip(LEVELS, feeds, strict=True):
        assert part.shape == (4096, len(level.choices))
        assert (part >= 0).all() and (part < tree.SEEDER_BITS).all()
        assert len(np.unique(part, axis=0)) == (1 if level.common else 4096)
    # No two choices of a lane have the same bit. (The common ones may share theirs with others.)
    own = np.hstack([part for level, part in zip(LEVELS, feeds, strict=True) if not level.common])
    assert all(len(set(row)) == len(row) for row in own.tolist())


def offsets(sequence: TreeSequence, one: int, other: int) -> float:
    """Return chi-square by degrees of freedom of how far two LFSRs of a size are apart."""
    level = LEVELS[one]
    assert level.bits == LEVELS[other].bits
    places = tree._cycle(level)[1]
    counts = np.zeros(level.states)
    for seed in range(150):
        states = sequence.states(seed)
        apart = (places[states[other]] - places[states[one]]) % level.states
        counts += np.bincount(apart, minlength=level.states)
    expected = counts.mean()
    return float(((counts - expected) ** 2 / expected).sum() / (level.states - 1))


PAIRS = [(0, 5), (1, 6), (2, 4), (3, 7)]


@pytest.mark.parametrize("pair", PAIRS)
def test_lfsrs_of_a_size_start_anywhere_to_each_other(pair: tuple[int, int]) -> None:
    assert offsets(TreeSequence(256), *pair) < 1.4


def test_equal_choices_in_some_lanes_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    feeds = TreeSequence.feeds

    def wrong(sequence: TreeSequence, level: tree.Level) -> NDArray[np.int64]:
        result = feeds(sequence, level)
        if level.name == "m3":
            result[:4] = feeds(sequence, LEVELS[2])[:4]
        return result

    monkeypatch.setattr(TreeSequence, "feeds", wrong)
    assert offsets(TreeSequence(256), 2, 4) > 2


def correlation(a: Words, b: Words) -> float:
    """Return how large the mean of a b is, in standard errors of fair signs."""
    product = a.astype(float) * b
    return float(abs(product.sum()) / math.sqrt((product**2).sum()))


def test_lanes_and_seeds_are_unrelated() -> None:
    z = sample(lanes=64, seeds=600, groups=4).astype(float)
    flat = z.reshape(len(z), -1)
    matrix = np.corrcoef(flat.T)
    off = matrix[~np.eye(len(matrix), dtype=bool)] * math.sqrt(len(z))
    # As many as there are pairs are far off by chance alone; their spread is what tells.
    assert np.std(off) == pytest.approx(1, abs=0.02)
    assert np.abs(off).max() < 5.6
    for lag in (1, 2, 3, 16, 64):
        assert correlation(flat[lag:], flat[:-lag]) < 4
    square = flat**2 - (flat**2).mean()
    for lag in (1, 2, 16):
        assert correlation(square[lag:], square[:-lag]) < 4
    # Signs as bits: no lane is another one, or its inverse, whatever the seed.
    signs = np.sign(flat)
    agreement = np.abs(signs.T @ signs) / len(signs)
    assert agreement[~np.eye(len(agreement), dtype=bool)].max() < 0.3


def lags(words: Words, function: Callable[[Any], Any]) -> list[float]:
    values = function(words.astype(float))
    values = values - values.mean()
    return [
        float((values[:, lag:] * values[:, :-lag]).mean() / (values**2).mean())
        for lag in (1, 2, 3, 4, 5, 6, 7, 8)
    ]


def test_no_lag_correlations() -> None:
    limit = 5 / math.sqrt(SAMPLE.size)
    assert np.abs(lags(SAMPLE, lambda u: u)).max() < limit
    assert np.abs(lags(SAMPLE, np.abs)).max() < 0.05


def test_shift_registers_would_correlate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classic LFSR, whose word is the one before, moved by one place."""
    shifts = {7: 0x60, 8: 0xB8, 9: 0x110, 10: 0x240}
    rows = {b: (taps, *(1 << i for i in range(b - 1))) for b, taps in shifts.items()}
    monkeypatch.setattr(tree, "MATRICES", rows)
    for cached in (tree._cycle, tree._step_table, tree._choice_tables):
        cached.cache_clear()
    words = sample(seeds=10)
    for cached in (tree._cycle, tree._step_table, tree._choice_tables):
        cached.cache_clear()
    assert lags(words, np.abs)[0] > 0.2


def test_signs_do_not_repeat_with_one_lfsr() -> None:
    words = TreeSequence(256).groups(3, 0, 1023 + 2000)
    signs = np.sign(words.astype(float))
    for lag in (127, 255, 511, 1023):
        assert abs((signs[lag:] * signs[:-lag]).mean()) < 0.01


def test_rank() -> None:
    """256 successive seeds give 256 directions that are no worse than independent ones."""
    z = sample(lanes=256, seeds=256, groups=1)[:, 0].astype(float)
    values = np.linalg.svd(z / 64, compute_uv=False)
    gaussian = np.linalg.svd(np.random.default_rng(1).normal(size=z.shape), compute_uv=False)
    assert np.linalg.matrix_rank(z) == 256
    assert (values**2).sum() ** 2 / (values**4).sum() > 0.95 * (
        (gaussian**2).sum() ** 2 / (gaussian**4).sum()
    )
