"""Sums of table entries: tables, distribution, the transform, seeds, and how the lanes relate."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pezo_hw.config import from_mapping, load, load_preset
from pezo_hw.golden import gaussian_clt as clt
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.gaussian_clt import HadamardSequence
from pezo_hw.golden.gaussian_tables import MAGNITUDES
from pezo_hw.golden.wide import RademacherSequence

Words = NDArray[np.integer]
TERMS = sorted(MAGNITUDES)

# Excess kurtosis at most this, and the probabilities beyond 3 and 4 standard deviations at least
# these parts of the normal distribution's, by the number of terms.
MOST_KURTOSIS = {4: 0.01, 8: 0.002}
TAILS = {4: (0.95, 0.65), 8: (0.99, 0.9)}
# Draws that a chi-square test needs to tell the sums from normal numbers.
DRAWS = {4: 50_000, 8: 1_000_000}


def sums(magnitudes: Any, terms: int) -> dict[int, float]:
    """Return the distribution of half the sum of draws with signs."""
    draws = {sign * int(t): 0.0 for t in magnitudes for sign in (1, -1)}
    for t in magnitudes:
        for sign in (1, -1):
            draws[sign * int(t)] += 1 / (2 * len(magnitudes))
    total = {0: 1.0}
    for _ in range(terms):
        after: dict[int, float] = {}
        for (value, share), (t, part) in product(total.items(), draws.items()):
            after[value + t] = after.get(value + t, 0) + share * part
        total = after
    return {value // 2: share for value, share in total.items()}


class Quality:
    """How near a distribution is to the normal one of the same variance."""

    def __init__(self, shares: dict[int, float]):
        self.values = np.array(sorted(shares), dtype=float)
        self.shares = np.array([float(shares[int(u)]) for u in self.values])
        self.deviation = math.sqrt(self.shares @ self.values**2)
        self.kurtosis = float(self.shares @ self.values**4 / self.deviation**4 - 3)
        cdf = stats.norm(scale=self.deviation).cdf
        self.normal = cdf(self.values + 0.5) - cdf(self.values - 0.5)

    def tail(self, deviations: float) -> float:
        edge = round(deviations * self.deviation) + 0.5
        normal = 2 * stats.norm.sf(edge / self.deviation)
        return float(self.shares[np.abs(self.values) > edge].sum() / normal)

    @property
    def draws(self) -> float:
        common = np.abs(self.values) < 4 * self.deviation
        distance = (self.shares - self.normal)[common] ** 2 / self.normal[common]
        return float(1 / distance.sum())

    def passes(self, terms: int) -> bool:
        tails = zip((3, 4), TAILS[terms], strict=True)
        return (
            abs(self.deviation / 32 - 1) < 0.001
            and abs(self.kurtosis) < MOST_KURTOSIS[terms]
            and all(self.tail(at) > least for at, least in tails)
            and self.draws > DRAWS[terms]
        )


@pytest.mark.parametrize("terms", TERMS)
def test_tables(terms: int) -> None:
    magnitudes = MAGNITUDES[terms]
    assert len(magnitudes) == 32
    assert all(t % 2 == 1 and t > 0 for t in magnitudes)
    assert list(magnitudes) == sorted(magnitudes)
    quality = Quality(sums(magnitudes, terms))
    assert quality.passes(terms), vars(quality)
    # Both tails, at all: some numbers are beyond 4.9 standard deviations.
    assert quality.values.max() > 4.9 * quality.deviation


def rounded(terms: int, values: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return odd magnitudes near to values, with the right variance."""
    scaled = values * (64 / math.sqrt(terms)) / math.sqrt((values**2).mean())
    return np.maximum(1, 2 * np.rint((scaled - 1) / 2).astype(np.int64) + 1)


@pytest.mark.parametrize("terms", TERMS)
def test_other_tables_are_worse(terms: int) -> None:
    quantiles = stats.norm.ppf(0.5 + (np.arange(32) + 0.5) / 64)
    worse = {
        "uniform numbers": rounded(terms, np.arange(32) + 0.5),
        "normal quantiles": rounded(terms, quantiles),
        "one entry": np.where(np.arange(32) == 31, 1, np.array(MAGNITUDES[terms])),
    }
    for name, table in worse.items():
        assert not Quality(sums(table, terms)).passes(terms), name


@pytest.mark.parametrize("terms", TERMS)
def test_distribution(terms: int) -> None:
    shares = clt.distribution(terms)
    expected = sums(MAGNITUDES[terms], terms)
    assert sum(shares.values()) == 1
    assert {u: float(share) for u, share in shares.items()} == pytest.approx(expected, rel=1e-9)
    sequence = HadamardSequence(terms, terms=terms)
    assert sequence.mean_square == sum((s * u * u for u, s in shares.items()), Fraction(0))
    assert max(shares) == -min(shares) == sum(sorted(MAGNITUDES[terms])[-1:]) * terms // 2


def test_the_transform_is_hadamards() -> None:
    for terms in TERMS:
        sequence = HadamardSequence(2 * terms, terms=terms)
        numbers = np.random.default_rng(2).choice(sequence.table, (50, 2 * terms))
        found = sequence.transform(numbers)
        for lane in range(2 * terms):
            first = lane // terms * terms
            signs = [(-1) ** ((lane - first) & j).bit_count() for j in range(terms)]
            expected = numbers[:, first : first + terms] @ np.array(signs)
            assert np.array_equal(2 * found[:, lane], expected)


@pytest.mark.parametrize("lanes", [4, 12, 1024, 1036, 4096])
def test_words_are_what_is_documented(lanes: int) -> None:
    sequence = HadamardSequence(lanes, terms=4)
    found = sequence.groups(7, 3, 2)
    address = np.zeros((2, lanes), dtype=np.int64)
    for part, planes in enumerate(sequence.planes):
        places = range(1024 * part, min(1024 * part + 1024, lanes))
        generator = RademacherSequence(len(places))
        for bit, plane in enumerate(planes):
            number = 6 * part + bit
            flips = sum((number >> i & 1) << (31 - i) for i in range(7))
            assert plane.flips == flips
            states = generator.state_bits(7 ^ flips, 3, 2).astype(np.int64)
            for place, lane in enumerate(places):
                address[:, lane] += states[:, (2 * bit + 1) * place % states.shape[1]] << bit
    numbers = np.array(
        [[(-1) ** (a >> 5) * MAGNITUDES[4][a & 31] for a in group] for group in address.tolist()]
    )
    assert np.array_equal(found, sequence.transform(numbers))
    assert found.dtype == np.int16


def test_any_part_of_a_stream() -> None:
    sequence = HadamardSequence(24, terms=8)
    whole = sequence.groups(9, 0, 500)
    for start, count in ((0, 1), (1, 5), (499, 1), (100, 300), (5, 0)):
        assert np.array_equal(sequence.groups(9, start, count), whole[start : start + count])
    assert np.array_equal(sequence.groups(9, sequence.period + 3, 5), whole[3:8])
    with pytest.raises(ValueError, match=r"^lanes must be a multiple of terms = 8, not 12$"):
        HadamardSequence(12, terms=8)


def test_no_two_generators_are_alike() -> None:
    sequence = HadamardSequence(4096, terms=4)
    planes = [plane for planes in sequence.planes for plane in planes]
    flips = [plane.flips for plane in planes]
    assert len(set(flips)) == len(flips) == 24
    # Seeds near to each other never meet: they would have to differ in upper bits alone.
    assert all((one ^ other) % 2**25 == 0 for one in flips for other in flips)
    for plane in planes:
        assert len(set(plane.places.tolist())) == len(plane.places)
    states = {bytes(plane.generator.state_bits(5 ^ plane.flips, 0, 1)) for plane in planes}
    assert len(states) == 24


def sample(terms: int, *, lanes: int, seeds: int, groups: int) -> Words:
    sequence = HadamardSequence(lanes, terms=terms)
    return np.array([sequence.groups(seed, 0, groups) for seed in range(seeds)])


def chi_square(words: Words, shares: dict[int, Any]) -> float:
    """Return the probability that words of a distribution are as far from it as these."""
    counts = Counter(words.ravel().tolist())
    assert set(counts) <= set(shares)
    seen, wanted = [0.0], [0.0]
    for u, share in shares.items():
        expected = float(share) * words.size
        if expected >= 10:
            seen.append(counts[u])
            wanted.append(expected)
        else:
            seen[0] += counts[u]
            wanted[0] += expected
    return float(stats.chisquare(seen, wanted).pvalue)


@pytest.mark.parametrize("terms", TERMS)
def test_chi_square(terms: int) -> None:
    words = sample(terms, lanes=256, seeds=25, groups=100)
    # One lane a block: the words of a block are all even or all odd.
    assert chi_square(words[:, :, ::terms], clt.distribution(terms)) > 0.001
    assert chi_square(words[:, :, terms - 1 :: terms], clt.distribution(terms)) > 0.001
    parity = words.reshape(25, 100, -1, terms) & 1
    assert (parity == parity[..., :1]).all()
    # A bit of the tables' addresses is stuck.
    other = HadamardSequence(256, terms=terms)
    other.table = other.table[np.arange(64) & ~1]
    wrong = np.array([other.groups(seed, 0, 100) for seed in range(25)])[:, :, ::terms]
    assert chi_square(wrong, clt.distribution(terms)) < 0.001


@pytest.mark.parametrize("terms", TERMS)
def test_moments_of_lanes_of_a_block(terms: int) -> None:
    """Uncorrelated, and so are their squares; the fourth moment of four lanes is 0."""
    z = sample(terms, lanes=64, seeds=40, groups=400).reshape(-1, terms).astype(float) / 32
    error = 1 / math.sqrt(len(z))
    for one in range(terms):
        for other in range(one):
            assert abs((z[:, one] * z[:, other]).mean()) < 4.5 * error
            square = (z[:, one] ** 2 - 1) * (z[:, other] ** 2 - 1)
            assert abs(square.mean()) < 4.5 * 2 * error
    assert abs((z[:, 0] * z[:, 1] * z[:, 2] * z[:, 3]).mean()) < 4.5 * error


def test_a_table_with_kurtosis_would_relate_squares() -> None:
    sequence = HadamardSequence(64, terms=4)
    magnitudes = rounded(4, np.arange(32) + 0.5)
    sequence.table = np.concatenate([magnitudes, -magnitudes])
    words = np.array([sequence.groups(seed, 0, 400) for seed in range(40)])
    z = words.reshape(-1, 4).astype(float) / 32
    assert abs(((z[:, 0] ** 2 - 1) * (z[:, 1] ** 2 - 1)).mean()) > 0.1


def test_lanes_seeds_and_groups_are_unrelated() -> None:
    z = sample(4, lanes=64, seeds=600, groups=4).astype(float)
    flat = z.reshape(len(z), -1)
    matrix = np.corrcoef(flat.T)
    off = matrix[~np.eye(len(matrix), dtype=bool)] * math.sqrt(len(z))
    assert np.std(off) == pytest.approx(1, abs=0.02)
    assert np.abs(off).max() < 5.6
    values = [flat, flat**2 - (flat**2).mean()]
    for value in values:
        for lag in (1, 2, 3, 16):
            assert abs(np.corrcoef(value[lag:].ravel(), value[:-lag].ravel())[0, 1]) < 0.012
    stream = HadamardSequence(64, terms=4).groups(1, 0, 4000).astype(float)
    for value in (stream, np.abs(stream) - np.abs(stream).mean()):
        for lag in range(1, 9):
            assert abs(np.corrcoef(value[lag:].ravel(), value[:-lag].ravel())[0, 1]) < 0.01


def test_rank() -> None:
    z = sample(4, lanes=256, seeds=256, groups=1)[:, 0].astype(float)
    assert np.linalg.matrix_rank(z) == 256


def test_engine() -> None:
    engine = engine_of(load_preset("zcu102-gaussian-clt"))
    assert engine.leftover == pytest.approx(1, abs=2e-4)
    assert (engine.words, engine.bits, engine.fraction_bits) == (1024, 9, 5)
    assert engine.period == 2**1024 - 1
    config = load("zcu102-gaussian-clt", ["source.terms=8", "reuse.lanes=4096"])
    assert engine_of(config).words == 4096
    other = from_mapping(
        config.model_dump(exclude_none=True)
        | {"source": {"kind": "rademacher"}}
        | {"reuse": {"lanes": 8}}
    )
    with pytest.raises(ValueError, match=r"^rademacher is not gaussian-clt$"):
        clt.of(other)
