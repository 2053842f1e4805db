"""Cells of a netlist for UltraScale+ as tables that `pezo_hw.simulate.netlist` runs.

All logic becomes look-up tables of at most six inputs: a carry cell is two tables a bit, and a wide
multiplexer is one. What stores becomes rows of net numbers. Net 0 is constant 0, net 1 constant 1;
the others have Yosys' numbers, which start at 2, and more follow for nets that have none. An output
that is left open is `OPEN`.

A cell, pin or parameter that is not described here is an error, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError
from pezo_hw.synth.netlist import Cell, Netlist

__all__ = ["OPEN", "Memory", "Multiplier", "Parts", "Register", "Shift", "Table", "compile_cells"]

OPEN = -1
"""The net of open outputs, the last one of an array of values with one place more than nets."""

# Of inputs a and b; of a choice and what it chooses when it is 0 and when it is 1.
_XOR, _MUX = 0b0110, 0b11100100


@dataclass(frozen=True)
class Table:
    """A look-up table: bit i of `truth` is the output for inputs of value i."""

    inputs: tuple[int, ...]
    truth: int
    output: int


@dataclass(frozen=True)
class Register:
    """A flip-flop; `reset` sets it to `reset_value`, whether it is enabled or not."""

    data: int
    enable: int
    reset: int
    reset_value: int
    first: int
    output: int


@dataclass(frozen=True)
class Shift:
    """A shift register in a LUT, read at a constant place."""

    data: int
    enable: int
    length: int
    output: int


@dataclass(frozen=True, eq=False)
class Memory:
    """A port of a block RAM that is only read: `outputs` become a row of `rows`."""

    address: tuple[int, ...]
    enable: int
    outputs: tuple[int, ...]
    rows: NDArray[np.uint8]


@dataclass(frozen=True)
class Multiplier:
    """A DSP block without registers, as a signed product."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Nets that the product depends on."""
        return self.left + self.right


@dataclass
class Parts:
    """What a netlist was made into. `nets` is one more than the highest net number."""

    nets: int = 2
    tables: list[Table] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)
    shifts: list[Shift] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    multipliers: list[Multiplier] = field(default_factory=list)
    clocks: set[int] = field(default_factory=set)

    def new_net(self) -> int:
        """Return the number of a net that no pin has."""
        self.nets += 1
        return self.nets - 1


def compile_cells(netlist: Netlist) -> Parts:
    """Take a netlist to pieces.

    Parameters
    ----------
    netlist : Netlist
        Of ``synth_xilinx`` for UltraScale+, with one clock.

    Raises
    ------
    PezoError
        If there is a cell, or a use of one, that is not known here, or more than one clock.
    """
    ports = [*netlist.inputs.values(), *netlist.outputs.values()]
    pins = [bits for c in netlist.cells for bits in (*c.inputs.values(), *c.outputs.values())]
    parts = Parts(nets=1 + max((bit for bits in (*ports, *pins) for bit in bits), default=1))
    buffers: dict[int, int] = {}
    for cell in netlist.cells:
        make = next((make for kind, make in _CELLS.items() if re.fullmatch(kind, cell.type)), None)
        if cell.type in ("BUFG", "IBUF"):
            buffers[_Pins(cell).net("O", output=True)] = _Pins(cell).net("I")
        elif make is None:
            raise PezoError(f"activity cannot simulate the cell {cell.type}; no model of it here")
        else:
            make(_Pins(cell), parts)
    parts.clocks = {_source(net, buffers) for net in parts.clocks}
    if len(parts.clocks) > 1:
        raise PezoError(f"activity needs a core with one clock, not {len(parts.clocks)}")
    # A buffer that is no clock's is a wire.
    for output, source in buffers.items():
        parts.tables.append(Table((source,), 0b10, output))
    return parts


def _source(net: int, buffers: dict[int, int]) -> int:
    while net in buffers:
        net = buffers[net]
    return net


class _Pins:
    """Pins and parameters of a cell, with constants as nets 0 and 1."""

    def __init__(self, cell: Cell):
        self._cell = cell
        self.type = cell.type

    def nets(self, pin: str, *, output: bool = False) -> tuple[int, ...]:
        if output:
            return self._cell.outputs.get(pin, ())
        constants = self._cell.constants.get(pin, "")
        # What is undefined is 0 here; nothing that counts may depend on it.
        return tuple(
            net if net >= 0 else int(constants[i : i + 1] == "1")
            for i, net in enumerate(self._cell.inputs.get(pin, ()))
        )

    def net(self, pin: str, *, default: int = 0, output: bool = False) -> int:
        found = self.nets(pin, output=output)
        return found[0] if found else OPEN if output else default

    def bits(self, parameter: str, *, default: str = "0") -> str:
        """Return a parameter as binary digits, the most significant first."""
        return self._cell.parameters.get(parameter, default).replace("x", "0").replace("z", "0")

    def number(self, parameter: str) -> int:
        return int(self.bits(parameter), 2)

    def refuse(self, reason: str) -> PezoError:
        return PezoError(f"activity cannot simulate a {self.type} {reason}; no model of it here")

    def check_off(self, pattern: str) -> None:
        """Refuse the cell if a parameter is on that should be off."""
        for name, value in self._cell.parameters.items():
            if re.fullmatch(pattern, name) and set(value) & set("1"):
                raise self.refuse(f"with {name} = {value}")

    def check_low(self, *pins: str) -> None:
        """Refuse the cell if a pin is not constant 0."""
        for pin in pins:
            if any(self.nets(pin)):
                raise self.refuse(f"whose pin {pin} is not constant 0")


def _lut(pins: _Pins, parts: Parts) -> None:
    inputs = tuple(pins.net(f"I{i}") for i in range(int(pins.type[-1])))
    parts.tables.append(Table(inputs, pins.number("INIT"), pins.net("O", output=True)))


def _inverter(pins: _Pins, parts: Parts) -> None:
    parts.tables.append(Table((pins.net("I"),), 0b01, pins.net("O", output=True)))


def _multiplexer(pins: _Pins, parts: Parts) -> None:
    inputs = (pins.net("S"), pins.net("I0"), pins.net("I1"))
    parts.tables.append(Table(inputs, _MUX, pins.net("O", output=True)))


def _carry(pins: _Pins, parts: Parts) -> None:
    carry, first = pins.net("CI"), pins.net("CYINIT")
    if carry and first:
        raise pins.refuse("with both CI and CYINIT")
    carry = carry or first
    select, data = pins.nets("S"), pins.nets("DI")
    sums, carries = pins.nets("O", output=True), pins.nets("CO", output=True)
    for i, choose in enumerate(select):
        if i < len(sums):
            parts.tables.append(Table((choose, carry), _XOR, sums[i]))
        following = carries[i] if i < len(carries) else parts.new_net()
        # The carry goes on where the bit propagates, else the data begin a new one.
        parts.tables.append(Table((choose, data[i], carry), _MUX, following))
        carry = following


def _flip_flop(pins: _Pins, parts: Parts) -> None:
    pins.check_off("IS_.*_INVERTED")
    reset = {"FDRE": "R", "FDSE": "S"}.get(pins.type)
    if reset is None:
        # Asynchronous ones only where the reset is never used.
        pins.check_low("CLR", "PRE")
    parts.clocks.add(pins.net("C"))
    parts.registers.append(
        Register(
            data=pins.net("D"),
            enable=pins.net("CE", default=1),
            reset=pins.net(reset) if reset else 0,
            reset_value=int(pins.type == "FDSE"),
            first=pins.number("INIT"),
            output=pins.net("Q", output=True),
        )
    )


def _shift(pins: _Pins, parts: Parts) -> None:
    pins.check_off("IS_.*_INVERTED")
    address = [*pins.nets("A")] or [pins.net(f"A{i}") for i in range(4)]
    if any(net > 1 for net in address) or pins.net("Q31", output=True) != OPEN:
        raise pins.refuse("that is not read at one constant place")
    parts.clocks.add(pins.net("CLK"))
    length = 1 + sum(net << i for i, net in enumerate(address))
    parts.shifts.append(
        Shift(pins.net("D"), pins.net("CE", default=1), length, pins.net("Q", output=True))
    )


def _block_ram(pins: _Pins, parts: Parts) -> None:
    pins.check_off("DO[AB]_REG|IS_.*_INVERTED")
    pins.check_low("RSTRAMARSTRAM", "RSTRAMB", "SLEEP")
    for side in "AB":
        if pins.number(f"WRITE_WIDTH_{side}"):
            pins.check_low("WEA" if side == "A" else "WEBWE")
    for side, (address, enable, clock, data, parity) in _RAM_PORTS.items():
        width = pins.number(f"READ_WIDTH_{side}")
        if not width:
            continue
        parity_bits = width // 9
        data_bits = width - parity_bits
        data_nets = pins.nets(data, output=True)[:data_bits]
        if len(data_nets) < data_bits:
            raise pins.refuse(f"with READ_WIDTH_{side} = {width}")
        parity_nets = pins.nets(parity, output=True)[:parity_bits]
        rows = _rows(pins, "INIT_", data_bits)[:, : len(data_nets)]
        if parity_nets:
            rows = np.hstack([rows, _rows(pins, "INITP_", parity_bits)[:, : len(parity_nets)]])
        parts.clocks.add(pins.net(clock))
        parts.memories.append(
            Memory(
                # An address counts bits of data; a row has a power of two of them.
                address=pins.nets(address)[data_bits.bit_length() - 1 :],
                enable=pins.net(enable),
                outputs=data_nets + parity_nets,
                rows=np.ascontiguousarray(rows),
            )
        )


_RAM_PORTS = {
    "A": ("ADDRARDADDR", "ENARDEN", "CLKARDCLK", "DOUTADOUT", "DOUTPADOUTP"),
    "B": ("ADDRBWRADDR", "ENBWREN", "CLKBWRCLK", "DOUTBDOUT", "DOUTPBDOUTP"),
}


def _rows(pins: _Pins, prefix: str, width: int) -> NDArray[np.uint8]:
    """Return the contents of a block RAM, shape (rows, width)."""
    size = 16 if prefix == "INITP_" else 128
    if pins.type.startswith("RAMB18"):
        size //= 2
    lines = (pins.bits(f"{prefix}{i:02X}").rjust(256, "0")[::-1] for i in range(size))
    return np.array([int(bit) for line in lines for bit in line], np.uint8).reshape(-1, width)


def _dsp(pins: _Pins, parts: Parts) -> None:
    pins.check_off(".*REG|IS_.*_INVERTED")
    pins.check_low("ALUMODE", "INMODE", "CARRYIN", "CARRYINSEL")
    # X and Y take the product, W and Z nothing.
    if pins.nets("OPMODE") != (1, 0, 1, 0, 0, 0, 0, 0, 0):
        raise pins.refuse("that does more than multiply")
    parts.multipliers.append(
        Multiplier(pins.nets("A")[:27], pins.nets("B"), pins.nets("P", output=True))
    )


_CELLS: dict[str, Callable[[_Pins, Parts], None]] = {
    r"LUT[1-6]": _lut,
    r"INV": _inverter,
    r"MUXF[789]": _multiplexer,
    r"CARRY4": _carry,
    r"FD[RSCP]E": _flip_flop,
    r"SRL16E|SRLC32E": _shift,
    r"RAMB(18|36)E2": _block_ram,
    r"DSP48E2": _dsp,
}


def outputs(parts: Parts) -> Iterator[tuple[str, int]]:
    """Yield each net that something drives, with the class of what drives it."""
    yield from (("logic", table.output) for table in parts.tables)
    yield from (("registers", register.output) for register in parts.registers)
    yield from (("memory", shift.output) for shift in parts.shifts)
    yield from (("memory", net) for memory in parts.memories for net in memory.outputs)
    yield from (("dsp", net) for product in parts.multipliers for net in product.outputs)
