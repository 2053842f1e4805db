"""Registers change when they are written and else never.

What is claimed of each is made from the description.
"""

from __future__ import annotations

from typing import Any

from amaranth import Const, Module, Signal, Value
from amaranth.lib import wiring

from pezo_hw import config
from pezo_hw.gateware.registers import RegisterBlock
from pezo_hw.golden.engine import Engine
from pezo_hw.registers import Access, Field, Hardware, Register, RegisterMap
from pezo_hw.registers.description import register_map
from tests.formal.sby import Proof

TENSORS = 3


def smallest() -> RegisterMap:
    """Return the registers of the smallest core that has all of them."""
    given = config.from_mapping(
        {
            "core": {"name": "step", "kind": "zo-step", "board": "zcu102"},
            "source": {"kind": "on-the-fly", "generators": 2, "bits": 4},
            "scaling": {"mode": "none"},
            "reuse": {"lanes": 2},
            "weights": {"bits": 8, "frac": 6},
            "zo": {
                "schedule": "inline-both",
                "epsilon_log2": -3,
                "coefficient_bits": 10,
                "coefficient_shift": 4,
            },
            "control": {"interface": "axi-lite", "tensors": TENSORS},
        }
    )
    return register_map(given, model=Engine(given))


def _any(conditions: list[Any]) -> Any:
    result: Any = Const(0)
    for condition in conditions:
        result |= condition
    return result


def _bytes(field: Field) -> list[tuple[int, slice]]:
    """Return the bytes that a field lies in, each with the field's bits in it."""
    end = field.low + field.bits
    return [
        (byte, slice(max(8 * byte, field.low) - field.low, min(8 * byte + 8, end) - field.low))
        for byte in range(field.low // 8, (end - 1) // 8 + 1)
    ]


def _describe_field(proof: Proof, name: str, block: Any, register: Register, field: Field) -> None:
    bus, ports = block.bus, getattr(block, register.name)
    here = bus.write & (bus.write_word == register.offset // 4)
    data = bus.write_data[field.low : field.low + field.bits]
    port = Value.cast(getattr(ports, field.name)).as_unsigned()
    for byte, bits in _bytes(field):
        written = here & bus.write_strobe[byte]
        claim = f"{name}_{register.name}_{field.name}_{byte}".lower()
        if field.access is Access.PULSE:
            proof.always(claim, port[bits] == (data[bits] & written.replicate(len(port[bits]))))
            continue
        if field.hardware is Hardware.CAUSE:
            value = ports.held[field.low : field.low + field.bits]
            cleared = data & written.replicate(field.bits)
            after = ((value & ~cleared) | port)[: field.bits]
        else:
            value = port[bits]
            changed = written & ~ports.lock if field.lockable else written
            after = Signal.like(value, name=f"{claim}_after")
            proof.m.d.comb += after.eq(value)
            if field.clearable:
                with proof.m.If(getattr(ports, f"{field.name}_clear")):
                    proof.m.d.comb += after.eq(0)
            with proof.m.If(changed):
                proof.m.d.comb += after.eq(data[bits])
        proof.always(claim, proof.was_reset | (value == proof.past(after)))
        proof.always(f"{claim}_reset", ~(proof.started & proof.was_reset) | (value == 0))


def _describe_read(proof: Proof, name: str, block: Any, register: Register) -> None:
    """Each field that can be read is read at its bits, and 0 elsewhere."""
    bus = block.bus
    expected = Signal(32, name=f"{name}_{register.name}_read")
    for field in register.fields:
        if field.readable:
            if field.hardware is Hardware.CONSTANT:
                value: Any = Const(field.reset, field.bits)
            elif field.hardware is Hardware.CAUSE:
                value = getattr(block, register.name).held[field.low : field.low + field.bits]
            else:
                value = getattr(getattr(block, register.name), field.name)
            proof.m.d.comb += expected[field.low : field.low + field.bits].eq(value)
    chosen = bus.read_word == register.offset // 4
    proof.always(f"{name}_read_{register.name}".lower(), ~chosen | (bus.read_data == expected))


def _describe_block(proof: Proof, name: str, block: Any, registers: RegisterMap) -> None:
    bus = block.bus
    proof.free(bus.write, bus.write_word, bus.write_data, bus.write_strobe, bus.read, bus.read_word)
    takes, gives = [], []
    for register in registers:
        for address in register.addresses():
            if register.readable:
                gives.append(bus.read_word == address // 4)
            if register.writable:
                chosen = bus.write_word == address // 4
                some = bus.write_strobe.any() & ~bus.write_strobe.all()
                takes.append(chosen & ~some if register.external else chosen)
        if register.external:
            _describe_memory(proof, name, block, register)
            continue
        if register.readable:
            _describe_read(proof, name, block, register)
        for field in register.fields:
            if field.hardware in (Hardware.STATUS, Hardware.CAUSE):
                proof.free(getattr(getattr(block, register.name), field.name))
            if field.lockable:
                proof.free(getattr(block, register.name).lock)
            if field.clearable:
                proof.free(getattr(getattr(block, register.name), f"{field.name}_clear"))
            if field.writable:
                _describe_field(proof, name, block, register, field)
    proof.always(f"{name}_takes", bus.write_error == ~_any(takes))
    proof.always(f"{name}_gives", bus.read_error == ~_any(gives))


def _describe_memory(proof: Proof, name: str, block: Any, register: Register) -> None:
    bus, ports = block.bus, getattr(block, register.name)
    chosen = _any([bus.write_word == address // 4 for address in register.addresses()])
    write = bus.write & chosen & bus.write_strobe.all()
    claim = f"{name}_{register.name}".lower()
    proof.always(f"{claim}_write", ports.write == write)
    first, stride = register.offset // 4, register.stride // 4
    index = (bus.write_word - first) // stride
    right = (ports.index == index) & (ports.data == bus.write_data)
    proof.always(f"{claim}_place", ~ports.write | right)


def test_registers_are_what_the_description_says() -> None:
    proof = Proof()
    registers = smallest()
    block = RegisterBlock(registers)
    proof.m.submodules.block = block
    _describe_block(proof, "block", block, registers)
    proof.prove(depth=2)


class _Faulty(wiring.Component):
    """A register block with a fault on its bus."""

    def __init__(self, registers: RegisterMap):
        self._inner = RegisterBlock(registers)
        super().__init__(self._inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        wiring.connect(m, wiring.flipped(self), inner)
        self.spoil(m, inner)
        return m

    def spoil(self, m: Module, inner: Any) -> None:
        """Change the connections."""


class _Whole(_Faulty):
    """Knows no strobes."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.bus.write_strobe.eq(0xF)


class _Repeats(_Faulty):
    """Decodes the low bits of an address only."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += [
            inner.bus.write_word.eq(self.bus.write_word[:5]),
            inner.bus.read_word.eq(self.bus.read_word[:5]),
        ]


class _Tolerates(_Faulty):
    """Finds no fault with writes."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.bus.write_error.eq(0)


class _Clears(_Faulty):
    """Clears causes where a 0 is written."""

    def spoil(self, m: Module, inner: Any) -> None:
        here = self.bus.write_word == 0x3C // 4
        m.d.comb += inner.bus.write_data.eq(self.bus.write_data ^ here.replicate(32))


class _Unlocked(_Faulty):
    """Never refuses."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.START_INDEX.lock.eq(0)


class _Swapped(_Faulty):
    """Reads another register's field."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.INDEX.beats.eq(self.SATURATIONS.weights)


class _Shifted(_Faulty):
    """Writes the next entry of the table."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.TENSOR_BEATS.index.eq(inner.TENSOR_BEATS.index + 1)


def test_broken_registers_are_caught() -> None:
    mutants = {
        "whole": (_Whole, "length_beats_3"),
        "repeats": (_Repeats, "length_beats_0"),
        "tolerates": (_Tolerates, "takes"),
        "clears": (_Clears, "error_aborted_0"),
        "unlocked": (_Unlocked, "start_index_group_0"),
        "swapped": (_Swapped, "read_index"),
        "shifted": (_Shifted, "tensor_beats_place"),
    }
    proof = Proof(hunt={f"{name}_{claim}" for name, (_, claim) in mutants.items()})
    registers = smallest()
    for name, (mutant, _) in mutants.items():
        block = mutant(registers)
        proof.m.submodules[name] = block
        _describe_block(proof, name, block, registers)
    proof.cover(depth=5)
