"""Which block of the RTL each cell of a flat netlist belongs to.

A flat netlist is what a vendor's tool builds too, and its total is the figure that counts; but most
of its cells have names that Yosys made up. Three ways to divide it were compared on a 32-word bank
with norm table and control (621 LUT, 882 FF flat):

- synthesising with the hierarchy kept: 623 LUT, since nothing is optimised across blocks. The sum
  is not the total, and it drifts further the more a block relies on constants from outside;
- giving a LUT to the block whose signal it drives: none of the 606 LUTs drives a net with a name
  from the RTL, because ABC renames whatever lies between registers;
- what is done here: a cell that drives a net with a name from the RTL (registers, RAMs, DSPs) goes
  to the block that drives that net, any other cell goes where its outputs end. Every cell finds a
  block, the sum is the total by construction, and each block was within 3 LUT of its count with the
  hierarchy kept. The price: a LUT of one block whose output only another one's registers read, such
  as a clock enable, is the reader's.

**Who drives a net.** Of the names that a net has in the blocks that it passes through, flattening
leaves one, and not always the driver's: a port of the top module outlives the register behind it.
So the name is looked up in the RTL's own wiring, and followed through ports down into the instance,
or up out of the block, until logic drives it.

**Where a nameless net ends.** In the cells that read it: registers, RAMs and DSPs belong to the
block that drives their outputs; LUTs and carry cells pass the question on to their own readers.
Most readers decide; a draw goes to the first in alphabetical order.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pezo_hw.errors import PezoError
from pezo_hw.synth.counts import Counts, count
from pezo_hw.synth.families import Family
from pezo_hw.synth.netlist import Cell, Hierarchy, Netlist, Path

__all__ = ["OTHER", "Block", "divide", "inside", "owners"]

OTHER = "other"
"""Name of the row of what the top module itself adds."""


@dataclass(frozen=True)
class Block:
    """One row of the report.

    Attributes
    ----------
    name : str
        Instance names from below the top module down, joined with dots. ``lane*`` stands for
        instances that differ in a number only. `OTHER` is the top module's own logic; a wrapper
        around the whole design counts as one with the module that it wraps.
    instances : int
        How many instances the row adds up.
    counts : Counts
        What the cells of the block take, without those of the blocks inside it.
    """

    name: str
    instances: int
    counts: Counts


def owners(netlist: Netlist, hierarchy: Hierarchy) -> dict[str, Path]:
    """Find the block of every cell.

    Parameters
    ----------
    netlist : Netlist
        The flat netlist.
    hierarchy : Hierarchy
        The instances that it was flattened from.

    Returns
    -------
    dict of str to Path
        By cell name; ``()`` is the top module.
    """
    drivers: dict[int, Path] = {}
    for bit, names in netlist.names.items():
        # Two names of two drivers means that Yosys merged two equal cells.
        paths = [path for name in names if (path := hierarchy.driver(name)) is not None]
        if paths:
            drivers[bit] = min(paths)
    readers: dict[int, list[Cell]] = defaultdict(list)
    for cell in netlist.cells:
        for bits in cell.inputs.values():
            for bit in bits:
                readers[bit].append(cell)
    found: dict[str, Path] = {}
    for cell in netlist.cells:
        driven = [drivers[bit] for bit in _outputs(cell) if bit in drivers]
        if driven:
            found[cell.name] = _majority(driven)
    # Backwards from the cells that have a block, level by level, so that a long carry chain is no
    # deep recursion. What is left after that has no reader that anyone knows.
    waiting = [cell for cell in netlist.cells if cell.name not in found]
    while waiting:
        settled: dict[str, Path] = {}
        for strict in (True, False):
            for cell in waiting:
                ends = [reader.name for bit in _outputs(cell) for reader in readers[bit]]
                known = [found[name] for name in ends if name in found]
                # First those with all readers known; a loop (through a RAM) is cut where it must.
                if known and (len(known) == len(ends) or not strict):
                    settled[cell.name] = _majority(known)
            if settled:
                break
        if not settled:
            settled = {cell.name: () for cell in waiting}
        found |= settled
        waiting = [cell for cell in waiting if cell.name not in found]
    return found


def divide(netlist: Netlist, hierarchy: Hierarchy, *, family: Family) -> list[Block]:
    """Divide a netlist into the blocks of its RTL.

    Parameters
    ----------
    netlist : Netlist
        The flat netlist.
    hierarchy : Hierarchy
        The instances that it was flattened from.
    family : Family
        Whose cells they are.

    Returns
    -------
    list of Block
        Blocks that have cells, in order of name, and the top module's own logic last. Together they
        are all cells of the netlist, each once.
    """
    where = owners(netlist, hierarchy)
    shown = _display(hierarchy)
    cells: dict[str, list[Cell]] = defaultdict(list)
    instances: dict[str, set[Path]] = defaultdict(set)
    for cell in netlist.cells:
        path = where[cell.name]
        cells[shown[path]].append(cell)
        instances[shown[path]].add(path)
    order = sorted(cells, key=lambda name: (name == OTHER, name))
    return [Block(n, len(instances[n]), count(cells[n], family=family)) for n in order]


def inside(netlist: Netlist, hierarchy: Hierarchy, block: str) -> Callable[[Cell], bool]:
    """Select the cells of a block and of the blocks inside it, for `pezo_hw.synth.levels.measure`.

    Parameters
    ----------
    netlist : Netlist
        The flat netlist.
    hierarchy : Hierarchy
        The instances that it was flattened from.
    block : str
        A block's name, as `divide` writes it.

    Returns
    -------
    callable
        Whether a cell is one of them.

    Raises
    ------
    PezoError
        If no cell belongs to that block: a question about it must not be answered by silence.
    """
    shown = _display(hierarchy)
    where = {cell: shown[path] for cell, path in owners(netlist, hierarchy).items()}
    selected = {cell for cell, name in where.items() if f"{name}.".startswith(f"{block}.")}
    if not selected:
        known = ", ".join(sorted(set(where.values())))
        raise PezoError(f'"{block}" must be a block that has cells; those are {known}')
    return lambda cell: cell.name in selected


def _outputs(cell: Cell) -> Iterable[int]:
    return (bit for bits in cell.outputs.values() for bit in bits)


def _majority(paths: Iterable[Path]) -> Path:
    ranked = Counter(paths)
    most = max(ranked.values())
    return min(path for path, n in ranked.items() if n == most)


def _display(hierarchy: Hierarchy) -> dict[Path, str]:
    """Name every instance for people.

    A wrapper around the whole design is left out of the names, so is what Amaranth appends to an
    instance that is called like a signal (``lanes$80``), and siblings that differ in a trailing
    number share a name.
    """
    root = _wrapped(hierarchy)
    plain = {
        path: tuple(re.sub(r"\$\d+$", "", name) for name in path[len(root) :])
        for path in hierarchy.modules
    }
    siblings = Counter((path[:-1], _general(path[-1])) for path in plain.values() if path)

    def part(path: Path, i: int) -> str:
        general = _general(path[i])
        return general if siblings[path[:i], general] > 1 else path[i]

    return {
        path: ".".join(part(short, i) for i in range(len(short))) or OTHER
        for path, short in plain.items()
    }


def _general(name: str) -> str:
    return re.sub(r"\d+$", "*", name)


def _wrapped(hierarchy: Hierarchy) -> Path:
    """Return the only instance of a top module that holds nothing itself, else the top."""
    top = hierarchy.modules[()]
    return (next(iter(top.instances)),) if len(top.instances) == 1 and not top.stores else ()
