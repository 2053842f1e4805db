"""Netlist mutants of a core, all in one simulation, for benches to find.

Yosys' ``mutate`` makes many small faults in the flat netlist, each behind a multiplexer that a
number selects. So one compilation serves all mutants, and a run only reads which one it is of. With
the number 0 the core is as it was.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pezo_hw.errors import PezoError
from pezo_hw.simulate.design import Design
from pezo_hw.simulate.places import Places
from pezo_hw.synth.yosys import run_script

__all__ = ["SELECTED", "Mutation", "insert", "select"]

SELECTED = "mutant.hex"
"""File in the folder of a run that names the mutant; see `select`."""

_SELECT = "pezo_mutant"
_BITS = 16
# What Yosys writes for single bits of flat vectors looks like loops and like several drivers.
_WAIVE_ALL = "\n".join(
    (
        "`verilator_config",
        'lint_off -file "*"',
        *(f"lint_off -rule {rule}" for rule in ("UNOPTFLAT", "MULTIDRIVEN")),
        "",
    )
)


# Types of cells, without what is said of enables, of which some inputs act bit by bit; and on what.
_BITWISE: Mapping[str, Mapping[str, str]] = {
    **{kind: {"A": "Y", "B": "Y"} for kind in ("and", "or", "xor", "xnor", "not", "mux", "pmux")},
    **{kind: {"D": "Q"} for kind in ("dff", "sdff", "sdffc")},
}


@dataclass(frozen=True)
class Mutation:
    """One fault.

    Attributes
    ----------
    number : int
        What selects it, from 1 on.
    mode : str
        ``inv``, ``const0``, ``const1``, ``cnot0`` or ``cnot1``, see ``help mutate`` of Yosys.
    cell, port, bit : str, str, int
        Where it is.
    control : int or None
        With ``cnot0`` and ``cnot1``: the bit of the port at whose value this one is inverted.
    place : str
        Where that is, in words that outlast another numbering; see `Places`.
    """

    number: int
    mode: str
    cell: str
    port: str
    bit: int
    control: int | None = None
    place: str = ""

    @property
    def what(self) -> str:
        """What is changed where."""
        by = "" if self.control is None else f" by bit {self.control}"
        return f"{self.mode}{by} at {self.place}"

    def __str__(self) -> str:
        return f"{self.number}: {self.what}"


def insert(folder: Path, target: Path, *, count: int, seed: int = 1) -> list[Mutation]:
    """Copy a generated folder, with mutants in its core.

    Parameters
    ----------
    folder : Path
        A folder that `pezo generate` wrote. It is only read.
    target : Path
        The copy; must not exist.
    count : int
        Mutants, sampled by Yosys so that they cover the netlist evenly.
    seed : int
        Of the sample.

    Returns
    -------
    list of Mutation
        As many as the netlist has room for, at most `count`.
    """
    shutil.copytree(folder, target)
    design = Design.read(target)
    core = f"{design.top}__core"
    (source,) = (file for file in design.sources if file.stem == f"{design.top}_core")
    (wrapper,) = (file for file in design.sources if file.stem == design.top)
    work = target / "mutants"
    work.mkdir()
    shutil.copy(source, work / "core.sv")
    flat = [
        "read_verilog -sv core.sv",
        f"hierarchy -top {core}",
        "proc -norom",
        "flatten",
        "memory_collect",
        # What the logic does not need would give mutants that are none.
        "opt -full",
        "opt_clean -purge",
    ]
    # More than wanted, as some of them change nothing.
    listed = f"mutate -list {2 * count} -seed {seed} -o list.ys"
    run_script("\n".join([*flat, "write_json flat.json", listed]), folder=work)
    netlist = json.loads((work / "flat.json").read_text(encoding="utf-8"))["modules"][core]
    changes = [
        command
        for command in (work / "list.ys").read_text(encoding="utf-8").splitlines()
        if _changes(command, netlist)
    ][:count]
    commands = [
        f"{command} -ctrl {_SELECT} {_BITS} {number}" for number, command in enumerate(changes, 1)
    ]
    written = "write_verilog -sv -noattr mutated.sv"
    run_script("\n".join([*flat, *commands, "opt_clean", written]), folder=work)
    shutil.copy(work / "mutated.sv", source)
    shutil.rmtree(work)
    _connect(wrapper, core=core)
    for waiver in design.waivers:
        waiver.write_text(_WAIVE_ALL, encoding="utf-8")
    places = Places(netlist)
    found = [_parse(command) for command in commands]
    return [replace(one, place=places.of(one.cell, one.port, one.bit)) for one in found]


def select(folder: Path, number: int) -> None:
    """Choose the mutant of the run that has `folder` as its ``build_dir``; 0 is none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SELECTED).write_text(f"{number:x}\n", encoding="utf-8")


def _connect(wrapper: Path, *, core: str) -> None:
    """Let the wrapper read from a file of the run which mutant it is of."""
    text = wrapper.read_text(encoding="utf-8")
    place = f"  {core} core (\n"
    if place not in text:
        raise PezoError(f"{wrapper.name} must hold an instance of {core}, but does not")
    memory = (
        f"  reg [{_BITS - 1}:0] {_SELECT} [0:0];\n"
        f'  initial $readmemh("{SELECTED}", {_SELECT});\n{place}    .{_SELECT}({_SELECT}[0]),\n'
    )
    wrapper.write_text(text.replace(place, memory, 1), encoding="utf-8")


def _changes(command: str, netlist: Mapping[str, Any]) -> bool:
    """Return whether a mutant changes the logic at all.

    Not if it makes a bit constant that is so already, or changes one that nothing needs, or one
    that another outweighs whenever it is changed, or the edge of a clock, at which a bench that
    writes between edges sees no difference.
    """
    mutation = _parse(f"{command} -ctrl {_SELECT} {_BITS} 0")
    cell = netlist["cells"][mutation.cell]
    bit = cell["connections"][mutation.port][mutation.bit]
    if mutation.port == "CLK" or mutation.port.endswith("_CLK"):
        return False
    if mutation.mode == _hidden(cell, mutation):
        return False
    if isinstance(bit, str):
        return mutation.mode == {"0": "const1", "1": "const0"}.get(bit) or mutation.mode == "inv"
    if cell["port_directions"][mutation.port] == "input":
        output = _BITWISE.get(cell["type"].removeprefix("$").removesuffix("e"), {})
        if mutation.port not in output:
            return True
        # This one acts on a single bit of what comes out.
        bits = cell["connections"][output[mutation.port]]
        if len(cell["connections"][mutation.port]) % len(bits):
            return True
        bit = bits[mutation.bit % len(bits)]
    used = any(
        bit in bits
        for other in netlist["cells"].values()
        for port, bits in other["connections"].items()
        if other["port_directions"][port] == "input"
    )
    return used or any(
        bit in port["bits"] for port in netlist["ports"].values() if port["direction"] == "output"
    )


def _hidden(cell: Mapping[str, Any], mutation: Mutation) -> str | None:
    """Return the mode, if any, in which the bit that inverts the other decides what comes out."""
    if mutation.control is None:
        return None
    by = cell["connections"][mutation.port][mutation.control]
    if isinstance(by, str):
        return {"0": "cnot1", "1": "cnot0"}.get(by)
    if cell["type"] in ("$reduce_or", "$reduce_bool", "$logic_not"):
        return "cnot1"
    if cell["type"] == "$reduce_and":
        return "cnot0"
    if cell["type"] in ("$eq", "$ne"):
        other = cell["connections"]["B" if mutation.port == "A" else "A"]
        if mutation.control < len(other):
            # It differs already where it is not the bit that is wanted.
            return {"0": "cnot1", "1": "cnot0"}.get(other[mutation.control])
    return None


def _parse(command: str) -> Mutation:
    def value(option: str) -> str:
        found = re.search(rf" -{option} (\S+)", command)
        return found[1].lstrip("\\") if found else ""

    number = re.search(rf" -ctrl {_SELECT} {_BITS} (\d+)", command)
    if number is None:
        raise PezoError(f"Yosys must list mutants with a number each, but wrote: {command}")
    mode = value("mode")
    return Mutation(
        number=int(number[1]),
        mode=mode,
        cell=value("cell"),
        port=value("port"),
        bit=int(value("portbit") or 0),
        control=int(value("ctrlbit") or 0) if mode.startswith("cnot") else None,
    )
