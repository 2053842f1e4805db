"""Measuring all sources: every part is kept in the cache, so a second run takes seconds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pezo_hw import __version__
from pezo_hw.arguments import shown
from pezo_hw.config import Config
from pezo_hw.errors import PezoError
from pezo_hw.synth import cache, cores, yosys
from pezo_hw.synth import place as placing

from .entries import BASELINE, ENTRIES, Entry, check_lanes, with_lanes
from .result import Comparison, Row, Size

__all__ = ["LANE_VALUES", "PARAMETERS", "SIZES", "STEPS", "measure"]

PARAMETERS = 2410
"""D by default: the weights of the classifier that the reference trainings used."""

MOST_PARAMETERS = 10**9
"""More would be a typing error; what a rank can be taken for is far less, and depends on lanes."""

STEPS = 512
"""Successive directions whose rank is taken."""

LANE_VALUES = 1 << 18
"""Lane values that are simulated for the activity of each source."""

SIZES = (32, 128, 512, 1024, 4096)
"""Numbers of lanes of the scaling."""

# Part of the key of a rank: raise it when what is kept changes.
_FORMAT = "rank 1"

Progress = Callable[[str], None]


def measure(
    lanes: int,
    *,
    parameters: int = PARAMETERS,
    place: bool = True,
    sizes: Sequence[int] = (),
    progress: Progress | None = None,
    entries: Sequence[Entry] = ENTRIES,
) -> Comparison:
    """Compare sources.

    Parameters
    ----------
    lanes : int
        P of all sources.
    parameters : int
        D, for the directions and their rank.
    place : bool
        Place and route for Fmax, which takes most of the time.
    sizes : sequence of int
        Numbers of lanes to synthesise all sources with, for `Comparison.scaling`.
    progress : callable, optional
        Called with a line of text at each stage, from two threads.
    entries : sequence of Entry
        Designs; `BASELINE` must be one of them.

    Raises
    ------
    PezoError
        If not every source can have so many lanes, or a tool is missing or fails.
    """
    check_lanes(lanes)
    for size in sizes:
        check_lanes(size, option="lanes of the scaling")
    if parameters < 1:
        raise PezoError(f"--parameters must be at least 1, not {parameters}")
    if parameters > MOST_PARAMETERS:
        raise PezoError(
            f"--parameters must be at most {MOST_PARAMETERS:,}, not {shown(parameters)}; use fewer"
        )
    used, notes = with_lanes(lanes, entries)
    _check_rank(used, lanes, parameters=parameters)
    say = progress or (lambda _: None)
    versions = {"pezo-hw": __version__, "yosys": yosys.version()}
    if place:
        # A tool that is missing is found here, and not taken for a device that is too small.
        versions["nextpnr-ecp5"] = placing.version()

    def measured(number: int, entry: Entry) -> _Measured:
        begin = f"{number}/{len(used)} {entry.name}: "

        def tell(text: str) -> None:
            say(begin + text)

        return _measure(entry, lanes, parameters=parameters, place=place, tell=tell)

    # Two at a time, since most tools use one processor; the last ones, which take longest, first.
    # They are numbered in the order in which they begin.
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        begun = enumerate(reversed(used), start=1)
        jobs = [pool.submit(measured, number, entry) for number, entry in begun]
        try:
            found = [job.result() for job in reversed(jobs)]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    reports = {entry.name: one.report for entry, one in zip(used, found, strict=True)}
    notes += [note for one in found for note in one.notes]
    baseline = reports[BASELINE]["resources"]["lut"]
    of_sizes = [(entry, size) for size in sizes for entry in with_lanes(size, entries)[0]]
    scaling = []
    for number, (entry, size) in enumerate(of_sizes, start=1):
        say(f"{number}/{len(of_sizes)} scaling: {entry.name} with {size} lanes")
        scaling.append(_size(entry, size))
    for size in sizes:
        notes += [note for note in with_lanes(size, entries)[1] if note not in notes]
    return Comparison(
        lanes=lanes,
        device=reports[BASELINE]["device"],
        parameters=parameters,
        steps=STEPS,
        lane_values=LANE_VALUES,
        tools=versions,
        rows=tuple(
            _row(entry.name, one.report, baseline=baseline, **one.figures)
            for entry, one in zip(used, found, strict=True)
        ),
        notes=tuple(notes),
        paths={
            name: report["place"]["critical_path_words"]
            for name, report in reports.items()
            if "place" in report
        },
        scaling=tuple(scaling),
    )


@dataclass(frozen=True)
class _Measured:
    report: dict[str, Any]
    figures: dict[str, Any]
    notes: list[str]


def _measure(
    entry: Entry, lanes: int, *, parameters: int, place: bool, tell: Progress
) -> _Measured:
    config = entry.config(lanes)
    report, notes = _report(entry, config, place=place, tell=tell)
    activity = cores.activity(config, groups=-(-LANE_VALUES // lanes), progress=tell)
    tell(f"rank of {STEPS} directions")
    figures = {
        "activity": activity["per_lane_value"],
        **_directions(config, parameters=parameters),
    }
    if activity["lanes"] != lanes:
        notes.append(
            f"{entry.name}: the activity is of {activity['groups']:,} groups of "
            f"{activity['lanes']} lanes"
        )
    return _Measured(report, figures, notes)


def _check_rank(entries: Sequence[Entry], lanes: int, *, parameters: int) -> None:
    """Refuse more parameters than ranks can be taken for, before anything takes long."""
    from pezo_hw.analysis import directions
    from pezo_hw.golden.engine import engine_of

    fewer, first = parameters, ""
    for entry in entries:
        engine = engine_of(entry.config(lanes))
        while what := directions.matrix_of(engine, parameters=fewer).too_large(STEPS):
            first = first or f"{entry.name} takes {what}"
            fewer //= 2
    if first:
        raise PezoError(
            f"--parameters must be so few that the rank of {STEPS} directions of {first}, as for "
            f"{parameters}; use {fewer}"
        )


def _report(
    entry: Entry, config: Config, *, place: bool, tell: Progress
) -> tuple[dict[str, Any], list[str]]:
    notes = []
    try:
        family = "ecp5" if place else None
        report = cores.report(config, where=entry.preset, place=family, progress=tell)
    except PezoError as error:
        if not place:
            raise
        # It may be too large for that device; all else can be known.
        notes.append(f"{entry.name} has no Fmax: {error}")
        report = cores.report(config, where=entry.preset, progress=tell)
    if "scaled" in report:
        scaled = report["scaled"]
        sizes = [str(made["lanes"]) for made in scaled["from"]]
        notes.append(
            f"{entry.name}: LUTs and flip-flops are scaled from syntheses of "
            f"{', '.join(sizes[:-1])} and {sizes[-1]} lanes, off a line by "
            f"{100 * scaled['deviation']:.1f} % at most"
        )
        if "place" in report:
            notes.append(f"{entry.name}: placed with {report['place']['lanes']} lanes")
    return report, notes


def _row(source: str, report: dict[str, Any], *, baseline: float, **figures: Any) -> Row:
    used = report["resources"]
    return Row(
        source=source,
        **used,
        share=report["share"]["lut"],
        ratio=round(used["lut"] / baseline, 6),
        fmax_mhz=report["place"]["fmax_mhz"] if "place" in report else None,
        logic_levels=report["logic_levels"],
        **figures,
    )


def _size(entry: Entry, lanes: int) -> Size:
    report = cores.report(entry.config(lanes), where=entry.preset)
    used = report["resources"]
    return Size(entry.name, lanes, used["lut"], used["ff"], "scaled" in report)


def _directions(config: Config, *, parameters: int) -> dict[str, int]:
    """Return ``period``, ``directions`` and ``rank``."""
    from pezo_hw.analysis import directions
    from pezo_hw.export.manifest import source
    from pezo_hw.export.rtl import build

    core = build(config)
    engine = core.model
    matrix = directions.matrix_of(engine, parameters=parameters)
    starts = directions.starts_visited(engine, matrix.groups, period=engine.period)
    # The manifest holds what anyone needs to recompute the stream.
    name = cache.key(_FORMAT, f"{parameters} {STEPS}", json.dumps(source(core), sort_keys=True))
    kept = cache.load(name) or {}
    if not isinstance(kept.get("rank"), int):
        matrix.check(STEPS)
        kept = {"rank": directions.measure(matrix, steps=STEPS).rank}
        cache.store(name, kept)
    return {"period": engine.period, "directions": starts, "rank": kept["rank"]}
