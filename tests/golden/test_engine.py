"""The engine: scaling, its index and commands, the leftover scale."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pezo_hw.config import Config, from_mapping, load_preset
from pezo_hw.golden import norm
from pezo_hw.golden.engine import Engine

ZCU102 = ["zcu102-onthefly", "zcu102-pregen", "zcu102-step"]


def configured(
    source: dict[str, Any], *, lanes: int = 12, stride: int = 1, **scaling: Any
) -> Config:
    return from_mapping(
        {
            "core": {"name": "dut", "kind": "perturbation", "board": "zcu102"},
            "source": source,
            "scaling": scaling,
            "reuse": {"lanes": lanes, "stride": stride},
        }
    )


def bank(bits: int = 6, generators: int = 4, **keys: Any) -> dict[str, Any]:
    return {"kind": "on-the-fly", "bits": bits, "generators": generators, "phases": "seeded"} | keys


def pool(bits: int = 6, size: int = 61, words: int = 4, **keys: Any) -> dict[str, Any]:
    source = {"kind": "pre-generated", "bits": bits, "pool_size": size, "words": words}
    return source | {"phases": "seeded"} | keys


SOURCES = [
    pytest.param(bank(), id="clock"),
    pytest.param(bank(rotation="period"), id="period"),
    pytest.param(pool(), id="pool"),
]


@pytest.mark.parametrize("preset", ZCU102)
def test_zcu102_presets_have_one_exponent(preset: str) -> None:
    engine = Engine(load_preset(preset))
    found = norm.exponents(engine.groups(0, engine.period), bits=engine.bits)
    # sqrt(3), rounded to 2
    assert set(found.tolist()) == {1}
    assert not engine.live
    assert engine.exponent_table.tolist() == [1]
    assert engine.min_exponent == engine.max_exponent == 1
    assert engine.exponents(engine.period - 2, 5).tolist() == [1] * 5
    assert engine.value_bits == 9


def test_other_seeds_are_not_all_level() -> None:
    """One exponent is the search's doing, not a matter of course."""
    live = []
    for seed in range(60):
        source = bank(8, 32, seed=seed)
        live.append(Engine(configured(source, lanes=32, mode="group")).live)
    assert any(live)
    auto = [
        Engine(configured(bank(8, 32, seed=seed, phases="auto"), lanes=32, mode="group")).live
        for seed in range(60)
    ]
    assert not any(auto)


@pytest.mark.parametrize("source", SOURCES)
def test_exponents_by_group(source: dict[str, Any]) -> None:
    engine = Engine(configured(source, mode="group"))
    assert engine.live
    count = engine.period + 7
    expected = norm.exponents(engine.groups(0, count), bits=6).tolist()
    assert engine.exponents(0, count).tolist() == expected
    for start in (engine.period - 3, 2**65 + 1):
        at = start % engine.period
        assert engine.exponents(start, 5).tolist() == expected[at : at + 5]
    assert engine.max_exponent == max(expected)
    assert engine.min_exponent == min(expected)
    # A table that is read one group late would be seen.
    assert expected[1:] != expected[:-1]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", ["group", "constant", "none"])
def test_scaled_words(source: dict[str, Any], mode: str) -> None:
    engine = Engine(configured(source, mode=mode))
    count = engine.period + 3
    groups = engine.groups(0, count).tolist()
    by_group = norm.exponents(engine.groups(0, engine.period), bits=6).tolist()
    counts = Counter(by_group)
    exponents = {
        "group": by_group + by_group[:3],
        "constant": [max(counts, key=lambda e: counts[e])] * count,
        "none": [0] * count,
    }[mode]
    assert engine.exponents(0, count).tolist() == exponents
    expected = [[u * 2**e for u in g] for g, e in zip(groups, exponents, strict=True)]
    assert engine.scaled(0, count).tolist() == expected
    lanes = [
        [group[(lane % 4 + lane // 4) % 4] for lane in range(engine.lane_count)]
        for group in expected
    ]
    assert engine.lanes(0, count).tolist() == lanes


@pytest.mark.parametrize("exponent", range(4))
@pytest.mark.parametrize("bits", [4, 13, 14, 15, 16])
def test_scaled_words_do_not_wrap(bits: int, exponent: int) -> None:
    source = bank(bits, 1)
    engine = Engine(configured(source, lanes=2, stride=0, mode="constant", exponent=exponent))
    largest = (2 ** (bits - 1) - 1) * 2**exponent
    values = engine.lanes(0, engine.period)
    assert values.max() == largest
    assert values.min() == -largest
    assert engine.value_bits == bits + exponent
    assert values.dtype == (np.int16 if bits + exponent <= 16 else np.int32)
    assert np.array_equal(values[:, 0], engine.groups(0, engine.period)[:, 0] * 2.0**exponent)


@pytest.mark.parametrize("mode", ["group", "constant", "none"])
@pytest.mark.parametrize(
    "source", [*SOURCES, bank(4, 1), bank(8, 5), pool(4, 2, 1), pool(8, 64, 32), pool(16, 97, 3)]
)
def test_leftover(source: dict[str, Any], mode: str) -> None:
    words = source.get("generators") or source["words"]
    stride = min(1, words - 1)
    engine = Engine(configured(source, lanes=2 * words, stride=stride, mode=mode))
    total, half = Fraction(0), 2 ** (engine.bits - 1)
    lanes = engine.lanes(0, engine.period)
    for value, count in Counter(lanes.ravel().tolist()).items():
        total += count * Fraction(value, half) ** 2
    mean = total / lanes.size
    assert float(mean) * engine.leftover**2 == pytest.approx(1, rel=1e-13)


@pytest.mark.parametrize("preset", ZCU102)
def test_leftover_of_the_presets_is_about_sqrt_3_over_2(preset: str) -> None:
    engine = Engine(load_preset(preset))
    assert engine.leftover == pytest.approx(3**0.5 / 2, rel=0.01)
    values = engine.scaled(0, engine.period) / 2.0 ** (engine.bits - 1) * engine.leftover
    assert np.mean(values**2) == pytest.approx(1, rel=1e-12)


Command = tuple[str, int]
COMMANDS = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.integers(0, 200)),
        st.tuples(st.just("start"), st.integers(0, 2**40)),
        st.tuples(st.sampled_from(["capture", "restore"]), st.just(0)),
    ),
    max_size=20,
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.sampled_from([bank(), bank(5, 3, rotation="period"), pool(), pool(6, 6, 6)]), COMMANDS)
def test_commands(source: dict[str, Any], commands: list[Command]) -> None:
    words = source.get("generators") or source["words"]
    engine = Engine(configured(source, lanes=words, mode="group"))
    period = engine.period
    whole = engine.scaled(0, period).tolist()
    index = captured = 0
    for command, number in commands:
        if command == "advance":
            expected = [whole[(index + k) % period] for k in range(number)]
            assert engine.advance(number).tolist() == expected
            index = (index + number) % period
        elif command == "start":
            engine.start(number)
            index = captured = number % period
        elif command == "capture":
            engine.capture()
            captured = index
        else:
            engine.restore()
            index = captured
        assert (engine.index, engine.captured) == (index, captured)


def test_every_sweep_of_a_step_sees_the_same_groups() -> None:
    engine = Engine(configured(bank(), mode="group"))
    engine.start(engine.period - 4)
    first = engine.advance(10)
    engine.restore()
    second = engine.advance(10)
    engine.capture()
    third = engine.advance(10)
    assert first.tolist() == second.tolist()
    assert third.tolist() != first.tolist()
    assert third.tolist() == engine.scaled(6, 10).tolist()


def test_what_the_hardware_needs_behind_the_source() -> None:
    level = Engine(load_preset("zcu102-onthefly"))
    in_memory = Engine(load_preset("zcu102-pregen"))
    live = Engine(configured(bank(), mode="group"))
    assert [engine.prefetched for engine in (level, in_memory, live)] == [False, True, True]
    assert [engine.live for engine in (level, in_memory, live)] == [False, False, True]


def test_results_may_be_written() -> None:
    engine = Engine(load_preset("tiny"))
    whole = engine.groups(0, engine.period).tolist()
    engine.groups(0, 5)[:] = 0
    engine.scaled(0, 5)[:] = 0
    engine.lanes(0, 5)[:] = 0
    assert engine.groups(0, engine.period).tolist() == whole
