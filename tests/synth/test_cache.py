"""Keeping results: found again, ignored when damaged, off when asked."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pezo_hw.synth import cache

NAME = cache.key("a test")
VALUE = {"netlist": {"cells": [1, 2, 3]}}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "directory", lambda: tmp_path / "cache")
    monkeypatch.delenv("PEZO_CACHE", raising=False)
    return tmp_path / "cache"


def test_stored_is_found_again(home: Path) -> None:
    assert cache.load(NAME) is None
    cache.store(NAME, VALUE)
    assert cache.load(NAME) == VALUE
    assert cache.load(cache.key("another")) is None
    assert [path.name for path in home.iterdir()] == [f"{NAME}.json.gz"]


def test_off(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(NAME, VALUE)
    monkeypatch.setenv("PEZO_CACHE", "off")
    assert cache.load(NAME) is None
    cache.store(cache.key("another"), VALUE)
    monkeypatch.delenv("PEZO_CACHE")
    assert cache.load(cache.key("another")) is None
    assert cache.load(NAME) == VALUE


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "list"])
def test_damaged_entry_is_ignored(home: Path, damage: str) -> None:
    cache.store(NAME, VALUE)
    path = home / f"{NAME}.json.gz"
    data = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "cut": data[:-9],
            "flipped": data[:20] + bytes([data[20] ^ 0xFF]) + data[21:],
            "text": gzip.compress(b"no json"),
            "list": gzip.compress(b"[1]"),
        }[damage]
    )
    assert cache.load(NAME) is None
    cache.store(NAME, VALUE)
    assert cache.load(NAME) == VALUE


def test_unusable_folder_is_no_error(home: Path) -> None:
    home.write_text("a file where the folder should be")
    cache.store(NAME, VALUE)
    assert cache.load(NAME) is None


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.default_root() == tmp_path / "xdg" / "pezo" / "synth"
    for relative in ("some/where", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert cache.default_root() == tmp_path / ".cache" / "pezo" / "synth"


def test_key_tells_parts_apart() -> None:
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("c", "ab")]
    assert len({cache.key(*p) for p in parts}) == len(parts)
    assert cache.key("a") == cache.key(b"a")


def test_writers_side_by_side(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: cache.store(NAME, VALUE), range(40)))
    assert cache.load(NAME) == VALUE
    assert len(list(home.iterdir())) == 1


def test_old_entries_go(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(cache, "_ENTRIES", 3)
    for i in range(6):
        cache.store(cache.key(str(i)), {"i": i})
    assert len(list(home.iterdir())) == 3
    assert cache.load(cache.key("5")) == {"i": 5}
