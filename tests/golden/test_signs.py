"""Signs of reused words: what they are, and that they make lanes different."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pezo_hw.analysis import analyse_config
from pezo_hw.config import Config, distinct_starts, load
from pezo_hw.config.starts import config_period
from pezo_hw.golden import lfsr, reuse, signs
from pezo_hw.golden.engine import Engine, engine_of
from pezo_hw.golden.seeded import SeededEngine
from pezo_hw.golden.wide import RademacherSequence, UniformSequence

SIGNED = "reuse.signs=true"
POOL = ["source.pool_size=97", "source.words=8", "reuse.lanes=40", "reuse.stride=3", SIGNED]


@pytest.mark.parametrize("blocks", [1, 5, 64, 65, 128])
def test_a_sign_is_a_bit_of_a_generator(blocks: int) -> None:
    made = signs.CyclicSigns(blocks, seed=7)
    assert made.state_bits == (64 if blocks <= 64 else 128) and 0 < made.state <= made.period
    state, expected = made.state, []
    for _ in range(200):
        expected.append([-1 if state >> block & 1 else 1 for block in range(blocks)])
        state = lfsr.step(made.matrix, state)
    assert np.array_equal(made.values(0, 200), expected)
    for start in (1, 63, 64, 199):
        assert np.array_equal(made.values(start, 1), expected[start : start + 1])


def test_any_group_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = signs.CyclicSigns(9, seed=1)
    far = 10**18 + 12345
    assert np.array_equal(made.values(far, 30)[11:], made.values(far + 11, 19))
    assert np.array_equal(made.values(made.period - 3, 10)[3:], made.values(0, 7))
    assert made.values(0, 0).shape == (0, 9)
    whole = made.values(5, 100)
    monkeypatch.setattr(signs, "_CHUNK", 7)
    assert np.array_equal(made.values(5, 100), whole)


def test_the_seed_chooses_the_signs() -> None:
    one, other = (signs.CyclicSigns(32, seed=seed).values(0, 500) for seed in (1, 2))
    assert 0.4 < (one == other).mean() < 0.6


def spelled_out(engine: Engine, start: int, count: int) -> list[list[int]]:
    """Lane m W + j has word (j + m stride) mod W times the sign of block m."""
    assert engine.signs is not None
    words, result = engine.words, []
    for k in range(start, start + count):
        group = engine.scaled(k, 1)[0].tolist()
        sign = engine.signs.values(k, 1)[0].tolist()
        result.append(
            [
                sign[lane // words] * group[(lane % words + lane // words * engine.stride) % words]
                for lane in range(engine.lane_count)
            ]
        )
    return result


@pytest.mark.parametrize(
    ("preset", "overrides"),
    [
        ("tiny", [SIGNED]),
        ("tiny", [SIGNED, "source.phases=seeded", "source.bits=5", "reuse.lanes=9"]),
        ("zcu102-pregen", POOL),
    ],
)
def test_lanes_of_a_bank_or_pool(preset: str, overrides: list[str]) -> None:
    config = load(preset, overrides)
    engine = engine_of(config)
    assert isinstance(engine, Engine)
    plain = engine_of(load(preset, [*overrides, "reuse.signs=false"]))
    words = plain.period
    assert engine.period == math.lcm(words, 2**64 - 1) == config_period(config)
    assert engine.index_bits == plain.index_bits
    assert np.array_equal(engine.lanes(words - 2, 9), spelled_out(engine, words - 2, 9))
    # The words come again, the signs do not.
    later = engine.lanes(words, 20)
    assert np.array_equal(abs(later), abs(plain.lanes(0, 20)))
    assert not np.array_equal(later, engine.lanes(0, 20))
    assert later.dtype == plain.lanes(0, 1).dtype


def test_the_engine_walks_on() -> None:
    engine = engine_of(load("tiny", [SIGNED]))
    engine.advance(20)
    engine.capture()
    engine.advance(7)
    engine.restore()
    assert engine.index == 20
    engine.start(engine.period + 3)
    assert engine.index == 3


def test_lanes_of_a_seeded_source() -> None:
    config = load("zcu102-wide", [SIGNED, "source.words=8", "reuse.lanes=24", "reuse.stride=1"])
    engine = engine_of(config)
    assert isinstance(engine, SeededEngine)
    plain = engine_of(load("zcu102-wide", ["source.words=8", "reuse.lanes=24"]))
    for seed in (1, 0xFFFF_FFFF):
        engine.start(seed)
        plain.start(seed)
        negative = RademacherSequence(64).groups(seed ^ signs.FLIPS, 2, 9)[:, :3]
        assert np.array_equal(engine.lanes(2, 9), plain.lanes(2, 9) * np.repeat(negative, 8, 1))
    assert engine.period == 2**64 - 1 == plain.period


def test_signs_are_no_bits_of_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 64 bits of words the two generators are the same, but for their seeds."""

    def closest() -> float:
        sign = signs.SeededSigns(64).values(5, 0, 400)
        bits = 1 - 2 * UniformSequence(8, bits=8).state_bits(5, 0, 400).astype(float)
        return float(abs(sign.T @ bits / 400).max())

    assert closest() < 0.35
    monkeypatch.setattr(signs, "FLIPS", 0)
    assert closest() == 1


def figures(*overrides: str) -> dict[str, Any]:
    config = load("zcu102-onthefly", ["reuse.lanes=256", *overrides])
    return analyse_config(config, parameters=600, steps=128).to_json()


def test_a_reused_word_is_another_direction() -> None:
    """What `reuse.signs` is for: the rank of successive directions, and no promise broken."""
    plain, signed = figures(), figures(SIGNED)
    assert (plain["rank"], signed["rank"]) == (96, 128)
    assert plain["subspace"]["participation"] < 60 < 100 < signed["subspace"]["participation"]
    assert plain["directions"] == 2720
    assert signed["directions"] == distinct_starts(3, period=signed["period"]) > 10**19
    assert plain["correlation"]["distinct_lanes"] == 32
    assert signed["correlation"]["distinct_lanes"] == 256
    assert signed["sample"] == {"groups": 8160, "whole_period": True}
    verdicts = {check["name"]: check["verdict"] for check in signed["checks"]}
    assert set(verdicts.values()) == {"pass"}, verdicts
    # Squares are still shared, so that norms vary as they do without signs.
    own = (signed["subspace"][key] for key in ("own_words", "own_magnitudes"))
    assert next(own) == 600 and next(own) == plain["subspace"]["own_words"]
    assert plain["subspace"]["own_magnitudes"] == pytest.approx(plain["subspace"]["own_words"])


def test_signs_of_blocks_are_uncorrelated() -> None:
    lanes = engine_of(load("zcu102-onthefly", ["reuse.lanes=128", SIGNED])).lanes(0, 8160)
    blocks = lanes.reshape(8160, 4, 32).astype(float)
    # With stride 1, word j of block 0 is word j - 1 of block 1.
    together = (blocks[:, 0, 5] * blocks[:, 1, 4]).mean() / (blocks[:, 0, 5] ** 2).mean()
    assert abs(together) < 0.07
    assert np.array_equal(abs(blocks[:, 0, 5]), abs(blocks[:, 1, 4]))


def test_a_word_is_negated_as_a_whole() -> None:
    values = np.arange(-6, 6, dtype=np.int16).reshape(2, 6)
    found = reuse.signed(values, np.array([[1, -1], [-1, -1]], dtype=np.int8))
    assert found.tolist() == [[-6, -5, -4, 3, 2, 1], [0, -1, -2, -3, -4, -5]]
    assert found.dtype == np.int16


def test_few_starts_are_no_longer_few() -> None:
    from pezo_hw.config import warnings

    def starts(config: Config) -> list[str]:
        return [line for line in warnings(config) if "start positions" in line]

    few = ["source.pool_size=31", "source.words=8", "reuse.lanes=16", "core.parameters=100"]
    assert starts(load("zcu102-pregen", few))
    assert not starts(load("zcu102-pregen", [*few, SIGNED]))
