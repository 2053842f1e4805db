"""Run a synthesised netlist clock by clock, and count how often each net changes.

Without delays: each net has one value a clock, the one that it settles to. All cells of a level are
computed at once, so that a hundred thousand of them take some milliseconds a clock, and nothing
needs compiling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError
from pezo_hw.simulate.cells import (
    OPEN,
    Memory,
    Multiplier,
    Parts,
    Register,
    Shift,
    Table,
    compile_cells,
    outputs,
)
from pezo_hw.synth.netlist import Netlist

__all__ = ["CLASSES", "Simulation"]

CLASSES = ("registers", "logic", "memory", "dsp")
"""Classes of nets, by what drives them: flip-flops; LUTs, carry cells and wide multiplexers; block
RAMs and shift registers; DSP blocks."""

_LUT_INPUTS = 6

Bits = NDArray[np.uint8]
_Nets = NDArray[np.int64]


class Simulation:
    """A netlist that is being run.

    Parameters
    ----------
    netlist : Netlist
        For UltraScale+, with one clock; its registers start at their power-up values.

    Attributes
    ----------
    values : ndarray of uint8
        Value of each net, by number.
    toggles : ndarray of int64
        Changes of each net that `count` has seen, by number.

    Raises
    ------
    PezoError
        See `pezo_hw.simulate.cells.compile_cells`; or if there is a combinational loop.
    """

    def __init__(self, netlist: Netlist):
        parts = compile_cells(netlist)
        self._inputs = {name: np.array(nets) for name, nets in netlist.inputs.items()}
        self._outputs = {
            name: np.array(
                [
                    net if net >= 0 else int(constant == "1")
                    for net, constant in zip(
                        nets, netlist.constants.get(name, "-" * len(nets)), strict=True
                    )
                ]
            )
            for name, nets in netlist.outputs.items()
        }
        self._levels = _levels(parts)
        self._registers = _Registers(parts.registers)
        self._storing: list[_Storing] = [
            self._registers,
            *(_ShiftState(shift) for shift in parts.shifts),
            *(_MemoryPort(memory) for memory in parts.memories),
        ]
        # One place more: for open outputs.
        self.values = np.zeros(parts.nets + 1, np.uint8)
        self.values[1] = 1
        self.values[self._registers.output] = self._registers.first
        self.toggles = np.zeros(len(self.values), np.int64)
        self._before: Bits | None = None
        self._classes = _classes(parts, netlist)

    @property
    def inputs(self) -> Mapping[str, _Nets]:
        """Net numbers of the inputs, by name."""
        return self._inputs

    @property
    def outputs(self) -> Mapping[str, _Nets]:
        """Net numbers of the outputs, by name."""
        return self._outputs

    @property
    def clocked(self) -> int:
        """Number of cells with a clock pin, each port of a memory for one."""
        return len(self._registers.output) + len(self._storing) - 1

    def set(self, name: str, bits: Bits) -> None:
        """Give an input its bits, least significant first; they count from `settle` on."""
        self.values[self._inputs[name]] = bits

    def get(self, name: str) -> Bits:
        """Return the bits of an output, least significant first."""
        return self.values[self._outputs[name]]

    def settle(self) -> None:
        """Compute all logic from inputs and registers."""
        for level in self._levels:
            level.run(self.values)

    def clock(self) -> None:
        """Move all registers and memories, once; the logic is settled before and not after."""
        values = self.values
        # All of them are looked at first: what one reads another may write.
        for nets, bits in [part.following(values) for part in self._storing]:
            values[nets] = bits

    def count(self) -> None:
        """Add the changes since the last call to `toggles`; the first call only looks."""
        if self._before is not None:
            self.toggles += self._before != self.values
        self._before = self.values.copy()

    def toggles_by_class(self) -> dict[str, int]:
        """Return the changes of the nets that something reads, summed by class."""
        return {name: int(self.toggles[nets].sum()) for name, nets in self._classes.items()}

    def nets_by_class(self) -> dict[str, int]:
        """Return how many nets that something reads there are of each class."""
        return {name: len(nets) for name, nets in self._classes.items()}


class _Storing(Protocol):
    def following(self, values: Bits) -> tuple[_Nets, Bits]:
        """Return what is written to which nets at a rising edge."""


class _Registers:
    """All flip-flops."""

    def __init__(self, registers: list[Register]):
        def column(name: str) -> _Nets:
            return np.array([getattr(register, name) for register in registers], np.int64)

        self._data, self._enable = column("data"), column("enable")
        self._reset, self._reset_value = column("reset"), column("reset_value").astype(np.uint8)
        self.first, self.output = column("first").astype(np.uint8), column("output")

    def following(self, values: Bits) -> tuple[_Nets, Bits]:
        held = np.where(values[self._enable], values[self._data], values[self.output])
        return self.output, np.where(values[self._reset], self._reset_value, held)


class _ShiftState:
    """A shift register."""

    def __init__(self, shift: Shift):
        self._shift = shift
        self._line = np.zeros(shift.length, np.uint8)

    def following(self, values: Bits) -> tuple[_Nets, Bits]:
        if values[self._shift.enable]:
            self._line[1:] = self._line[:-1].copy()
            self._line[0] = values[self._shift.data]
        return np.array([self._shift.output]), self._line[-1:].copy()


class _MemoryPort:
    """A port of a memory that is read."""

    def __init__(self, memory: Memory):
        self._memory = memory
        self._address = np.array(memory.address)
        self._weights = 1 << np.arange(len(memory.address))
        self._outputs = np.array(memory.outputs)

    def following(self, values: Bits) -> tuple[_Nets, Bits]:
        if not values[self._memory.enable]:
            return self._outputs, values[self._outputs]
        row = int(values[self._address] @ self._weights)
        return self._outputs, self._memory.rows[row]


class _Level(Protocol):
    def run(self, values: Bits) -> None: ...


class _Tables:
    """Look-up tables that do not depend on each other."""

    def __init__(self, tables: list[Table]):
        padded = [(*table.inputs, *[0] * (_LUT_INPUTS - len(table.inputs))) for table in tables]
        self._inputs = np.array(padded, np.int64).T.copy()
        self._truth = np.array([table.truth for table in tables], np.uint64)
        self._output = np.array([table.output for table in tables], np.int64)

    def run(self, values: Bits) -> None:
        index = np.zeros(len(self._output), np.uint8)
        for place, nets in enumerate(self._inputs):
            index |= values[nets] << np.uint8(place)
        values[self._output] = ((self._truth >> index) & np.uint64(1)).astype(np.uint8)


class _Multipliers:
    """Multipliers of the same shape that do not depend on each other."""

    def __init__(self, multipliers: list[Multiplier]):
        self._left = np.array([part.left for part in multipliers])
        self._right = np.array([part.right for part in multipliers])
        self._outputs = np.array([part.outputs for part in multipliers])
        self._places = np.arange(self._outputs.shape[1])

    def run(self, values: Bits) -> None:
        # 27 by 18 bits fit into 63.
        product = _signed(values[self._left]) * _signed(values[self._right])
        values[self._outputs] = ((product[:, None] >> self._places) & 1).astype(np.uint8)


def _signed(bits: Bits) -> NDArray[np.int64]:
    weights = 1 << np.arange(bits.shape[1], dtype=np.int64)
    weights[-1] = -weights[-1]
    return bits @ weights


def _levels(parts: Parts) -> list[_Level]:
    """Order the logic, so that each level depends on those before it."""
    items: list[tuple[tuple[int, ...], tuple[int, ...], Table | Multiplier]] = [
        *((table.inputs, (table.output,), table) for table in parts.tables),
        *((part.inputs, part.outputs, part) for part in parts.multipliers),
    ]
    makers = {net: i for i, (_, made, _) in enumerate(items) for net in made}
    readers: list[list[int]] = [[] for _ in items]
    missing = [0] * len(items)
    for i, (read, _, _) in enumerate(items):
        for maker in {makers[net] for net in read if net in makers}:
            readers[maker].append(i)
            missing[i] += 1
    ready = [i for i, count in enumerate(missing) if not count]
    levels: list[_Level] = []
    done = 0
    while ready:
        done += len(ready)
        chosen = [items[i][2] for i in ready]
        if tables := [item for item in chosen if isinstance(item, Table)]:
            levels.append(_Tables(tables))
        if multipliers := [item for item in chosen if isinstance(item, Multiplier)]:
            levels.append(_Multipliers(multipliers))
        following = []
        for i in ready:
            for reader in readers[i]:
                missing[reader] -= 1
                if not missing[reader]:
                    following.append(reader)
        ready = following
    if done != len(items):
        raise PezoError("the netlist must have no combinational loop to be simulated, but has one")
    return levels


def _classes(parts: Parts, netlist: Netlist) -> dict[str, _Nets]:
    """Return the nets that something reads, by class."""
    read: set[int] = set()
    pins: Iterable[Iterable[int]] = (bits for c in netlist.cells for bits in c.inputs.values())
    for bits in (*pins, *netlist.outputs.values()):
        read.update(bits)
    found: dict[str, list[int]] = {name: [] for name in CLASSES}
    for name, net in outputs(parts):
        if net != OPEN and net in read:
            found[name].append(net)
    return {name: np.array(nets, np.int64) for name, nets in found.items()}
