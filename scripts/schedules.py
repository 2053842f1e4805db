"""Measure what each schedule of the step core moves and costs.

Counts the transfers of a training step in a simulation (`pezo_hw.simulate.transfers`), synthesises
zcu102-step with plain ports for each schedule, and with what can be added to it, and writes
``docs/results/schedules.json``. Each synthesis takes up to a minute; its result is kept in the
cache of `pezo report`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pezo_hw import tools
from pezo_hw.config import Config, from_mapping, load
from pezo_hw.export import folder
from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.golden.schedules import KINDS
from pezo_hw.simulate.transfers import METHODS, count
from pezo_hw.synth import boards
from pezo_hw.synth.report import describe
from pezo_hw.synth.yosys import synthesise

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "schedules.json"
PRESET = "zcu102-step"

# What is measured: schedule, update, tensors.
DESIGNS = (
    *((schedule, "dsp", 0) for schedule in KINDS),
    ("in-place", "dsp", 64),
    ("fused", "dsp", 64),
    ("in-place", "zoqo", 0),
    ("fused", "zoqo", 0),
)


def configured(schedule: str, update: str, tensors: int) -> Config:
    """Return the configuration of a design: as the preset, with plain ports."""
    mapping = load(PRESET, ["control.interface=ports"]).model_dump(mode="json", exclude_none=True)
    mapping["control"]["tensors"] = tensors
    mapping["zo"] |= {"schedule": schedule}
    if update == "zoqo":
        mapping["zo"] = {"schedule": schedule, "update": "zoqo", "levels": 1}
        mapping["scaling"] = {"mode": "none"}
    return from_mapping(mapping)


def measure(schedule: str, update: str, tensors: int) -> dict[str, Any]:
    """Synthesise a design and return its entry of the results."""
    config = configured(schedule, update, tensors)
    core = build(config)
    board = boards.resolve(config.board_reference)
    with folder.temporary(core, board=board) as place:
        manifest = folder.read(place)
        rtl = [place / path for path in manifest["files"]["rtl"]]
        report = describe(synthesise(rtl, top=manifest["top"], board=board), board=board)
    return {
        "schedule": schedule,
        "update": update,
        "tensors": tensors,
        "lanes": config.reuse.lanes,
        "fingerprint": fingerprint(core),
        "resources": report["resources"],
        "lut_ram": report["ram"],
        "blocks": report["blocks"],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, measure and write the results."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args(arguments)
    methods = [
        {"name": name, "schedule": method.schedule, "transfers": count(name).transfers}
        for name, method in METHODS.items()
    ]
    designs = []
    for design in DESIGNS:
        print(f"{' '.join(map(str, design))} ...", flush=True)
        designs.append(measure(*design))
        print(f"  {designs[-1]['resources']}", flush=True)
    versions = tools.versions()
    kept = ("pezo-hw", "amaranth", "yosys")
    results = {
        "tools": {name: versions[name] for name in kept},
        "methods": methods,
        "designs": designs,
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
