"""How `pezo` ends: exit codes, one line on the error output, nothing left behind."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pezo_hw
from pezo_hw import __version__
from pezo_hw.cli import check
from pezo_hw.cli import main as cli
from pezo_hw.config import load, load_preset, preset_names, to_toml
from pezo_hw.errors import CheckFailed, Interrupted, PezoError


def pezo(*arguments: str | Path) -> tuple[int, str, str]:
    """Run the command in this process; return exit code, output and error output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def assert_refused(result: tuple[int, str, str], pattern: str) -> None:
    code, out, err = result
    assert (code, out) == (2, ""), result
    assert re.fullmatch(f"error: {pattern}\n", err), err


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["chek"], r"No such command 'chek'\. Did you mean 'check'\?; see pezo --help"),
        (["--nope"], r"No such option: --nope; see pezo --help"),
        (["check"], r"Missing argument 'CONFIG'; see pezo check --help"),
        (
            ["check", "tiny", "more"],
            r"Got unexpected extra argument.*more.*; see pezo check --help",
        ),
        (["check", "tiny", "--parameters", "x"], r"Invalid value for '--parameters': .+"),
        (["check", "tiny", "--parameters", "0"], r"Invalid value for '--parameters': .+"),
        (["check", "tiny", "--set"], r"Option '--set' requires an argument; see pezo .*--help"),
        (["check", ""], r'CONFIG must be a preset or an existing file, not ""; .+'),
        (["check", "tin"], r'CONFIG must be .+, not "tin"; did you mean the preset tiny\?'),
        (["check", "no/such.toml"], r'CONFIG must be .+, not "no/such\.toml"; check the path, .+'),
        (["check", "tiny", "--set", "a\nb"], r"--set a\\nb: must have the form .+"),
        (
            ["check", "tiny", "--set", "source.bits=3"],
            r"--set source\.bits=3: source\.bits must be an integer from 4 to 16, not 3; use 4",
        ),
        (
            ["check", "tiny", "--set", "core.board=zcu99"],
            r'tiny: core\.board must be a known board, not "zcu99"; .+',
        ),
        (["init", "tin"], r'PRESET must be the name of a preset, not "tin"; did you mean tiny\?'),
    ],
)
def test_bad_usage(arguments: list[str], pattern: str) -> None:
    assert_refused(pezo(*arguments), pattern)


def test_without_a_command_help_is_printed() -> None:
    code, out, err = pezo()
    assert (code, out) == (2, "") and err.startswith("Usage: pezo")


@pytest.mark.parametrize("command", [[], ["presets"], ["init"], ["check"]])
def test_help(command: list[str]) -> None:
    code, out, err = pezo(*command, "--help")
    assert (code, err) == (0, "") and out.startswith("Usage: pezo")


def test_version(monkeypatch: pytest.MonkeyPatch) -> None:
    tools: Any = ModuleType("pezo_hw.tools")
    tools.versions = lambda: {"pezo-hw": __version__, "yosys": "0.70"}
    monkeypatch.setitem(sys.modules, "pezo_hw.tools", tools)
    monkeypatch.setattr("pezo_hw.tools", tools, raising=False)
    assert pezo("--version") == (0, f"pezo-hw {__version__}\nyosys 0.70\n", "")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (PezoError("a: must\n be b"), 2, "error: a: must be b\n"),
        (CheckFailed("3 groups differ"), 1, "error: 3 groups differ\n"),
        (OSError(28, "No space left on device", "x.v"), 2, "error: x.v: No space left on device\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (Interrupted("3 of 4\nsteps"), 130, "interrupted: 3 of 4\\nsteps\n"),
        (typer.Abort(), 130, "interrupted\n"),
        (typer.Exit(1), 1, ""),
    ],
)
def test_ends(monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, line: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(check, "_facts", fail)
    assert pezo("check", "tiny") == (code, "", line)


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(check, "_facts", fail)
    with pytest.raises(ZeroDivisionError):
        pezo("check", "tiny")


def test_the_package_is_the_command() -> None:
    command = [sys.executable, "-m", "pezo_hw", "check", "tin"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith('error: CONFIG must be a preset or an existing file, not "tin"; ')
    # Whoever imports the package does not get the command with it.
    package = Path(pezo_hw.__file__).parent
    importers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(from|import) pezo_hw\.cli", path.read_text("utf-8"), re.MULTILINE)
    }
    assert {name for name in importers if not name.startswith("cli/")} == {"__main__.py"}


def test_a_closed_pipe_ends_quietly() -> None:
    command = [sys.executable, "-m", "pezo_hw.cli", "presets"]
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, env=environment, check=False, timeout=60
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_presets_are_listed() -> None:
    code, out, err = pezo("presets")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == preset_names()
    assert all(re.fullmatch(r"\S+ {2,}\S.+", line) for line in out.splitlines())


@pytest.mark.parametrize("preset", preset_names())
def test_init_prints_or_writes_the_same(preset: str, tmp_path: Path) -> None:
    code, out, err = pezo("init", preset)
    assert (code, err) == (0, "") and out.startswith(f"# {preset}: ")
    path = tmp_path / "my.toml"
    assert pezo("init", preset, "-o", path) == (0, f"wrote {path}\n", "")
    assert path.read_text(encoding="utf-8") == out
    assert load(path) == load_preset(preset)
    assert list(tmp_path.iterdir()) == [path]


def test_init_has_the_permissions_of_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    pezo("init", "tiny", "-o", tmp_path / "x.toml")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_init_does_not_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("mine", encoding="utf-8")
    refused = pezo("init", "tiny", "-o", path)
    assert_refused(refused, re.escape(f"{path}: must not exist yet; ") + ".+ add --force")
    assert path.read_text(encoding="utf-8") == "mine"
    assert pezo("init", "tiny", "-o", path, "--force")[0] == 0
    assert load(path) == load_preset("tiny")


def test_init_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_refused(pezo("init", "tiny", "-o", tmp_path), ".+: must be a file, not a directory; .+")
    assert_refused(
        pezo("init", "tiny", "-o", tmp_path / "a" / "b"), ".+: the folder .+ must exist .+; .+"
    )

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert_refused(
        pezo("init", "tiny", "-o", tmp_path / "x.toml"),
        ".+ must be writable, but: no space left on device; choose another place",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("preset", preset_names())
def test_check(preset: str) -> None:
    code, out, err = pezo("check", preset, "--parameters", "1000000")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    config = load(preset)
    assert lines[0] == f"OK: {preset}"
    assert f"  words a clock, W  {config.words}" in lines
    groups = -(-1_000_000 // config.reuse.lanes)
    assert f"  groups a pass, T  {groups} for 1000000 parameters" in lines


def test_check_of_a_file_with_warnings(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(to_toml(load("zcu102-pregen", ["source.pool_size=64"])), encoding="utf-8")
    code, out, _ = pezo("check", path, "--set", "core.parameters=1000000")
    assert code == 0
    warned = [line for line in out.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 2
    assert warned[0].startswith("warning: core.parameters = 1000000: training visits only ")
    assert warned[1].startswith("warning: source.pool_size = 64 is a power of two")


def test_check_looks_at_the_true_exponents() -> None:
    # One word has exponents up to 3, beyond the 1 that the configuration is first judged by.
    keys = ["source.generators=1", "reuse.lanes=8", "weights.frac=14", "zo.epsilon_log2=-1"]
    load("zcu102-step", keys)
    arguments = [part for key in keys for part in ("--set", key)]
    assert_refused(
        pezo("check", "zcu102-step", *arguments),
        r"zcu102-step: zo\.epsilon_log2 must be at most -3, not -1: .+; use -3",
    )


@settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    content=st.binary(max_size=40)
    | st.builds(
        lambda text, old, new: text.replace(old, new).encode("utf-8"),
        st.sampled_from([to_toml(load_preset(name)) for name in preset_names()]),
        st.sampled_from(['"', "[", "= ", "8", "16", "kind", "on-the-fly", "lanes", "\n"]),
        st.text(max_size=6),
    ),
    overrides=st.lists(st.text(max_size=12) | st.just("reuse.lanes=7"), max_size=2),
)
def test_no_input_ends_in_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, overrides: list[str]
) -> None:
    # Whether a board exists and what the tables hold is not the point here, and takes time.
    monkeypatch.setattr(check, "_facts", lambda *_, **__: [("a", "b")])
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    code, out, err = pezo("check", path, *(f"--set={override}" for override in overrides))
    if code == 0:
        assert out.startswith("OK: ") and err == ""
    else:
        assert code == 2 and out == ""
        assert err.startswith("error: ") and err.endswith("\n") and err[:-1].isprintable()
