"""Results of synthesis kept between runs, found by the contents of what was synthesised.

The cache lies in ``$XDG_CACHE_HOME/pezo/synth`` (``~/.cache/pezo/synth``). ``PEZO_CACHE=off`` turns
it off. A cache that cannot be read or written is no reason to fail: synthesis then just runs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pezo_hw.caches import enabled, root

__all__ = ["default_root", "directory", "enabled", "key", "load", "store"]

# Part of every key: raise it when what is stored changes.
_FORMAT = 1
# A netlist takes some 100 kB compressed; this keeps the cache below some 50 MB, and a comparison of
# all sources takes some 100 entries.
_ENTRIES = 500


def directory() -> Path:
    """Return the folder of the kept results; it need not exist."""
    return default_root()


def default_root() -> Path:
    """Return where results are kept: ``$XDG_CACHE_HOME/pezo/synth``."""
    return root("synth")


def key(*parts: str | bytes) -> str:
    """Return the name of a result.

    Parameters
    ----------
    *parts : str or bytes
        Everything that the result depends on: sources, command, tool version.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256(f"pezo synth {_FORMAT}".encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # With the length in front, no two lists of parts look alike.
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def load(name: str) -> dict[str, Any] | None:
    """Return the result kept under `name`, or None if there is none that can be read."""
    if not enabled():
        return None
    try:
        value = json.loads(gzip.decompress(_path(name).read_bytes()))
    # No such entry, a damaged one, or one that holds something else.
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    return value if isinstance(value, dict) else None


def store(name: str, value: Mapping[str, Any]) -> None:
    """Keep a result under `name`, in one step, so that nobody ever reads half of it."""
    if not enabled():
        return
    path = _path(name)
    data = gzip.compress(json.dumps(value).encode(), mtime=0)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
        temporary.replace(path)
        _prune(path.parent)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _path(name: str) -> Path:
    return directory() / f"{name}.json.gz"


def _prune(folder: Path) -> None:
    entries = sorted(folder.glob("*.json.gz"), key=lambda path: path.stat().st_mtime)
    for path in entries[:-_ENTRIES]:
        path.unlink(missing_ok=True)
