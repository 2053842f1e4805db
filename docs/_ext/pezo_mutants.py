"""``pezo-mutants``: what became of the mutants in ``results/mutants.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pezo_tables import Table, list_table
from sphinx.application import Sphinx

RESULTS = Path(__file__).resolve().parent.parent / "results" / "mutants.json"


def cores(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return the table of cores."""
    seeds = found["seeds"]
    rows: list[Sequence[str]] = [["core", *(f"found, sample of seed {seed}" for seed in seeds)]]
    for name in found["fingerprints"]:
        counts = [cores[name] for cores in seeds.values()]
        rows.append([name, *(f"{core['killed']} of {core['mutants']}" for core in counts)])
    return [*rows, ["all", *(f"{share:.1%}" for share in found["shares"].values())]]


def survivors(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return the table of mutants that are not found."""
    rows: list[Sequence[str]] = [["core, seed", "mutant that is not found", "why not"]]
    for seed, of_seed in found["seeds"].items():
        for name, core in of_seed.items():
            rows += [
                [f"{name}, {seed}", f"``{s['mutant']}``", str(s["why"])] for s in core["survivors"]
            ]
    return rows


class Mutants(Table):
    """``.. pezo-mutants::``."""

    path = RESULTS

    def text(self) -> str:
        """Return both tables, and how they were measured."""
        found = self.results()
        parts = [f"{self.made()}:\n", list_table(cores(found))]
        if len(rows := survivors(found)) > 1:
            parts.append(list_table(rows, widths="20 35 45"))
        return "\n".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("pezo-mutants", Mutants)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
