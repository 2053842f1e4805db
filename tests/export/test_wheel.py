"""What is installed: presets, boards and benches travel with the wheel and work from anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the checkout without its dependencies into a folder."""
    place = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--disable-pip-version-check", "--target", place, str(ROOT)),
        ],
        check=True,
        cwd=place,
    )
    return place


def _pezo(installed: Path, cwd: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pezo_hw.cli", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_work_from_another_directory(installed: Path, tmp_path: Path) -> None:
    assert "zcu102-step" in _pezo(installed, tmp_path, "presets")
    _pezo(installed, tmp_path, "check", "zcu102-onthefly")
    _pezo(installed, tmp_path, "generate", "tiny", "-o", "core")
    assert json.loads((tmp_path / "core" / "pezo.json").read_text())["name"] == "tiny"
    _pezo(installed, tmp_path, "simulate", "tiny")
    report = json.loads(_pezo(installed, tmp_path, "report", "tiny", "--json"))
    assert report["resources"]["lut"] > 0


def test_boards_and_benches_are_inside(installed: Path) -> None:
    bundled = installed / "pezo_hw" / "_bundled"
    for folder in ("boards", "sim"):
        expected = {path.name for path in (ROOT / folder).glob("*.py")}
        assert expected
        assert {path.name for path in (bundled / folder).glob("*.py")} == expected
