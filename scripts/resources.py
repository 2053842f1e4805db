"""Measure the resource figures that the README and the documents show.

Synthesises the designs of `DESIGNS` as `pezo report` does, and writes
``docs/results/resources.json``: the reports, the cells of each block by type, the tool versions,
and a fingerprint of each design's gateware, by which a test finds out that the figures are out of
date. Then the table of the README is written again from this file.

Each synthesis takes up to a minute; its result is kept in the cache of `pezo report`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pezo_hw import tools
from pezo_hw.config import load
from pezo_hw.export import folder
from pezo_hw.export.rtl import Core, build, fingerprint
from pezo_hw.synth import blocks, boards, published
from pezo_hw.synth.report import describe
from pezo_hw.synth.yosys import Synthesis, synthesise

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "resources.json"
README = ROOT / "README.md"

BEGIN, END = "<!-- figures: scripts/resources.py -->", "<!-- end of figures -->"
BEGIN_STEP = "<!-- blocks of the ZO step: scripts/resources.py -->"
# The design that the second table divides.
STEP = "ZO step"


@dataclass(frozen=True)
class Design:
    """A design whose figures are shown.

    Attributes
    ----------
    name : str
        What it is called in the documents.
    preset : str
    overrides : tuple of str
        What ``--set`` is given.
    """

    name: str
    preset: str
    overrides: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that prints the figures."""
        return " ".join(["pezo report", self.preset, *(f"--set {text}" for text in self.overrides)])

    def build(self) -> Core:
        """Build the gateware."""
        return build(load(self.preset, self.overrides))


DESIGNS = (
    Design("on the fly", "zcu102-onthefly"),
    # With this seed the groups differ in their exponent.
    Design(
        "on the fly, live norm table",
        "zcu102-onthefly",
        ("source.phases=seeded", "source.seed=7"),
    ),
    Design("pre-generated", "zcu102-pregen"),
    Design(STEP, "zcu102-step"),
    Design("ZO step, all schedules, 64 tensors", "zcu102-fused"),
)


def measure(design: Design) -> dict[str, Any]:
    """Synthesise a design and return its entry of the results."""
    core = design.build()
    config = core.config
    board = boards.resolve(config.board_reference)
    with folder.temporary(core, board=board) as place:
        manifest = folder.read(place)
        synthesis = synthesise(
            [place / path for path in manifest["files"]["rtl"]], top=manifest["top"], board=board
        )
    beside = published.beside(
        config.source.kind, core=config.core.kind, part=board.part, lanes=config.reuse.lanes
    )
    return {
        "name": design.name,
        "command": design.command,
        "kind": config.core.kind,
        "lanes": config.reuse.lanes,
        "words": config.words,
        "fingerprint": fingerprint(core),
        "report": describe(synthesis, board=board, beside=beside),
        "cells": _cells(synthesis),
    }


def _cells(synthesis: Synthesis) -> list[dict[str, Any]]:
    where = blocks.owners(synthesis.netlist, synthesis.hierarchy)
    # The first part of a path is the core inside its wrapper.
    found = Counter(
        (".".join(where[cell.name][1:]) or blocks.OTHER, cell.type)
        for cell in synthesis.netlist.cells
    )
    return [
        {"block": block, "type": kind, "count": n} for (block, kind), n in sorted(found.items())
    ]


def table(results: Mapping[str, Any]) -> str:
    """Return the table of the README, in Markdown."""
    heads = ["design", "lanes", "LUT", "FF", "BRAM36", "DSP", "LUT share"]
    rows = [_row(entry) for entry in results["designs"]]
    others = (published.PEZO["on-the-fly"], published.PEZO["pre-generated"], published.BASELINE)
    rows += [_published_row(figures) for figures in others]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _row(entry: Mapping[str, Any]) -> list[str]:
    report = entry["report"]
    used = report["resources"]
    return [
        f"{entry['name']} (`{entry['command'].removeprefix('pezo report ')}`)",
        f"{entry['lanes']:,}",
        *(f"{used[key]:,}" for key in ("lut", "ff", "bram36", "dsp")),
        f"{100 * report['share']['lut']:.2f} %",
    ]


def _published_row(figures: published.Figures) -> list[str]:
    return [
        f"*published: {figures.design}*",
        f"{published.LANES:,}",
        f"≈ {figures.lut:,}",
        f"≈ {figures.ff:,}",
        "-",
        "-",
        f"{figures.lut_percent:g} %",
    ]


def step_table(results: Mapping[str, Any]) -> str:
    """Return the table of the ZO step's blocks for the README, in Markdown."""
    (entry,) = (entry for entry in results["designs"] if entry["name"] == STEP)
    report = entry["report"]
    total = report["resources"]["lut"]
    lines = [["block", "LUT", "FF", "DSP", "of its LUTs"], ["---", *["---:"] * 4]]
    for block in sorted(report["blocks"], key=lambda block: -block["lut"]):
        used = [f"{block[key]:,}" for key in ("lut", "ff", "dsp")]
        lines.append([f"`{block['name']}`", *used, f"{100 * block['lut'] / total:.0f} %"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def with_table(readme: str, results: Mapping[str, Any]) -> str:
    """Return the README's text with the tables of these results."""
    for begin, made in ((BEGIN, table(results)), (BEGIN_STEP, step_table(results))):
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", flags=re.DOTALL)
        readme, found = pattern.subn(f"{begin}\n{made}\n{END}", readme)
        if found != 1:
            raise ValueError(f"the README must hold {begin} and {END} once")
    return readme


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all designs and write the results and the README's table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--table", action="store_true", help="only write the README's table again, from the results"
    )
    if not parser.parse_args(arguments).table:
        _write_results()
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    README.write_text(with_table(README.read_text(encoding="utf-8"), results), encoding="utf-8")
    print(f"wrote the table of {README.relative_to(ROOT)}")
    return 0


def _write_results() -> None:
    designs = []
    for design in DESIGNS:
        print(f"{design.command} ...", flush=True)
        designs.append(measure(design))
        print(f"  {designs[-1]['report']['resources']}", flush=True)
    versions = tools.versions()
    kept = ("pezo-hw", "amaranth", "yosys")
    results = {"tools": {name: versions[name] for name in kept}, "designs": designs}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    raise SystemExit(main())
