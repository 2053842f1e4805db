"""What draws plots: an optional package, looked for before anything that takes long."""

from __future__ import annotations

import importlib
from pathlib import Path

from pezo_hw.errors import PezoError

FORMATS = ("png", "svg")
"""Formats of plots that a user names a file for, by the suffix of the file."""


def format_of(path: Path, *, option: str) -> str:
    """Return the format that a file's name asks for.

    Parameters
    ----------
    path : Path
    option : str
        Names it in the message.

    Raises
    ------
    PezoError
        If the suffix is none of `FORMATS`.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        suffixes = " or ".join(f".{name}" for name in FORMATS)
        raise PezoError(
            f"{option} must be a file that ends in {suffixes}, not {path}; use e.g. "
            f"{path.with_suffix('.png') if path.name else 'plot.png'}"
        )
    return kind


def require(need: str = "plots need", *, option: str = "--output") -> None:
    """Refuse to go on without the package that draws.

    Parameters
    ----------
    need : str
        How the message begins: who needs it.
    option : str
        What the user can leave out instead.

    Raises
    ------
    PezoError
        If matplotlib is missing.
    """
    try:
        importlib.import_module("matplotlib")
    except ModuleNotFoundError:
        raise PezoError(
            f"{need} the package matplotlib, which is not installed; "
            f"pip install 'pezo-hw[train]', or leave out {option}"
        ) from None
