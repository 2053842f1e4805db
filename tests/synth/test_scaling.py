"""Reports that are scaled from fewer lanes."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from pezo_hw.cli import common
from pezo_hw.cli.main import main
from pezo_hw.config import Config, load
from pezo_hw.errors import CheckFailed
from pezo_hw.simulate import activity as measuring
from pezo_hw.synth import cores, scaling
from pezo_hw.synth import place as placing
from pezo_hw.synth.render import render

TREE = load("zcu102-gaussian-tree")
BOARD = common.board(TREE, where="x")


def made(lanes: int, *, bent: int = 0) -> dict[str, Any]:
    """Return the report of a core with 100 LUTs and 70 FFs a lane, and some that all share."""
    blocks = [
        {"name": "engine", "instances": 1, "lut": 40, "ff": 30, "bram36": 0, "dsp": 0},
        {
            "name": "engine.source",
            "instances": 1,
            "lut": 100 * lanes + bent,
            "ff": 70 * lanes,
            "bram36": 0,
            "dsp": 0,
        },
    ]
    columns = ("lut", "ff", "bram36", "dsp")
    return {
        "device": BOARD.part,
        "top": "x",
        "tool": "Yosys",
        "command": "synth",
        "estimate": True,
        "resources": {column: sum(block[column] for block in blocks) for column in columns},
        "share": dict.fromkeys(columns, 0.5),
        "blocks": blocks,
        "carry": 3 * lanes,
        "logic_levels": lanes,
        "paths": {"register_to_register": None},
        "ram": {},
        "other_cells": {},
        "published": {"lut": "of the wrong size"},
    }


def scaled(lanes: int = 1024, *, bent: int = 0) -> dict[str, Any]:
    reports = {64: made(64), 16: made(16), 32: made(32, bent=bent)}
    return scaling.scale(reports, lanes=lanes, board=BOARD, kind="gaussian-tree")


def test_a_line_is_followed() -> None:
    report = scaled()
    assert report["resources"] == {"lut": 102_440, "ff": 71_710, "bram36": 0, "dsp": 0}
    assert [block["lut"] for block in report["blocks"]] == [40, 102_400]
    assert report["share"]["lut"] == pytest.approx(102_440 / 274_080, abs=1e-6)
    assert report["carry"] == 3072
    assert report["logic_levels"] == 64
    assert report["published"]["baseline"]["lut"] == 133_203
    assert report["scaled"]["lanes"] == 1024
    assert report["scaled"]["per_lane"] == {"lut": 100, "ff": 70, "bram36": 0, "dsp": 0}
    assert [entry["lanes"] for entry in report["scaled"]["from"]] == [16, 32, 64]
    assert report["scaled"]["from"][2]["lut"] == 6440
    assert report["scaled"]["deviation"] == 0
    assert scaled(65)["resources"]["lut"] == 6540
    json.dumps(report)


def test_the_number_between_must_lie_on_the_line() -> None:
    assert scaled(bent=100)["scaled"]["deviation"] == pytest.approx(100 / 3340, abs=1e-5)
    with pytest.raises(
        CheckFailed,
        match=r"^figures of 16, 32 and 64 lanes must lie on a line to within 4 %, so that they can "
        r"be scaled to 1024, but the LUTs are 5\.8 % off; synthesise all with --all-lanes$",
    ):
        scaled(bent=200)


def test_what_is_scaled() -> None:
    assert scaling.samples(TREE) == (16, 32, 64)
    assert scaling.samples(load("zcu102-gaussian-clt")) == (64, 128, 256)
    assert scaling.samples(load("zcu102-gaussian-tree", ["reuse.lanes=65"])) == (16, 32, 64)
    assert scaling.samples(load("zcu102-gaussian-tree", ["reuse.lanes=64"])) == ()
    for preset in ("zcu102-onthefly", "zcu102-pregen", "zcu102-rademacher", "zcu102-step"):
        assert scaling.samples(load(preset)) == ()


def test_it_is_labelled() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=200)
    console.print(render(scaled(), name="tree"))
    text = stream.getvalue()
    assert "tree on xczu9eg-ffvb1156-2-e: estimate (Yosys, not Vivado), scaled from fewer" in text
    assert "scaled to 1,024 lanes from syntheses of 16, 32 and 64: a lane adds 100 LUT" in text
    console.print(render(made(64), name="tree"))
    assert stream.getvalue().count("scaled") == 2


def test_the_command_scales(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    full = cores.report

    def fake(config: Config, **keys: Any) -> dict[str, Any]:
        if keys.get("all_lanes") or not scaling.samples(config):
            asked.append(config.reuse.lanes)
            return made(config.reuse.lanes)
        return full(config, **keys)

    monkeypatch.setattr(cores, "report", fake)
    assert main(["report", "zcu102-gaussian-tree", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resources"]["lut"] == 102_440
    assert asked == [16, 32, 64]
    assert main(["report", "zcu102-gaussian-tree", "--json", "--all-lanes"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert asked == [16, 32, 64, 1024]
    assert "scaled" not in result


def test_a_lane_of_gaussian_tree() -> None:
    """The published baseline has 130 LUTs and 68 flip-flops a lane."""
    lanes = 8
    found = cores.report(load("zcu102-gaussian-tree", [f"reuse.lanes={lanes}"]), where="x")
    (source,) = [block for block in found["blocks"] if block["name"] == "engine.source"]
    assert 110 <= source["lut"] / lanes <= 140
    assert source["ff"] == 68 * lanes
    (seeder,) = [b for b in found["blocks"] if b["name"] == "engine.source.seeder.generator"]
    assert seeder["lut"] <= 256
    assert (found["resources"]["bram36"], found["resources"]["dsp"]) == (0, 0)


def test_few_lanes_are_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    full, placed = cores.report, []

    def fake(config: Config, **keys: Any) -> dict[str, Any]:
        if scaling.samples(config):
            return full(config, **keys)
        assert keys.get("place") is None
        return made(config.reuse.lanes)

    def place_config(config: Config, **_: Any) -> dict[str, Any]:
        placed.append(config.reuse.lanes)
        return {"fmax_mhz": 1.0, "lanes": config.reuse.lanes}

    monkeypatch.setattr(cores, "report", fake)
    monkeypatch.setattr(placing, "place_config", place_config)
    for kind in scaling.SAMPLES:
        config = load(f"zcu102-{kind}")
        assert cores.report(config, where="x", place="ecp5")["place"]["lanes"] == placed[-1]
        assert "place" not in cores.report(config, where="x")
    assert placed == [scaling.PLACED[kind] for kind in scaling.SAMPLES]


@pytest.mark.parametrize("lanes", [64, 1024])
def test_activity_is_that_of_as_many_lane_values(
    monkeypatch: pytest.MonkeyPatch, lanes: int
) -> None:
    asked = []

    def fake(config: Config, *, groups: int, **_: Any) -> dict[str, Any]:
        asked.append((config.reuse.lanes, groups))
        return {}

    monkeypatch.setattr(measuring, "activity", fake)
    config = load("zcu102-gaussian-tree", [f"reuse.lanes={lanes}"])
    cores.activity(config, groups=100)
    cores.activity(config, groups=100, all_lanes=True)
    assert asked == [(64, 100 * lanes // 64), (lanes, 100)]
