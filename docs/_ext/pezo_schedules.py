"""Directives for ``results/schedules.json``, so that the documents cannot differ from it.

``pezo-transfers``: transfers of each weight in a training step. ``pezo-schedules``: what each
schedule costs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pezo_tables import Table, list_table
from sphinx.application import Sphinx

RESULTS = Path(__file__).resolve().parent.parent / "results" / "schedules.json"


def results() -> dict[str, Any]:
    """Return what ``scripts/schedules.py`` has measured."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def transfers(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return the table of transfers."""
    rows: list[Sequence[str]] = [["step", "zo.schedule", "transfers of a weight"]]
    rows += [[m["name"], m["schedule"], f"{m['transfers']:g}"] for m in found["methods"]]
    return rows


def costs(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return the table of resources."""
    rows: list[Sequence[str]] = [
        ["schedule", "update", "tensors", "LUT", "FF", "BRAM36", "DSP", "LUT a lane"]
    ]
    for design in found["designs"]:
        used = design["resources"]
        rows.append(
            [
                design["schedule"],
                design["update"],
                str(design["tensors"]),
                *(f"{used[key]:,}" for key in ("lut", "ff", "bram36", "dsp")),
                f"{used['lut'] / design['lanes']:.0f}",
            ]
        )
    return rows


class Transfers(Table):
    """The table of transfers."""

    def text(self) -> str:
        """Return reStructuredText."""
        self.env.note_dependency(str(RESULTS))
        return list_table(transfers(results()))


class Schedules(Table):
    """The table of resources."""

    def text(self) -> str:
        """Return reStructuredText."""
        self.env.note_dependency(str(RESULTS))
        return list_table(costs(results()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("pezo-transfers", Transfers)
    app.add_directive("pezo-schedules", Schedules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
