"""Compare the presets with their accepted figures in ``bench/``; exit with 1 if one is worse.

Each file ``bench/<preset>.json`` is compared with what ``pezo report <preset> --activity`` gives.
Fmax takes minutes for each preset, so it is compared with ``--place`` only. What is synthesised is
kept in the cache of `pezo report`, which the test suite fills.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pezo_hw.cli import report as reports
from pezo_hw.cli.progress import Progress
from pezo_hw.config import load
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.export.manifest import portable
from pezo_hw.simulate.activity import GROUPS
from pezo_hw.synth import baseline as baselines
from pezo_hw.synth import cores

ROOT = Path(__file__).resolve().parent.parent


def check(path: Path, *, place: bool, write: bool) -> str | None:
    """Compare a preset with its file, or write the file again.

    Returns
    -------
    str or None
        What is worse than it may be.
    """
    accepted = baselines.load(path)
    config = load(path.stem)
    family = "ecp5" if place else None
    with Progress() as progress:
        result = cores.report(config, where=path.stem, place=family, progress=progress)
        if "activity" in accepted.figures:
            result["activity"] = cores.activity(config, groups=GROUPS, progress=progress)
    dumped = portable(config.model_dump(mode="json", exclude_none=True))
    where = str(path.relative_to(ROOT))
    notes = [
        f"the configuration has changed: {key}" for key in baselines.changed_keys(accepted, dumped)
    ]
    found = baselines.compare(accepted, result)
    print(reports.differences_text(found, where=where, notes=tuple(notes)), flush=True)
    if write:
        made = baselines.accept(result, name=config.core.name, config=dumped, before=accepted)
        path.write_text(baselines.to_json(made), encoding="utf-8")
        return None
    try:
        reports.check(found, where=where)
    except CheckFailed as error:
        return str(error)
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all files of ``bench/``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--place", action="store_true", help="place and route for Fmax as well")
    parser.add_argument("--write", action="store_true", help="accept the figures; needs --place")
    parser.add_argument("presets", nargs="*", help="presets to look at; default: all with a file")
    given = parser.parse_args(arguments)
    paths = sorted((ROOT / "bench").glob("*.json"))
    if given.presets:
        paths = [ROOT / "bench" / f"{name}.json" for name in given.presets]
    try:
        worse = [check(path, place=given.place, write=given.write) for path in paths]
    except PezoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for text in filter(None, worse):
        print(f"error: {text}", file=sys.stderr)
    return int(any(worse))


if __name__ == "__main__":
    raise SystemExit(main())
