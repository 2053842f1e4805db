"""`pezo analyze`: text, JSON, plots, exit codes."""

from __future__ import annotations

import dataclasses
import json
import re
import struct
import sys
from pathlib import Path

import pytest

from pezo_hw.analysis import analyse_config, plots, source
from pezo_hw.cli.main import main
from pezo_hw.config import load

FILES = ["analysis.json", "autocorrelation.png", "histogram.png", "lanes.png"]
CHECKS = [
    "period",
    "range",
    "mean",
    "variance",
    "kurtosis",
    "histogram",
    "bits",
    "lag-correlation",
    "neighbour-correlation",
    "word-correlation",
    "square-correlation",
    "lanes",
    "exponents",
    "group-norm",
    "scale",
    "leftover",
    "directions",
    "norm",
    "rank",
    "participation",
]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "tiny", "--parameters", "20", "--steps", "8"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == ("tiny: on-the-fly, 3 words of 4 bits, 6 lanes; K = 15 groups, all of them")
    assert [line.split()[0] for line in lines[2:22]] == CHECKS
    table = {line.split()[0]: line for line in lines[2:22]}
    assert re.search(r" 0 +== 0 +pass$", table["mean"])
    assert re.search(r" 15 +>= 1000 +weak +a pass takes T = 4 groups$", table["directions"])
    assert any(line.startswith("weak: directions: 15, should be >= 1000 (start") for line in lines)
    assert re.fullmatch(r"\d+ pass, \d+ weak, 0 fail, 0 skipped", lines[-1])
    said = [line for line in captured.err.splitlines() if not line.startswith("warning: ")]
    assert said == [
        "period, words and norms of 15 groups",
        "correlations of words and lanes",
        "rank of 8 directions of 20 weights",
    ]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["analyze", "tiny", "--json", "--set", "core.parameters=20", "--steps", "8"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert (found["core"], found["source"], found["period"]) == ("tiny", "on-the-fly", 15)
    assert (found["directions"], found["steps"], found["rank"]) == (15, 8, 8)
    assert [check["name"] for check in found["checks"]] == CHECKS
    assert all(check["verdict"] in ("pass", "weak") for check in found["checks"])
    assert sum(found["verdicts"].values()) == len(CHECKS)
    assert sum(found["exponents"].values()) == pytest.approx(1)
    assert sum(found["words"]["histogram"]["counts"]) == 45
    main(arguments)
    assert capsys.readouterr().out == captured.out


def chunks(png: bytes) -> list[bytes]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    names, place = [], 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        names.append(png[place + 4 : place + 8])
        place += length + 12
    return names


def test_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "out"
    arguments = ["analyze", "tiny", "-o", str(folder)]
    assert main([*arguments, "--parameters", "20", "--steps", "8"]) == 0
    assert sorted(p.name for p in folder.iterdir()) == [*FILES, "singular-values.png"]
    # The folder is replaced as a whole, and without parameters there are no directions.
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    assert sorted(p.name for p in folder.iterdir()) == FILES
    assert (folder / "analysis.json").read_text(encoding="utf-8") == capsys.readouterr().out
    assert [p.name for p in folder.parent.iterdir()] == ["out"]
    for name in FILES[1:]:
        # Nothing but the picture: no date, no version.
        assert set(chunks((folder / name).read_bytes())) == {b"IHDR", b"pHYs", b"IDAT", b"IEND"}


def test_plots_are_the_same_whatever_the_settings() -> None:
    import matplotlib as mpl

    found = analyse_config(load("tiny"), parameters=20, steps=8)
    first = plots.draw(found)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 20, "savefig.dpi": 30}):
        assert plots.draw(found) == first
    assert set(first) == set(plots.PLOTS)
    other = plots.draw(analyse_config(load("tiny", ["source.seed=7"]), parameters=20, steps=8))
    assert all(other[name] != first[name] for name in plots.PLOTS if name != "histogram.png")


def refused(
    capsys: pytest.CaptureFixture[str], pattern: str, *arguments: str, stages: int = 0
) -> None:
    assert main(["analyze", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if not line.startswith("warning: ")]
    del lines[:stages]
    assert len(lines) == 1 and re.fullmatch(f"error: {pattern}", lines[0]), lines


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["tiny", "--steps", "0"], r"Invalid value for '--steps': .+"),
        (["tiny", "--parameters", "0"], r"Invalid value for '--parameters': .+"),
        (["tiny", "--steps", "9"], r"--steps needs the number of weights .+ --parameters or .+"),
        (
            ["tiny", "--steps", "5000", "--parameters", "9"],
            r"--steps must be 1 to 4096, not 5000",
        ),
        (["tin"], r'CONFIG must be .+, not "tin"; did you mean the preset tiny\?'),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], pattern: str) -> None:
    refused(capsys, pattern, *arguments)


def test_other_files_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").touch()
    refused(
        capsys,
        r"--output .+ must be empty or .+ it holds thesis\.txt; .+",
        "tiny",
        "-o",
        str(tmp_path),
    )
    file = tmp_path / "thesis.txt"
    refused(capsys, r"--output .+ must be a folder, but it is a file; .+", "tiny", "-o", str(file))
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    assert main(["analyze", "tiny", "-o", str(folder)]) == 0
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    capsys.readouterr()
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.parent.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    refused(
        capsys,
        r"--output .+ must be writable, but: no space left on device; .+",
        "tiny",
        "-o",
        str(folder),
        stages=3,
    )
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_plots_need_matplotlib(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    pattern = r"plots need the package matplotlib, which is not installed; pip install .+"
    refused(capsys, pattern, "tiny", "-o", str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []
    assert main(["analyze", "tiny"]) == 0


def test_a_broken_promise_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expect = source.EXPECTATIONS["on-the-fly"]
    monkeypatch.setitem(
        source.EXPECTATIONS,
        "on-the-fly",
        lambda config, engine: dataclasses.replace(expect(config, engine), leftover=1.0),
    )
    assert main(["analyze", "tiny", "-o", str(tmp_path / "out")]) == 1
    captured = capsys.readouterr()
    assert "fail: leftover: 1, must be " in captured.out and " 1 fail, " in captured.out
    assert captured.err.splitlines()[-1] == (
        "error: tiny: the hardware promises more than holds: leftover"
    )
    assert (tmp_path / "out" / "analysis.json").exists()
