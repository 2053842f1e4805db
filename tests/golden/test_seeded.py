"""The engine of the seeded sources: its interface, its seeds, its scale, and what uses it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pezo_hw.config import Config, from_mapping, load, load_preset
from pezo_hw.errors import PezoError
from pezo_hw.golden.engine import Engine, engine_of, sequence_of
from pezo_hw.golden.seeded import SeededEngine
from pezo_hw.golden.step import StepCore
from pezo_hw.golden.vectors import vectors

WIDE = {"kind": "wide-uniform", "words": 4, "bits": 6}
SIGNS = {"kind": "rademacher"}


def configured(source: dict[str, Any], *, lanes: int = 8, **scaling: Any) -> Config:
    return from_mapping(
        {
            "core": {"name": "dut", "kind": "perturbation", "board": "zcu102"},
            "source": source,
            "scaling": scaling,
            "reuse": {"lanes": lanes},
        }
    )


def seeded(source: dict[str, Any], **keys: Any) -> SeededEngine:
    engine = engine_of(configured(source, **keys))
    assert isinstance(engine, SeededEngine)
    return engine


@pytest.mark.parametrize("preset", ["tiny", "zcu102-pregen", "zcu102-wide", "zcu102-rademacher"])
def test_every_engine_has_the_same_interface(preset: str) -> None:
    config = load_preset(preset)
    engine = engine_of(config)
    assert isinstance(engine, SeededEngine) == (preset in ("zcu102-wide", "zcu102-rademacher"))
    known = {name for name in dir(Engine(load_preset("tiny"))) if not name.startswith("_")}
    assert known <= set(dir(engine))
    assert engine.fraction_bits == config.source.fraction_bits
    assert engine.scale == 2.0**-engine.fraction_bits
    assert 2 ** (engine.bits - 1) - 1 == config.source.largest_word
    assert np.abs(engine.groups(0, 200)).max() <= config.source.largest_word
    assert engine.value_bits == engine.bits + engine.max_exponent
    assert engine.lanes(3, 5).shape == (5, config.reuse.lanes)


def test_a_seeded_source_has_no_sequence_of_an_index() -> None:
    with pytest.raises(ValueError, match=r"^rademacher is a seeded source; use engine_of$"):
        sequence_of(configured(SIGNS))


@pytest.mark.parametrize(
    ("source", "scaling", "exponent"),
    [
        (WIDE, {}, 0),
        (WIDE, {"mode": "none"}, 0),
        # sqrt(3) is nearest to 2 as a power of two.
        (WIDE, {"mode": "constant"}, 1),
        ({**WIDE, "bits": 16}, {"mode": "constant"}, 1),
        (WIDE, {"mode": "constant", "exponent": 0}, 0),
        ({**WIDE, "bits": 16}, {"mode": "constant", "exponent": 3}, 3),
        (SIGNS, {}, 0),
    ],
)
def test_scale(source: dict[str, Any], scaling: dict[str, Any], exponent: int) -> None:
    engine = seeded(source, **scaling)
    assert engine.min_exponent == engine.max_exponent == exponent
    assert engine.exponents(7, 3).tolist() == [exponent] * 3
    assert not engine.live
    u = engine.groups(0, 5000)
    z = engine.scaled(0, 5000)
    assert np.array_equal(z, u.astype(np.int64) << exponent)
    assert z.dtype == (np.int16 if engine.value_bits <= 16 else np.int32)
    mean = np.mean((z * engine.scale * engine.leftover) ** 2)
    assert mean == pytest.approx(1, rel=0.05)
    exact = engine.sequence.mean_square * 4**exponent / Fraction(4) ** engine.fraction_bits
    assert float(exact) * engine.leftover**2 == pytest.approx(1, rel=1e-12)


def test_the_scale_of_the_presets() -> None:
    wide, signs = (engine_of(load_preset(f"zcu102-{name}")) for name in ("wide", "rademacher"))
    assert (wide.max_exponent, wide.value_bits) == (1, 10)
    assert wide.leftover == pytest.approx(3**0.5 / 2, rel=1e-4)
    assert (signs.max_exponent, signs.value_bits, signs.leftover) == (0, 2, 1.0)


def test_rademacher_needs_nothing_of_the_host() -> None:
    engine = seeded(SIGNS)
    assert (engine.scale, engine.leftover, engine.value_bits) == (1.0, 1.0, 2)


def test_reuse() -> None:
    engine = seeded(WIDE, lanes=12)
    groups, lanes = engine.scaled(0, 50), engine.lanes(0, 50)
    for lane in range(12):
        assert np.array_equal(lanes[:, lane], groups[:, (lane + lane // 4) % 4])
    engine = seeded(SIGNS, lanes=12)
    assert np.array_equal(engine.lanes(0, 50), engine.groups(0, 50))


Command = tuple[str, int]
COMMANDS = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.integers(0, 30)),
        st.tuples(st.just("start"), st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**40 + 5])),
        st.tuples(st.sampled_from(["capture", "restore"]), st.just(0)),
    ),
    max_size=20,
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.sampled_from([WIDE, SIGNS]), COMMANDS)
def test_commands(source: dict[str, Any], commands: list[Command]) -> None:
    engine = seeded({**source, "seed": 2**32 - 2})
    sequence = seeded(source).sequence
    register = seed = 2**32 - 2
    index = 0
    for command, number in commands:
        if command == "advance":
            expected = sequence.groups(seed, index, number)
            assert np.array_equal(engine.advance(number), expected)
            index += number
        elif command == "start":
            engine.start(number)
            register = seed = number % 2**32
            index = 0
        elif command == "capture":
            engine.capture()
            register = (register + 1) % 2**32
        else:
            engine.restore()
            seed, index = register, 0
        assert (engine.seed, engine.index, engine.captured) == (seed, index, register)
    assert engine.reset_index == engine.reset_seed == 2**32 - 2


def step_config(source: dict[str, Any], *, lanes: int) -> Config:
    return from_mapping(
        {
            "core": {"name": "dut", "kind": "zo-step", "board": "zcu102"},
            "source": source,
            "reuse": {"lanes": lanes},
            "weights": {"bits": 16, "frac": 13},
            "zo": {"epsilon_log2": -7},
        }
    )


@pytest.mark.parametrize(("source", "lanes"), [(WIDE, 8), (SIGNS, 100)])
def test_every_sweep_of_a_step_sees_the_same_numbers(source: dict[str, Any], lanes: int) -> None:
    core = StepCore(step_config({**source, "seed": 9}, lanes=lanes))
    weights = np.arange(-500, 500)
    plus = core.sweep(weights, k=1).weights
    minus = core.sweep(plus, k=-2, capture=True).weights
    # The capture of the sweep before leads to other numbers.
    other = core.sweep(weights, k=1).weights
    assert np.array_equal(plus - weights, weights - minus)
    assert not np.array_equal(other, plus)
    core.start(9)
    assert np.array_equal(core.sweep(weights, k=1).weights, plus)
    # 2^-7 in LSBs of 2^-13.
    size = np.abs(plus - weights)
    assert size.max() == 63 if source is WIDE else np.all(size == 64)


@pytest.mark.parametrize("preset", ["zcu102-wide", "zcu102-rademacher"])
def test_vectors(preset: str) -> None:
    config = load(preset, ["reuse.lanes=64"])
    engine = engine_of(config)
    for seed in (0, 1, 2**32 - 1):
        found = vectors(config, start=seed, groups=9)
        engine.start(seed)
        assert np.array_equal(found["words"], engine.groups(0, 9))
        assert np.array_equal(found["lanes"], engine.lanes(0, 9))
        assert found["exponents"].tolist() == [engine.max_exponent] * 9
    with pytest.raises(
        PezoError,
        match=rf'^--start must be a seed for source\.kind = "{config.source.kind}", 0 to '
        r"4294967295, not 4294967301; seeds have 32 bits, so use 5$",
    ):
        vectors(config, start=2**32 + 5, groups=1)
