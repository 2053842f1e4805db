"""A small device and benches for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent


MakeFolder = Callable[..., Path]


@pytest.fixture
def make_folder(tmp_path: Path) -> MakeFolder:
    """Make a folder like `pezo generate` does, in a place with a space in its name."""

    def make(verilog: str | None = None, *, top: str = "skid", waivers: str = "") -> Path:
        folder = tmp_path / "a folder"
        folder.mkdir()
        files = {"rtl": [f"{top}.v"], "waivers": ["w.vlt"] if waivers else []}
        (folder / "pezo.json").write_text(json.dumps({"top": top, "files": files}))
        if verilog is None:
            shutil.copy(_HERE / "skid.v", folder / f"{top}.v")
        else:
            (folder / f"{top}.v").write_text(verilog)
        if waivers:
            (folder / "w.vlt").write_text(f"`verilator_config\n{waivers}\n")
        return folder

    return make


@pytest.fixture
def skid_bench() -> Path:
    return _HERE / "skid.py"


@pytest.fixture
def bad_bench() -> Path:
    return _HERE / "bad.py"
