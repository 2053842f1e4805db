from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pezo_hw.errors import CheckFailed
from pezo_hw.simulate.cache import Cache, _private_root, default_root, digest


def test_cache_makes_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> Path:
        made.append(folder)
        (folder / "file").write_text("text")
        return folder / "file"

    cache = Cache(tmp_path / "a cache")
    assert cache.get("key", make).read_text() == "text"
    assert cache.get("key", make) == Cache(tmp_path / "a cache").get("key", make)
    assert len(made) == 1
    assert not made[0].exists()


def test_cache_keeps_nothing_of_a_failure(tmp_path: Path) -> None:
    def make(folder: Path) -> Path:
        (folder / "half").write_text("")
        raise CheckFailed("no")

    cache = Cache(tmp_path)
    with pytest.raises(CheckFailed):
        cache.get("key", make)
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".lock")] == []


def test_cache_is_shared_by_processes(tmp_path: Path) -> None:
    script = (
        "import sys, time, pathlib\n"
        "from pezo_hw.simulate.cache import Cache\n"
        "def make(folder):\n"
        "    print('made', flush=True)\n"
        "    time.sleep(0.5)\n"
        "    (folder / 'file').write_text('text')\n"
        "    return folder / 'file'\n"
        "print(Cache(pathlib.Path(sys.argv[1])).get('key', make).read_text())\n"
    )
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", script, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(root)}
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=30)[0] for process in running]
    assert sorted(outputs) == ["made\ntext\n", "text\n", "text\n"]


def test_cache_forgets_the_oldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pezo_hw.simulate.cache.KEEP", 2)

    def make(folder: Path) -> Path:
        (folder / "file").write_text("")
        return folder / "file"

    cache = Cache(tmp_path)
    for age, key in ((9e3, "a"), (8e3, "b"), (7e3, "c")):
        path = cache.get(key, make)
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    left = tmp_path / ".making-x"
    left.mkdir()
    os.utime(left, (0, 0))
    cache.get("d", make)
    assert sorted(path.name for path in tmp_path.iterdir() if ".lock" not in path.name) == [
        "c",
        "d",
    ]


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache")
    assert cache.root.is_dir()
    assert tmp_path not in cache.root.parents
    cache.root.rmdir()
    _private_root.cache_clear()


def test_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PEZO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache().root == tmp_path / "pezo" / "simulate"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_root() == Path.home() / ".cache" / "pezo" / "simulate"
    monkeypatch.setenv("PEZO_CACHE", "off")
    private = Cache().root
    assert private == Cache().root and tmp_path not in private.parents
    private.rmdir()
    _private_root.cache_clear()


def test_digest_tells_boundaries_apart() -> None:
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest(["ab", b"c"]) == digest([b"ab", "c"])
