"""Kinds of sweeps, tables of tensors and ZOQO against one weight after the other."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pezo_hw.config import Config, from_mapping
from pezo_hw.errors import PezoError
from pezo_hw.golden.schedules import KINDS, OFFERED, USED, outputs_of
from pezo_hw.golden.step import StepCore
from pezo_hw.golden.tensors import Settings, Tensor
from tests.golden.plain import Plain

SOURCES: list[dict[str, Any]] = [
    {"kind": "on-the-fly", "bits": 6, "generators": 3, "phases": "seeded"},
    {"kind": "pre-generated", "bits": 5, "pool_size": 37, "words": 4, "phases": "seeded"},
    {"kind": "on-the-fly", "bits": 8, "generators": 2},
    {"kind": "wide-uniform", "bits": 7, "words": 3},
]


def configured(
    schedule: str, source: dict[str, Any], *, levels: int = 0, bits: int = 8, tensors: int = 0
) -> Config:
    words = source.get("generators") or source["words"]
    dsp = {"epsilon_log2": -3, "coefficient_bits": 12, "coefficient_shift": 7}
    mode = "none" if levels or source["kind"] == "wide-uniform" else "group"
    return from_mapping(
        {
            "core": {"name": "dut", "kind": "zo-step", "board": "zcu102"},
            "source": source,
            "scaling": {"mode": mode},
            "reuse": {"lanes": words * 2},
            "weights": {"bits": bits, "frac": 5},
            "zo": {"schedule": schedule}
            | ({"update": "zoqo", "levels": levels} if levels else dsp),
            "control": {"tensors": tensors},
        }
    )


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    return Tensor(
        draw(st.integers(1, 4)),
        strength=draw(st.integers(0, 3)),
        word_bits=draw(st.integers(0, 15)),
        frozen=draw(st.integers(0, 3)) == 0,
        coefficient_exponent=draw(st.integers(0, 7)),
    )


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_every_kind_of_sweep(data: st.DataObject) -> None:
    schedule = data.draw(st.sampled_from(KINDS))
    levels = data.draw(st.sampled_from((0, 0, 1, 5)))
    bits = data.draw(st.sampled_from((8, 16)))
    table = tuple(data.draw(st.lists(tensors(), max_size=6)))
    source = data.draw(st.sampled_from(SOURCES))
    config = configured(schedule, source, levels=levels, bits=bits, tensors=6)
    core = StepCore(config)
    lanes = config.reuse.lanes
    beats = sum(tensor.beats for tensor in table) or data.draw(st.integers(1, 4))
    count = beats * lanes - data.draw(st.integers(0, lanes - 1))
    top = 2 ** (bits - 1)
    weights = np.random.default_rng(count).integers(-top, top, count)
    kind = data.draw(st.sampled_from(OFFERED[schedule]))
    k = data.draw(st.integers(-2, 2))
    limit = 2 ** (core.arithmetic.coefficient_bits - 1)
    coefficient = data.draw(st.integers(-limit, limit - 1))

    # Engine B a pass and some ahead, as behind the first step of a training run.
    core.start(0)
    if schedule == "fused" and source["kind"] != "wide-uniform":
        core.sweep(np.zeros(5 * lanes, dtype=int), kind="inline-both", capture_b=True)
    ahead = 5 if schedule == "fused" and source["kind"] != "wide-uniform" else 0
    result = core.sweep(
        weights, kind=kind, k=k, coefficient=coefficient, dither_seed=9, table=table
    )
    plain = Plain(
        config,
        first_a=0,
        first_b=ahead,
        coefficient=coefficient,
        dither_seed=9,
        table=table,
    )
    plain_engine: Any = plain._engine
    plain_engine.start(0)
    expected = plain.sweep(weights.tolist(), kind=kind, k=k)
    assert tuple(expected) == USED[kind]
    for name, values in expected.items():
        assert getattr(result, name).tolist() == values, name
    for name in {"plus", "minus"} - set(expected):
        assert getattr(result, name) is None
    if "weights" not in expected:
        assert np.array_equal(result.weights, weights)
    assert result.saturations == plain.saturations
    assert result.beats == beats


def test_a_fused_run_is_the_in_place_run() -> None:
    """Both schedules train the same weights, for the same directions and coefficients."""
    source = SOURCES[0]
    fused, apart = (StepCore(configured(s, source, bits=16)) for s in ("fused", "in-place"))
    weights = np.random.default_rng(3).integers(-9000, 9000, 100)
    coefficients = [5, -300, 1000, 77]
    stored = weights
    for core in (fused, apart):
        core.start(11)

    first = fused.sweep(stored, kind="inline-both", capture_b=True)
    probes = [(first.plus, first.minus)]
    lagging = first.weights
    for number, coefficient in enumerate(coefficients):
        result = fused.sweep(
            lagging,
            kind="fused",
            coefficient=coefficient,
            dither_seed=number,
            capture=True,
            capture_b=True,
        )
        lagging = result.weights
        probes.append((result.plus, result.minus))

    for number, coefficient in enumerate(coefficients):
        plus = apart.sweep(stored, k=1)
        minus = apart.sweep(plus.weights, k=-2)
        assert not plus.saturations and not minus.saturations
        for apart_from, probe in zip((plus, minus), probes[number], strict=True):
            assert probe is not None and np.array_equal(apart_from.weights, probe)
        update = apart.sweep(
            minus.weights, k=1, coefficient=coefficient, dither_seed=number, capture=True
        )
        stored = update.weights
    assert np.array_equal(stored, lagging)
    assert not np.array_equal(stored, weights)


def test_an_engine_b_that_does_not_lead_is_seen() -> None:
    core = StepCore(configured("fused", SOURCES[0], bits=16))
    weights = np.zeros(100, dtype=int)
    ahead = core.sweep(weights, kind="inline-both", capture_b=True)
    found = core.sweep(weights, kind="fused", k=1)
    assert ahead.plus is not None and found.plus is not None
    # A repeats what B gave first, and B goes on.
    assert np.array_equal(found.weights, ahead.plus)
    assert not np.array_equal(found.plus - found.weights, ahead.plus)


def test_what_a_core_does_not_have() -> None:
    core = StepCore(configured("inline", SOURCES[0], tensors=1))
    zeros = np.zeros(3, dtype=int)
    with pytest.raises(ValueError, match=r"^kind must be one of in-place, inline for the schedule"):
        core.sweep(zeros, kind="inline-both")
    with pytest.raises(ValueError, match=r"^capture_b needs the schedule fused, not inline$"):
        core.sweep(zeros, capture_b=True)
    with pytest.raises(ValueError, match=r"^the table holds 1 tensors, not 2$"):
        core.sweep(zeros, table=(Tensor(1), Tensor(1)))
    with pytest.raises(
        ValueError, match=r"^the tensors of the table must add up to 1 beats, not 2"
    ):
        core.sweep(zeros, table=(Tensor(2),))


def test_outputs() -> None:
    assert [outputs_of(schedule) for schedule in KINDS] == [
        ("weights",), ("weights", "plus"), ("weights", "plus", "minus"),
        ("weights", "plus", "minus"),
    ]  # fmt: skip


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(tensors(), st.integers(0, 2**32 - 1))
def test_the_words_of_the_table(tensor: Tensor, noise: int) -> None:
    assert Tensor.of(tensor.beats, tensor.settings) == tensor
    # Strength, word bits, frozen, exponent: nothing else counts.
    assert Tensor.of(tensor.beats, tensor.settings | noise & ~0x71F3) == tensor


@pytest.mark.parametrize(
    ("name", "value", "most"),
    [("beats", 0, 2**32 - 1), ("beats", "a", 2**32 - 1), ("beats", 1.5, 2**32 - 1),
     ("beats", True, 2**32 - 1), ("strength", 4, 3), ("strength", None, 3),
     ("word_bits", 16, 15), ("coefficient_exponent", 8, 7), ("coefficient_exponent", 0.5, 7)],
)  # fmt: skip
def test_settings_that_the_table_cannot_hold(name: str, value: Any, most: int) -> None:
    given: dict[str, Any] = {"beats": 1, name: value}
    wanted = rf"^{name} of a tensor must be an integer from \d to {most}, not {value!r}; use \d+$"
    with pytest.raises(PezoError, match=wanted):
        Tensor(**given)


def test_a_tensor_is_frozen_or_not() -> None:
    odd: Any = 1
    with pytest.raises(PezoError, match=r"^frozen of a tensor must be True or False, not 1; "):
        Tensor(1, frozen=odd)


def test_numbers_of_numpy_become_plain() -> None:
    numbers: Any = np.arange(8)
    tensor = Tensor(
        numbers[3],
        strength=numbers[2],
        word_bits=numbers[7],
        frozen=numbers[3] > 2,
        coefficient_exponent=numbers[1],
    )
    # What a saved state holds.
    assert json.loads(json.dumps(dataclasses.asdict(tensor))) == {
        "beats": 3,
        "strength": 2,
        "word_bits": 7,
        "frozen": True,
        "coefficient_exponent": 1,
    }


@pytest.mark.parametrize("bits", range(1, 8))
def test_the_words_stay_centred(bits: int) -> None:
    """With fewer bits the values are odd multiples of one number, all equally often."""
    words = np.arange(-127, 128)[None, :]
    used = Settings.of((Tensor(1, word_bits=bits),), beats=1)
    found = used.words(words, bits=8, exponents=np.array([0]))
    step = 2 ** (8 - bits)
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [step * i + step // 2 for i in range(-(2**bits) // 2, 2**bits // 2)]
    # The word -128 does not exist, which is all that moves the mean.
    assert counts.tolist() == [step - 1] + [step] * (2**bits - 1)
    # Just cutting bits off would move it by half a step.
    assert abs(found.mean()) <= 0.5 < step / 2 - (words // step * step).mean() - 0.5
