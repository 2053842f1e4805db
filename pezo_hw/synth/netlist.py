"""A synthesised, flat netlist and the hierarchy it came from, read from Yosys' JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Cell",
    "Hierarchy",
    "Module",
    "Name",
    "Netlist",
    "Path",
    "parse_hierarchy",
    "parse_netlist",
]

Path = tuple[str, ...]
"""Where an instance is: the instance names from below the top module down; () is the top."""

Name = tuple[Path, str, int]
"""One bit of a signal: the instance whose module declares it, its name there, the bit's number."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One primitive of the device.

    Attributes
    ----------
    name, type : str
        Name in the netlist (mostly made up by Yosys), and type, such as ``"LUT6"``.
    inputs, outputs : dict of str to tuple of int
        Net numbers by pin, least significant bit first; constant bits are -1.
    parameters : dict of str to str
        As Yosys writes them: binary digits or text.
    constants : dict of str to str
        Of the input pins with constant bits: ``"0"``, ``"1"`` or ``"x"`` for each constant bit,
        ``"-"`` for the others, least significant bit first.
    """

    name: str
    type: str
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    parameters: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Netlist:
    """A flat netlist.

    Attributes
    ----------
    top : str
        Name of the module.
    cells : tuple of Cell
        Every primitive.
    inputs, outputs : dict of str to tuple of int
        Net numbers of the module's ports.
    names : dict of int to tuple of Name
        The names from the RTL that a net still has, sorted; a net that has only names that Yosys
        made up is missing. Of the names that a net has in the modules that it passes through, Yosys
        keeps those of ports of the top module, or else one of its own choice.
    constants : dict of str to str
        Of the output ports with constant bits, as for `Cell`.
    """

    top: str
    cells: tuple[Cell, ...]
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    names: Mapping[int, tuple[Name, ...]]
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Module:
    """How a module of the RTL is wired, before anything is flattened.

    Attributes
    ----------
    nets : dict of str to tuple of int
        Net numbers of every signal, by name.
    inputs : dict of int to (str, int)
        Input port and bit that a net enters the module by.
    made : frozenset of int
        Nets that logic of the module itself drives.
    given : dict of int to (str, str, int)
        Instance, port and bit that drive a net from inside an instance.
    instances : dict of str to (str, dict)
        Module of every instance, and the net numbers at its ports.
    stores : bool
        Whether the module itself, without its instances, has registers or memories.
    """

    nets: Mapping[str, tuple[int, ...]]
    inputs: Mapping[int, tuple[str, int]]
    made: frozenset[int]
    given: Mapping[int, tuple[str, str, int]]
    instances: Mapping[str, tuple[str, Mapping[str, tuple[int, ...]]]]
    stores: bool


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The instances of a design before they were flattened.

    Attributes
    ----------
    modules : dict of Path to Module
        Module of every instance; the top is at ``()``.
    """

    modules: Mapping[Path, Module]

    def driver(self, name: Name) -> Path | None:
        """Return the instance whose own logic drives a bit; None for constants and top inputs."""
        path, signal, bit = name
        module = self.modules.get(path)
        if module is None or bit >= len(module.nets.get(signal, ())):
            return None
        net = module.nets[signal][bit]
        seen = set()
        while (path, net) not in seen:
            seen.add((path, net))
            module = self.modules[path]
            if net in module.made:
                return path
            if net in module.given:
                instance, port, bit = module.given[net]
                path = (*path, instance)
                net = self.modules[path].nets[port][bit]
            elif net in module.inputs and path:
                port, bit = module.inputs[net]
                parent = self.modules[path[:-1]].instances[path[-1]][1]
                if bit >= len(parent.get(port, ())):
                    return None
                path, net = path[:-1], parent[port][bit]
        return None


def parse_netlist(document: Mapping[str, Any], *, top: str) -> Netlist:
    """Read the module `top` of what ``write_json`` wrote after synthesis.

    Parameters
    ----------
    document : dict
        The parsed JSON.
    top : str
        Name of the flat module.
    """
    module = document["modules"][top]
    ports = module["ports"]
    cells = tuple(
        _cell(name, cell) for name, cell in module["cells"].items() if cell["type"] != "$scopeinfo"
    )
    names: dict[int, set[Name]] = {}
    for net, entry in module["netnames"].items():
        if entry["hide_name"]:
            continue
        # Yosys joins instance and signal names with dots, which escaped names may contain too; the
        # attribute keeps them apart, and signals of the top module have none.
        parts = entry["attributes"].get("hdlname", net).split(" ")
        for i, bit in enumerate(_bits(entry["bits"])):
            names.setdefault(bit, set()).add((tuple(parts[:-1]), parts[-1], i))
    return Netlist(
        top=top,
        cells=cells,
        inputs={n: _bits(p["bits"]) for n, p in ports.items() if p["direction"] != "output"},
        outputs={n: _bits(p["bits"]) for n, p in ports.items() if p["direction"] != "input"},
        names={bit: tuple(sorted(found)) for bit, found in names.items() if bit >= 0},
        constants=_constants(
            {name: port["bits"] for name, port in ports.items() if port["direction"] == "output"}
        ),
    )


def parse_hierarchy(document: Mapping[str, Any], *, top: str) -> Hierarchy:
    """Read the instances below `top` of what ``write_json`` wrote before synthesis.

    Parameters
    ----------
    document : dict
        The parsed JSON.
    top : str
        Name of the top module.
    """
    parsed = {name: _module(entry, document) for name, entry in document["modules"].items()}
    modules: dict[Path, Module] = {}
    todo: list[tuple[Path, str]] = [((), top)]
    while todo:
        path, name = todo.pop()
        modules[path] = parsed[name]
        todo += [((*path, i), kind) for i, (kind, _) in parsed[name].instances.items()]
    return Hierarchy(modules=modules)


def _module(entry: Mapping[str, Any], document: Mapping[str, Any]) -> Module:
    made: set[int] = set()
    given: dict[int, tuple[str, str, int]] = {}
    instances: dict[str, tuple[str, Mapping[str, tuple[int, ...]]]] = {}
    for name, cell in entry["cells"].items():
        pins = {pin: _bits(bits) for pin, bits in cell["connections"].items()}
        inner = document["modules"].get(cell["type"])
        if inner is not None:
            instances[name] = cell["type"], pins
        for pin, bits in pins.items():
            # A black box without a description has no directions: its pins are left out, and what
            # it drives goes to whoever reads it.
            ports = cell.get("port_directions") or {}
            direction = inner["ports"][pin]["direction"] if inner else ports.get(pin, "input")
            if direction == "input":
                continue
            if inner is None:
                made |= set(bits)
            else:
                given |= {net: (name, pin, i) for i, net in enumerate(bits)}
    return Module(
        nets={
            **{name: _bits(net["bits"]) for name, net in entry["netnames"].items()},
            **{name: _bits(port["bits"]) for name, port in entry["ports"].items()},
        },
        inputs={
            net: (name, i)
            for name, port in entry["ports"].items()
            if port["direction"] == "input"
            for i, net in enumerate(_bits(port["bits"]))
        },
        made=frozenset(made - {-1}),
        given={net: where for net, where in given.items() if net >= 0},
        instances=instances,
        stores=any(
            re.match(r"\$([as]*dff|[as]*dlatch|mem)", cell["type"])
            for cell in entry["cells"].values()
        ),
    )


def _cell(name: str, entry: Mapping[str, Any]) -> Cell:
    pins: dict[str, dict[str, tuple[int, ...]]] = {"input": {}, "output": {}, "inout": {}}
    directions = entry["port_directions"]
    for pin, bits in entry["connections"].items():
        pins[directions[pin]][pin] = _bits(bits)
    return Cell(
        name=name,
        type=entry["type"],
        inputs={**pins["input"], **pins["inout"]},
        outputs=pins["output"],
        parameters=entry["parameters"],
        constants=_constants(
            {pin: b for pin, b in entry["connections"].items() if directions[pin] != "output"}
        ),
    )


def _constants(pins: Mapping[str, list[int | str]]) -> dict[str, str]:
    return {
        pin: "".join(bit if isinstance(bit, str) else "-" for bit in bits)
        for pin, bits in pins.items()
        if any(isinstance(bit, str) for bit in bits)
    }


def _bits(bits: list[int | str]) -> tuple[int, ...]:
    return tuple(bit if isinstance(bit, int) else -1 for bit in bits)
