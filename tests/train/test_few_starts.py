"""Optimisers warn where the source gives few directions to so many weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pezo_hw.cli.main import main
from pezo_hw.config import from_mapping, load
from pezo_hw.config.advice import starts_warning
from pezo_hw.driver import GoldenBackend
from pezo_hw.errors import PezoWarning
from pezo_hw.train import hardware
from pezo_hw.train.numpy import ZO
from pezo_hw.train.paths import Request, run

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


_SMALL = ["source.bits=4", "source.generators=5", "reuse.lanes=5"]


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_fixed_point_warns_of_a_short_period_once(
    backend: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pezo_hw.driver.rtl.open_rtl", lambda config, **_: GoldenBackend(config))
    options = [part for given in _SMALL for part in ("--set", given)]
    arguments = ["train", "digits", "--backend", backend, "--steps", "1", "--seeds", "0,1"]
    assert main([*arguments, *options]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "start positions" in line] == [
        "warning: 2410 weights: training visits only 15 start positions, because the source has "
        "no more groups; use source.bits = 9 (then 2555)"
    ]
    # It is true, and so is the advice.
    assert _groups(_SMALL) == 15
    assert _groups([*_SMALL, "source.bits=9"]) == 2555


def _groups(overrides: list[str]) -> int:
    """Return the start positions that a training in fixed point visits."""
    config = hardware.configuration(overrides=tuple(overrides))
    description = GoldenBackend(config).description
    beats = description.spread_beats(2410)
    return len({step * beats % description.period for step in range(3 * description.period)})


def test_padding_that_makes_them_many_is_not_warned_of() -> None:
    mapping = hardware.configuration(source="pre-generated").model_dump(exclude_unset=True)
    mapping["source"] |= {"pool_size": 76 * 15, "words": 1}
    config = from_mapping(mapping)
    # Without padding, steps of 76 beats begin at 15 of 1,140 places.
    weak = starts_warning(config, parameters=2410)
    assert weak is not None and "only 15 of 1140 start positions, because a pass takes 76" in weak
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("golden", Request(config=config, steps=1), say=lambda _: None)


def test_starts_are_few_for_either_reason() -> None:
    weak = starts_warning(WEAK, parameters=10_240)
    assert weak is not None and "only 51 of 8160 start positions, because a pass takes 320" in weak
    # Padded, the same core has all of its 8,160.
    assert starts_warning(WEAK, parameters=10_240, spread=True) is None
    pool = load("zcu102-pregen", ["source.pool_size=63", "source.words=31", "reuse.lanes=31"])
    found = starts_warning(pool, parameters=2410, spread=True)
    assert found == (
        "2410 weights: training visits only 63 start positions, because the source has no more "
        "groups; use source.pool_size = 1009 (then 1009)"
    )
