"""Reading ``core.rdl`` for a core."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pezo_hw
from pezo_hw.config import Config
from pezo_hw.golden.engine import AnyEngine
from pezo_hw.registers.map import Access, Field, Hardware, Register, RegisterMap

if TYPE_CHECKING:
    from systemrdl.compiler import RDLCompiler
    from systemrdl.node import AddrmapNode, FieldNode, RegfileNode, RegNode

PATH = Path(__file__).with_name("core.rdl")

SOURCES = (
    "on-the-fly",
    "pre-generated",
    "wide-uniform",
    "rademacher",
    "gaussian-tree",
    "gaussian-clt",
)
SCHEDULES = ("in-place", "inline", "inline-both", "fused")
UPDATES = ("dsp", "zoqo")


def parameters(config: Config, *, model: AnyEngine) -> dict[str, int]:
    """Return the parameters that ``core.rdl`` has for a step core.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``.
    model : golden.engine.Engine or golden.seeded.SeededEngine
        Its perturbations.
    """
    weights, zo, control = config.weights, config.zo, config.control
    assert weights is not None and zo is not None and control is not None
    major, minor, patch = (int(part) for part in pezo_hw.__version__.split(".")[:3])
    update = UPDATES.index(zo.update)
    return {
        "MAJOR": major,
        "MINOR": minor,
        "PATCH": patch,
        "LANES": model.lane_count,
        "WEIGHT_BITS": weights.bits,
        "WORD_BITS": model.bits,
        "SOURCE": SOURCES.index(config.source.kind),
        "SCHEDULE": SCHEDULES.index(zo.schedule),
        "UPDATE": update,
        "TENSORS": control.tensors,
        "COEFFICIENT_BITS": zo.coefficient_bits,
        "COEFFICIENT_SHIFT": zo.coefficient_shift or 0,
        "PERIOD": model.period if model.period < 1 << 64 else 0,
        "INDEX_BITS": model.index_bits,
    }


def register_map(config: Config, *, model: AnyEngine) -> RegisterMap:
    """Return the registers of a step core, whatever its interface; parameters as `parameters`."""
    return _registers(tuple(parameters(config, model=model).items()))


@functools.cache
def _registers(given: tuple[tuple[str, int], ...]) -> RegisterMap:
    from systemrdl.node import RegfileNode, RegNode

    registers: list[Register] = []
    for node in elaborate(dict(given)).children():
        if isinstance(node, RegNode):
            registers.append(_register(node))
        elif isinstance(node, RegfileNode):
            children = [child for child in node.children() if isinstance(child, RegNode)]
            registers += [_register(child, file=node) for child in children]
    return RegisterMap(tuple(registers))


def elaborate(given: Mapping[str, int], *, name: str = "pezo_step") -> AddrmapNode:
    """Return the address map of ``core.rdl`` with parameters, under a name."""
    return _compiler().elaborate(inst_name=name, parameters={**given}).top


@functools.cache
def _compiler() -> RDLCompiler:
    from systemrdl.compiler import RDLCompiler

    compiler = RDLCompiler()
    compiler.compile_file(str(PATH))
    return compiler


def _register(node: RegNode, *, file: RegfileNode | None = None) -> Register:
    """Return a register; one of a register file's in an array, if the file is one."""
    name, title = node.inst_name, str(node.get_property("name"))
    offset, count, stride = node.raw_address_offset, 1, 4
    about = [node.get_property("desc")]
    if file is not None:
        name = f"{file.inst_name}_{name}"
        title = f"{file.get_property('name')}: {title}"
        offset += file.raw_address_offset
        about.insert(0, file.get_property("desc"))
        if file.array_dimensions is not None and file.array_stride is not None:
            (count,) = file.array_dimensions
            stride = file.array_stride
    return Register(
        name=name,
        offset=offset,
        title=title,
        description=" ".join(text for text in about if text),
        fields=tuple(_field(field) for field in node.fields()),
        count=count,
        stride=stride,
        external=file is not None and file.external,
    )


_ROLES = {
    "na": Hardware.CONSTANT,
    "w": Hardware.STATUS,
    "r": Hardware.CONTROL,
    "rw": Hardware.CONTROL,
}


def _field(node: FieldNode) -> Field:
    software, hardware = node.get_property("sw").name, node.get_property("hw").name
    encode, reset = node.get_property("encode"), node.get_property("reset")
    if node.get_property("singlepulse"):
        access = Access.PULSE
    elif node.get_property("onwrite") is not None:
        access = Access.CLEAR
    else:
        access = {"r": Access.READ, "rw": Access.READ_WRITE, "w": Access.WRITE}[software]
    return Field(
        name=node.inst_name,
        low=node.low,
        bits=node.width,
        access=access,
        hardware=Hardware.CAUSE if access is Access.CLEAR else _ROLES[hardware],
        reset=reset if isinstance(reset, int) else None,
        description=str(node.get_property("desc")),
        signed=bool(node.get_property("is_signed", default=False)),
        lockable=bool(node.get_property("swwel")),
        clearable=bool(node.get_property("hwclr")),
        values={member.name: member.value for member in encode} if encode is not None else {},
    )
