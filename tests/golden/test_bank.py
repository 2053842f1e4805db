"""The bank against registers that are clocked one by one, and its period by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.golden import bank, lfsr, norm
from pezo_hw.golden.matrices import MATRICES


@cache
def clocked(matrix: lfsr.Matrix, state: int) -> int:
    """Next bit j is the parity of the state bits that row j taps."""
    return sum(((row & state).bit_count() % 2) << j for j, row in enumerate(matrix))


def registers(
    matrix: lfsr.Matrix, states: tuple[int, ...], rotation: str, *, ahead: int = 1
) -> Iterator[list[int]]:
    """Clock the generators and hand out the groups, like the hardware.

    `ahead` is the place that a turn takes its words from; anything but 1 is a fault.
    """
    half = 2 ** (len(matrix) - 1)
    ring = list(states)
    for clock in itertools.count(1):
        yield [state - half for state in ring]
        ring = [clocked(matrix, state) for state in ring]
        if rotation == "clock" or clock % (2 ** len(matrix) - 1) == 0:
            ring = ring[ahead % len(ring) :] + ring[: ahead % len(ring)]


def simulated(model: bank.Bank, count: int, *, ahead: int = 1) -> NDArray[np.int64]:
    stream = registers(model.matrix, model.states, model.rotation, ahead=ahead)
    return np.array(list(itertools.islice(stream, count)))


def seeded(bits: int, generators: int, rotation: str, *, seed: int = 1) -> bank.Bank:
    phases = bank.seeded_phases(generators, bits=bits, seed=seed)
    return bank.Bank(MATRICES[bits], phases, rotation)


def shortest_period(groups: NDArray[np.integer]) -> int:
    """Return the least shift after which all groups come again, from two periods or more."""
    for shift in range(1, len(groups)):
        if np.array_equal(groups[shift], groups[0]) and np.array_equal(
            groups[shift:], groups[:-shift]
        ):
            return shift
    raise AssertionError("the groups do not repeat")


SMALL = [
    *((4, n) for n in range(1, 16)),
    *((5, n) for n in (1, 2, 3, 16, 31)),
    *((6, n) for n in (1, 2, 3, 7, 9, 21, 32, 63)),
]


@pytest.mark.parametrize("rotation", ["clock", "period"])
@pytest.mark.parametrize(("bits", "generators"), SMALL)
def test_groups_and_their_period(bits: int, generators: int, rotation: str) -> None:
    model = seeded(bits, generators, rotation)
    states = 2**bits - 1
    period = math.lcm(generators, states) if rotation == "clock" else generators * states
    expected = simulated(model, 2 * period)
    assert model.period == period
    assert model.words == generators
    assert model.groups(0, 2 * period).tolist() == expected.tolist()
    assert shortest_period(expected) == period
    # The mean is 0, also at each position that sees every word of every generator.
    assert expected[:period].sum() == 0
    if rotation == "period" or math.gcd(generators, states) == 1:
        assert not expected[:period].sum(axis=0).any()


@pytest.mark.parametrize("rotation", ["clock", "period"])
@pytest.mark.parametrize("ahead", [0, 2, -1])
def test_a_wrong_turn_is_seen(rotation: str, ahead: int) -> None:
    model = seeded(5, 4, rotation)
    wrong = simulated(model, 2 * model.period, ahead=ahead)
    assert model.groups(0, 2 * model.period).tolist() != wrong.tolist()


@pytest.mark.parametrize(("bits", "generators"), [(4, 3), (4, 5), (5, 31), (6, 9), (8, 5)])
def test_auto_phases_do_not_repeat_early(bits: int, generators: int) -> None:
    for seed in range(20):
        phases = bank.auto_phases(generators, matrix=MATRICES[bits], seed=seed, level=False)
        model = bank.Bank(MATRICES[bits], phases)
        assert shortest_period(model.groups(0, 2 * model.period)) == model.period


def test_early_repeats_are_recognised() -> None:
    """All phases of three generators of 4 bits, by brute force."""
    early = 0
    for others in itertools.permutations(range(1, 15), 2):
        phases = np.array([0, *others])
        groups = bank.Bank(MATRICES[4], tuple(phases.tolist())).groups(0, 30)
        repeats = shortest_period(groups) < 15
        assert bank.repeats_early(phases, period=15) == repeats, phases
        early += repeats
    assert early == 1
    assert bank.repeats_early(np.array([0, 5, 10]), period=15)
    # Equal steps all around the circle: the same group for ever.
    assert bank.repeats_early(-np.arange(15) % 15, period=15)
    assert not bank.repeats_early(np.array([3]), period=15)


@pytest.mark.parametrize("rotation", ["clock", "period"])
@pytest.mark.parametrize("bits", range(4, 17))
def test_any_start(bits: int, rotation: str) -> None:
    """Also where the whole period is too long to be kept."""
    generators = min(2**bits - 1, 64 if bits in (8, 16) else 5)
    model = seeded(bits, generators, rotation)
    half, states, period = 2 ** (bits - 1), 2**bits - 1, model.period
    sequence = [1]
    while len(sequence) < states:
        sequence.append(clocked(model.matrix, sequence[-1]))
    assert clocked(model.matrix, sequence[-1]) == 1
    for start in (0, states - 3, period - 2, period, 3 * period + 7, 2**66 + 5, -1):
        turns = [
            k if rotation == "clock" else k % period // states for k in range(start, start + 9)
        ]
        expected = [
            [
                sequence[(model.phases[(i + turn) % generators] + k) % states] - half
                for i in range(generators)
            ]
            for turn, k in zip(turns, range(start, start + 9), strict=True)
        ]
        assert model.groups(start, 9).tolist() == expected, start
    assert model.groups(5, 0).shape == (0, generators)


@pytest.mark.parametrize("rotation", ["clock", "period"])
def test_kept_and_computed_groups_are_the_same(
    rotation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = seeded(7, 6, rotation)
    monkeypatch.setattr(bank, "_CACHE_WORDS", 0)
    computed = seeded(7, 6, rotation)
    for start, count in ((0, 1), (100, 700), (126, 2), (500, 1600)):
        monkeypatch.setattr(bank, "_CACHE_WORDS", 1 << 22)
        expected = kept.groups(start, count)
        monkeypatch.setattr(bank, "_CACHE_WORDS", 0)
        assert np.array_equal(computed.groups(start, count), expected)
    assert "_whole" in vars(kept)
    assert "_whole" not in vars(computed)


@pytest.mark.parametrize("rotation", ["clock", "period"])
@pytest.mark.parametrize(("bits", "generators"), [(4, 3), (5, 7), (8, 32)])
def test_squares(bits: int, generators: int, rotation: str) -> None:
    model = seeded(bits, generators, rotation)
    groups = model.groups(0, model.period).astype(object)
    expected = [sum(u * u for u in group) for group in groups.tolist()]
    index = model.norm_index(np.arange(model.period))
    assert model.squares[index].tolist() == expected


@pytest.mark.parametrize("bits", range(4, 17))
def test_phases_are_distinct_and_apart(bits: int) -> None:
    states = 2**bits - 1
    for generators in (1, 2, 3, 15, 32, 64):
        if generators > states:
            continue
        phases = bank.auto_phases(generators, matrix=MATRICES[bits], seed=3, level=bits < 9)
        for chosen in (phases, bank.seeded_phases(generators, bits=bits, seed=3)):
            assert len(chosen) == generators
            assert len(set(chosen)) == generators
            assert all(0 <= phase < states for phase in chosen)
        circle = sorted(phases)
        gaps = [b - a for a, b in itertools.pairwise([*circle, circle[0] + states])]
        assert min(gaps) >= max(1, states // (4 * generators))
        states_0 = bank.Bank(MATRICES[bits], phases).states
        assert len(set(states_0)) == generators
        assert all(1 <= state <= states for state in states_0)


def test_phases_without_a_gap_are_seen() -> None:
    """What the test above asks for is not a matter of course."""
    gaps = []
    for seed in range(20):
        circle = sorted(bank.seeded_phases(32, bits=12, seed=seed))
        gaps.append(min(b - a for a, b in itertools.pairwise(circle)))
    assert min(gaps) < 4095 // 128


def test_phases_follow_the_seed() -> None:
    def auto(seed: int) -> tuple[int, ...]:
        return bank.auto_phases(5, matrix=MATRICES[8], seed=seed, level=False)

    for seeds in (range(8), range(2**32 - 4, 2**32)):
        assert len({auto(seed) for seed in seeds}) == len(seeds)
        assert len({bank.seeded_phases(5, bits=8, seed=seed) for seed in seeds}) == len(seeds)
    assert auto(3) == auto(3)


@pytest.mark.parametrize(("bits", "generators"), [(8, 32), (8, 64), (10, 48), (12, 16)])
def test_level_phases_have_one_exponent(bits: int, generators: int) -> None:
    matrix = MATRICES[bits]
    phases = bank.auto_phases(generators, matrix=matrix, seed=1, level=True)
    groups = bank.Bank(matrix, phases).groups(0, 2**bits - 1)
    found = norm.exponents(groups, bits=bits)
    commonest = np.bincount(found).max() / len(found)
    first = bank.auto_phases(generators, matrix=matrix, seed=1, level=False)
    others = norm.exponents(bank.Bank(matrix, first).groups(0, 2**bits - 1), bits=bits)
    assert commonest >= np.bincount(others).max() / len(others)
    if generators >= 32:
        assert commonest == 1


def test_the_best_draw_wins_where_none_is_level() -> None:
    # One word alone always has all exponents that its size allows.
    phases = bank.auto_phases(2, matrix=MATRICES[4], seed=1, level=True)
    covered = []
    for a, b in itertools.permutations(range(15), 2):
        found = norm.exponents(bank.Bank(MATRICES[4], (a, b)).groups(0, 15), bits=4)
        covered.append(int(np.bincount(found).max()))
    found = norm.exponents(bank.Bank(MATRICES[4], phases).groups(0, 15), bits=4)
    assert max(covered) < 15
    # 256 draws of 210 pairs, of which turned ones are equal: the best is among them.
    assert np.bincount(found).max() == max(covered)
