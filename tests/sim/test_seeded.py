"""The RTL of seeded sources equals the golden model, in every clock and on both simulators."""

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
from pezo_hw.simulate import run
from pezo_hw.simulate.check import compare
from pezo_hw.simulate.plan import Effort

Generated = Callable[[Config], Path]

EFFORT = Effort(groups=1000, commands=1200)
QUICK = Effort(groups=100, commands=800)


def wide(words: int, bits: int, lanes: int, *more: str) -> Config:
    sizes = (f"source.words={words}", f"source.bits={bits}", f"reuse.lanes={lanes}")
    return load("zcu102-wide", [*sizes, f"reuse.stride={int(words > 1)}", *more])


def signs(lanes: int, *more: str) -> Config:
    return load("zcu102-rademacher", [f"reuse.lanes={lanes}", *more])


def step(source: dict[str, Any], lanes: int) -> Config:
    mapping = load("zcu102-step").model_dump(mode="json", exclude_none=True)
    for section in ("scaling", "reuse"):
        del mapping[section]
    return from_mapping(mapping | {"source": source, "reuse": {"lanes": lanes}})


CONFIGS: dict[str, Config] = {
    # The preset; its further lanes are wires of the same words.
    "zcu102-wide": wide(32, 8, 64, "source.seed=4294967295"),
    "one-word": wide(1, 4, 3),
    "scaled": wide(5, 12, 10, "scaling.mode=constant", "reuse.stride=3"),
    "widest": wide(64, 16, 64, "source.seed=4294967290"),
    "zcu102-rademacher": signs(256),
    "one-lane": signs(1),
    "100-lanes": signs(100, "source.seed=0"),
}
STEPS: dict[str, Config] = {
    "wide-step": step({"kind": "wide-uniform", "words": 4, "bits": 8}, 8),
    "rademacher-step": step({"kind": "rademacher", "seed": 77}, 7),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_equal_to_golden(generated: Generated, name: str) -> None:
    config = CONFIGS[name]
    # Simulators take their time for 1024 bits.
    effort = QUICK if name in ("widest", "zcu102-rademacher") else EFFORT
    report = compare(generated(config), config=config, effort=effort)
    data = report.result.data
    assert data["period"]["seen"] > effort.groups - 5
    assert data["starts"]["chosen"] >= 30
    assert data["commands"]["captures"] > 10
    assert report.latencies["restore_to_valid"] == report.latencies["start_to_valid"] == 33
    assert f"of {data['starts']['chosen']} seeds" in dict(report.facts())["groups"]


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_equal_to_golden(generated: Generated, name: str) -> None:
    config = STEPS[name]
    report = compare(generated(config), config=config, effort=Effort(beats=100, steps=4))
    assert report.result.data["sweeps"]["restored"] == 2


@pytest.mark.parametrize("name", ["one-word", "100-lanes"])
def test_equal_to_golden_on_icarus(generated: Generated, name: str, icarus: str) -> None:
    config = CONFIGS[name]
    compare(generated(config), config=config, simulator=icarus, effort=QUICK)


@pytest.mark.parametrize("name", ["scaled", "100-lanes"])
def test_simulators_agree_from_time_0(generated: Generated, name: str, icarus: str) -> None:
    traces = [
        run(
            generated(CONFIGS[name]),
            bench="bench_seeded",
            simulator=simulator,
            tests=("trace",),
            parameters={"trace": 400},
        ).arrays["trace"]
        for simulator in ("verilator", icarus)
    ]
    different = np.flatnonzero(traces[0] != traces[1])
    assert not len(different), (different[:5], traces[0][different[0]], traces[1][different[0]])
    assert len(set(traces[0].tolist())) > 50


# Name: what is looked for in the RTL, what takes its place where it first comes.
MUTANTS: dict[str, tuple[str, str]] = {
    "a tap is wrong": (r"(= state\[0\] \^ )state\[\d+\];", r"\1state[1];"),
    "a product is lost": (r"= expand & state\[\d+\];", "= 1'h0;"),
    "a product is not only for the expansion": (r"= expand & (state\[\d+\];)", r"= \1"),
    "a bit of the seed is lost": (r"= inject & seed\[31\];", "= 1'h0;"),
    "bits of the seed are exchanged": (r"inject & seed\[4\];", "inject & seed[5];"),
    "the seed enters in every clock": (r"inject & seed\[13\];", "expand & seed[13];"),
    "the state goes on while the consumer stalls": (r"= loading \| z__ready;", "= 1'h1;"),
    "the state stands still in the expansion": (r"= loading \| z__ready;", "= z__ready;"),
    "the reset state is wrong": (r"(= clear \? 64'h\w+)0 :", r"\g<1>1 :"),
    "the state is not cleared": (r"= clear \? 64'h\w+ :", "= 1'h0 ? 64'h0 :"),
    "the expansion is a clock short": (r"clocks == 5'h1d", "clocks == 5'h1c"),
    "a start does not clear": (r"= start \? 1'h1 : (_\d+_;)([^?]+= rst)", r"= \1\2"),
    "a start in the last clocks is lost": (r"= _18_ & _19_;", "= _18_;"),
    "the last clock is kept for the next time": (r"= clear \? 1'h0 : (_\d+_;)", r"= \1"),
    "a start keeps the seed": (r"= start \? start_index : seed;", "= seed;"),
    "a capture takes two": (r"= start \? start_index : seed;", "= start ? start_index : seed + 1;"),
    "a start takes the next seed": (r"(_08_ = _06_ \+ )_07_;", r"\1 1'h1;"),
    "a capture without a transfer": (r"= z__ready & (_\d+_;)", r"= \1"),
    "a capture in the expansion": (r"= z__ready & _\d+_;", "= z__ready;"),
    "a capture in a clock with restore": (r"= ~ restore;", "= 1'h1;"),
    "a restore in the expansion": (r"= restore & _\d+_;", "= restore;"),
    "another seed after a reset": (r"= rst \? 32'd1 :", "= rst ? 32'd2 :"),
    "a word is wrong": (r"(words = \{ state\[\d+\], )state", r"\1~state"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(generated: Generated, tmp_path: Path, name: str) -> None:
    config = MUTATED
    wanted, change = MUTANTS[name]
    folder = tmp_path / "mutant"
    shutil.copytree(generated(config), folder)
    rtl = folder / "rtl" / f"{config.core.name}_core.sv"
    text, count = re.subn(wanted, change, rtl.read_text(encoding="utf-8"), count=1)
    assert count == 1, f"the RTL no longer holds {wanted}"
    rtl.write_text(text, encoding="utf-8")
    # Icarus compiles in no time.
    simulator = "verilator" if shutil.which("iverilog") is None else "icarus"
    with pytest.raises(CheckFailed, match=r"\Abench_seeded on ") as caught:
        compare(folder, config=config, simulator=simulator, effort=QUICK)
    # By a comparison, or because the core hangs; not because the bench itself stumbles.
    assert re.search("AssertionError", str(caught.value))


MUTATED = wide(8, 8, 8)


def test_without_a_mutation_all_is_well(generated: Generated) -> None:
    simulator = "verilator" if shutil.which("iverilog") is None else "icarus"
    compare(generated(MUTATED), config=MUTATED, simulator=simulator, effort=QUICK)
