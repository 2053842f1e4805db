"""The folder of an analysis: figures as JSON and plots, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from pezo_hw.files import check_folder, write_folder
from pezo_hw.plotting import require

from . import plots
from .analysis import Analysis

FIGURES = "analysis.json"


def to_json(analysis: Analysis) -> str:
    """Return an analysis as JSON text."""
    return json.dumps(analysis.to_json(), indent=2, allow_nan=False)


def contents(analysis: Analysis) -> dict[str, bytes]:
    """Return all files of the folder by name."""
    return {FIGURES: f"{to_json(analysis)}\n".encode(), **plots.draw(analysis)}


def check_target(directory: Path) -> None:
    """Refuse what cannot be written, before the work is done.

    Raises
    ------
    PezoError
        If the folder holds files that would be lost, or matplotlib is missing.
    """
    require()
    check_folder(directory, known={FIGURES, *plots.PLOTS})


def write(analysis: Analysis, directory: Path) -> list[str]:
    """Write the folder and return the names of its files.

    Parameters
    ----------
    analysis : Analysis
    directory : Path
        Made, with its parents. A folder that this function wrote before is replaced.

    Raises
    ------
    PezoError
        As `check_target`, or if the folder cannot be written; it is as before then.
    """
    check_target(directory)
    files = contents(analysis)
    write_folder(directory, files)
    return list(files)
