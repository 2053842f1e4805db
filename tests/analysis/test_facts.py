"""Published and measured facts about such sources come out of the analysis."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pezo_hw import config
from pezo_hw.analysis import (
    Analysis,
    analyse,
    analyse_config,
    correlation,
    expectation_of,
    norms,
)
from pezo_hw.analysis.directions import period_of, starts_visited
from pezo_hw.golden import lfsr, matrices
from pezo_hw.golden.engine import engine_of
from tests.analysis.sources import Recorded, expected, one_shift

ONE_WORD = ["source.words=1", "reuse.lanes=1", "reuse.stride=0"]


def verdict(found: Analysis, name: str) -> str:
    return next(check.verdict for check in found.checks if check.name == name)


def test_a_pool_of_4095_gives_819_directions() -> None:
    checked = config.load("zcu102-pregen", ONE_WORD)
    found = analyse_config(checked, parameters=2410, steps=830)
    assert found.starts == len({step * 2410 % 4095 for step in range(10**4)}) == 819
    assert found.directions is not None
    assert (found.directions.distinct, found.directions.rank) == (819, 819)
    assert verdict(found, "directions") == verdict(found, "rank") == "weak"
    assert found.to_json()["directions"] == found.to_json()["rank"] == 819


@pytest.mark.parametrize("size", [4093, 8191])
def test_prime_pools_visit_all_starts(size: int) -> None:
    source = Recorded(one_shift())
    for groups in (2410, 2048, 4096, 10**6):
        assert starts_visited(source, groups, period=size) == size


def test_a_pool_ties_weights() -> None:
    """Training lives in at most N dimensions, whatever it visits."""
    found = analyse_config(
        config.load("zcu102-pregen", [*ONE_WORD, "source.pool_size=31"]), parameters=100, steps=64
    )
    assert found.starts == 31
    assert found.directions is not None and found.directions.rank <= 31


@pytest.mark.parametrize("rotation", ["clock", "period"])
def test_a_bank_has_at_most_n_times_its_states_starts(rotation: str) -> None:
    for generators, bits in ((3, 4), (7, 4), (8, 5), (32, 8)):
        checked = config.load(
            "tiny",
            [
                f"source.rotation={rotation}",
                f"source.generators={generators}",
                f"source.bits={bits}",
                f"reuse.lanes={2 * generators}",
            ],
        )
        engine = engine_of(checked)
        found = period_of(engine, expectation_of(checked, engine))
        states = 2**bits - 1
        least = math.lcm(generators, states) if rotation == "clock" else generators * states
        assert found.least == engine.period == least <= generators * states


@pytest.mark.parametrize(("generators", "bits"), [(31, 12), (32, 8), (32, 12)])
def test_the_exponent_is_1_in_nearly_all_groups(generators: int, bits: int) -> None:
    shares = []
    for seed in range(6 if bits == 8 else 1):
        checked = config.load(
            "zcu102-onthefly",
            [
                f"source.generators={generators}",
                f"source.bits={bits}",
                f"source.seed={seed}",
                f"reuse.lanes={generators}",
                "source.phases=seeded",
            ],
        )
        engine = engine_of(checked)
        # Norms depend on k mod 2^b - 1 only.
        found = norms.measure(engine, engine.groups(0, 2**bits - 1))
        shares.append(found.exponents.get(1, 0.0))
        assert found.wrong_exponents == 0
    assert np.mean(shares) == pytest.approx(0.998, abs=0.0025)


def test_so_it_is_for_independent_words() -> None:
    words = np.random.default_rng(1).uniform(-1, 1, size=(100_000, 32))
    ratio = math.sqrt(2) * math.exp(math.lgamma(16.5) - math.lgamma(16))
    exponents = np.floor(np.log2(ratio / np.linalg.norm(words, axis=1)) + 0.5)
    assert np.mean(exponents == 1) == pytest.approx(0.998, abs=0.001)


@pytest.mark.parametrize("preset", ["zcu102-onthefly", "zcu102-pregen"])
def test_sqrt_3_leaves_over_0_87(preset: str) -> None:
    found = analyse_config(config.load(preset))
    assert found.norms.leftover == pytest.approx(3**0.5 / 2, abs=0.01)
    assert verdict(found, "leftover") == verdict(found, "scale") == "pass"


def test_without_scaling_sqrt_3_is_missing() -> None:
    found = analyse_config(config.load("zcu102-onthefly", ["scaling.mode=none"]))
    assert found.norms.leftover == pytest.approx(3**0.5, abs=0.01)
    assert verdict(found, "scale") == verdict(found, "group-norm") == "weak"


@pytest.mark.parametrize("bits", [8, 12])
def test_one_shift_a_word_correlates_by_a_half(bits: int) -> None:
    source = Recorded(one_shift(bits=bits), bits=bits)
    found = correlation.measure(source, expected(source))
    assert found.mean[0] == pytest.approx(0.5, abs=0.01)
    assert found.mean[1] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("bits", range(6, 13))
def test_the_matrices_do_not_correlate_over_8_words(bits: int) -> None:
    states = lfsr.signed(lfsr.sequence(matrices.MATRICES[bits]), bits)
    source = Recorded(states[:, None], bits=bits)
    found = correlation.measure(source, expected(source))
    # Words of different bits only: what is left is the one state that never comes.
    assert found.largest[:8].max() < 4 / len(states)


def test_the_period_rotation_keeps_a_generator_in_its_place() -> None:
    """So that its own correlations show up at each lag, not only at multiples of n."""
    for rotation, largest in (("clock", 0.1779), ("period", 0.3178)):
        checked = config.load("zcu102-onthefly", [f"source.rotation={rotation}"])
        engine = engine_of(checked)
        found = correlation.measure(engine, expectation_of(checked, engine))
        assert found.in_time is not None
        assert found.in_time.value == pytest.approx(largest, abs=1e-4)
        assert correlation.verdicts(found, engine)[0].verdict == (
            "pass" if rotation == "clock" else "weak"
        )


@pytest.mark.parametrize("preset", config.preset_names())
def test_presets_keep_their_promises(preset: str) -> None:
    # A generator a lane: fewer of them show the same.
    fewer = ["reuse.lanes=128"] if "gaussian" in preset else []
    found = analyse_config(config.load(preset, fewer), parameters=2410, steps=64)
    assert not found.failed
    if preset in ("zcu102-onthefly", "zcu102-pregen", "zcu102-step"):
        weak = {check.name for check in found.checks if check.verdict == "weak"}
        # 1024 lanes share 32 words: 3 groups are 96 numbers.
        assert weak <= {"rank", "participation"}


def test_every_kind_of_source_has_an_expectation() -> None:
    from pezo_hw.analysis.source import EXPECTATIONS

    kinds = {config.load(preset).source.kind for preset in config.preset_names()}
    assert kinds <= set(EXPECTATIONS)


def test_a_fresh_sign_for_each_lane_spans_everything() -> None:
    found = analyse_config(config.load("zcu102-rademacher"), parameters=512, steps=512)
    assert found.starts == 2**32
    assert found.directions is not None
    assert (found.directions.distinct, found.directions.rank) == (512, 512)
    by_name = {check.name: check.verdict for check in found.checks}
    assert by_name.pop("square-correlation") == "skipped"
    assert set(by_name.values()) == {"pass"}, by_name


def test_nothing_is_said_about_directions_without_parameters() -> None:
    source = Recorded(one_shift())
    found = analyse(source, expectation=expected(source))
    skipped = [check.name for check in found.checks if check.verdict == "skipped"]
    assert skipped == ["directions", "norm", "rank", "participation"]
    assert found.to_json()["rank"] is None
