"""Places in a flat netlist, told by what stands there and not by numbers that tools give."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Places"]

# How much is told of what stands around a place.
_DEEPEST, _MOST_PIECES = 3, 4
# Wires that only a number tells apart, in any part of a hierarchical name.
_NUMBERED = re.compile(r"\$|(^|\.)_\d+_$")

Bit = int | str


class Places:
    """Names for ports of cells: the names of the RTL, and the logic between them.

    Parameters
    ----------
    netlist : mapping
        A flat module, as Yosys' ``write_json`` gives it.
    """

    def __init__(self, netlist: Mapping[str, Any]):
        self._cells = netlist["cells"]
        self._wires: dict[Bit, tuple[str, int]] = {}
        self._drivers: dict[Bit, tuple[str, str]] = {}
        for name, wire in netlist["netnames"].items():
            if wire["hide_name"] or _NUMBERED.search(name):
                continue
            for place, bit in enumerate(wire["bits"]):
                known = self._wires.get(bit)
                # Of a wire with several names, the one of the module that has it.
                if isinstance(bit, int) and (
                    known is None or (name.count("."), name) > (known[0].count("."), known[0])
                ):
                    self._wires[bit] = (name, place)
        self._widths = {name: len(wire["bits"]) for name, wire in netlist["netnames"].items()}
        for name, cell in self._cells.items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    self._drivers.update(dict.fromkeys(bits, (name, port)))

    def of(self, cell: str, port: str, bit: int) -> str:
        """Return a name for a bit of a port of a cell."""
        found = self._cells[cell]
        bits = found["connections"][port]
        if found["port_directions"][port] == "output":
            named = self._wires.get(bits[bit])
            return _indexed(*named, self._widths) if named else f"{self._cell(cell, 0)}[{bit}]"
        outputs = [
            bits
            for name, bits in found["connections"].items()
            if found["port_directions"][name] == "output"
        ]
        # A register is known by its name, anything else by all of what it does.
        whole = self._named(outputs[0]) if "ff" in found["type"] and outputs else None
        return f"{port}[{bit}] of {whole or self._cell(cell, 0)}"

    def _cell(self, name: str, depth: int) -> str:
        cell = self._cells[name]
        inputs = [
            self._value(bits, depth + 1)
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "input" and bits and not port.endswith("CLK")
        ]
        kind = cell["type"].removeprefix("$").removeprefix("logic_").removeprefix("reduce_")
        text = f"{kind}({', '.join(inputs)})"
        if depth or not name.startswith("$flatten"):
            return text
        # With the module that it was in.
        path = name.removeprefix("$flatten").replace("\\", "").split(".")
        return ".".join(itertools.takewhile(lambda part: "$" not in part, path)) + f": {text}"

    def _value(self, bits: Sequence[Bit], depth: int) -> str:
        if all(isinstance(bit, str) for bit in bits):
            text = "".join(str(bit) for bit in reversed(bits))
            return str(int(text, 2)) if set(text) <= set("01") else text
        # What widens a number says nothing.
        if (named := self._named(bits)) is not None:
            return named
        used = _narrowed(bits)
        if (named := self._named(used)) is not None:
            return named
        if depth >= _DEEPEST:
            return "..."
        if (driver := self._drivers.get(used[0])) is not None:
            whole: list[Bit] = self._cells[driver[0]]["connections"][driver[1]]
            if used == whole[: len(used)]:
                return self._cell(driver[0], depth)
        pieces = self._pieces(bits, depth)
        if len(pieces) > _MOST_PIECES:
            pieces[1:-1] = ["..."]
        return "{" + ", ".join(pieces) + "}"

    def _pieces(self, bits: Sequence[Bit], depth: int) -> list[str]:
        """Return the values of a concatenation, the highest first, as few as they are."""
        pieces: list[list[Bit]] = []
        for bit in bits:
            if pieces and self._together(pieces[-1][-1], bit):
                pieces[-1].append(bit)
            else:
                pieces.append([bit])
        return [self._value(piece, depth + 1) for piece in reversed(pieces)]

    def _together(self, one: Bit, other: Bit) -> bool:
        if isinstance(one, str) or isinstance(other, str):
            return isinstance(one, str) and isinstance(other, str)
        if one in self._wires and other in self._wires:
            return self._wires[other] == (self._wires[one][0], self._wires[one][1] + 1)
        return (
            one not in self._wires
            and other not in self._wires
            and self._drivers.get(one) == self._drivers.get(other)
        )

    def _named(self, bits: Sequence[Bit]) -> str | None:
        found = [self._wires.get(bit) for bit in bits]
        first = found[0]
        if first is None:
            return None
        name, low = first
        if found != [(name, low + i) for i in range(len(bits))]:
            return None
        if len(bits) == self._widths[name]:
            return name
        return f"{name}[{low}]" if len(bits) == 1 else f"{name}[{low + len(bits) - 1}:{low}]"


def _narrowed(bits: Sequence[Bit]) -> list[Bit]:
    """Return a number without what extends it."""
    used = list(bits)
    while len(used) > 1 and (used[-1] == "0" or used[-1] == used[-2]):
        used.pop()
    return used


def _indexed(name: str, place: int, widths: Mapping[str, int]) -> str:
    return name if widths[name] == 1 else f"{name}[{place}]"
