"""Measure the comparison that the documents show: ``docs/results/compare/``.

Runs ``pezo compare --scaling -o docs/results/compare`` and adds ``fingerprints.json``, checksums of
each design's gateware by which a test finds out that the figures are out of date. What is measured
is kept in the cache of `pezo report`; without it this takes some ten minutes more than the plain
comparison.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pezo_hw import compare
from pezo_hw.cli.progress import Progress
from pezo_hw.compare import output
from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.files import write_folder
from pezo_hw.synth.published import LANES

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "compare"
FINGERPRINTS = "fingerprints.json"

# Every lane is the same logic, so that few of them show a change.
_LANES = 64


def fingerprints() -> dict[str, str]:
    """Return a checksum of the gateware of each design."""
    return {entry.name: fingerprint(build(entry.config(_LANES))) for entry in compare.ENTRIES}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.parse_args(arguments)
    with Progress() as progress:
        found = compare.measure(LANES, sizes=compare.SIZES, progress=progress)
    prints = f"{json.dumps(fingerprints(), indent=1)}\n".encode()
    write_folder(RESULTS, output.contents(found) | {FINGERPRINTS: prints})
    print(f"wrote {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
