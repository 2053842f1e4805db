"""The critical path of a placed design, by block and in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pezo_hw.errors import PezoError
from pezo_hw.synth.blocks import OTHER
from pezo_hw.synth.netlist import Cell, Netlist, Path

__all__ = ["HARNESS", "describe", "words"]

HARNESS = "harness"
"""Block of the registers around the core."""

# How deep the core lies: the harness holds the wrapper, which holds the core.
_WRAPPERS = 2

_NAMES = {
    "TRELLIS_FF": "register",
    "LUT4": "LUT",
    "CCU2C": "carry cell",
    "PFUMX": "multiplexer",
    "L6MUX21": "multiplexer",
    "DP16KD": "block RAM",
    "PDPW16KD": "block RAM",
    "MULT18X18D": "multiplier",
    "TRELLIS_DPR16X4": "LUT RAM",
}


def describe(
    report: Mapping[str, Any], netlist: Netlist, *, owners: Mapping[str, Path]
) -> list[dict[str, Any]]:
    """Return the critical path between registers, cell by cell.

    Parameters
    ----------
    report : dict
        What nextpnr wrote with ``--report``.
    netlist : Netlist
        The netlist that it placed.
    owners : dict of str to Path
        Block of each cell, from `pezo_hw.synth.blocks.owners`.

    Returns
    -------
    list of dict
        From the register at the start to the one at the end: ``block``; ``cell``: what it is, such
        as "LUT"; ``signal``: what a register holds or a block RAM gives, if it has a name in the
        RTL, else null; ``routing_ns``: from the cell before to here; ``logic_ns``: through the
        cell, which is clock to output at the start and set-up at the end.

    Raises
    ------
    PezoError
        If the report has no path from register to register.
    """
    # Paths to and from "<async>" are the ports; where there are several clocks, so are they.
    found = [
        path
        for path in report["critical_paths"]
        if path["from"] == path["to"] and "<async>" not in path["from"]
    ]
    if len(found) != 1:
        raise PezoError(f"nextpnr must report one critical path of the clock, not {len(found)}")
    cells = {cell.name: cell for cell in netlist.cells}
    result: list[dict[str, Any]] = []
    routing = 0.0
    for step in found[0]["path"]:
        if step["type"] == "routing":
            routing = step["delay"]
            continue
        name = step["from"]["cell"]
        cell = _cell(name, cells)
        result.append(
            {
                "block": _block(owners[cell.name]) if cell else OTHER,
                "cell": _NAMES.get(cell.type, cell.type) if cell else "cell",
                "signal": _signal(cell, netlist) if cell else None,
                "routing_ns": round(routing, 3),
                "logic_ns": round(step["delay"], 3),
            }
        )
        routing = 0.0
    return result


def words(path: Sequence[Mapping[str, Any]]) -> str:
    """Return the path of `describe` as one sentence."""
    logic = sum(step["logic_ns"] for step in path)
    routing = sum(step["routing_ns"] for step in path)
    between = [step["cell"] for step in path[1:-1]]
    kinds = [f"{between.count(kind)} {_plural(kind, between)}" for kind in dict.fromkeys(between)]
    through = f" through {' and '.join(kinds)}" if kinds else ""
    return (
        f"{logic + routing:.2f} ns from {_end(path[0])}{through} to {_end(path[-1])}: "
        f"{logic:.2f} ns of logic and {routing:.2f} ns of routing"
    )


def _plural(kind: str, between: Sequence[str]) -> str:
    return f"{kind}s" if between.count(kind) > 1 else kind


def _end(step: Mapping[str, Any]) -> str:
    name = f"{step['cell']} {step['signal']}" if step["signal"] else f"a {step['cell']}"
    return f"{name} of the {HARNESS}" if step["block"] == HARNESS else f"{name} in {step['block']}"


def _cell(name: str, cells: Mapping[str, Cell]) -> Cell | None:
    """Return the cell of the netlist that a cell of nextpnr was made from.

    When it splits a cell, as a carry cell into two halves, it appends to the name.
    """
    while name not in cells:
        name, mark, _ = name.rpartition("$")
        if not mark:
            return None
    return cells[name]


def _block(path: Path) -> str:
    if not path:
        return HARNESS
    # Amaranth appends a number to an instance that is called like a signal.
    return ".".join(re.sub(r"\$\d+$", "", name) for name in path[_WRAPPERS:]) or OTHER


def _signal(cell: Cell, netlist: Netlist) -> str | None:
    names = [
        (signal, bit)
        for bits in cell.outputs.values()
        for net in bits
        for path, signal, bit in netlist.names.get(net, ())
        # Names that Yosys made up say nothing: _012_ from writing the RTL, and those that it makes
        # of a cell and its pin, which have dots and no path.
        if not re.fullmatch(r"_\d+_", signal) and (path or "." not in signal)
    ]
    if not names:
        return None
    signal, bit = min(names, key=lambda name: (len(name[0]), name))
    return f"{re.sub(r'[$][0-9]+$', '', signal)}[{bit}]"
