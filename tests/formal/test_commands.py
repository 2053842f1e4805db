"""Commands through the registers: each begins once, when it may, and is refused else."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring

from pezo_hw.gateware.control import command_signature
from pezo_hw.gateware.step_registers import StepRegisters
from tests.formal.sby import Opened, Proof
from tests.formal.test_registers import TENSORS, smallest

KINDS = 3
CONTROL = 0x18 // 4


def _command() -> wiring.Signature:
    return command_signature(
        coefficient_bits=10, index_bits=5, schedule="inline-both", tensors=TENSORS
    )


def _registers() -> StepRegisters:
    return StepRegisters(smallest(), command=_command(), kinds=KINDS, tensors=TENSORS)


def _free(proof: Proof, dut: Any) -> None:
    axi, command = dut.axi, dut.command
    proof.free(axi.awaddr, axi.awvalid, axi.wdata, axi.wstrb, axi.wvalid, axi.bready)
    proof.free(axi.araddr, axi.arvalid, axi.rready, dut.flushed)
    for name, member in _command().members.items():
        if member.flow is wiring.Out:
            proof.free(getattr(command, name))


def _written(proof: Proof, name: str, axi: Any) -> tuple[Any, Any, Any]:
    """Return whether a write to CONTROL has its address and data, and its low byte's strobe.

    From the bus alone, so that it does not matter how the device keeps them.
    """
    m = proof.m
    word, data = Signal(10, name=f"{name}_word"), Signal(8, name=f"{name}_data")
    strobe, both = Signal(name=f"{name}_strobe"), Signal(2, name=f"{name}_both")
    with m.If(axi.awvalid & axi.awready):
        m.d.sync += [word.eq(axi.awaddr[2:]), both[0].eq(1)]
    with m.If(axi.wvalid & axi.wready):
        m.d.sync += [data.eq(axi.wdata), strobe.eq(axi.wstrb[0]), both[1].eq(1)]
    acts = both.all() & ~axi.bvalid
    with m.If(acts):
        m.d.sync += both.eq(0)
    return acts & (word == CONTROL) & strobe, data, Cat(word, data, strobe, both)


def _describe(proof: Proof, name: str, dut: Any) -> Any:
    _free(proof, dut)
    command = dut.command
    acts, data, model = _written(proof, name, dut.axi)
    # A core is busy from the clock after go or start on, so no second one comes at once.
    for order, bit in (("go", 0), ("start", 1), ("abort", 2)):
        pulse = getattr(command, order)
        asked = proof.past(acts & data[bit]) & ~proof.was_reset
        # Only for a write with this bit and strobe, in the clock behind it: once for a write.
        proof.always(f"{name}_{order}_asked", ~pulse | asked)
    proof.always(
        f"{name}_abort_acts", command.abort | ~proof.past(acts & data[2]) | proof.was_reset
    )
    proof.always(f"{name}_go_idle", ~command.go | ~command.busy)
    proof.always(f"{name}_start_idle", ~command.start | ~command.busy)
    proof.always(f"{name}_one", command.go + command.start + command.abort <= 1)
    count = command.tensor_count
    length = Mux(count == 0, command.beats != 0, count <= TENSORS)
    proof.always(f"{name}_go_length", ~command.go | length)
    proof.always(f"{name}_go_kind", ~command.go | (command.kind < KINDS))
    proof.always(f"{name}_go_k", ~command.go | ((command.k >= -2) & (command.k <= 2)))
    # What may begin does.
    alone = proof.past(acts & (data[:3] == 1)) & ~proof.was_reset
    may = ~command.busy & length & (command.kind < KINDS) & (command.k >= -2) & (command.k <= 2)
    proof.always(f"{name}_go_acts", ~(alone & may) | command.go)
    proof.always(f"{name}_table", ~(command.table_write & command.sweeping))
    empty = ~command.table_field & (command.table_data == 0)
    proof.always(f"{name}_table_beats", ~(command.table_write & empty))
    return model


def test_commands_act_once_and_when_they_may() -> None:
    proof = Proof()
    inside = Opened(registers := _registers())
    proof.m.submodules.registers = inside.fragment
    model = _describe(proof, "registers", registers)
    # The induction needs to know that the slave holds what the bus has shown.
    signals = ("slave/word", "slave/data", "slave/strobe", "slave/addressed", "slave/filled")
    word, data, strobe, addressed, filled = (inside[path] for path in signals)
    held = Cat(word, data[:8], strobe[0], addressed, filled)
    proof.always("held", ~(addressed & filled) | (held == model))
    proof.always("taken", Cat(addressed, filled) == model[-2:])
    proof.always("held_word", ~addressed | (word == model[:10]))
    proof.always("held_data", ~filled | (Cat(data[:8], strobe[0]) == model[10:19]))
    proof.prove(depth=3)


class _Faulty(wiring.Component):
    """Registers with a fault at their ports."""

    def __init__(self) -> None:
        self._inner = _registers()
        super().__init__(self._inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        wiring.connect(m, wiring.flipped(self.axi), inner.axi)
        wiring.connect(m, inner.command, wiring.flipped(self.command))
        m.d.comb += [inner.flushed.eq(self.flushed), self.irq.eq(inner.irq)]
        self.spoil(m, inner)
        return m

    def spoil(self, m: Module, inner: Any) -> None:
        """Change the connections."""


class _Eager(_Faulty):
    """Does not look whether the core is busy."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.command.busy.eq(0)


class _Long(_Faulty):
    """Holds go for two clocks."""

    def spoil(self, m: Module, inner: Any) -> None:
        again = Signal()
        m.d.sync += again.eq(inner.command.go)
        m.d.comb += self.command.go.eq(inner.command.go | again)


class _Strobeless(_Faulty):
    """Starts without a strobe."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.axi.wstrb.eq(self.axi.wstrb | 1)


class _Empty(_Faulty):
    """Begins sweeps of no beats."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.command.beats.eq(inner.command.beats >> 1)


class _Lazy(_Faulty):
    """Never begins."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.command.go.eq(0)


class _Careless(_Faulty):
    """Writes the table during a sweep."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.command.sweeping.eq(0)


class _Hollow(_Faulty):
    """Writes tensors a beat shorter."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.command.table_data.eq(inner.command.table_data - 1)


def test_broken_commands_are_caught() -> None:
    mutants = {
        "eager": (_Eager, "go_idle"),
        "long": (_Long, "go_asked"),
        "strobeless": (_Strobeless, "start_asked"),
        "empty": (_Empty, "go_length"),
        "lazy": (_Lazy, "go_acts"),
        "careless": (_Careless, "table"),
        "hollow": (_Hollow, "table_beats"),
    }
    proof = Proof(hunt={f"{name}_{claim}" for name, (_, claim) in mutants.items()})
    for name, (mutant, _) in mutants.items():
        registers = mutant()
        proof.m.submodules[name] = registers
        _describe(proof, name, registers)
    proof.cover(depth=10)
