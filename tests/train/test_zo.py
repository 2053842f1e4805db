"""Steps of the optimiser for arrays: what they do to weights, whatever the perturbations are."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import load, to_toml
from pezo_hw.errors import PezoError
from pezo_hw.train import sources
from pezo_hw.train.log import LogWriter, read
from pezo_hw.train.numpy import ZO

CORE = load("zcu102-onthefly", ["source.generators=8", "source.bits=6", "reuse.lanes=16"])
SLOPE = np.linspace(-1, 1, 50).astype(np.float32)


def _weights() -> Any:
    return np.linspace(-0.5, 0.7, 50).astype(np.float32)


def _z(source: sources.Source, start: int, length: int) -> Any:
    row = np.empty(length, dtype=np.float32)
    source.fill(row, start=start, first=0, scale=1.0)
    return row.astype(np.float64) * source.factor


@pytest.mark.parametrize("variant", ["in-place", "replay"])
@pytest.mark.parametrize("source", ["gaussian", CORE])
def test_a_step_on_a_line_is_the_one_of_the_formula(source: Any, variant: str) -> None:
    weights = _weights()
    optimiser = ZO(weights, source=source, lr=0.02, eps=1e-2, variant=variant, seed=1)
    z = _z(optimiser.stepper.source, optimiser.stepper.start, 50)
    gradient = SLOPE.astype(np.float64) @ z
    expected = _weights() - 0.02 * gradient * z
    mean = optimiser.step(lambda: float(SLOPE @ weights))
    assert mean == pytest.approx(float(SLOPE @ _weights()), abs=1e-5)
    assert np.allclose(weights, expected, atol=2e-5)
    assert not np.allclose(weights, 2 * _weights() - expected, atol=2e-3)  # added, not subtracted


def test_queries_are_averaged_and_each_has_its_own_direction() -> None:
    weights = _weights()
    optimiser = ZO(weights, source=CORE, lr=0.02, eps=1e-2, queries=3)
    stepper = optimiser.stepper
    expected = _weights().astype(np.float64)
    start = stepper.start
    for _ in range(3):
        z = _z(stepper.source, start, 50)
        expected -= 0.02 / 3 * (SLOPE @ z) * z
        start = stepper.source.after(start, 50)
    optimiser.step(lambda: float(SLOPE @ weights))
    assert stepper.start == start
    assert np.allclose(weights, expected, atol=2e-5)


def test_the_sign_rule_moves_every_weight_by_the_rate() -> None:
    weights = _weights()
    optimiser = ZO(weights, source=CORE, lr=0.25, eps=1e-2, rule="sign")
    z = _z(optimiser.stepper.source, 0, 50)
    optimiser.step(lambda: float(SLOPE @ weights))
    moved = _weights() - weights
    assert np.allclose(moved, 0.25 * np.sign(SLOPE @ z) * np.sign(z), atol=1e-5)


def test_replay_leaves_no_trace_where_the_update_is_nothing() -> None:
    weights = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    before = weights.copy()
    optimiser = ZO(weights, source="gaussian", lr=0.1, eps=1e-3, variant="replay")
    for _ in range(20):
        optimiser.step(lambda: 1.0)
    assert np.array_equal(weights, before)
    # In place, rounding leaves a trace, which is small.
    optimiser = ZO(weights, source="gaussian", lr=0.1, eps=1e-3)
    for _ in range(20):
        optimiser.step(lambda: 1.0)
    assert 0 < np.abs(weights - before).max() < 1e-5


@pytest.mark.parametrize("variant", ["in-place", "replay"])
@pytest.mark.parametrize("call", [1, 2])
def test_weights_come_back_when_a_loss_fails(variant: str, call: int) -> None:
    weights = _weights()
    optimiser = ZO(weights, source=CORE, lr=0.1, eps=1e-2, variant=variant)
    calls: list[int] = []

    def loss() -> float:
        calls.append(1)
        return float("nan") if len(calls) == call else 1.0

    with pytest.raises(PezoError, match=r"^a loss must be a finite number, not nan; use a smaller"):
        optimiser.step(loss)
    assert np.allclose(weights, _weights(), atol=1e-6)
    assert variant == "in-place" or weights.tobytes() == _weights().tobytes()
    assert optimiser.stepper.steps == 0 and optimiser.stepper.start == 0


def test_groups_have_their_own_settings_and_frozen_ones_do_not_move_z() -> None:
    def run(frozen: bool) -> tuple[Any, Any]:
        first, second = _weights(), _weights()
        optimiser = ZO(
            [
                {"params": first, "frozen": frozen},
                {"params": [second], "lr": 0.01, "strength": 1, "word_bits": 3},
            ],
            source=CORE,
            lr=0.5,
            eps=1e-2,
            rule="sign",
        )
        optimiser.step(lambda: float(second.sum() + 0 * first.sum()))
        return _weights() - first, _weights() - second

    still, moved = run(True)
    free, same = run(False)
    assert not still.any()
    # A word that is 0 moves nothing.
    assert np.allclose(np.abs(free[free != 0]), 0.5, atol=1e-5) and (free != 0).sum() > 40
    # Under `sign` the rate is the step, and the direction is that of the second group's words.
    assert np.allclose(np.abs(moved), 0.01, atol=1e-5)
    assert np.array_equal(np.sign(moved), np.sign(same))


def test_strength_scales_perturbation_and_update() -> None:
    sizes = []
    for strength in (0, 2):
        weights = np.zeros(50, dtype=np.float32)
        seen: list[Any] = []
        optimiser = ZO(weights, source=CORE, lr=0.1, eps=1e-2, strength=strength)

        def loss(weights: Any = weights, seen: list[Any] = seen) -> float:
            seen.append(weights.copy())
            return float(SLOPE @ weights)

        optimiser.step(loss)
        sizes.append((seen[0], weights))
    assert np.allclose(sizes[1][0], 4 * sizes[0][0], atol=1e-6)
    assert np.allclose(sizes[1][1], 16 * sizes[0][1], atol=1e-4)


def test_tensors_begin_with_a_group_in_the_layout_of_a_tensor_table() -> None:
    arrays = [np.zeros(5, dtype=np.float32), np.zeros(20, dtype=np.float32)]
    for layout, offsets, length in (("flat", [0, 5], 25), ("tensors", [0, 16], 36)):
        stepper = ZO(arrays, source=CORE, lr=0.1, eps=1e-2, layout=layout).stepper
        assert (stepper.offsets, stepper.length) == (offsets, length)


def test_repeated_runs_are_identical_and_a_state_goes_on() -> None:
    def run(steps: int, weights: Any, state: Any = None) -> Any:
        optimiser = ZO(weights, source=CORE, lr=0.01, eps=1e-2, queries=2)
        if state is not None:
            optimiser.load_state_dict(state)
        for _ in range(steps):
            optimiser.step(lambda: float(((weights - SLOPE) ** 2).sum()))
        return copy.deepcopy(optimiser.state_dict())

    once, twice, parts = _weights(), _weights(), _weights()
    run(6, once)
    run(6, twice)
    assert once.tobytes() == twice.tobytes()
    run(3, parts, run(3, parts))
    assert parts.tobytes() == once.tobytes()


@pytest.mark.parametrize("bits", [4, 8])
def test_zoqo_never_leaves_its_grid(bits: int) -> None:
    weights = _weights()
    optimiser = ZO(weights, source=CORE, lr=0.02, eps=0.05, rule="zoqo", bits=bits)
    stepper: Any = optimiser.stepper
    scale = 2 * float(np.float32(0.7)) / (2**bits - 1)
    assert stepper.scales == [pytest.approx(scale)]
    seen: list[Any] = []

    def loss() -> float:
        seen.append(weights / np.float32(stepper.scales[0]))
        return -float(np.abs(weights).sum())  # outwards, against the limits

    for _ in range(60):
        before = stepper.grid[0].copy()
        optimiser.step(loss)
        moved = np.abs(stepper.grid[0] - before).max()
        assert moved <= max(1, int(0.02 / scale))
        assert -(2 ** (bits - 1)) <= stepper.grid[0].min()
        assert stepper.grid[0].max() <= 2 ** (bits - 1) - 1
    grid = np.array(seen)
    assert np.allclose(grid, np.rint(grid), atol=1e-3)
    assert grid.min() >= -(2 ** (bits - 1)) - 1e-3 and grid.max() <= 2 ** (bits - 1) - 1 + 1e-3
    most = max(1, int(0.05 / scale))
    assert np.abs(np.rint(seen[0]) - np.rint(seen[1])).max() <= 2 * most


def test_zoqo_goes_down() -> None:
    weights = _weights()
    target = _weights()[::-1].copy()
    optimiser = ZO(weights, source="uniform", lr=1e-3, eps=0.02, rule="zoqo", bits=8)
    losses = [optimiser.step(lambda: float(((weights - target) ** 2).sum())) for _ in range(1500)]
    assert np.mean(losses[-50:]) < 0.4 * losses[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eps": 0.0}, "eps must be a positive number, not 0.0; give e.g. 1e-3$"),
        ({"eps": np.float32("nan")}, "eps must be a positive number, not nan; "),
        ({"eps": "0.01"}, "eps must be a positive number, not '0.01'; "),
        ({"eps": 10**400}, "eps must be a positive number, not 1000"),
        ({"lr": None}, "lr must be a finite number, 0 or more, not None; give e.g. 1e-4$"),
        ({"lr": "0.1"}, "lr must be a finite number, 0 or more, not '0.1'; "),
        (
            {"lr": np.ones(2)},
            "lr must be a finite number, 0 or more, not a value of type ndarray; ",
        ),
        ({"queries": 0}, "queries must be an integer from 1 to 65536, not 0; use 1$"),
        ({"queries": 2.5}, "queries must be an integer from 1 to 65536, not 2.5; use 2$"),
        ({"queries": True}, "queries must be an integer from 1 to 65536, not True; use 1$"),
        ({"seed": 1.5}, "seed must be an integer from 0 to 4294967295, not 1.5; use 2$"),
        ({"seed": -3}, "seed must be an integer from 0 to 4294967295, not -3; use 0$"),
        ({"seed": "a"}, "seed must be an integer from 0 to 4294967295, not 'a'; use 0$"),
        ({"rule": "adam"}, "rule must be sgd, sign or zoqo, not 'adam'; choose one of them$"),
        ({"rule": "zogo"}, "rule must be sgd, sign or zoqo, not 'zogo'; did you mean zoqo\\?$"),
        ({"rule": []}, "rule must be sgd, sign or zoqo, not a value of type list; "),
        ({"variant": "x"}, "variant must be in-place or replay, not 'x'; "),
        ({"layout": None}, "layout must be flat or tensors, not None; "),
        ({"fold": "no"}, "fold must be True or False, not 'no'; choose one of them$"),
        ({"frozen": 1}, "frozen must be True or False, not 1; choose one of them$"),
        ({"strength": 4}, "strength must be an integer from 0 to 3, not 4; use 3; perturb"),
        ({"strength": 0.5}, "strength must be an integer from 0 to 3, not 0.5; use 0; "),
        ({"word_bits": 7}, "word_bits must fit the source on-the-fly, which has words of 6 bits"),
        ({"word_bits": -1}, "word_bits must be an integer of at least 0, not -1; use 0; 0 takes"),
        ({"bits": 1}, "bits must be an integer from 2 to 16, not 1; use 2$"),
        ({"bits": 2.5}, "bits must be an integer from 2 to 16, not 2.5; use 2$"),
        ({"bits": float("inf")}, "bits must be an integer from 2 to 16, not inf; use 2$"),
        ({"source": None}, "source must be gaussian, .*, a preset or .*, not None; give e.g. "),
        ({"source": "gausian"}, "source must be .*, not 'gausian'; did you mean gaussian\\?$"),
        ({"source": "nothing"}, "CONFIG must be a preset or an existing file, not "),
        ({"frozen": True}, "an optimiser must have a parameter group that is not frozen, or no "),
        ({"rule": "zoqo", "queries": 2}, "queries must be 1 with zoqo, not 2"),
        ({"rule": "zoqo", "strength": 1}, "strength and word_bits must be 0 with zoqo"),
        ({"source": "gaussian", "word_bits": 2}, "word_bits must fit .* which has no words"),
    ],
)
def test_wrong_values_are_refused(change: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {"source": CORE, "lr": 0.1, "eps": 1e-2} | change
    with pytest.raises(PezoError, match=f"^{message}"):
        ZO(_weights(), **values)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([], "an optimiser must have at least one parameter"),
        ([_weights()[:0]], "an optimiser must have at least one parameter with weights"),
        (None, "params must be arrays of float32, not None; give a list$"),
        ("abc", "a parameter must be an array of float32, not 'a'; use numpy.float32"),
        ([np.zeros(3)], "a parameter must be an array of float32, not one of float64; use numpy"),
        ([3], "a parameter must be an array of float32, not 3; use numpy.float32"),
        ([_weights()[::2]], "a parameter must be C-contiguous and writable"),
        (
            [{"params": [_weights()], "momentum": 1}],
            "a parameter group must not have the key 'momentum'; the keys are params, lr, str",
        ),
        (
            {"params": _weights(), "word-bits": 1},
            "a .* the key 'word-bits'; did you mean word_bits",
        ),
        ({"params": _weights(), 3: 1}, "a parameter group must not have the key 3; the keys are"),
        ([{"lr": 0.1}], "a parameter group must have the key 'params', which is missing; add it$"),
        ([{"params": None}], "params must be arrays of float32, not None; give a list$"),
        ([{"params": _weights()}, _weights()], "a parameter group must be a dict, not a value of"),
        ([{"params": _weights(), "lr": None}], "lr must be a finite number, 0 or more, not None"),
    ],
)
def test_wrong_parameters_are_refused(params: Any, message: str) -> None:
    with pytest.raises(PezoError, match=f"^{message}"):
        ZO(params, source=CORE, lr=0.1, eps=1e-2)


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -0.1])
@pytest.mark.parametrize("rule", ["sgd", "zoqo"])
def test_a_rate_that_is_none_is_refused_before_a_step_writes(rule: str, rate: float) -> None:
    weights = _weights()
    with pytest.raises(PezoError, match=r"^lr must be a finite number, 0 or more, not "):
        ZO(weights, source=CORE, lr=rate, eps=1e-2, rule=rule)
    optimiser = ZO(weights, source=CORE, lr=0.1, eps=1e-2, rule=rule)
    before = weights.tobytes()
    optimiser.param_groups[0]["lr"] = rate
    with pytest.raises(PezoError, match=r"^lr must be a finite number, 0 or more, not "):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))
    assert weights.tobytes() == before


def test_zoqo_leaves_frozen_weights_alone() -> None:
    weights, frozen = _weights(), _weights()
    groups = [{"params": weights}, {"params": frozen, "frozen": True}]
    optimiser = ZO(groups, source=CORE, lr=0.1, eps=0.1, rule="zoqo", bits=4)
    optimiser.step(lambda: float(SLOPE @ weights))
    optimiser.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    assert frozen.tobytes() == _weights().tobytes()
    assert weights.tobytes() != _weights().tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 49}, r"^a state to load must have this optimiser's sizes: \[50\], not \[49\]$"),
        ({"source": "gaussian"}, r"^a state to load must have this optimiser's source$"),
        ({"rule": "sign"}, r"^a state to load must have this optimiser's rule: zoqo, not sign$"),
        ({"bits": 4}, r"^a state to load must have this optimiser's bits: 8, not 4$"),
        ({"drop": "start"}, r"^a state to load must have start, but has none$"),
        ({"drop": "grid"}, r"^a state to load must have grids of \[50\] weights$"),
        ({"drop": "scales"}, r"^a state to load must have a positive scale"),
        ({"drop": "param_groups"}, r"^a state to load must have param_groups, but has none$"),
        ({"drop": "lr"}, r"^a state to load must have lr, but has none$"),
        ({"drop": "state"}, r"^a state to load must have rule, but has none$"),
        ({"lr": -1.0}, r"^lr must be a finite number"),
    ],
)
def test_a_state_of_another_optimiser_changes_nothing(change: dict[str, Any], message: str) -> None:
    given = dict(change)
    drop, rate, count = given.pop("drop", None), given.pop("lr", 0.3), given.pop("count", 50)
    values: dict[str, Any] = {"source": CORE, "lr": 0.1, "eps": 0.1, "rule": "zoqo", "bits": 8}
    other = ZO(_weights()[:count].copy(), **values | given)
    other.step(lambda: 0.0)
    state = copy.deepcopy(other.state_dict())
    state["param_groups"][0]["lr"] = rate
    for part in (state, state["state"], *state["param_groups"]):
        part.pop(drop, None)
    weights = _weights()
    optimiser = ZO(weights, **values)
    before, was = weights.tobytes(), copy.deepcopy(optimiser.state_dict())
    with pytest.raises(PezoError, match=message):
        optimiser.load_state_dict(state)
    assert weights.tobytes() == before and repr(optimiser.state_dict()) == repr(was)


@pytest.mark.parametrize(
    ("closure", "message"),
    [
        (None, "a step must get a function that returns the loss, not None; write e.g. step"),
        (lambda: None, "a loss must be one number, not None; return the mean of the batch$"),
        (lambda: np.ones(2), "a loss must be one number, not a value of type ndarray; return"),
        (lambda: "1.0 nats", "a loss must be one number, not '1.0 nats'; return the mean"),
    ],
)
@pytest.mark.parametrize("rule", ["sgd", "zoqo"])
def test_what_is_no_loss_is_refused_and_the_weights_come_back(
    rule: str, closure: Any, message: str
) -> None:
    weights = _weights()
    optimiser = ZO(weights, source=CORE, lr=0.1, eps=1e-2, rule=rule)
    before = weights.copy()
    with pytest.raises(PezoError, match=f"^{message}"):
        optimiser.step(closure)
    assert np.allclose(weights, before, atol=1e-6) and optimiser.stepper.steps == 0


def test_numbers_of_numpy_are_taken_as_such() -> None:
    weights, same = _weights(), _weights()
    values: dict[str, Any] = {"lr": 0.25, "eps": 0.5, "queries": 2, "seed": 5, "strength": 1}
    theirs: dict[str, Any] = {
        "lr": np.float32(0.25),
        "eps": np.array(0.5),
        "queries": np.int64(2),
        "seed": np.uint8(5),
        "strength": np.int8(1),
        "frozen": np.False_,
    }
    optimiser = ZO(weights, source=CORE, **values)
    other = ZO(same, source=CORE, **theirs)
    for one, array in ((optimiser, weights), (other, same)):
        one.step(lambda array=array: float(SLOPE @ array))  # type: ignore[misc]
    assert weights.tobytes() == same.tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strength": 2}, "strength of a parameter group must stay 0 once the optimiser is made, "),
        ({"frozen": True}, "frozen of a parameter group must stay False once the .* become True; "),
        ({"lr": "much"}, "lr must be a finite number, 0 or more, not 'much'"),
    ],
)
def test_what_may_not_change_between_steps_is_refused(change: Any, message: str) -> None:
    weights = _weights()
    optimiser = ZO(weights, source=CORE, lr=0.1, eps=1e-2)
    optimiser.param_groups[0].update(change)
    with pytest.raises(PezoError, match=f"^{message}"):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))
    del optimiser.param_groups[0]["lr"]
    with pytest.raises(PezoError, match=r"^a parameter group must keep its lr, but has none"):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))
    optimiser.param_groups.append({"params": [_weights()], "lr": 0.1})
    with pytest.raises(PezoError, match=r"^an optimiser must keep its 1 parameter groups, not "):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))
    assert weights.tobytes() == _weights().tobytes()


def test_frozen_groups_alone_are_refused_from_a_state_too() -> None:
    optimiser = ZO(_weights(), source=CORE, lr=0.1, eps=1e-2)
    state = copy.deepcopy(optimiser.state_dict())
    state["param_groups"][0]["frozen"] = True
    with pytest.raises(PezoError, match=r"^an optimiser must have a parameter group that is not"):
        optimiser.load_state_dict(state)


def test_a_file_with_a_name_like_a_source_is_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("uniform.toml").write_text(to_toml(CORE), encoding="utf-8")
    for source in ("uniform.toml", Path("uniform.toml")):
        assert ZO(_weights(), source=source, lr=0.1, eps=1e-2).stepper.source.name == "on-the-fly"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scales", 1.5, "a state to load must have a positive scale for each tensor's grid"),
        ("scales", ["a"], "the scale of a grid must be a positive number, not 'a'; "),
        ("scales", [np.ones(2)], "the scale of a grid must be a positive number, not a value of"),
        ("grid", 3, r"a state to load must have grids of \[50\] weights"),
        ("grid", ["a"], r"a state to load must have grids of \[50\] weights"),
        ("grid", [np.full(50, 128)], "a grid of a state to load must be in -128 to 127"),
        ("sizes", [np.ones(2)], "a state to load must have this optimiser's sizes"),
        ("start", 1.5, "start of a state to load must be 0 or more, not 1.5"),
    ],
)
def test_a_damaged_state_is_one_line(name: str, value: Any, message: str) -> None:
    optimiser = ZO(_weights(), source=CORE, lr=0.1, eps=0.1, rule="zoqo")
    state = copy.deepcopy(optimiser.state_dict())
    state["state"][name] = value
    with pytest.raises(PezoError, match=f"^{message}"):
        optimiser.load_state_dict(state)
    others: list[Any] = [None, 3, [], {"param_groups": [3]}]
    for other in others:
        with pytest.raises(PezoError, match=r"^a state to load must have "):
            optimiser.load_state_dict(other)


def test_arrays_that_share_memory_are_refused() -> None:
    row, message = _weights(), r"^parameters must not share memory, but 0.0 and 1.0 \(group.place"
    for first, second in ((row, row), (row[:30], row[20:]), (row[20:30], row)):
        groups = [{"params": [first]}, {"params": [second]}]
        with pytest.raises(PezoError, match=message):
            ZO(groups, source=CORE, lr=0.1, eps=1e-2)
        with pytest.raises(PezoError, match=r"^parameters must not share memory, but 0.0 and 0.1 "):
            ZO([first, second], source=CORE, lr=0.1, eps=1e-2)
    assert row.tobytes() == _weights().tobytes()
    ZO([row[25:], row[:25], row[:0]], source=CORE, lr=0.1, eps=1e-2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": "zcu102-wide"}, "a source for zoqo must have uniform words, .* not wide-unif"),
        ({"source": "zcu102-rademacher"}, "a source for zoqo must have uniform words, .* not rad"),
        ({"put": float("inf")}, "weights for zoqo must be finite and fit a grid of float32, but "),
        ({"put": float("nan")}, "weights for zoqo must be finite .* parameter 1 is nan; mend it"),
        ({"put": 3.4e38, "bits": 2}, "weights for zoqo must be finite and fit a grid of float32"),
        ({"put": 1e-45, "all": True}, "weights for zoqo must be finite and fit a grid of float32"),
        (
            {"eps": 1e300},
            r"eps must be at most 2\^30 times the step .* parameter 0, not 1e\+300",
        ),
        ({"lr": 1e300}, r"lr must be at most 2\^30 times the step .* of parameter 0, not 1e\+300"),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_zoqo_cannot_use_is_refused_before_a_weight_moves(
    change: dict[str, Any], message: str
) -> None:
    given = dict(change)
    put, whole = given.pop("put", None), given.pop("all", False)
    first, second = _weights(), _weights()
    if put is not None:
        second[slice(None) if whole else 3] = put
    before = first.tobytes(), second.tobytes()
    values: dict[str, Any] = {"source": CORE, "lr": 0.1, "eps": 0.1, "rule": "zoqo"} | given
    with pytest.raises(PezoError, match=f"^{message}"):
        ZO([first, second], **values)
    assert (first.tobytes(), second.tobytes()) == before
    if put is not None:  # frozen weights have no grid to fit
        ZO([{"params": first}, {"params": second, "frozen": True}], **values)
        assert second.tobytes() == before[1]


def test_a_rate_that_grows_too_large_for_a_grid_is_refused_before_a_step_writes() -> None:
    weights = _weights()
    optimiser = ZO(weights, source=CORE, lr=0.1, eps=0.1, rule="zoqo")
    before = weights.tobytes()
    optimiser.param_groups[0]["lr"] = 1e300
    with pytest.raises(PezoError, match=r"^lr must be at most 2\^30 times the step"):
        optimiser.step(lambda: pytest.fail("a loss was asked for"))
    assert weights.tobytes() == before


@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("variant", ["in-place", "replay"])
@pytest.mark.parametrize("rule", ["sgd", "sign"])
@pytest.mark.parametrize("case", ["losses", "rate"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_an_update_that_is_not_finite_is_refused_before_it_is_written(
    case: str, rule: str, variant: str, queries: int, tmp_path: Path
) -> None:
    weights = _weights()
    rate = 1e300 if case == "rate" else 0.1 if rule == "sgd" else 1e37
    values: dict[str, Any] = {"lr": rate, "rule": rule, "variant": variant, "queries": queries}
    optimiser = ZO(weights, source=CORE, eps=1e-3, **values)
    losses = iter((1e38, -1e38, 1e38, -1e38) if case == "losses" else (2.0, 1.0, 1.0, 2.0))
    with (
        LogWriter(tmp_path / "a.log", optimiser.stepper, names=["a"]),
        pytest.raises(PezoError, match=r"^an update must be finite in float32, but lr times"),
    ):
        optimiser.step(lambda: next(losses))
    assert np.allclose(weights, _weights(), atol=1e-6)
    assert variant == "in-place" or weights.tobytes() == _weights().tobytes()
    assert optimiser.stepper.steps == 0
    assert read(tmp_path / "a.log").scalars == []
    optimiser = ZO(weights, source=CORE, lr=0.1, eps=1e-3)
    optimiser.step(lambda: 1e30 * float(weights[0] > _weights()[0]))
    assert np.isfinite(weights).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_an_eps_that_leaves_no_finite_weight_is_refused() -> None:
    weights = _weights()
    for rule in ("sgd", "sign"):
        with pytest.raises(PezoError, match=r"^eps must be so small that perturbed weights are "):
            ZO(weights, source=CORE, lr=0.1, eps=1e300, rule=rule)
    assert weights.tobytes() == _weights().tobytes()
