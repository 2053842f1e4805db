"""Measure what ``reuse.signs`` costs and what it does: ``docs/results/signs.json``.

For each preset whose lanes reuse words: the resources, and the rank and participation ratio of
successive directions, without and with signs. Syntheses are kept in the cache of `pezo report`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pezo_hw.analysis import analyse_config
from pezo_hw.compare import PARAMETERS, STEPS
from pezo_hw.config import load
from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.synth import cores

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "signs.json"

_FEW = ("reuse.lanes=64",)

PRESETS = ("zcu102-onthefly", "zcu102-pregen", "zcu102-wide")


def print_of(preset: str, *, signs: bool) -> str:
    """Return a checksum of the gateware, with few lanes: all of them are alike."""
    return fingerprint(build(load(preset, [f"reuse.signs={str(signs).lower()}", *_FEW])))


def measure(preset: str, *, signs: bool) -> dict[str, Any]:
    """Return the entry of a preset."""
    overrides = [f"reuse.signs={str(signs).lower()}"]
    config = load(preset, overrides)
    report = cores.report(config, where=preset)
    found = analyse_config(config, parameters=PARAMETERS, steps=STEPS)
    assert found.directions is not None
    return {
        "preset": preset,
        "signs": signs,
        "fingerprint": print_of(preset, signs=signs),
        "lanes": config.reuse.lanes,
        **report["resources"],
        "lane_lut": sum(b["lut"] for b in report["blocks"] if b["name"] == "reuse"),
        "logic_levels": report["logic_levels"],
        "rank": found.directions.rank,
        "participation": round(found.directions.participation, 1),
        "gaussian_participation": round(found.directions.gaussian_participation, 1),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.parse_args(arguments)
    entries = []
    for preset in PRESETS:
        for signs in (False, True):
            entries.append(measure(preset, signs=signs))
            print(entries[-1], flush=True)
    results = {"parameters": PARAMETERS, "steps": STEPS, "entries": entries}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
