"""The step's sweeps against one weight after the other, in plain integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pezo_hw.config import Config, load_preset
from pezo_hw.golden import dither, step
from pezo_hw.golden.engine import Engine
from tests.golden.steps import configured, nearest

Weights = NDArray[np.int64]


def one_by_one(
    config: Config,
    weights: list[int],
    *,
    start: int,
    k: int,
    coefficient: int,
    dither_seed: int,
    sign: int = -1,
) -> tuple[list[int], int]:
    """Sweep in plain integers and fractions; `sign` other than -1 is a fault."""
    assert config.weights is not None and config.zo is not None
    assert config.zo.epsilon_log2 is not None and config.zo.coefficient_shift is not None
    engine = Engine(config)
    words, lanes, stride = config.words, config.reuse.lanes, config.reuse.stride
    bits, shift = config.source.bits, config.zo.coefficient_shift
    scale = Fraction(2) ** (config.weights.frac + config.zo.epsilon_log2 - (bits - 1))
    beats = -(-len(weights) // lanes)
    groups = engine.scaled(start, beats).tolist()
    dithers = dither.dither(dither_seed, beats, words=words, shift=shift).tolist()
    top = 2 ** (config.weights.bits - 1) - 1
    changed, saturations = [], 0
    for i, theta in enumerate(weights):
        beat, lane = divmod(i, lanes)
        j = (lane % words + lane // words * stride) % words
        x = groups[beat][j]
        p = nearest(x * scale)
        d = (x * coefficient + dithers[beat][j]) // 2**shift if coefficient else 0
        wanted = theta + k * p + sign * d
        saturations += not -top - 1 <= wanted <= top
        changed.append(min(max(wanted, -top - 1), top))
    return changed, saturations


@st.composite
def steps(draw: st.DrawFn) -> tuple[Config, dict[str, Any]]:
    bits = draw(st.integers(4, 10))
    words = draw(st.integers(1, 9))
    source: dict[str, Any] = {"kind": "on-the-fly", "bits": bits, "generators": words}
    if draw(st.booleans()):
        size = draw(st.integers(words + 1, 90))
        source = {"kind": "pre-generated", "bits": bits, "pool_size": size, "words": words}
    weight_bits = draw(st.sampled_from([8, 16]))
    frac = draw(st.integers(2, weight_bits - 1))
    # 2 epsilon 2^3 must fit into a weight.
    least = -frac
    most = min(0, weight_bits - 1 - frac - 4)
    config = configured(
        source | {"phases": "seeded", "seed": draw(st.integers(0, 99))},
        weights=(weight_bits, frac),
        epsilon_log2=draw(st.integers(least, max(least, most))),
        coefficient=(draw(st.integers(8, 25)), draw(st.integers(1, 24))),
        blocks=draw(st.integers(1, 4)),
        stride=draw(st.integers(0, words - 1)),
        mode=draw(st.sampled_from(["group", "none", "constant"])),
    )
    assert config.zo is not None
    limit = 2 ** (config.zo.coefficient_bits - 1)
    return config, {
        "start": draw(st.integers(0, 10_000)),
        "k": draw(st.integers(-2, 2)),
        "coefficient": draw(st.one_of(st.just(0), st.integers(-limit, limit - 1))),
        "dither_seed": draw(st.integers(0, 2**32 - 1)),
    }


def weights_for(config: Config, count: int) -> Weights:
    assert config.weights is not None
    top = config.weights.largest
    return np.random.default_rng(count).integers(-top - 1, top + 1, size=count)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(steps(), st.integers(1, 150))
def test_sweeps(drawn: tuple[Config, dict[str, Any]], count: int) -> None:
    config, sweep = drawn
    weights = weights_for(config, count)
    core = step.StepCore(config)
    core.start(sweep["start"])
    keys = {key: sweep[key] for key in ("k", "coefficient", "dither_seed")}
    result = core.sweep(weights, **keys)
    expected, saturations = one_by_one(config, weights.tolist(), **sweep)
    assert result.weights.tolist() == expected
    assert result.saturations == saturations
    assert result.beats == -(-count // config.reuse.lanes)


def test_an_update_that_is_added_is_seen() -> None:
    config = configured()
    weights = weights_for(config, 50)
    sweep: dict[str, Any] = {"k": 0, "coefficient": 30_000, "dither_seed": 3}
    found = step.StepCore(config).sweep(weights, **sweep).weights.tolist()
    assert found == one_by_one(config, weights.tolist(), start=0, **sweep)[0]
    assert found != one_by_one(config, weights.tolist(), start=0, sign=1, **sweep)[0]
    # Another draw of the dither is seen as well.
    other = sweep | {"dither_seed": 4}
    assert found != one_by_one(config, weights.tolist(), start=0, **other)[0]


def test_the_update_goes_against_the_gradient() -> None:
    """theta - C z: with C > 0 a weight moves against its perturbation."""
    core = step.StepCore(configured())
    weights = np.zeros(400, dtype=np.int64)
    p = core.sweep(weights, k=1).weights
    d = core.sweep(weights, k=0, coefficient=40_000).weights
    assert (np.sign(d) * np.sign(p) <= 0).all()
    assert np.corrcoef(p, d)[0, 1] < -0.99


def small(config: Config, count: int) -> Weights:
    """Weights that no perturbation takes to the limit."""
    return weights_for(config, count) // 4


@pytest.mark.parametrize("preset", ["zcu102-step", None])
@pytest.mark.parametrize("count", [1, 31, 32, 33, 1000])
def test_the_sweeps_of_a_step_restore_the_weights(preset: str | None, count: int) -> None:
    config = load_preset(preset) if preset else configured(weights=(8, 7), epsilon_log2=-3)
    core = step.StepCore(config)
    weights = small(config, count)
    for at in (0, 17, core.engine.period - 1):
        core.start(at)
        current, changed = weights, []
        for k in (1, -2, 1):
            result = core.sweep(current, k=k)
            assert result.saturations == 0
            current = result.weights
            changed.append(current)
        assert np.array_equal(current, weights)
        # Up and down by the same perturbation, which is not zero.
        assert np.array_equal(changed[0] - weights, weights - changed[1])
        if count > 1:
            assert (changed[0] != weights).any()


def test_a_draw_more_in_one_sweep_is_seen() -> None:
    config = load_preset("zcu102-step")
    core = step.StepCore(config)
    weights = small(config, 1000)
    up = core.sweep(weights, k=1).weights
    core.engine.captured += 1
    assert not np.array_equal(core.sweep(up, k=-1).weights, weights)


def test_saturation_cannot_be_undone_and_is_counted() -> None:
    config = configured(weights=(8, 7), epsilon_log2=-3)
    core = step.StepCore(config)
    weights = np.full(600, 127)
    p = core.sweep(np.zeros(600, dtype=np.int64), k=1).weights
    result = core.sweep(weights, k=1)
    assert result.saturations == int((p > 0).sum()) > 0
    assert not np.array_equal(core.sweep(result.weights, k=-1).weights, weights)
    low = core.sweep(np.full(600, -128), k=1)
    assert low.saturations == int((p < 0).sum()) > 0


def test_narrow_weights_do_not_wrap() -> None:
    config = configured(weights=(8, 7), epsilon_log2=-3)
    core = step.StepCore(config)
    wide = np.array([127, -128] * 300)
    expected = core.sweep(wide, k=2, coefficient=131071)
    found = core.sweep(wide.astype(np.int8), k=2, coefficient=131071)
    assert found.weights.tolist() == expected.weights.tolist()
    assert found.saturations == expected.saturations > 0
    assert found.weights.min() >= -128 and found.weights.max() <= 127


def test_update_and_restore_in_one_sweep() -> None:
    """`restore_update` is the same as a restoring sweep and then an update."""
    core = step.StepCore(configured())
    weights = small(configured(), 333)
    down = core.sweep(weights, k=-1).weights
    restored = core.sweep(down, k=1).weights
    apart = core.sweep(restored, k=0, coefficient=-9999, dither_seed=8).weights
    at_once = core.sweep(down, k=1, coefficient=-9999, dither_seed=8).weights
    assert np.array_equal(at_once, apart)


def test_sweeps_begin_where_the_last_step_ended() -> None:
    config = configured()
    core, engine = step.StepCore(config), Engine(config)
    zeros = np.zeros(5 * config.reuse.lanes - 3, dtype=np.int64)
    start = core.engine.period - 2
    core.start(start)
    seen = []
    for capture in (False, False, True, False, True, True):
        lanes = core.sweep(zeros, k=1, capture=capture).weights
        seen.append(lanes)
        expected = core.arithmetic.perturbation(engine.lanes(start, 5)).ravel()
        # What the last beat did not use is dropped: the next step begins with a whole group.
        assert np.array_equal(lanes, expected[:-3])
        if capture:
            start += 5
    assert np.array_equal(seen[0], seen[2])
    assert not np.array_equal(seen[2], seen[3])


def test_every_length_uses_whole_groups() -> None:
    config = configured(blocks=3)
    core = step.StepCore(config)
    zeros = np.zeros(60, dtype=np.int64)
    whole = core.sweep(zeros, k=1).weights
    for count in range(1, 61):
        result = core.sweep(zeros[:count], k=1)
        assert np.array_equal(result.weights, whole[:count])
        assert result.beats == math.ceil(count / 12)


@pytest.mark.parametrize("k", [-3, 3, 100])
def test_a_multiple_that_no_port_holds(k: int) -> None:
    core = step.StepCore(configured())
    with pytest.raises(ValueError, match=rf"^k must be within -2 \.\. 2, not {k}$"):
        core.sweep(np.zeros(3, dtype=np.int64), k=k)


def test_a_coefficient_that_no_port_holds() -> None:
    core = step.StepCore(configured())
    with pytest.raises(ValueError, match=r"^coefficient must be within .*, not 131072$"):
        core.sweep(np.zeros(3, dtype=np.int64), k=0, coefficient=131072)


def test_the_mean_of_many_updates_is_the_exact_one() -> None:
    """A step of far less than one LSB is made often enough to count."""
    core = step.StepCore(load_preset("zcu102-step"))
    count, sweeps, coefficient = 32 * 40, 200, 23
    x = core.engine.lanes(0, 40).ravel()
    exact = x * coefficient / 2**16
    assert abs(exact).max() < 0.1
    total = np.zeros(count)
    for seed in range(sweeps):
        result = core.sweep(
            np.zeros(count, dtype=np.int64), k=0, coefficient=coefficient, dither_seed=seed
        )
        total -= result.weights
    rest = exact - np.floor(exact)
    deviation = np.sqrt((rest * (1 - rest)).sum() / sweeps)
    assert abs((total / sweeps - exact).sum()) < 5 * deviation
    # Rounding without dither would leave every weight where it is.
    assert np.abs(np.rint(exact)).max() == 0
    assert total.any()
