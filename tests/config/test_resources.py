"""Folders beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from pezo_hw import resources
from pezo_hw.errors import PezoError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site" / "pezo_hw"
    folder.mkdir(parents=True)
    monkeypatch.setattr(resources, "_PACKAGE", folder)
    return folder


def test_checkout(package: Path) -> None:
    boards = package.parent / "boards"
    boards.mkdir()
    for name in ("b.py", "a.py", "_base.py", ".hidden.py", "README.md"):
        (boards / name).touch()
    assert resources.boards_dir() == boards
    assert resources.board_names() == ["a", "b"]


def test_a_wheel_is_not_fooled_by_its_neighbours(package: Path) -> None:
    for folder in (package.parent, package / "_bundled"):
        for name in ("boards", "sim"):
            (folder / name).mkdir(parents=True)
    assert resources.boards_dir() == package / "_bundled" / "boards"
    assert resources.sim_dir() == package / "_bundled" / "sim"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", ["presets", "boards", "sim"])
def test_an_incomplete_installation(name: str) -> None:
    with pytest.raises(PezoError, match=rf'^the folder "{name}" must come with pezo-hw, but .+; '):
        getattr(resources, f"{name}_dir")()


def test_this_one() -> None:
    assert "zcu102" in resources.board_names()
    assert "tiny" in resources.preset_paths()
