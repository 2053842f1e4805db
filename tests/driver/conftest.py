"""Cores to drive: small ones, generated and compiled once for all tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pezo_hw.config import Config, to_toml
from pezo_hw.driver.registers import RegisterBackend
from pezo_hw.driver.rtl import open_folder
from pezo_hw.export.folder import generate
from pezo_hw.simulate.design import MANIFEST


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Config], Path]:
    """Return the generated folder of a configuration, written once; only to be read."""
    place = tmp_path_factory.mktemp("cores")

    def folder(config: Config) -> Path:
        path = place / hashlib.sha256(to_toml(config).encode()).hexdigest()[:16]
        if not path.exists():
            generate(config, path)
        return path

    return folder


@pytest.fixture
def rtl_of(folder_of: Callable[[Config], Path]) -> Iterator[Callable[..., RegisterBackend]]:
    """Return a backend of simulated RTL, closed at the end of the test."""
    opened: list[RegisterBackend] = []

    def open_it(config: Config, **more: Any) -> RegisterBackend:
        opened.append(open_folder(folder_of(config), **more))
        return opened[-1]

    yield open_it
    for backend in opened:
        backend.close()


@pytest.fixture
def manifest_of(folder_of: Callable[[Config], Path]) -> Callable[[Config], dict[str, Any]]:
    """Return the manifest of a configuration's folder."""

    def read(config: Config) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((folder_of(config) / MANIFEST).read_text())
        return document

    return read
