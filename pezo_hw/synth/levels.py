"""LUT levels: how many LUTs lie between one register and the next.

The count is of LUTs and inverters on the longest path. Wide multiplexers and carry cells add no
level; how many carry cells lie on the path is told beside. A DSP whose registers are off is part of
the path, one whose registers are on ends it. Reading a LUT RAM is a level from its address on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from pezo_hw.errors import PezoError
from pezo_hw.synth.families import Family, Timing
from pezo_hw.synth.netlist import Cell, Netlist

__all__ = ["Levels", "Path", "measure", "named"]

Selector = Callable[[Cell], bool]


@dataclass(frozen=True)
class Path:
    """A longest path.

    Attributes
    ----------
    levels : int
        LUTs and inverters on it.
    carry : int
        Carry cells on it.
    start, end : str
        Bit of the signal that the register holds, or name of the port.
    cells : tuple of str
        Types of the cells between, from start to end.
    """

    levels: int
    carry: int
    start: str
    end: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Levels:
    """The longest path of each kind, or None where there is no such path at all."""

    register_to_register: Path | None
    input_to_register: Path | None
    register_to_output: Path | None
    input_to_output: Path | None


@dataclass(frozen=True)
class _Reach:
    """The longest way to a net so far."""

    levels: int
    carry: int
    start: str
    cells: tuple[str, ...]

    @property
    def rank(self) -> tuple[int, int]:
        return self.levels, self.carry


@dataclass(frozen=True)
class _Arc:
    target: int
    levels: int
    cell: Cell
    carry: int


def measure(
    netlist: Netlist,
    *,
    family: Family,
    start: Selector | None = None,
    end: Selector | None = None,
) -> Levels:
    """Find the longest paths.

    Parameters
    ----------
    netlist : Netlist
        A flat, synthesised netlist.
    family : Family
        Whose cells it is made of.
    start, end : callable, optional
        Which registers (also RAMs and DSPs) a path may start from and end in; default: any.
        Ports are not asked for. See `named` and `pezo_hw.synth.blocks.inside`.

    Returns
    -------
    Levels
        Paths end in any pin of a register but its clock, so enables and resets count.

    Raises
    ------
    PezoError
        If there is a combinational loop, which has no longest path.

    Examples
    --------
    The levels in front of the registers of one block::

        measure(netlist, family=family, end=inside(netlist, hierarchy, "engine.bank"))
    """
    arcs: dict[int, list[_Arc]] = defaultdict(list)
    starts: dict[int, str] = {}
    ends: list[tuple[int, str]] = []
    for cell in netlist.cells:
        timing = family.timing(cell.type)
        if timing is None:
            # Unknown cells are told of in the counts; here they cut the path on both sides.
            timing = Timing(ends=".*", starts=True)
        carry = getattr(family.cost(cell.type), "carry", 0)
        if _starts(cell, timing) and (start is None or start(cell)):
            label = _label(cell, netlist)
            starts |= {bit: label for bits in cell.outputs.values() for bit in bits}
        for pin, bits in cell.inputs.items():
            if _match(timing.clocks, pin):
                continue
            if _is_end(cell, pin, timing) and (end is None or end(cell)):
                ends += [(bit, _label(cell, netlist)) for bit in bits]
            for source, target, levels in _arcs(cell, pin, timing):
                arcs[source].append(_Arc(target, levels, cell, carry))
    inputs = {bit: name for name, bits in netlist.inputs.items() for bit in bits}
    outputs = [(bit, name) for name, bits in netlist.outputs.items() for bit in bits]
    order = _order(arcs)
    from_registers = _spread(starts, arcs, order)
    from_inputs = _spread(inputs, arcs, order)
    return Levels(
        register_to_register=_longest(from_registers, ends),
        input_to_register=_longest(from_inputs, ends),
        register_to_output=_longest(from_registers, outputs),
        input_to_output=_longest(from_inputs, outputs),
    )


def named(netlist: Netlist, prefix: str) -> Selector:
    """Select registers by the RTL's name of what they hold.

    Parameters
    ----------
    netlist : Netlist
        The netlist of the registers.
    prefix : str
        Instance names and the signal's name joined with dots, or the first few of them:
        ``"engine.bank"`` selects what ``engine.bank`` holds, but not what ``engine.bank2`` does.
        Of the names that a signal has in the blocks that it passes through Yosys keeps but one;
        `pezo_hw.synth.blocks.inside` selects by the block that drives it, whatever the name.

    Returns
    -------
    callable
        For `measure`.
    """
    wanted = tuple(prefix.split("."))

    def matches(cell: Cell) -> bool:
        return any(
            (*path, signal)[: len(wanted)] == wanted
            for bits in cell.outputs.values()
            for bit in bits
            for path, signal, _ in netlist.names.get(bit, ())
        )

    return matches


def _label(cell: Cell, netlist: Netlist) -> str:
    names = {
        (".".join((*path, signal)), bit)
        for bits in cell.outputs.values()
        for net in bits
        for path, signal, bit in netlist.names.get(net, ())
    }
    # Names that write_verilog made up (_012_) say little; of the others the shortest is best.
    best = min(
        names,
        key=lambda name: (bool(re.search(r"(^|\.)_\d+_$", name[0])), len(name[0]), name),
        default=None,
    )
    return f"{best[0]}[{best[1]}]" if best else cell.name


@cache
def _match(pattern: str, pin: str) -> re.Match[str] | None:
    return re.fullmatch(pattern, pin)


def _on(cell: Cell, parameter: str) -> bool:
    value = cell.parameters.get(parameter, "0")
    return value not in ("NONE", "FALSE") and set(value) != {"0"}


def _stage(cell: Cell, pin: str, timing: Timing) -> bool | None:
    """Return whether a pin with optional registers has one; None for a pin without such options."""
    if _match(timing.ends, pin):
        return None
    for pattern, parameters in timing.stages:
        if _match(pattern, pin):
            return any(_on(cell, parameter) for parameter in parameters)
    return None


def _starts(cell: Cell, timing: Timing) -> bool:
    return timing.starts or any(_on(cell, p) for _, stage in timing.stages for p in stage)


def _is_end(cell: Cell, pin: str, timing: Timing) -> bool:
    return bool(_match(timing.ends, pin)) or _stage(cell, pin, timing) is True


def _arcs(cell: Cell, pin: str, timing: Timing) -> Iterator[tuple[int, int, int]]:
    table = timing.arcs
    if _stage(cell, pin, timing) is False:
        table = ((".*", ".*", 0),)
    for pattern, outputs, levels in table:
        found = _match(pattern, pin)
        if not found:
            continue
        for out, targets in cell.outputs.items():
            if not _match(found.expand(outputs), out):
                continue
            for i, source in enumerate(cell.inputs[pin]):
                # The carry inputs are one bit wide and so reach everything.
                for target in targets[i:] if timing.ripple else targets:
                    if source >= 0:
                        yield source, target, levels
        return


def _order(arcs: dict[int, list[_Arc]]) -> list[int]:
    """Return the nets that have arcs, sources before targets."""
    before: dict[int, int] = defaultdict(int)
    for leaving in arcs.values():
        for arc in leaving:
            before[arc.target] += 1
    ready = [net for net in arcs if not before[net]]
    order = []
    while ready:
        net = ready.pop()
        order.append(net)
        for arc in arcs.get(net, ()):
            before[arc.target] -= 1
            if not before[arc.target]:
                ready.append(arc.target)
    for net, leaving in arcs.items():
        if before[net]:
            raise PezoError(
                f"the netlist must have no combinational loop, but has one near a "
                f"{leaving[0].cell.type} ({leaving[0].cell.name})"
            )
    return order


def _spread(
    starts: dict[int, str], arcs: dict[int, list[_Arc]], order: list[int]
) -> dict[int, _Reach]:
    reach = {net: _Reach(0, 0, name, ()) for net, name in starts.items()}
    for net in order:
        here = reach.get(net)
        if here is None:
            continue
        for arc in arcs.get(net, ()):
            there = _Reach(
                here.levels + arc.levels,
                here.carry + arc.carry,
                here.start,
                (*here.cells, arc.cell.type),
            )
            if arc.target not in reach or there.rank > reach[arc.target].rank:
                reach[arc.target] = there
    return reach


def _longest(reach: dict[int, _Reach], ends: list[tuple[int, str]]) -> Path | None:
    best: tuple[_Reach, str] | None = None
    for net, name in ends:
        here = reach.get(net)
        if here is not None and (best is None or here.rank > best[0].rank):
            best = here, name
    if best is None:
        return None
    found, end = best
    return Path(found.levels, found.carry, found.start, end, found.cells)
