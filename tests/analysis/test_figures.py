"""The figures against numpy and scipy, worked out directly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pezo_hw import config
from pezo_hw.analysis import Expectation, correlation, directions, norms, uniform, words
from pezo_hw.analysis.rank import PRIME, rank_modulo
from pezo_hw.errors import PezoError
from pezo_hw.golden.engine import Engine
from tests.analysis import sources
from tests.analysis.sources import Recorded, expected, sound_words


def test_words_against_scipy() -> None:
    groups = sound_words(groups=500, words=3, bits=5)
    values, probabilities = uniform(5)
    found = words.measure(groups, Expectation(values, probabilities), bits=5)
    flat = groups.ravel()
    assert found.mean == pytest.approx(flat.mean(), rel=1e-12)
    assert found.variance == pytest.approx(flat.var(), rel=1e-12)
    assert found.kurtosis == pytest.approx(stats.kurtosis(flat, fisher=False), rel=1e-12)
    counts = np.bincount(flat + 15, minlength=31)
    assert np.array_equal(found.counts, counts)
    assert found.chi_square == pytest.approx(stats.chisquare(counts).statistic, rel=1e-9)
    assert found.degrees == 30
    z = [
        abs(((groups[:, i] + 16 >> bit) & 1).mean() - 16 / 31) / (16 * 15 / 31**2 / 500) ** 0.5
        for i in range(3)
        for bit in range(5)
    ]
    assert found.bit_deviation == pytest.approx(max(z), rel=1e-9)
    assert found.bit_place == divmod(int(np.argmax(z)), 5)


def test_words_that_come_again_count_once() -> None:
    """Four times the same words are no better evidence than once."""
    once = sound_words(groups=500, words=2, bits=5)
    values, probabilities = uniform(5)
    single = words.measure(once, Expectation(values, probabilities), bits=5)
    again = words.measure(
        np.tile(once, (4, 1)), Expectation(values, probabilities, fresh_words=1000), bits=5
    )
    assert again.chi_square == pytest.approx(single.chi_square)
    assert again.draws == single.draws == 1000


def test_few_words_share_bins() -> None:
    groups = sound_words(groups=31, words=1)
    values, probabilities = uniform(8)
    found = words.measure(groups, Expectation(values, probabilities), bits=8)
    # 42 of 255 values are the least with 5 words expected; what is left over joins the last bin.
    assert found.degrees == 255 // 42 - 1
    edges = [-127 + 42 * i for i in range(6)] + [128]
    counts, _ = np.histogram(groups, edges)
    ideal = np.diff(edges) * 31 / 255
    assert found.chi_square == pytest.approx(stats.chisquare(counts, ideal).statistic)


def test_the_spread_of_a_kurtosis() -> None:
    x = np.arange(-60, 61)
    normal = np.exp(-((x / 10) ** 2) / 2)
    # 24 / n is the textbook's for normal variables.
    assert Expectation(x, normal / normal.sum()).kurtosis_variance == pytest.approx(24, rel=0.01)
    values, probabilities = uniform(8)
    sample = stats.kurtosis(sound_words(groups=3000, words=400), axis=1, fisher=False)
    spread = Expectation(values, probabilities).kurtosis_variance / 400
    assert np.var(sample) == pytest.approx(spread, rel=0.1)


def test_correlations_against_numpy() -> None:
    source = Recorded(sound_words(groups=211, words=5))
    found = correlation.measure(source, expected(source))
    g = source.recorded
    assert found.in_time is not None and found.across is not None
    assert found.words is not None and found.squares is not None
    assert len(found.largest) == 64
    for lag in (1, 7, 64):
        r = [np.corrcoef(g[:, i], np.roll(g[:, i], -lag))[0, 1] for i in range(5)]
        assert found.largest[lag - 1] == pytest.approx(np.abs(r).max())
        assert found.mean[lag - 1] == pytest.approx(np.mean(r))
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    late = {
        (lag, i, j): abs(np.corrcoef(g[:, i], np.roll(g[:, j], -lag))[0, 1])
        for lag in range(1, 9)
        for i, j in pairs
    }
    assert found.across.value == pytest.approx(max(late.values()))
    assert (found.across.lag, *found.across.positions) == max(late, key=lambda k: late[k])
    assert found.words.value == pytest.approx(
        max(abs(np.corrcoef(g[:, i], g[:, j])[0, 1]) for i, j in pairs)
    )
    square = (g - g.mean(axis=0)) ** 2
    assert found.squares.value == pytest.approx(
        max(abs(np.corrcoef(square[:, i], square[:, j])[0, 1]) for i, j in pairs)
    )


def test_a_long_sequence_is_not_closed_to_a_ring() -> None:
    source = Recorded(sound_words(groups=9000, words=1))
    source.period = 10**9
    source._indices = lambda start, count: np.arange(start, start + count) % 9000  # type: ignore[method-assign]
    values, probabilities = uniform(8)
    found = correlation.measure(source, Expectation(values, probabilities))
    x = source.groups(0, found.groups)[:, 0].astype(float)
    assert found.groups == 1 << 20
    r = np.corrcoef(x[:-5], x[5:])[0, 1]
    assert found.mean[4] == pytest.approx(r, abs=1e-5)


@pytest.mark.parametrize("lanes", [3, 6, 12])
def test_lanes_that_differ_are_counted(lanes: int) -> None:
    engine = Engine(config.load("tiny", [f"reuse.lanes={lanes}"]))
    found = correlation.measure(engine, expected(Recorded(sound_words())))
    assert found.distinct_lanes == 3
    assert found.lanes.shape == (lanes, lanes)
    values = engine.lanes(0, 15).astype(float)
    assert np.allclose(found.lanes, np.corrcoef(values.T))


def test_norms_directly() -> None:
    engine = Engine(config.load("zcu102-onthefly", ["source.phases=seeded", "source.seed=3"]))
    found = norms.measure(engine, engine.groups(0, 255))
    z = engine.lanes(0, 255)[:, :32] / 128
    ratio = np.linalg.norm(z, axis=1) / stats.chi.mean(32)
    assert found.mean == pytest.approx(ratio.mean())
    assert found.deviation == pytest.approx(ratio.std())
    assert (found.least, found.greatest) == pytest.approx((ratio.min(), ratio.max()))
    assert found.gaussian_deviation == pytest.approx(stats.chi.std(32) / stats.chi.mean(32))
    low, high = stats.chi.cdf(stats.chi.mean(32) * np.array([0.5**0.5, 2**0.5]), 32)
    assert found.gaussian_outside == pytest.approx(1 - (high - low))
    assert found.leftover == pytest.approx((z**2).mean() ** -0.5)


def trained(engine: Engine, *, parameters: int, steps: int) -> NDArray[np.float64]:
    """Return the directions as a training gets them: sweep, capture, next step."""
    rows = []
    engine.start(0)
    for _ in range(steps):
        values: list[float] = []
        while len(values) < parameters:
            index = engine.index
            engine.advance()
            values += engine.lanes(index, 1)[0].tolist()
        engine.capture()
        rows.append(values[:parameters])
    return np.array(rows) / 2 ** (engine.bits - 1)


@pytest.mark.parametrize("chunk", [1 << 25, 200])
@pytest.mark.parametrize(
    ("preset", "overrides", "parameters", "steps"),
    [
        ("tiny", [], 100, 20),  # longer than the period of 15 groups
        ("tiny", [], 90, 4),  # exactly the period
        ("tiny", ["source.seed=3", "source.bits=6"], 5, 40),  # less than one group
        ("zcu102-pregen", ["source.pool_size=61", "reuse.lanes=64"], 300, 70),
        ("zcu102-onthefly", ["reuse.lanes=32", "source.phases=seeded"], 130, 50),
    ],
)
def test_directions_against_a_svd(
    monkeypatch: pytest.MonkeyPatch,
    preset: str,
    overrides: list[str],
    parameters: int,
    steps: int,
    chunk: int,
) -> None:
    monkeypatch.setattr(directions, "_CHUNK", chunk)
    engine = Engine(config.load(preset, overrides))
    z = trained(engine, parameters=parameters, steps=steps)
    matrix = directions.matrix_of(engine, parameters=parameters)
    found = directions.measure(matrix, steps=steps)
    singular = np.linalg.svd(z, compute_uv=False)
    assert found.singular == pytest.approx(singular, abs=1e-6 * singular[0])
    assert found.rank == np.linalg.matrix_rank(z)
    assert found.distinct == len(np.unique(z, axis=0))
    assert found.norms == pytest.approx(np.linalg.norm(z, axis=1))
    square = singular**2
    assert found.participation == pytest.approx(square.sum() ** 2 / (square**2).sum())


@pytest.mark.parametrize("chunk", [1 << 25, 200])
def test_a_seeded_source_has_the_next_seed_in_each_step(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(directions, "_CHUNK", chunk)
    source = sources.Streams(sound_words(), copies=2)
    found = directions.measure(directions.matrix_of(source, parameters=75), steps=30)
    assert source.seed == 3
    # 5 groups of 16 lanes are 5 more than 75.
    used = [source.recorded_lanes(7 * (3 + step), 5).ravel()[:75] for step in range(30)]
    z = np.array(used) / 128
    assert found.norms == pytest.approx(np.linalg.norm(z, axis=1))
    assert found.singular == pytest.approx(np.linalg.svd(z, compute_uv=False))
    assert directions.starts_visited(source, 5, period=10) == 2**32


def test_lanes_that_differ_late_are_not_taken_for_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = sources.LanesAlikeForAWhile(sound_words(groups=2000), copies=2)
    monkeypatch.setattr(directions, "_SEEN_VALUES", 1000)
    matrix = directions.matrix_of(source, parameters=64)
    assert len(matrix.first) == source.words
    found = directions.measure(matrix, steps=400)
    z = source.lanes(0, 1600).reshape(400, 64) / 128
    assert found.norms == pytest.approx(np.linalg.norm(z, axis=1))
    assert found.singular == pytest.approx(np.linalg.svd(z, compute_uv=False), abs=1e-5)
    # The lanes differ in the last 25 directions only.
    assert found.rank == np.linalg.matrix_rank(z) == 32 + 25


def test_participation_of_gaussian_directions() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(200, 40, 60))
    square = np.linalg.svd(z, compute_uv=False) ** 2
    measured = (square.sum(axis=1) ** 2 / (square**2).sum(axis=1)).mean()
    assert measured == pytest.approx((40 * 60 + 2) / (40 + 60 + 1), rel=0.01)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(1, 1, 1), (30, 20, 7), (20, 30, 20)])
@pytest.mark.parametrize("seed", range(3))
def test_rank_of_products(rows: int, columns: int, rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(-9, 10, size=(rows, rank)) @ rng.integers(-9, 10, size=(rank, columns))
    # Columns and rows of zeros, and a pivot that is not where one looks first.
    a = np.pad(a, ((1, 2), (2, 1)))
    assert rank_modulo((a % PRIME).astype(np.float64)) == np.linalg.matrix_rank(a)


def test_rank_is_exact_where_a_svd_is_not() -> None:
    # Pascal's matrix has the determinant 1, and a condition number past 10^17 at this size.
    size = 24
    pascal = np.ones((size, size), dtype=object)
    for i in range(1, size):
        for j in range(1, size):
            pascal[i, j] = pascal[i - 1, j] + pascal[i, j - 1]
    assert np.linalg.matrix_rank(pascal.astype(float)) < size
    assert rank_modulo((pascal % PRIME).astype(np.float64)) == size
    pascal[-1] = pascal[0] + pascal[5]
    assert rank_modulo((pascal % PRIME).astype(np.float64)) == size - 1


def test_the_prime_is_prime() -> None:
    assert config.starts.is_prime(PRIME)
    assert PRIME**2 * (1 << 12) < 2**53


def test_limits_of_the_matrix() -> None:
    engine = Engine(config.load("zcu102-onthefly"))
    matrix = directions.matrix_of(engine, parameters=10**7)
    with pytest.raises(PezoError, match=r"^--steps must be 1 to 4096, not 4097$"):
        matrix.check(4097)
    with pytest.raises(PezoError, match=r"^--steps 512 with 10000000 .*; --steps 32 is possible$"):
        matrix.check(512)
    matrix.check(32)
    assert matrix.most_steps == 32
    with pytest.raises(ValueError, match=r"^the matrix must have at most 4096 rows, not 4097$"):
        rank_modulo(np.zeros((4097, 1)))


@pytest.mark.parametrize(
    ("words_", "least"), [(6 * [1, 2, 3, 4], 4), ([1, 2, 3], 3), ([5] * 16, 1), ([1] * 8 + [2], 9)]
)
def test_the_least_period_is_found(words_: list[int], least: int) -> None:
    source = Recorded(np.array(words_)[:, None])
    found = directions.period_of(source, expected(source))
    assert (found.least, found.wraps, found.complete) == (least, True, True)


def test_a_late_difference_is_seen() -> None:
    half = sound_words(groups=3000)
    recorded = np.concatenate([half, half])
    source = Recorded(recorded)
    assert directions.period_of(source, expected(source)).least == 3000
    recorded[-1, -1] ^= 1
    assert directions.period_of(source, expected(source)).least == 6000
