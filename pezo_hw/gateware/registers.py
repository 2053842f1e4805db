"""A block of registers, made from their description."""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.registers import Access, Field, Hardware, Register, RegisterMap

from .axi_lite import WORD_BITS, register_bus_signature


class RegisterBlock(wiring.Component):
    """The registers of a map, on a `register_bus_signature`.

    Reads and writes act in the clock in which they come. A write changes the bytes whose strobes
    are set; without any it changes nothing and starts nothing. A register without a writable field
    takes no writes, one with write-only fields only gives no value: both are errors, as is an
    address without a register. A register of a memory outside takes whole words only: a write with
    some of its strobes is an error.

    Parameters
    ----------
    registers : registers.RegisterMap
        What there is.

    Members
    -------
    bus : In(register_bus_signature())
        Reads and writes.
    <REGISTER>.<field> : Out
        Its value, for fields that the core is given; high for one clock for pulses.
    <REGISTER>.<field> : In
        Its value, for fields that the core gives; what sets its bits, for causes.
    <REGISTER>.held : Out(32)
        For registers with causes: their bits, at their places.
    <REGISTER>.<field>_clear : In(1)
        For clearable fields: clear it, if it is not written in the same clock.
    <REGISTER>.lock : In(1)
        For registers with lockable fields: refuse writes to these now.
    <REGISTER>.refused : Out(1)
        A write was refused in this clock.
    <REGISTER>.write, .index, .data : Out
        For registers of a memory outside, in place of fields: a write, for one clock.
    """

    def __init__(self, registers: RegisterMap):
        self._map = registers
        super().__init__(
            {
                "bus": In(register_bus_signature()),
                **{
                    register.name: Out(wiring.Signature(members))
                    for register in registers
                    if (members := _members(register))
                },
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        plain = [register for register in self._map if not register.external]
        outside = [register for register in self._map if register.external]
        # Bits of a word's number that tell the plain registers apart; all others are 0.
        low = max(register.offset // 4 for register in plain).bit_length()

        write_low = Signal()
        written = Signal(len(bus.write_strobe))
        m.d.comb += [
            write_low.eq(bus.write_word[low:] == 0),
            # With the number's low bits an enable of a byte then has six inputs: one LUT.
            written.eq(Mux(bus.write & write_low, bus.write_strobe, 0)),
        ]
        read: dict[int, list[Value | int]] = {}
        for register in plain:
            number = register.offset // 4
            enables = Signal(len(written), name=f"write_{register.name}")
            m.d.comb += enables.eq(Mux(bus.write_word[:low] == number, written, 0))
            value = self._register(m, register, enables)
            if register.readable:
                read[number] = value
        writable = {r.offset // 4 for r in plain if r.writable}
        taken = write_low & _chosen(bus.write_word[:low], writable, bits=low)
        for register in outside:
            taken |= self._outside(m, register)
        read_low = bus.read_word[low:] == 0
        m.d.comb += [
            bus.write_error.eq(~taken),
            bus.read_error.eq(~(read_low & _chosen(bus.read_word[:low], set(read), bits=low))),
        ]
        for place, bit in enumerate(_read(bus.read_word[:low], read, bits=low)):
            m.d.comb += bus.read_data[place].eq(bit)
        return m

    def _register(self, m: Module, register: Register, enables: Signal) -> list[Value | int]:
        """Build a register and return the bits that a read gives; constant ones as numbers."""
        word: list[Value | int] = [0] * WORD_BITS
        for field in register.fields:
            bits = slice(field.low, field.low + field.bits)
            if field.hardware is Hardware.CONSTANT:
                assert field.reset is not None
                word[bits] = [field.reset >> place & 1 for place in range(field.bits)]
                continue
            shown = self._field(m, register, field, enables)
            if field.readable:
                word[bits] = list(shown)
        if any(field.access is Access.CLEAR for field in register.fields):
            held = [Const(bit, 1) if isinstance(bit, int) else bit for bit in word]
            m.d.comb += getattr(self, register.name).held.eq(Cat(held))
        return word

    def _field(self, m: Module, register: Register, field: Field, enables: Signal) -> Value:
        """Build a field and return its value."""
        ports = getattr(self, register.name)
        port = getattr(ports, field.name)
        if field.hardware is Hardware.STATUS:
            return Value.cast(port).as_unsigned()

        # Byte by byte: what is written, and where it lands.
        pieces = []
        for byte in range(field.low // 8, (field.low + field.bits - 1) // 8 + 1):
            first, end = max(field.low, 8 * byte), min(field.low + field.bits, 8 * byte + 8)
            here = slice(first - field.low, end - field.low)
            pieces.append((enables[byte], self.bus.write_data[first:end], here))
        if field.access is Access.PULSE:
            m.d.comb += port.eq(Cat(Mux(enable, data, 0) for enable, data, _ in pieces))
            return port
        stored = Signal(field.bits, init=field.reset, name=f"{register.name}_{field.name}")
        if field.access is Access.CLEAR:
            kept = Cat(stored[at] & ~Mux(enable, data, 0) for enable, data, at in pieces)
            m.d.sync += stored.eq(kept | port)
            return stored
        allowed: Value = Const(1)
        if field.lockable:
            allowed = ~ports.lock
            m.d.comb += ports.refused.eq(enables.any() & ports.lock)
        if field.clearable:
            with m.If(getattr(ports, f"{field.name}_clear")):
                m.d.sync += stored.eq(0)
        for enable, data, at in pieces:
            with m.If(enable & allowed):
                m.d.sync += stored[at].eq(data)
        m.d.comb += port.eq(stored)
        return stored

    def _outside(self, m: Module, register: Register) -> Value:
        """Connect a register of a memory outside; return whether it takes this write."""
        bus, ports = self.bus, getattr(self, register.name)
        first, stride = register.offset // 4, register.stride // 4
        above = stride.bit_length() - 1
        index = bus.write_word[above:]
        base = first >> above
        # The place in the map is such that the index is some bits of the address.
        assert base % (1 << (register.count - 1).bit_length()) == 0 and 1 << above == stride
        mine = (
            (bus.write_word[:above] == first % stride)
            & (index >= base)
            & (index < base + register.count)
        )
        whole = bus.write_strobe.all()
        m.d.comb += [
            ports.write.eq(bus.write & mine & whole),
            ports.index.eq(index),
            ports.data.eq(bus.write_data),
        ]
        return mine & (whole | ~bus.write_strobe.any())


def _members(register: Register) -> dict[str, Any]:
    if register.external:
        index = max((register.count - 1).bit_length(), 1)
        return {"write": Out(1), "index": Out(index), "data": Out(WORD_BITS)}
    members: dict[str, Any] = {}
    for field in register.fields:
        shape = Shape(field.bits, signed=field.signed)
        if field.hardware is not Hardware.CONSTANT:
            flow = Out if field.hardware is Hardware.CONTROL else In
            members[field.name] = flow(shape)
        if field.access is Access.CLEAR:
            members["held"] = Out(WORD_BITS)
        if field.clearable:
            members[f"{field.name}_clear"] = In(1)
        if field.lockable:
            members |= {"lock": In(1), "refused": Out(1)}
    return members


def _chosen(number: Value, numbers: set[int], *, bits: int) -> Value:
    """Return whether a number is one of some."""
    return _multiplex(number, {one: Const(1, 1) for one in numbers}, bits=bits)


def _multiplex(number: Value, values: dict[int, Value], *, bits: int) -> Value:
    """Return the value of a number, 0 where there is none.

    As a tree, the lowest bit of the number innermost: four values are one LUT for each bit.
    """
    if bits == 0:
        return values.get(0, Const(0, 1))
    if not values:
        return Const(0, 1)
    top = 1 << (bits - 1)
    low = {i: value for i, value in values.items() if not i & top}
    high = {i & ~top: value for i, value in values.items() if i & top}
    halves = [_multiplex(number[:-1], half, bits=bits - 1) for half in (low, high)]
    return Mux(number[-1], halves[1], halves[0])


def _read(number: Value, words: dict[int, list[Value | int]], *, bits: int) -> list[Value]:
    """Return the bits of the word of a number, 0 where there is none, with few LUTs of six inputs.

    Of the registers that have a bit, up to four whose numbers end differently share a layer, which
    is one LUT without a decoder. Which layer counts is decoded once for all bits.
    """
    result = []
    for place in range(WORD_BITS):
        constants: dict[int, Value] = {}
        layers: list[dict[int, Value]] = []
        for one, word in words.items():
            bit = word[place]
            if isinstance(bit, int):
                constants[one] = Const(bit, 1)
                continue
            free = [layer for layer in layers if all(one % 4 != other % 4 for other in layer)]
            if not free:
                layers.append({})
                free = layers[-1:]
            free[0][one] = bit
        total = _multiplex(number, constants, bits=bits)
        for layer in layers:
            value = _multiplex(number[:2], {one % 4: bit for one, bit in layer.items()}, bits=2)
            total = Mux(_chosen(number, set(layer), bits=bits), value, total)
        result.append(total)
    return result
