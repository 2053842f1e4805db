"""``pezo-rtl-training``: the trainings through the RTL in ``results/rtl_training.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pezo_tables import Table, list_table
from sphinx.application import Sphinx

RESULTS = Path(__file__).resolve().parent.parent / "results" / "rtl_training.json"


def rows(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return the table of trainings."""
    table: list[Sequence[str]] = [
        ["source", "update", "bits", "steps a second", "equal", "SHA-256 of the weights"]
    ]
    table += [
        [
            str(run["source"]),
            str(run["update"]),
            str(run["bits"]),
            f"{run['steps_per_second']:.0f}",
            "yes" if run["equal"] else "no",
            f"``{run['weights_sha256'][:8]}``",
        ]
        for run in found["runs"]
    ]
    return table


class Training(Table):
    """``.. pezo-rtl-training::``."""

    path = RESULTS

    def text(self) -> str:
        """Return the table, and how it was measured."""
        found = self.results()
        return f"{self.made()}:\n\n{list_table(rows(found))}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("pezo-rtl-training", Training)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
