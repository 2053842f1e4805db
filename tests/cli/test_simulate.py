"""`pezo simulate` as a user calls it."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pezo_hw import tools
from pezo_hw.cli.main import main
from pezo_hw.export.folder import temporary
from pezo_hw.simulate import check

# Icarus compiles in no time.
SIMULATOR = "verilator" if shutil.which("iverilog") is None else "icarus"


def errors(capsys: pytest.CaptureFixture[str]) -> list[str]:
    text = capsys.readouterr().err
    return [line for line in text.splitlines() if line.startswith("error: ")]


def test_it_says_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "tiny", "--simulator", SIMULATOR, "--seed", "7"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("OK: tiny: the RTL equals the golden model\n")
    assert re.search(rf"^  simulator +{SIMULATOR}$", out, flags=re.MULTILINE)
    assert "15 of the 15 of the period, and the wrap-around" in out
    assert "k + 4 clocks" in out


def test_it_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert main(["simulate", "tiny", "--simulator", SIMULATOR]) == 0
    assert list(tmp_path.iterdir()) == []


def test_waves_have_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "tiny", "--simulator", SIMULATOR, "--waves"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tiny-waves"]
    waves = tmp_path / "tiny-waves" / "waves.vcd"
    assert "m_axis_tdata" in waves.read_text(encoding="utf-8")
    assert waves.stat().st_size < 2_000_000, "too long to be read"
    assert "tiny-waves/waves.vcd" in capsys.readouterr().out


def test_a_folder_of_reports_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("figures")
    assert main(["simulate", "tiny", "--simulator", SIMULATOR, "-o", str(tmp_path)]) == 0
    assert (tmp_path / "report.json").read_text() == "figures"
    ours = {path.name for path in tmp_path.iterdir()} - {"report.json"}
    assert ours and all(name.startswith("simulation") for name in ours)


def test_waves_can_be_written_anywhere(tmp_path: Path) -> None:
    place = tmp_path / "Wellen für später"
    assert main(["simulate", "tiny", "--simulator", SIMULATOR, "--waves", "-o", str(place)]) == 0
    assert "m_axis_tdata" in (place / "waves.vcd").read_text(encoding="utf-8")


def test_the_log_stays_where_it_is_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "log"
    arguments = ["--simulator", SIMULATOR, "-o", str(place), "--set", "reuse.lanes=3"]
    assert main(["simulate", "tiny", *arguments]) == 0
    assert (place / check.LOG).is_file()
    assert not (place / check.WAVES).exists()


def test_a_difference_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextlib.contextmanager
    def faulty(*arguments: Any, **options: Any) -> Iterator[Path]:
        with temporary(*arguments, **options) as folder:
            rtl = folder / "rtl" / "tiny_core.sv"
            text = rtl.read_text(encoding="utf-8")
            assert "memory[3] = 1'h1" in text
            rtl.write_text(text.replace("memory[3] = 1'h1", "memory[3] = 1'h0"), encoding="utf-8")
            yield folder

    monkeypatch.setattr(check, "temporary", faulty)
    arguments = ["simulate", "tiny", "--simulator", SIMULATOR]
    assert main(arguments) == 1
    (line,) = errors(capsys)
    assert re.match(r"error: bench_perturbation on \w+: .+ tdata is \w+ and must be \w+", line)
    assert line.endswith("; -o DIR keeps the log")
    assert main([*arguments, "-o", str(tmp_path)]) == 1
    (line,) = errors(capsys)
    assert line.endswith(f"; see {tmp_path / check.LOG}")
    assert "must be" in (tmp_path / check.LOG).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--simulator", "modelsim"], '--simulator must be verilator or icarus, not "modelsim"'),
        (["--seed", "-1"], "Invalid value for '--seed': .+; see pezo simulate --help"),
        (["--set", "core.board=zcu103"], r"tiny: core\.board .+"),
        (["-o", "file"], "--output file must be a folder, but is a file; choose another name"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert main(["simulate", "tiny", "--waves", *arguments]) == 2
    (line,) = errors(capsys)
    assert re.fullmatch(f"error: {message}", line), line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_missing_simulator_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    tools.icarus.cache_clear()
    try:
        assert main(["simulate", "tiny", "--simulator", "icarus"]) == 2
    finally:
        tools.icarus.cache_clear()
    (line,) = errors(capsys)
    assert "icarus is not installed" in line
