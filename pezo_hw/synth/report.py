"""The synthesis report: what a core takes of its device, by block, beside published figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pezo_hw.synth import published
from pezo_hw.synth.blocks import divide
from pezo_hw.synth.boards import Board
from pezo_hw.synth.counts import COLUMNS, Counts, count
from pezo_hw.synth.levels import Levels, measure
from pezo_hw.synth.yosys import Synthesis, synthesise

__all__ = ["describe", "report"]


def report(
    files: Sequence[Path],
    *,
    top: str,
    board: Board,
    kind: str | None = None,
    core: str = "perturbation",
    lanes: int | None = None,
    data: Sequence[Path] = (),
    progress: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Synthesise a core and report what it takes.

    Parameters
    ----------
    files : sequence of Path
        The RTL, ``.v`` and ``.sv``.
    top : str
        Name of the top module.
    board : Board
        For which board.
    kind : str, optional
        ``source.kind``, which selects the published figures; default: none beside it.
    core : str
        ``core.kind``.
    lanes : int, optional
        Lanes of the core.
    data : sequence of Path, optional
        Memory images that the RTL reads.
    progress : callable, optional
        Called with a line of text if Yosys has to run.

    Returns
    -------
    dict
        See `describe`.

    Raises
    ------
    PezoError
        If a file cannot be read, or Yosys is missing or refuses the design.
    """
    synthesis = synthesise(files, top=top, board=board, data=data, progress=progress)
    beside = {}
    if kind is not None:
        beside = published.beside(kind, core=core, part=board.part, lanes=lanes)
    return describe(synthesis, board=board, beside=beside)


def describe(
    synthesis: Synthesis, *, board: Board, beside: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Report what a synthesised design takes.

    Parameters
    ----------
    synthesis : Synthesis
        The design.
    board : Board
        Whose device it is compared with.
    beside : dict, optional
        Published figures, from `pezo_hw.synth.published.beside`.

    Returns
    -------
    dict
        Ready for JSON. ``device``, ``board``, ``family``, ``top``; ``estimate``: always true;
        ``tool``; ``command``; ``resources``: ``lut``, ``ff``, ``bram36``, ``dsp``; ``share``: the
        same as fractions of the device, null where the device does not say or has none; ``blocks``:
        a list of ``name``, ``instances`` and the four resources, which add up to ``resources``;
        ``logic_levels``: LUTs between registers, at most; ``paths``: ``levels``, ``carry``,
        ``start`` and ``end`` of the longest path of each kind, or null; ``carry``: carry cells;
        ``ram``: cells that hold memory, by type; ``other_cells``: cells that are in no resource,
        by type; ``published``.
    """
    total = count(synthesis.netlist.cells, family=synthesis.family)
    blocks = divide(synthesis.netlist, synthesis.hierarchy, family=synthesis.family)
    levels = measure(synthesis.netlist, family=synthesis.family)
    between = levels.register_to_register
    return {
        "device": board.part,
        "board": board.name,
        "family": board.family,
        "top": synthesis.top,
        "estimate": True,
        "tool": synthesis.tool,
        "command": f"{board.synth} -top {synthesis.top}",
        "resources": _resources(total),
        "share": _share(_resources(total), board.capacity),
        "blocks": [
            {"name": block.name, "instances": block.instances, **_resources(block.counts)}
            for block in blocks
        ],
        "logic_levels": between.levels if between else 0,
        "paths": _paths(levels),
        "carry": total.carry,
        "ram": dict(total.ram),
        "other_cells": dict(total.other),
        "published": dict(beside or {}),
    }


def _resources(counts: Counts) -> dict[str, float]:
    values = {column: getattr(counts, column) for column in COLUMNS}
    return {c: int(value) if value == int(value) else value for c, value in values.items()}


def _share(
    resources: Mapping[str, float], capacity: Mapping[str, float] | None
) -> dict[str, float | None]:
    return {
        column: round(resources[column] / capacity[column], 6)
        if capacity and capacity[column]
        else None
        for column in COLUMNS
    }


def _paths(levels: Levels) -> dict[str, dict[str, Any] | None]:
    paths = {field.name: getattr(levels, field.name) for field in fields(levels)}
    return {
        name: {key: value for key, value in asdict(path).items() if key != "cells"}
        if path
        else None
        for name, path in paths.items()
    }
