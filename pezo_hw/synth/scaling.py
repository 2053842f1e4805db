"""Figures of a core whose lanes are all alike, from syntheses of some of its lanes.

A source with a generator in each lane takes Yosys an hour at 1024 lanes, and every lane is the same
logic. So the core is synthesised with three smaller numbers of lanes: the first and the last of
them make a straight line, which is followed to the number wanted, and the one between them has to
lie on it. Figures made in this way say so, see ``scaled`` in `scale`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pezo_hw.config import Config
from pezo_hw.errors import CheckFailed
from pezo_hw.synth import published
from pezo_hw.synth.boards import Board
from pezo_hw.synth.counts import COLUMNS

__all__ = ["PLACED", "SAMPLES", "TOLERANCE", "samples", "scale"]

SAMPLES: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "gaussian-tree": (16, 32, 64),
        # Sizes of its wide generators, which have bits to spare with other numbers of lanes.
        "gaussian-clt": (64, 128, 256),
    }
)
"""Numbers of lanes that are synthesised, ascending, by ``source.kind``; others are not scaled."""

PLACED: Mapping[str, int] = MappingProxyType({"gaussian-tree": 8, "gaussian-clt": 16})
"""Lanes that are placed and routed instead of all of them, by ``source.kind``.

Few are enough: the paths lie within lanes. More of them take longer and are hardly slower.
"""

TOLERANCE = 0.04
"""How far the LUTs and flip-flops of the middle number of lanes may be off the line, as a part."""


def samples(config: Config) -> tuple[int, ...]:
    """Return the numbers of lanes to synthesise; none if the core is to be synthesised as it is."""
    found = SAMPLES.get(config.source.kind, ())
    return found if found and config.reuse.lanes > found[-1] else ()


def scale(
    reports: Mapping[int, Mapping[str, Any]],
    *,
    lanes: int,
    board: Board,
    kind: str,
    core: str = "perturbation",
) -> dict[str, Any]:
    """Return the report of a core with more lanes than have been synthesised.

    Parameters
    ----------
    reports : dict of int to dict
        Three reports of `pezo_hw.synth.report.report`, by the number of lanes.
    lanes : int
        Lanes of the core.
    board : Board
        For which board.
    kind : str
        ``source.kind``.
    core : str
        ``core.kind``.

    Returns
    -------
    dict
        As from `pezo_hw.synth.report.report`, with ``scaled``: ``lanes``; ``from``, a list of
        ``lanes`` and the four resources as synthesised; ``per_lane``, the resources that a lane
        adds; ``deviation``, by which part the middle number of lanes is off the line at most.
        ``resources``, ``share``, ``blocks`` and ``carry`` are on the line, the longest paths are
        those of the largest number of lanes.

    Raises
    ------
    CheckFailed
        If the figures do not lie on a line.
    """
    small, middle, large = sorted(reports)
    first, last = reports[small], reports[large]

    def line(one: float, other: float, at: int) -> float:
        return other + (other - one) * (at - large) / (large - small)

    def measured(at: int, column: str) -> float:
        return float(reports[at]["resources"][column])

    off = {
        column: abs(
            line(measured(small, column), measured(large, column), middle)
            / measured(middle, column)
            - 1
        )
        for column in ("lut", "ff")
    }
    worst = max(off, key=lambda column: off[column])
    if off[worst] > TOLERANCE:
        raise CheckFailed(
            f"figures of {small}, {middle} and {large} lanes must lie on a line to within "
            f"{100 * TOLERANCE:g} %, so that they can be scaled to {lanes}, but the "
            f"{worst.upper()}s are {100 * off[worst]:.1f} % off; synthesise all with --all-lanes"
        )

    before = {block["name"]: block for block in first["blocks"]}
    blocks = [
        dict(block)
        | {
            column: round(line(before.get(block["name"], {}).get(column, 0), block[column], lanes))
            for column in COLUMNS
        }
        for block in last["blocks"]
    ]
    # A sum of rounded numbers, so that the blocks add up.
    resources = {column: sum(block[column] for block in blocks) for column in COLUMNS}
    capacity = board.capacity
    return dict(last) | {
        "resources": resources,
        "share": {
            column: round(resources[column] / capacity[column], 6)
            if capacity and capacity[column]
            else None
            for column in COLUMNS
        },
        "blocks": blocks,
        "carry": round(line(first["carry"], last["carry"], lanes)),
        "published": dict(published.beside(kind, core=core, part=board.part, lanes=lanes)),
        "scaled": {
            "lanes": lanes,
            "from": [{"lanes": at, **reports[at]["resources"]} for at in (small, middle, large)],
            "per_lane": {
                column: round(
                    (measured(large, column) - measured(small, column)) / (large - small), 3
                )
                for column in COLUMNS
            },
            "deviation": round(max(off.values()), 5),
        },
    }
