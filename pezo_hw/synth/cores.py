"""What a configuration takes: generate the core, synthesise it, place it, count its toggles.

A core with a generator in each lane is measured with fewer lanes and scaled, unless all lanes are
asked for; see `pezo_hw.synth.scaling`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pezo_hw.config import Config
from pezo_hw.config.advice import variant
from pezo_hw.synth import boards, scaling

__all__ = ["activity", "report"]

Progress = Callable[[str], None]


def report(
    config: Config,
    *,
    where: str,
    place: str | None = None,
    progress: Progress | None = None,
    all_lanes: bool = False,
) -> dict[str, Any]:
    """Generate a core into a private folder and return its report.

    Parameters
    ----------
    config : Config
    where : str
        What the configuration was read from, for messages.
    place : str, optional
        "ecp5" adds ``place``, see `pezo_hw.synth.place.place`.
    progress : callable, optional
        Called with a line of text at each stage.
    all_lanes : bool
        Never scale.

    Returns
    -------
    dict
        See `pezo_hw.synth.report.describe` and `pezo_hw.synth.scaling.scale`. Of a scaled core
        `pezo_hw.synth.scaling.PLACED` lanes are placed, and ``place`` has them as ``lanes``.
    """
    if not all_lanes and (sizes := scaling.samples(config)):
        return _scaled(config, sizes, where=where, place=place, progress=progress)
    # Here and not at the top: the export uses this package.
    from pezo_hw.export import folder
    from pezo_hw.export.rtl import build
    from pezo_hw.synth import place as placing
    from pezo_hw.synth import report as synthesis

    board = boards.of(config, where=where)
    with folder.temporary(build(config), board=board) as directory:
        manifest = folder.read(directory)
        files = [directory / path for path in manifest["files"]["rtl"]]
        result = synthesis.report(
            files,
            top=manifest["top"],
            board=board,
            kind=config.source.kind,
            core=config.core.kind,
            lanes=config.reuse.lanes,
            progress=progress,
        )
        if place is not None:
            # Before minutes of synthesis for a device that is too small.
            luts = dict.fromkeys(placing.CAPACITY, 0.0) | {"lut": result["resources"]["lut"]}
            placing.check_fits(luts, name=config.core.name)
            result["place"] = placing.place(
                files,
                top=manifest["top"],
                ports=manifest["ports"],
                seeds=placing.SEEDS,
                progress=progress,
            )
    return result


def _scaled(
    config: Config,
    sizes: Sequence[int],
    *,
    where: str,
    place: str | None,
    progress: Progress | None,
) -> dict[str, Any]:
    reports = {}
    for lanes in sizes:
        if progress:
            progress(f"{lanes} lanes, to be scaled to {config.reuse.lanes}")
        reports[lanes] = report(_with_lanes(config, lanes), where=where, progress=progress)
    result = scaling.scale(
        reports,
        lanes=config.reuse.lanes,
        board=boards.of(config, where=where),
        kind=config.source.kind,
        core=config.core.kind,
    )
    if place is not None:
        from pezo_hw.synth.place import SEEDS, place_config

        few = _with_lanes(config, scaling.PLACED[config.source.kind])
        result["place"] = place_config(few, seeds=SEEDS, progress=progress)
    return result


def activity(
    config: Config,
    *,
    groups: int,
    saif_file: Path | None = None,
    progress: Progress | None = None,
    all_lanes: bool = False,
) -> dict[str, Any]:
    """Count the toggles of a core, see `pezo_hw.simulate.activity.activity`.

    A core that `report` scales is simulated with the largest number of lanes that is synthesised
    for this, for so many groups that there are at least as many lane values; ``lanes`` and
    ``groups`` of the result say so. Every lane is the same logic, so toggles a lane value are about
    the same.
    """
    from pezo_hw.simulate.activity import activity as measure

    if not all_lanes and (sizes := scaling.samples(config)):
        groups = -(-groups * config.reuse.lanes // sizes[-1])
        config = _with_lanes(config, sizes[-1])
    return measure(config, groups=groups, saif_file=saif_file, progress=progress)


def _with_lanes(config: Config, lanes: int) -> Config:
    fewer = variant(config, reuse__lanes=lanes)
    # The sizes that are synthesised are legal for every source that has them.
    assert fewer is not None
    return fewer
