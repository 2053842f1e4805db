"""The directive ``.. pezo-registers:: PRESET [OVERRIDE ...]``: the registers of a core."""

from __future__ import annotations

from typing import Any

from pezo_tables import Table, list_table
from sphinx.application import Sphinx

from pezo_hw.config import load
from pezo_hw.golden.engine import engine_of
from pezo_hw.registers import Field, Register
from pezo_hw.registers.description import register_map


class Registers(Table):
    """``.. pezo-registers::``."""

    required_arguments = 1
    optional_arguments = 9

    def text(self) -> str:
        """Return a table of the registers, and one of the fields of each."""
        config = load(self.arguments[0], self.arguments[1:])
        registers = register_map(config, model=engine_of(config))
        rows = [["offset", "register", "field", "bits", "access", "meaning"]]
        for register in registers:
            for number, field in enumerate(register.fields):
                first = [_offset(register), f"``{register.name}``"] if number == 0 else ["", ""]
                rows.append([*first, *_field(register, field)])
        return list_table(rows, widths="12 16 18 8 12 34")


def _offset(register: Register) -> str:
    if register.count == 1:
        return f"0x{register.offset:02X}"
    return f"0x{register.offset:02X} + {register.stride} i"


def _field(register: Register, field: Field) -> list[str]:
    high = field.low + field.bits - 1
    bits = str(high) if field.bits == 1 else f"{high}:{field.low}"
    notes = field.description.replace("|", r"\|").replace("*", r"\*")
    if field.values:
        notes += " " + ", ".join(f"{value} {name}" for name, value in field.values.items()) + "."
    if field is register.fields[0] and register.description:
        notes += f" {register.description}"
    return [f"``{field.name}``", bits, field.access.value, notes]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("pezo-registers", Registers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
