"""Where results are kept between runs, for all who keep some."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["enabled", "root"]


def enabled() -> bool:
    """Return whether results are kept, which ``PEZO_CACHE=off`` prevents."""
    return os.environ.get("PEZO_CACHE", "").lower() != "off"


def root(name: str) -> Path:
    """Return the folder for results of some kind, ``$XDG_CACHE_HOME/pezo/<name>``.

    It need not exist. Without the variable it is in ``~/.cache``.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say that a relative path is to be ignored.
    return (base if base.is_absolute() else Path.home() / ".cache") / "pezo" / name
