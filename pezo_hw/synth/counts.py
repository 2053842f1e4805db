"""What a set of cells takes of a device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pezo_hw.synth.families import Cost, Family
from pezo_hw.synth.netlist import Cell

__all__ = ["COLUMNS", "Counts", "count"]

COLUMNS = ("lut", "ff", "bram36", "dsp")
"""The resources of a report, in order."""


@dataclass(frozen=True)
class Counts:
    """What some cells take.

    Attributes
    ----------
    lut : int
        Every LUT of any size, inverters, shift registers in LUTs, and the LUTs that LUT RAM fills.
    ff, dsp, carry : int
        Flip-flops, DSP blocks, carry cells.
    bram36 : float
        Block RAM in units of 36 kbit, rounded to three places.
    ram : dict of str to int
        Cells that hold memory, by type.
    other : dict of str to int
        Cells that the family's table does not know, by type. Nothing is left out in silence.
    """

    lut: int
    ff: int
    bram36: float
    dsp: int
    carry: int
    ram: Mapping[str, int]
    other: Mapping[str, int]


def count(cells: Iterable[Cell], *, family: Family) -> Counts:
    """Add up what cells take.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of a synthesised netlist.
    family : Family
        Whose cells they are.
    """
    types = Counter(cell.type for cell in cells)
    costs = {cell_type: family.cost(cell_type) for cell_type in types}
    known = [(costs[t] or Cost(), n) for t, n in types.items()]
    return Counts(
        lut=sum(cost.lut * n for cost, n in known),
        ff=sum(cost.ff * n for cost, n in known),
        bram36=round(sum(cost.bram36 * n for cost, n in known), 3),
        dsp=sum(cost.dsp * n for cost, n in known),
        carry=sum(cost.carry * n for cost, n in known),
        ram={t: types[t] for t in sorted(types) if re.fullmatch(family.ram, t)},
        other={t: types[t] for t in sorted(types) if costs[t] is None},
    )
