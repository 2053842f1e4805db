"""What is installed: presets, boards and benches travel with the wheel and work from anywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Found by every Python that has its folder on PYTHONPATH.
_BLOCKER = """\
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def _extras() -> set[str]:
    """Return the modules that come with the optional dependencies only."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [name for group in project["optional-dependencies"].values() for name in group]
    names = {re.split(r"[^\w-]", name)[0] for name in listed}
    modules = metadata.packages_distributions()
    # cocotb itself needs pytest.
    kept = {"pezo_hw", "pytest", "_pytest", "py"}
    return {module for module, owners in modules.items() if names & set(owners)} - kept


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
    (place / "sitecustomize.py").write_text(_BLOCKER.format(names=sorted(_extras())))
    return place


def _pezo(installed: Path, cwd: Path, *arguments: str, module: str = "pezo_hw.cli") -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", module, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_only_developers_have_is_blocked(installed: Path, tmp_path: Path) -> None:
    assert {"hypothesis", "matplotlib", "sklearn", "galois"} <= _extras()
    with pytest.raises(AssertionError, match="No module named 'matplotlib'"):
        _pezo(installed, tmp_path, module="matplotlib")


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
