"""`pezo report` with placement, activity and baselines, and the script that checks `bench/`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.core

from pezo_hw.cli.main import app, main
from pezo_hw.cli.progress import Progress
from pezo_hw.synth import cores
from pezo_hw.synth import place as placing
from scripts import check_baselines


@pytest.fixture(autouse=True)
def one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "SEEDS", (1,))


def test_place_activity_and_saif_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "b"
    options = ["--place", "ecp5", "--activity", "--groups", "20", "-o", str(folder)]
    assert main(["report", "tiny", *options]) == 0
    printed = capsys.readouterr()
    result = json.loads((folder / "report.json").read_text())
    assert result["place"]["fmax_mhz"] > 50 and result["place"]["seeds"] == [1]
    assert result["activity"]["groups"] == 20
    assert result["activity"]["saif"]["file"] == "tiny.saif"
    assert "(SAIFVERSION" in (folder / "tiny.saif").read_text()
    for text in (
        f"{result['place']['fmax_mhz']:.1f} MHz, the median of 1 seeds",
        f"critical path: {result['place']['critical_path_words']}",
        "activity, proxy for dynamic power (toggles without delays, not watts): 20 groups",
        "not in the sum: lane wires",
        "tiny.saif: the RTL in 20 clocks of 40000 ps",
    ):
        assert text in printed.out
    # No terminal: whole lines, and none of them is taken back.
    assert "simulating 20 groups of the netlist\n" in printed.err
    assert "\r" not in printed.err and "\033" not in printed.err

    # The same as JSON, and nothing else.
    assert main(["report", "tiny", "--json", "--place", "ecp5"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["place"] == result["place"]
    assert printed.err == ""


def test_baseline_from_acceptance_to_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.json"
    assert main(["report", "tiny", "--activity", "--write-baseline", str(path)]) == 0
    capsys.readouterr()
    assert main(["report", "tiny", "--activity", "--baseline", str(path)]) == 0
    out = capsys.readouterr().out
    table = out[out.index("against ") :].splitlines()
    assert table[0] == f"against {path}:"
    assert [line.split()[-1] for line in table[2:]] == ["same"] * 6

    # A LUT less was accepted than there is: worse, but only within the tolerance of the file.
    document = json.loads(path.read_text())
    smaller = document["smaller_is_better"]
    luts = smaller["figures"]["lut"]
    smaller["figures"]["lut"] = luts - 1
    path.write_text(json.dumps(document))
    assert main(["report", "tiny", "--activity", "--baseline", str(path)]) == 1
    printed = capsys.readouterr()
    assert f"+1 (+{100 / (luts - 1):.1f} %)" in printed.out and "worse" in printed.out
    assert printed.err.splitlines()[-1] == (
        f"error: figures must not be worse than those of {path}, but are: "
        f"LUT {luts - 1} -> {luts}; "
        "make the design better, or accept them with --write-baseline"
    )
    smaller["tolerance"]["same_tools"] = 0.1
    path.write_text(json.dumps(document))
    assert main(["report", "tiny", "--baseline", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["baseline"]
    verdicts = {item["figure"]: item["verdict"] for item in found["figures"]}
    assert found["worse"] is False
    assert verdicts["lut"] == "within" and verdicts["activity"] == "not measured"

    # JSON for programs comes before the failure.
    smaller["tolerance"]["same_tools"] = 0
    path.write_text(json.dumps(document))
    changed = ["report", "tiny", "--baseline", str(path), "--json", "--set", "core.parameters=9"]
    assert main(changed) == 1
    found = json.loads(capsys.readouterr().out)["baseline"]
    assert found["worse"] is True
    assert found["notes"] == ["the baseline is of another configuration, in core.parameters"]


def _fail(*_: object, **__: object) -> None:
    raise AssertionError("synthesis was started")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--place", "xcup"], '--place must be ecp5, not "xcup"; for UltraScale+ there is no open'),
        (["--groups", "9"], "--groups must come with --activity, which simulates them"),
        (["--baseline", "@/no.json"], "no.json must be a baseline file, but: no such file"),
        (["--baseline", "@/bad.json"], "bad.json must be a baseline file in JSON"),
        # A file that is no baseline is not replaced by one.
        (["--write-baseline", "@/bad.json"], "bad.json must be a baseline file in JSON"),
        (["--write-baseline", "@/no/x.json"], "must exist to write there; create it first"),
        (
            ["--write-baseline", "@/placed.json"],
            "holds fmax_mhz, which must be measured to be replaced, but would not be; "
            "add --place ecp5",
        ),
        (["--output", "@/bad.json"], "must be a folder that can be made, but: file exists"),
    ],
    ids=["family", "groups", "missing", "broken", "replace", "folder", "uncovered", "output"],
)
def test_bad_options_are_found_before_anything_takes_long(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    (tmp_path / "bad.json").write_text("no JSON")
    placed = _baseline()
    placed["bigger_is_better"]["figures"] = {"fmax_mhz": 1.0}
    (tmp_path / "placed.json").write_text(json.dumps(placed))
    monkeypatch.setattr(cores, "report", _fail)
    assert main(["report", "tiny", *(text.replace("@", str(tmp_path)) for text in options)]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def _baseline() -> dict[str, Any]:
    tolerance = {"same_tools": 0, "other_tools": 0}
    return {
        "format": 1,
        "name": "tiny",
        "device": "LFE5U-85F-6BG381",
        "config": {},
        "tools": {},
        "smaller_is_better": {"figures": {"lut": 1}, "tolerance": tolerance},
        "bigger_is_better": {"figures": {}, "tolerance": tolerance},
    }


def test_a_core_that_is_too_large_is_not_placed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "CAPACITY", placing.CAPACITY | {"lut": 20})  # type: ignore[operator]
    monkeypatch.setattr(placing, "place", _fail)
    assert main(["report", "tiny", "--place", "ecp5"]) == 2
    assert "tiny must fit LFE5U-85F-6 (20 lut, " in capsys.readouterr().err.splitlines()[-1]


def test_script_checks_and_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_baselines, "ROOT", tmp_path)
    (tmp_path / "bench").mkdir()
    path = tmp_path / "bench" / "tiny.json"
    path.write_text(json.dumps(_baseline()))
    assert check_baselines.main([]) == 1
    printed = capsys.readouterr()
    assert "against bench/tiny.json:" in printed.out
    assert "error: figures must not be worse than those of bench/tiny.json" in printed.err
    assert "note: the configuration has changed: core.name" in printed.out

    assert check_baselines.main(["--write", "tiny"]) == 0
    assert json.loads(path.read_text())["config"]["core"]["name"] == "tiny"
    capsys.readouterr()
    assert check_baselines.main([]) == 0
    assert "note:" not in capsys.readouterr().out

    assert check_baselines.main(["zcu102-wide"]) == 2
    assert "zcu102-wide.json must be a baseline file" in capsys.readouterr().err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "20")
    with Progress() as progress:
        progress("first")
        progress("a line that is too long for this terminal")
    first, second, end = terminal.getvalue().split("\r\033[K")[1:]
    assert (first, second, end) == ("first", "a line that is too ", "")
    terminal.seek(0)
    terminal.truncate()
    with Progress(quiet=True) as progress:
        progress("first")
    assert terminal.getvalue() == ""


def test_the_commands_of_the_documents_exist() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "ci.rst").read_text()
    lines = [line.split("pezo report ")[1] for line in text.splitlines() if "pezo report " in line]
    assert len(lines) >= 3
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    for line in lines:
        words = line.partition(" | ")[0].split()
        assert (
            group.commands["report"].make_context("report", words).params["config"] == "core.toml"
        )
