"""Requests, and trainings in floating point that really learn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import load
from pezo_hw.errors import PezoError
from pezo_hw.train import backprop, paths
from pezo_hw.train.log import read
from pezo_hw.train.mlp import Mlp
from pezo_hw.train.replay import replay


def _run(**values: Any) -> list[paths.Run]:
    return paths.run("numpy", paths.Request(**values), say=print)


def test_the_gradient_is_that_of_differences() -> None:
    rng = np.random.default_rng(0)
    model = Mlp((5, 4, 3))
    weights = model.initial(seed=0)
    x, y = rng.normal(size=(7, 5)).astype(np.float32), rng.integers(0, 3, 7)
    loss, slope = backprop.gradient(model, weights, x, y)
    assert loss == pytest.approx(model.loss(weights, x, y), rel=1e-5)
    for place in range(model.parameters):
        step = np.zeros_like(weights)
        step[place] = 1e-2
        difference = model.loss(weights + step, x, y) - model.loss(weights - step, x, y)
        assert slope[place] == pytest.approx(difference / 2e-2, abs=2e-3)


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ({"method": "bp", "steps": 300}, 0.93),
        ({"method": "mezo", "steps": 1500}, 0.75),
        # As many lanes as words: nothing is reused.
        ({"config": load("zcu102-onthefly", ["reuse.lanes=32"]), "steps": 1500}, 0.75),
        ({"config": load("zcu102-pregen", ["reuse.lanes=32"]), "steps": 1500}, 0.75),
        ({"method": "zoqo", "bits": 8, "steps": 1500}, 0.5),
    ],
)
def test_real_digits_are_learnt(values: dict[str, Any], least: float) -> None:
    (run,) = _run(**values)
    assert run.accuracy > least
    assert run.loss_after < run.loss_before
    assert run.parameters == 64 * 32 + 32 + 32 * 10 + 10


def test_runs_repeat_and_seeds_differ(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    first, second = _run(steps=20, seeds=(3, 4), log=log)
    (again,) = _run(steps=20, seeds=(3,), log=log)
    assert first.loss_after == again.loss_after != second.loss_after
    assert (tmp_path / "a-3.log").read_bytes() == log.read_bytes()
    weights = Mlp((64, 32, 10)).initial(seed=3)
    assert len(read(log).starts) == 20
    assert (replay(log, {"0.0": weights})["0.0"] != weights).any()
    found = paths.summary([first, second])
    assert found["mean"]["accuracy"] == (first.accuracy + second.accuracy) / 2
    assert found["std"]["accuracy"] == pytest.approx(
        abs(first.accuracy - second.accuracy) / np.sqrt(2)
    )
    assert paths.summary([first])["std"]["accuracy"] == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"method": "adam"}, "the method must be bp, .* or zoqo, not 'adam'"),
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"rate": -1.0}, "rate must be a positive number, not -1.0"),
        ({"epsilon": float("inf")}, "epsilon must be a positive number, not inf"),
        ({"seeds": ()}, "seeds must name at least one seed"),
        ({"seeds": (1, 1)}, r"seeds must be different and not negative, not \(1, 1\)"),
        ({"lora": 0}, "the rank of adapters must be an integer of at least 1, not 0"),
        ({"lora": 4}, "adapters need the models of torch"),
        ({"bits": 4}, "bits are an option of the method zoqo"),
        ({"model": "cct-2"}, "the model must be mlp or linear with numpy, not 'cct-2'"),
        ({"method": "bp", "config": load("tiny")}, "a configuration must not be given with"),
        ({"method": "bp", "log": Path("x")}, "a training log must be one of zeroth-order steps"),
        ({"output": Path("x")}, "an output folder must be left out"),
        ({"data": "x"}, "the data set must be digits"),
    ],
)
def test_wrong_requests_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(PezoError, match=f"^{message}"):
        _run(**values)


def test_an_unknown_path_is_refused() -> None:
    with pytest.raises(PezoError, match=r"^the way to train must be numpy, torch, golden or rtl"):
        paths.run("gpu", paths.Request(), say=print)


def test_a_missing_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "pezo_hw.train.path_torch", raising=False)
    with pytest.raises(PezoError, match=r"^training with torch needs the package torch"):
        paths.run("torch", paths.Request(), say=print)
