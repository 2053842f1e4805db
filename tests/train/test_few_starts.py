"""Optimisers warn where the source gives few directions to so many weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pezo_hw.cli.main import main
from pezo_hw.config import load
from pezo_hw.errors import PezoWarning
from pezo_hw.train.numpy import ZO

# A pass over 10,240 weights takes 320 groups of 32, the bank has 8,160 of them: 8,160 / 160.
WEAK = load("zcu102-onthefly", ["reuse.lanes=32"])
GOOD = load("zcu102-onthefly", ["reuse.lanes=31", "source.generators=31"])


def _visited(optimiser: ZO, *, steps: int) -> int:
    stepper = optimiser.stepper
    starts, start = set(), stepper.start
    for _ in range(steps):
        starts.add(start)
        start = stepper.source.after(start, stepper.length)
    return len(starts)


def test_few_directions_are_warned_of_where_the_optimiser_is_made() -> None:
    weights = np.zeros(10_240, dtype=np.float32)
    with pytest.warns(
        PezoWarning,
        match="^10240 weights: training visits only 51 of 8160 start positions.*generators = 31",
    ) as found:
        optimiser = ZO(weights, source=WEAK, lr=1e-3, eps=1e-3)
    assert found[0].filename == __file__
    # It is true.
    assert _visited(optimiser, steps=500) == 51


@pytest.mark.parametrize("source", [GOOD, "gaussian", "zcu102-rademacher"], ids=str)
def test_sources_with_many_are_not(source: object) -> None:
    weights = np.zeros(10_240, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimiser = ZO(weights, source=source, lr=1e-3, eps=1e-3)  # type: ignore[arg-type]
    assert _visited(optimiser, steps=1500) == 1500


def test_torch_warns_as_well() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from pezo_hw.train import torch as twin

    with pytest.warns(PezoWarning, match="visits only 51") as found:
        twin.ZO([torch.nn.Parameter(torch.zeros(10_240))], source=WEAK, lr=1e-3, eps=1e-3)
    assert found[0].filename == __file__


def test_the_command_prints_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    # 650 weights, 21 groups of 31 words.
    options = ["--backend", "numpy", "--model", "linear", "--steps", "1", "--seeds", "0,1"]
    core = ["--config", "zcu102-pregen", "--set", "source.pool_size=63", "--set", "source.words=31"]
    core += ["--set", "reuse.lanes=31"]
    assert main(["train", "digits", *options, *core]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert (
        sum(line.startswith("warning: 650 weights: training visits only ") for line in lines) == 1
    )
