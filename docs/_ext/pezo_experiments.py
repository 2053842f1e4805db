"""The directive ``pezo-experiment``: a table of results in ``results/experiments``.

Its argument is the name of an experiment. So the documents cannot differ from what was measured; an
experiment that has not been run says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from pezo_tables import list_table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).resolve().parent.parent / "results"

Rows = list[Sequence[str]]


def percent(found: Mapping[str, Any]) -> str:
    """Return mean and standard deviation of an accuracy."""
    return f"{100 * found['mean']:.1f} ± {100 * found['std']:.1f}"


def rate(entry: Mapping[str, Any], *, key: str = "rate") -> str:
    """Return the learning rate that was chosen, marked where it is at an end of those tried."""
    tried = [one["rate"] for one in entry["tuning"]]
    mark = {min(tried): "≤ ", max(tried): "≥ "}.get(entry[key], "")
    return f"{mark}{entry[key]:g}"


def finetune(results: Mapping[str, Any]) -> Rows:
    """Return methods against tasks."""
    names = list(dict.fromkeys(name for entries in results.values() for name in entries))
    rows: Rows = [["", *results]]
    rows.append(
        [
            "before",
            *(percent(next(iter(entries.values()))["before"]) for entries in results.values()),
        ]
    )
    for name in names:
        cells = []
        for entries in results.values():
            entry = entries.get(name)
            cells.append(f"{percent(entry['accuracy'])} ({rate(entry)})" if entry else "")
        rows.append([name, *cells])
    return rows


def unscaled(results: Mapping[str, Any]) -> Rows:
    """Return sources against tasks and rates."""
    rows: Rows = [["task", "source", "at the Gaussian's rate", "at its own rate", "own rate"]]
    for task, entries in results.items():
        for name, entry in entries.items():
            if "own rate" in entry:
                at_gaussian = percent(entry["accuracy at Gaussian's rate"])
                own = percent(entry["accuracy at own rate"])
                rows.append([task, name, at_gaussian, own, rate(entry, key="own rate")])
        for name, found in entries.get("at a third of that rate", {}).items():
            rows.append([task, f"{name}, at a third of that rate", percent(found), "", ""])
    return rows


def sweeps(results: Mapping[str, Any]) -> Rows:
    """Return every value of every sweep."""
    rows: Rows = [["sweep", "value", "accuracy", "rate", "directions", "rank"]]
    for sweep, entries in results.items():
        for name, entry in entries.items():
            counted = [f"{entry[key]:,}" if key in entry else "" for key in ("directions", "rank")]
            rows.append([sweep, name, percent(entry["accuracy"]), rate(entry), *counted])
    return rows


def adapters(results: Mapping[str, Any]) -> Rows:
    """Return methods with what they train, reach and hold."""
    rows: Rows = [
        ["", "trained", "steps", "accuracy", "ms a step", "at equal time", "bytes of a step"]
    ]
    for name, entry in results.items():
        equal = entry.get("accuracy at equal time")
        rows.append(
            [
                name,
                f"{entry['parameters']:,}",
                str(entry["steps"]),
                percent(entry["accuracy"]),
                f"{entry['ms a step']:.1f}",
                percent(equal) if equal else "",
                f"{entry['peak bytes']:,}",
            ]
        )
    return rows


def zoqo(results: Mapping[str, Any]) -> Rows:
    """Return sources and bits against tasks."""
    rows: Rows = [["task", "", "before", "after"]]
    for task, entries in results.items():
        for name, entry in entries.items():
            rows.append([task, name, percent(entry["before"]), percent(entry["accuracy"])])
    return rows


def optimiser(results: Mapping[str, Any]) -> Rows:
    """Return times of perturbations and steps."""
    rows: Rows = [["what", "", "median, ms", "times as fast", "least of the rounds"]]
    for key, title in (
        ("perturbation", f"{results['perturbation']['weights']:,} perturbations"),
        ("step", f"step of {results['step']['weights']:,} weights"),
    ):
        for name, entry in results[key].items():
            if isinstance(entry, dict):
                figures = (entry["median ms"], entry["median ratio"], entry["least ratio"])
                rows.append([title, name, f"{figures[0]:.0f}", *(f"{f:.1f}" for f in figures[1:])])
    return rows


TABLES: dict[str, Callable[[Mapping[str, Any]], Rows]] = {
    "adapters": adapters,
    "finetune": finetune,
    "optimiser": optimiser,
    "sweeps": sweeps,
    "unscaled": unscaled,
    "zoqo": zoqo,
}


class Experiment(SphinxDirective):
    """``.. pezo-experiment:: NAME``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, and what made it."""
        return self.parse_text_to_nodes(self.text(self.arguments[0]))

    def text(self, name: str) -> str:
        """Return reStructuredText."""
        if name == "optimiser":
            path = RESULTS / "optimiser.json"
        else:
            path = RESULTS / "experiments" / f"{name}.json"
        self.env.note_dependency(str(path))
        if not path.is_file():
            return "This experiment has not been run yet.\n"
        content = json.loads(path.read_text(encoding="utf-8"))
        table = list_table(TABLES[name](content.get("results", content)))
        versions = ", ".join(f"{tool} {version}" for tool, version in content["versions"].items())
        made = f"``{content['command']}``; " if "command" in content else ""
        return f"{table}\n{made}{versions}.\n"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("pezo-experiment", Experiment)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
