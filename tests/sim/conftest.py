"""Generated folders, which tests and workers of a run share."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pezo_hw.config import Config, to_toml
from pezo_hw.export.folder import generate


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Config], Path]:
    """Return the folder of a configuration, generated once in a run of pytest; only to be read."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # what all workers share
    place = base / "generated"
    place.mkdir(exist_ok=True)

    def folder_of(config: Config) -> Path:
        key = hashlib.sha256(to_toml(config).encode()).hexdigest()[:16]
        folder = place / key
        with (place / f".lock-{key}").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                generate(config, folder)
        return folder

    return folder_of


@pytest.fixture
def icarus() -> str:
    """Icarus as a second simulator, where it is installed."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog (iverilog) is not installed")
    return "icarus"
