"""The RTL of the Gaussian sources equals the golden model in every clock, on both simulators."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import Config, from_mapping, load
from pezo_hw.errors import CheckFailed
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.seeded import SeededEngine
from pezo_hw.simulate import run
from pezo_hw.simulate.check import compare
from pezo_hw.simulate.plan import Effort

Generated = Callable[[Config], Path]

EFFORT = Effort(groups=1000, commands=1000)
QUICK = Effort(groups=64, commands=1)


def tree(lanes: int, *more: str) -> Config:
    return load("zcu102-gaussian-tree", [f"reuse.lanes={lanes}", *more])


def clt(lanes: int, *more: str) -> Config:
    return load("zcu102-gaussian-clt", [f"reuse.lanes={lanes}", *more])


def step(source: dict[str, Any], lanes: int) -> Config:
    mapping = load("zcu102-step").model_dump(mode="json", exclude_none=True)
    for section in ("scaling", "reuse"):
        del mapping[section]
    return from_mapping(mapping | {"source": source, "reuse": {"lanes": lanes}})


CONFIGS: dict[str, Config] = {
    "tree-5": tree(5, "source.seed=0"),
    "clt-8": clt(8, "source.terms=8", "source.seed=4294967290"),
}
STEPS: dict[str, Config] = {
    "tree-step": step({"kind": "gaussian-tree", "seed": 77}, 3),
}


def latency(config: Config) -> int:
    engine = engine_of(config)
    assert isinstance(engine, SeededEngine)
    return engine.load_clocks + 1


@pytest.mark.parametrize("name", CONFIGS)
def test_equal_to_golden(generated: Generated, name: str) -> None:
    config = CONFIGS[name]
    report = compare(generated(config), config=config, effort=EFFORT)
    data = report.result.data
    assert data["period"]["seen"] > EFFORT.groups - 5
    assert data["starts"]["chosen"] >= 30
    assert data["commands"]["captures"] > 5
    for command in ("restore", "start"):
        assert report.latencies[f"{command}_to_valid"] == latency(config)


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_equal_to_golden(generated: Generated, name: str) -> None:
    config = STEPS[name]
    report = compare(generated(config), config=config, effort=Effort(beats=60, steps=3))
    assert report.result.data["sweeps"]["restored"] >= 1


@pytest.mark.parametrize("name", ["tree-5", "clt-8"])
def test_simulators_agree_from_time_0(generated: Generated, name: str, icarus: str) -> None:
    traces = [
        run(
            generated(CONFIGS[name]),
            bench="bench_seeded",
            simulator=simulator,
            tests=("trace",),
            parameters={"trace": 600},
        ).arrays["trace"]
        for simulator in ("verilator", icarus)
    ]
    different = np.flatnonzero(traces[0] != traces[1])
    assert not len(different), (different[:5], traces[0][different[0]], traces[1][different[0]])
    assert len(set(traces[0].tolist())) > 50


# Name: the configuration, what is looked for in its RTL, what takes its place where it first comes.
MUTANTS: dict[str, tuple[str, str, str]] = {
    "a choice is lost": ("tree-5", r"(= _\d+_ & )bits\[\d+:\d+\];", r"\g<1>5'h00;"),
    "sums go on while the consumer stalls": ("clt-8", r"= step (\? [^;]*: sums_0;)", r"= 1'h1 \1"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(generated: Generated, tmp_path: Path, name: str) -> None:
    base, wanted, change = MUTANTS[name]
    config = CONFIGS[base]
    folder = tmp_path / "mutant"
    shutil.copytree(generated(config), folder)
    rtl = folder / "rtl" / f"{config.core.name}_core.sv"
    text, count = re.subn(wanted, change, rtl.read_text(encoding="utf-8"), count=1)
    assert count == 1, f"the RTL no longer holds {wanted}"
    rtl.write_text(text, encoding="utf-8")
    with pytest.raises(CheckFailed, match=r"\Abench_seeded on ") as caught:
        compare(folder, config=config, effort=QUICK)
    # By a comparison, or because the core hangs; not because the bench itself stumbles.
    assert re.search("AssertionError", str(caught.value))
