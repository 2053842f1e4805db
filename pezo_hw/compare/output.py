"""The folder of a comparison: figures, tables, plots and the page; whole or not at all."""

from __future__ import annotations

from pathlib import Path

from pezo_hw.files import check_folder, write_folder
from pezo_hw.plotting import require

from . import plots
from .page import page
from .result import Comparison
from .tables import markdown

__all__ = ["FIGURES", "MARKDOWN", "NAMES", "PAGE", "check_target", "contents", "write"]

FIGURES, MARKDOWN, PAGE = "compare.json", "compare.md", "compare.html"
NAMES = (FIGURES, MARKDOWN, PAGE, *plots.NAMES)
"""Files that the folder may hold."""


def contents(comparison: Comparison) -> dict[str, bytes]:
    """Return all files by name; the same bytes for the same comparison.

    Raises
    ------
    PezoError
        If matplotlib is missing.
    """
    drawn = plots.draw(comparison)
    return {
        FIGURES: f"{comparison.to_json()}\n".encode(),
        MARKDOWN: markdown(comparison).encode(),
        PAGE: page(comparison, drawn).encode(),
        **drawn,
    }


def check_target(directory: Path) -> None:
    """Refuse what cannot be written, before minutes of work.

    Raises
    ------
    PezoError
        If the folder holds files that would be lost, or matplotlib is missing.
    """
    require()
    check_folder(directory, known=NAMES)


def write(comparison: Comparison, directory: Path) -> list[str]:
    """Write the folder and return the names of its files.

    Raises
    ------
    PezoError
        As `check_target`, or if it cannot be written; it is as before then.
    """
    check_target(directory)
    files = contents(comparison)
    write_folder(directory, files)
    return list(files)
