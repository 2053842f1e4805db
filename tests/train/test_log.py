"""Logs of a few bytes a step, and the weights that come of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import load
from pezo_hw.errors import PezoError
from pezo_hw.train import log as logs
from pezo_hw.train.numpy import ZO, names_of
from pezo_hw.train.paths import Request, check
from pezo_hw.train.replay import replay

CORE = load("zcu102-onthefly", ["source.generators=8", "source.bits=6", "reuse.lanes=16"])
SLOPE = np.linspace(-1, 1, 50).astype(np.float32)
KINDS: dict[str, dict[str, Any]] = {
    "in place": {},
    "second copy": {"variant": "replay"},
    "queries": {"queries": 3},
    "queries, second copy, tensors": {"queries": 2, "variant": "replay", "layout": "tensors"},
    "sign": {"rule": "sign"},
    "zoqo": {"rule": "zoqo", "bits": 4, "eps": 0.1},
    "gaussian": {"source": "gaussian"},
    "seeded": {"source": load("zcu102-rademacher", ["reuse.lanes=8"])},
    "unscaled": {"source": "uniform", "fold": False},
}


def _trained(path: Path, steps: int = 25, **change: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train with a log; return the base and the trained weights by name."""
    arrays = [np.linspace(-0.5, 0.7, 30), np.linspace(0.3, -0.2, 20)]
    arrays = [array.astype(np.float32) for array in arrays]
    values: dict[str, Any] = {"source": CORE, "lr": 0.01, "eps": 1e-2} | change
    optimiser = ZO([{"params": arrays[0]}, {"params": arrays[1], "lr": 0.02}], **values)
    names = names_of(optimiser.param_groups)
    base = {name: array.copy() for name, array in zip(names, arrays, strict=True)}

    def loss() -> float:
        return float(((np.concatenate(arrays) - SLOPE) ** 2).sum())

    with logs.LogWriter(path, optimiser.stepper, names=names):
        for step in range(steps):
            if values.get("rule") != "zoqo":
                optimiser.param_groups[0]["lr"] = 0.01 / (1 + step / 10)
                optimiser.param_groups[1]["lr"] = 0.02 / (1 + step / 10)
            optimiser.step(loss)
    return base, dict(zip(names, arrays, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_replayed_weights_equal_the_trained_ones_to_the_last_bit(kind: str, tmp_path: Path) -> None:
    base, trained = _trained(tmp_path / "a.log", **KINDS[kind])
    again = replay(tmp_path / "a.log", base)
    assert any((base[name] != trained[name]).any() for name in base)
    for name, weights in trained.items():
        assert again[name].tobytes() == weights.tobytes(), name


def test_a_log_is_a_few_bytes_a_step(tmp_path: Path) -> None:
    sizes = []
    for steps in (10, 110):
        _trained(tmp_path / f"{steps}.log", steps=steps)
        sizes.append((tmp_path / f"{steps}.log").stat().st_size)
    assert sizes[1] - sizes[0] == 100 * 12


def test_replay_stops_where_it_is_told(tmp_path: Path) -> None:
    base, trained = _trained(tmp_path / "a.log", steps=8)
    base_too, shorter = _trained(tmp_path / "b.log", steps=5)
    part = replay(tmp_path / "a.log", base, steps=5)
    assert base.keys() == base_too.keys()
    assert all(part[name].tobytes() == shorter[name].tobytes() for name in part)
    assert any((part[name] != trained[name]).any() for name in part)


def test_a_scalar_that_is_changed_is_found(tmp_path: Path) -> None:
    base, trained = _trained(tmp_path / "a.log")
    log = logs.read(tmp_path / "a.log")
    log.scalars[7] *= 1.001
    again = replay(log, base)
    assert any((again[name] != trained[name]).any() for name in again)


def test_a_log_that_was_cut_off_ends_with_its_last_whole_record(tmp_path: Path) -> None:
    base, _ = _trained(tmp_path / "a.log", steps=6)
    content = (tmp_path / "a.log").read_bytes()
    (tmp_path / "b.log").write_bytes(content[:-5])
    _, shorter = _trained(tmp_path / "c.log", steps=5)
    again = replay(tmp_path / "b.log", base)
    assert all(again[name].tobytes() == shorter[name].tobytes() for name in again)


def test_another_base_model_is_refused(tmp_path: Path) -> None:
    base, _ = _trained(tmp_path / "a.log")
    with pytest.raises(PezoError, match=r"^the base model must have the tensor '1\.0' of the log"):
        replay(tmp_path / "a.log", {"0.0": base["0.0"]})
    with pytest.raises(
        PezoError, match=r"^the base model must have the log's tensors of \[30, 20\]"
    ):
        replay(tmp_path / "a.log", base | {"1.0": base["0.0"]})
    other = base | {"1.0": base["1.0"] + np.float32(1e-6)}
    with pytest.raises(PezoError, match=r"^the base model must be the one that the log began with"):
        replay(tmp_path / "a.log", other)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be a training log of this version, but begins differently"),
        (b"hello\nworld", "must be a training log of this version"),
        (logs.MAGIC, "must be a training log of this version"),
        (logs.MAGIC + b"no end", "must be a training log of this version"),
        (logs.MAGIC + b"{no json}\n", "the head of the log must be whole, but it is no JSON; the"),
        (logs.MAGIC + b"[" * 9999 + b"\n", "the head of the log must be whole, but it is no JSON"),
        (logs.MAGIC + b"\xff\n", "the head of the log must be whole, but it is no JSON"),
        (logs.MAGIC + b"3\n", "the head of the log must be whole, but it is 3; the file is damag"),
        (logs.MAGIC + b"{}\n", "the head of the log must be whole, but source is missing; the"),
    ],
)
def test_what_is_no_log_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(content)
    with pytest.raises(PezoError, match=rf"x\.log: {message}"):
        logs.read(tmp_path / "x.log")


@pytest.mark.parametrize(
    "change",
    [
        {"options": {}},
        {"options": {"epsilon": 0.1, "momentum": 1}},
        {"options": {"epsilon": -1}},
        {"groups": []},
        {"groups": [3, 4]},
        {"groups": [{"rate": "x"}, {"rate": 1}]},
        {"members": [0]},
        {"members": [0, 2]},
        {"members": [0, None]},
        {"tensors": [{"name": 1, "size": 30}, {"name": "b", "size": 20}]},
        {"tensors": [{"name": "a"}, {"name": "b", "size": 20}]},
        {"options": {"epsilon": 0.1, "rule": "zoqo"}, "scales": [1.0]},
        {"options": {"epsilon": 0.1, "rule": "zoqo"}, "scales": None},
        {"base": None},
        {"source": "gaussian"},
        {"source": {"kind": "pezo"}},
        {"source": {"kind": []}},
        {"source": {"kind": "gaussian-other"}},
    ],
)
def test_a_damaged_head_is_one_line(change: dict[str, Any], tmp_path: Path) -> None:
    base, _ = _trained(tmp_path / "a.log", steps=1)
    first, head, rest = (tmp_path / "a.log").read_bytes().split(b"\n", 2)
    damaged = json.dumps(json.loads(head) | change).encode()
    (tmp_path / "b.log").write_bytes(b"\n".join((first, damaged, rest)))
    with pytest.raises(PezoError) as caught:
        replay(tmp_path / "b.log", base)
    assert "\n" not in str(caught.value)


def test_files_and_folders_that_are_missing_are_named(tmp_path: Path) -> None:
    gone, optimiser = tmp_path / "gone", ZO(SLOPE.copy(), source=CORE, lr=0.1, eps=1e-2)
    with pytest.raises(
        PezoError, match=r"a\.log must be in a folder that exists, but .* create it"
    ):
        logs.LogWriter(gone / "a.log", optimiser.stepper, names=["a"])
    assert optimiser.stepper.recorder is None and not gone.exists()
    with pytest.raises(PezoError, match=r"^a training log must have 1 names, one for each"):
        logs.LogWriter(tmp_path / "b.log", optimiser.stepper, names=[])
    assert not (tmp_path / "b.log").exists()
    request = Request(data="none", log=gone / "a.log")
    with pytest.raises(PezoError, match=r"a\.log must be in a folder that exists, but "):
        check(request)
    for path in (gone / "a.log", str(tmp_path / "a.log"), tmp_path):
        with pytest.raises(
            PezoError, match=r" must be a training log, but: .*; name the file that"
        ):
            replay(path, {})


@pytest.mark.parametrize("steps", [-1, 1.5, "2"])
def test_replay_refuses_steps_that_are_none(steps: Any, tmp_path: Path) -> None:
    base, _ = _trained(tmp_path / "a.log", steps=2)
    with pytest.raises(PezoError, match=r"^steps must be an integer of at least 0, not "):
        replay(tmp_path / "a.log", base, steps=steps)


def test_numbers_of_numpy_can_be_logged(tmp_path: Path) -> None:
    change = {"lr": np.float64(0.01), "queries": np.int64(2), "strength": np.int8(1)}
    base, trained = _trained(tmp_path / "a.log", steps=3, **change)
    again = replay(str(tmp_path / "a.log"), base)
    assert all(again[name].tobytes() == trained[name].tobytes() for name in trained)


@pytest.mark.parametrize("variant", ["in-place", "replay"])
def test_a_log_does_not_hold_what_a_failed_step_left(variant: str, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(size=2000).astype(np.float32)
    base, losses = {"0.0": weights.copy()}, iter([1.0, float("nan")])
    optimiser = ZO(weights, source="gaussian", lr=1e-4, eps=1e-2, variant=variant)
    with logs.LogWriter(tmp_path / "a.log", optimiser.stepper, names=["0.0"]):
        with pytest.raises(PezoError, match=r"^a loss must be a finite number"):
            optimiser.step(lambda: next(losses))
        optimiser.step(lambda: float(weights.sum()))
    again = replay(tmp_path / "a.log", base)["0.0"]
    assert np.array_equal(again, weights) is (variant == "replay")
    assert np.allclose(again, weights, atol=1e-6)


def test_a_log_must_begin_with_the_training_and_rates_must_go_together(tmp_path: Path) -> None:
    arrays = [np.zeros(4, dtype=np.float32), np.zeros(4, dtype=np.float32)]
    groups = [{"params": array} for array in arrays]
    optimiser = ZO(groups, source=CORE, lr=0.1, eps=1e-2)
    with logs.LogWriter(tmp_path / "a.log", optimiser.stepper, names=["a", "b"]):
        optimiser.step(lambda: 1.0)
        optimiser.param_groups[1]["lr"] = 0.05
        with pytest.raises(PezoError, match=r"^a training log holds one scalar a step"):
            optimiser.step(lambda: 1.0)
    assert not arrays[0].any()
    optimiser.step(lambda: 1.0)  # without the log it may
    with pytest.raises(PezoError, match=r"^a training log must begin before the first step"):
        logs.LogWriter(tmp_path / "b.log", optimiser.stepper, names=["a", "b"])


def test_rates_that_differ_by_more_than_rounding_are_refused(tmp_path: Path) -> None:
    arrays = [np.zeros(4, dtype=np.float32), np.zeros(4, dtype=np.float32)]
    optimiser = ZO([{"params": array} for array in arrays], source=CORE, lr=0.1, eps=1e-2)
    with logs.LogWriter(tmp_path / "a.log", optimiser.stepper, names=["a", "b"]):
        optimiser.param_groups[1]["lr"] = 0.1 * (1 + 1e-12)
        optimiser.step(lambda: 1.0)
        optimiser.param_groups[1]["lr"] = 0.1 * (1 + 1e-8)
        with pytest.raises(PezoError, match=r"^a training log holds one scalar a step"):
            optimiser.step(lambda: 1.0)


def test_a_log_of_zoqo_refuses_another_rate_before_it_writes_weights(tmp_path: Path) -> None:
    weights = np.linspace(-0.5, 0.7, 30).astype(np.float32)
    optimiser = ZO(weights, source=CORE, lr=0.1, eps=0.1, rule="zoqo")
    before, calls = weights.copy(), []

    def loss() -> float:
        calls.append(weights.copy())
        return float(weights.sum())

    with logs.LogWriter(tmp_path / "a.log", optimiser.stepper, names=["a"]):
        optimiser.param_groups[0]["lr"] = 0.05
        with pytest.raises(PezoError, match=r"^a training log of zoqo must have a constant"):
            optimiser.step(loss)
        assert not calls and np.array_equal(weights, before)
        assert optimiser.stepper.steps == 0
        optimiser.param_groups[0]["lr"] = 0.1
        optimiser.step(loss)
    assert len(calls) == 2 and not np.array_equal(calls[0], before)
    assert len(logs.read(tmp_path / "a.log").scalars) == 1


def test_a_log_never_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"other")
    with pytest.raises(PezoError, match=r"a\.log exists; choose another name$"):
        _trained(path)
    assert path.read_bytes() == b"other"
    request = Request(data="none", log=tmp_path / "b.log", seeds=(0, 1))
    (tmp_path / "b-1.log").touch()
    with pytest.raises(PezoError, match=r"b-1\.log exists; choose another name$"):
        check(request)
