"""A folder of build results, addressed by a digest of all that went into them.

The same RTL is simulated by many tests and many times, and compiling it takes longer than most
runs.  Processes may share a cache: entries appear by one atomic rename and never change.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pezo_hw.caches import enabled, root

#: Entries kept; a build of a large core takes about 3 MB.
KEEP = 256
# Never removed before this age in seconds: another process may be about to use it.
_SAFE_AGE = 3600.0


def default_root() -> Path:
    """Return where compiled simulations are kept: ``$XDG_CACHE_HOME/pezo/simulate``.

    ``PEZO_CACHE=off`` turns that off: then it is a folder that goes when the process ends.
    """
    return root("simulate") if enabled() else _private_root()


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a key for a sequence of texts and file contents; their boundaries count."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


class Cache:
    """Files by key.

    Parameters
    ----------
    root : Path, optional
        Folder of the cache, made when needed. Default: `default_root`. Where it cannot be
        written, a folder that goes when the process ends takes its place.
    """

    def __init__(self, root: Path | None = None):
        self.root = Path(root) if root is not None else default_root()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            writable = os.access(self.root, os.W_OK | os.X_OK)
        except OSError:
            writable = False
        if not writable:
            self.root = _private_root()

    def get(self, key: str, make: Callable[[Path], Path]) -> Path:
        """Return the file stored under a key, making it first if there is none.

        Parameters
        ----------
        key : str
            A digest.
        make : callable
            Called with an empty folder; returns the file in it that is to be stored. What it
            raises leaves the cache as it was.
        """
        path = self.root / key
        if not self._touch(path):
            with self._lock(key):
                if not self._touch(path):
                    self._store(path, make)
        return path

    def _store(self, path: Path, make: Callable[[Path], Path]) -> None:
        with tempfile.TemporaryDirectory(prefix=".making-", dir=self.root) as folder:
            make(Path(folder)).replace(path)
        self._prune()

    @staticmethod
    def _touch(path: Path) -> bool:
        try:
            os.utime(path)
        except FileNotFoundError:
            return False
        return True

    @contextlib.contextmanager
    def _lock(self, key: str) -> Iterator[None]:
        """Let one process make an entry while others wait for it, where locks work at all."""
        with (self.root / f".lock-{key[:2]}").open("w") as file:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _prune(self) -> None:
        found = []
        for entry in self.root.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process prunes as well
                found.append((entry.stat().st_mtime, entry))
        limit = time.time() - _SAFE_AGE
        entries = sorted(item for item in found if not item[1].name.startswith("."))
        old = [entry for age, entry in entries[:-KEEP] if age < limit]
        # Folders that a killed process left behind.
        left = [entry for age, entry in found if entry.name.startswith(".making-") and age < limit]
        for entry in old:
            entry.unlink(missing_ok=True)
        for entry in left:
            shutil.rmtree(entry, ignore_errors=True)


@functools.cache
def _private_root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="pezo-cache-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root
