"""The report: its form, its arithmetic, and the published figures beside it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pezo_hw.synth import published
from pezo_hw.synth.boards import Board, resolve
from pezo_hw.synth.render import LABEL, render
from pezo_hw.synth.report import describe, report
from pezo_hw.synth.yosys import Synthesis

COLUMNS = {"lut", "ff", "bram36", "dsp"}


@pytest.fixture(scope="session")
def zoo_report(zoo_files: list[Path], zcu102: Board, zoo: Synthesis) -> dict[str, Any]:
    assert zoo.top == "zoo"  # already in the cache
    return report(zoo_files, top="zoo", board=zcu102, kind="on-the-fly", lanes=1024)


def test_form(zoo_report: dict[str, Any]) -> None:
    assert zoo_report["device"] == "xczu9eg-ffvb1156-2-e"
    assert zoo_report["estimate"] is True
    assert zoo_report["tool"].startswith("Yosys ")
    assert set(zoo_report["resources"]) == set(zoo_report["share"]) == COLUMNS
    assert all(set(block) >= COLUMNS | {"name"} for block in zoo_report["blocks"])
    assert zoo_report["logic_levels"] == 2
    assert zoo_report["published"]["lut"] == 548
    assert json.loads(json.dumps(zoo_report)) == zoo_report


def test_arithmetic(zoo_report: dict[str, Any]) -> None:
    resources = zoo_report["resources"]
    for column in COLUMNS:
        assert resources[column] == sum(block[column] for block in zoo_report["blocks"])
    assert (resources["bram36"], resources["dsp"]) == (0.5, 2)
    assert zoo_report["share"]["lut"] == pytest.approx(resources["lut"] / 274_080, abs=1e-6)
    assert zoo_report["share"]["dsp"] == pytest.approx(2 / 2_520, abs=1e-6)
    assert isinstance(resources["lut"], int) and isinstance(resources["dsp"], int)
    assert zoo_report["carry"] == 4
    assert zoo_report["ram"] == {"RAM32M16": 1, "RAMB18E2": 1, "SRL16E": 1}
    assert zoo_report["paths"]["register_to_register"]["end"].startswith("y12[")
    assert zoo_report["paths"]["input_to_output"] is None


def test_ecp5(zoo_ecp5: Synthesis) -> None:
    found = describe(zoo_ecp5, board=resolve("ulx3s_85f"))
    assert found["device"] == "LFE5U-85F-6BG381"
    assert found["resources"]["bram36"] == 0.5
    assert found["share"]["dsp"] == pytest.approx(2 / 156, abs=1e-6)
    assert found["published"] == {}


def test_unknown_capacity_has_no_share(zoo: Synthesis) -> None:
    found = describe(zoo, board=resolve("rfsoc4x2"))
    assert found["share"] == dict.fromkeys(("lut", "ff", "bram36", "dsp"))


@pytest.mark.parametrize(
    ("kind", "lut", "ff", "share_lut", "share_ff"),
    [("on-the-fly", 548, 2_193, 0.002, 0.004), ("pre-generated", 2_193, 1_644, 0.008, 0.003)],
)
def test_published(kind: str, lut: int, ff: int, share_lut: float, share_ff: float) -> None:
    found = published.beside(kind, part="xczu9eg-ffvb1156-2-e", lanes=1024)
    assert (found["lut"], found["ff"], found["bram36"], found["dsp"]) == (lut, ff, None, None)
    assert (found["share"]["lut"], found["share"]["ff"]) == (share_lut, share_ff)
    assert found["marks"] == {"share": "Q", "power_w": "Q", "clock_mhz": "Q", "lut": "D", "ff": "D"}
    assert found["differs"] == []
    assert (found["baseline"]["lut"], found["baseline"]["ff"]) == (133_203, 69_616)


def test_baseline_is_1024_generators() -> None:
    # The generator that fits it has 68 flip-flops and about 130 LUTs.
    assert round(published.BASELINE.ff / published.LANES) == 68
    assert round(published.BASELINE.lut / published.LANES) == 130


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"part": "xczu7ev-ffvc1156-2-e"}, "published for xczu9eg-ffvb1156-2-e, not xczu7ev"),
        ({"lanes": 32}, "published for 1024 lanes, not 32"),
        ({"core": "zo-step"}, "not for a zo-step core"),
    ],
)
def test_what_cannot_be_compared_says_so(change: dict[str, Any], reason: str) -> None:
    arguments: dict[str, Any] = {"part": "xczu9eg-ffvb1156-2-e", "lanes": 1024} | change
    (found,) = published.beside("on-the-fly", **arguments)["differs"]
    assert reason in found


def text(found: dict[str, Any], **options: Any) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(render(found, **options))
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_render(zoo_report: dict[str, Any]) -> None:
    shown = text(zoo_report, name="my core")
    assert f"my core on xczu9eg-ffvb1156-2-e: {LABEL}" in shown
    assert "PeZO on the fly, published" in shown and "Gaussian generators" in shown
    assert "~548 (0.2 %)" in shown and "~133,203 (48.6 %)" in shown
    assert "not published" in shown
    assert "lane_* (2 times)" in shown
    assert "LUT levels between registers: 2, from core.nest.deep" in shown
    assert "1 RAM32M16, 1 RAMB18E2, 1 SRL16E" in shown


def test_render_without_anything_beside(zoo: Synthesis) -> None:
    found = describe(zoo, board=resolve("rfsoc4x2"))
    found["other_cells"] = {"LDCE": 2}
    found["published"] = {}
    shown = text(found)
    assert "published" not in shown and LABEL in shown
    assert "cells in none of the columns: 2 LDCE" in shown
