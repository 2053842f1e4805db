"""``pezo-mutants``: what became of the mutants in ``results/mutants.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pezo_tables import Table, list_table
from sphinx.application import Sphinx

RESULTS = Path(__file__).resolve().parent.parent / "results" / "mutants.json"


def cores(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return the table of cores."""
    measured = found["cores"]
    rows: list[Sequence[str]] = [["core", "mutants", "found"]]
    rows += [[name, str(c["mutants"]), str(c["killed"])] for name, c in measured.items()]
    mutants, killed = (sum(c[key] for c in measured.values()) for key in ("mutants", "killed"))
    return [*rows, ["all", str(mutants), f"{killed}, {found['share']:.1%}"]]


def survivors(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return the table of mutants that no bench finds."""
    rows: list[Sequence[str]] = [["core", "mutant that is not found", "why not"]]
    for name, core in found["cores"].items():
        rows += [[name, f"``{s['mutant']}``", str(s["why"])] for s in core["survivors"]]
    return rows


class Mutants(Table):
    """``.. pezo-mutants::``."""

    def text(self) -> str:
        """Return both tables, and how they were measured."""
        self.env.note_dependency(str(RESULTS))
        found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
        tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
        parts = [f"``{found['command']}`` ({tools}):\n", list_table(cores(found))]
        if len(rows := survivors(found)) > 1:
            parts.append(list_table(rows, widths="20 35 45"))
        return "\n".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("pezo-mutants", Mutants)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
