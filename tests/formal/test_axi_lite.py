"""The AXI4-Lite slave keeps its contract, whatever the manager does."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring

from pezo_hw.gateware.axi_lite import AxiLiteSlave
from tests.formal.sby import Proof


def _free_manager(proof: Proof, axi: Any) -> None:
    proof.free(axi.awaddr, axi.awvalid, axi.wdata, axi.wstrb, axi.wvalid, axi.bready)
    proof.free(axi.araddr, axi.arvalid, axi.rready)


class Transfer:
    """What was transferred last on a channel, and whether it still waits to be dealt with."""

    def __init__(self, proof: Proof, name: str, *, taken: Any, dealt: Any, payload: Any):
        m = proof.m
        self.waits = Signal(name=f"{name}_waits")
        self.payload = Signal(payload.shape(), name=f"{name}_payload", reset_less=True)
        with m.If(taken):
            m.d.sync += [self.waits.eq(1), self.payload.eq(payload)]
        with m.Elif(dealt):
            m.d.sync += self.waits.eq(0)
        # Only one may wait: another one would take its place.
        proof.always(f"{name}_one", ~(taken & self.waits & ~dealt))


def _response_kept(proof: Proof, name: str, valid: Any, ready: Any, payload: Any) -> None:
    waits = proof.past(valid & ~ready) & ~proof.was_reset
    proof.always(f"{name}_valid_kept", ~waits | valid)
    proof.always(f"{name}_payload_kept", ~waits | (payload == proof.past(payload)))
    proof.always(f"{name}_reset", ~(proof.started & proof.was_reset) | ~valid)


def _write_side(proof: Proof, name: str, axi: Any, bus: Any) -> None:
    response = axi.bvalid & axi.bready
    address = Transfer(
        proof,
        f"{name}_aw",
        taken=axi.awvalid & axi.awready,
        dealt=bus.write,
        payload=axi.awaddr[2:],
    )
    data = Transfer(
        proof,
        f"{name}_w",
        taken=axi.wvalid & axi.wready,
        dealt=bus.write,
        payload=Cat(axi.wdata, axi.wstrb),
    )
    both = address.waits & data.waits
    acted = Transfer(
        proof, f"{name}_write", taken=bus.write, dealt=response, payload=bus.write_error
    )
    _response_kept(proof, f"{name}_b", axi.bvalid, axi.bready, axi.bresp)
    # A write acts once, when address and data have come, with what was sent.
    proof.always(f"{name}_once", ~bus.write | both)
    sent = Cat(bus.write_data, bus.write_strobe)
    proof.always(f"{name}_sent", ~data.waits | (sent == data.payload))
    proof.always(f"{name}_place", ~address.waits | (bus.write_word == address.payload))
    # Each write that has acted is answered, once, from the next clock on.
    proof.always(f"{name}_b_due", axi.bvalid == acted.waits)
    proof.always(f"{name}_b_error", ~axi.bvalid | (axi.bresp == Mux(acted.payload, 2, 0)))
    # Nothing hangs: each half is taken in the clock in which it comes unless the one before waits
    # for its other half, and both act in the clock in which no response waits.
    proof.always(f"{name}_aw_open", axi.awready == ~address.waits)
    proof.always(f"{name}_w_open", axi.wready == ~data.waits)
    proof.always(f"{name}_acts", ~both | axi.bvalid | bus.write)


def _read_side(proof: Proof, name: str, axi: Any, bus: Any) -> None:
    taken, response = axi.arvalid & axi.arready, axi.rvalid & axi.rready
    given = Cat(bus.read_data, bus.read_error)
    request = Transfer(proof, f"{name}_ar", taken=taken, dealt=response, payload=given)
    payload = Cat(axi.rdata, axi.rresp)
    _response_kept(proof, f"{name}_r", axi.rvalid, axi.rready, payload)
    # There is data in the clock after the request and until it has been taken.
    proof.always(f"{name}_r_due", axi.rvalid == request.waits)
    proof.always(f"{name}_ar_open", axi.arready == ~request.waits)
    expected = Cat(request.payload[:-1], Const(0, 1), request.payload[-1])
    proof.always(f"{name}_r_data", ~axi.rvalid | (payload == expected))
    proof.always(f"{name}_read", bus.read == taken)
    proof.always(f"{name}_read_word", bus.read_word == axi.araddr[2:])


def _describe(proof: Proof, name: str, slave: Any) -> None:
    _free_manager(proof, slave.axi)
    proof.free(slave.bus.write_error, slave.bus.read_data, slave.bus.read_error)
    _write_side(proof, name, slave.axi, slave.bus)
    _read_side(proof, name, slave.axi, slave.bus)


def test_the_slave_keeps_its_contract() -> None:
    proof = Proof()
    slave = AxiLiteSlave(address_bits=6)
    proof.m.submodules.slave = slave
    _describe(proof, "slave", slave)
    proof.prove(depth=4)


def test_reads_and_writes_happen() -> None:
    proof = Proof()
    slave = AxiLiteSlave(address_bits=6)
    proof.m.submodules.slave = slave
    _free_manager(proof, slave.axi)
    proof.free(slave.bus.write_error, slave.bus.read_data, slave.bus.read_error)
    axi = slave.axi
    first = proof.past(axi.awvalid & axi.awready) & ~proof.past(axi.wvalid & axi.wready)
    proof.reach("address_first", first & axi.wvalid & axi.wready)
    second = proof.past(axi.wvalid & axi.wready) & ~proof.past(axi.awvalid & axi.awready)
    proof.reach("data_first", second & axi.awvalid & axi.awready)
    proof.reach("okay", axi.bvalid & axi.bready & (axi.bresp == 0))
    proof.reach("error", axi.bvalid & ~axi.bready & (axi.bresp == 2))
    proof.reach("read", axi.rvalid & axi.rready & (axi.rdata == 0x600DF00D))
    proof.cover(depth=6)


class _Faulty(wiring.Component):
    """A slave with a fault at its ports."""

    def __init__(self) -> None:
        self._inner = AxiLiteSlave(address_bits=4)
        super().__init__(self._inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        wiring.connect(m, wiring.flipped(self.axi), inner.axi)
        wiring.connect(m, inner.bus, wiring.flipped(self.bus))
        self.spoil(m, inner)
        return m

    def spoil(self, m: Module, inner: Any) -> None:
        """Change the connections."""


class _Forgets(_Faulty):
    """Takes its response back when nobody takes it at once."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.axi.bready.eq(1)


class _Early(_Faulty):
    """Answers a write when its address is there."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.axi.bvalid.eq(inner.axi.bvalid | ~inner.axi.awready)


class _Twice(_Faulty):
    """A write acts as long as its response waits."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.bus.write.eq(inner.bus.write | inner.axi.bvalid)


class _Moves(_Faulty):
    """Read data follows the register while it waits."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.axi.rdata.eq(self.bus.read_data)


class _Coupled(_Faulty):
    """Takes an address together with its data only."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += [
            self.axi.awready.eq(inner.axi.awready & self.axi.wvalid),
            inner.axi.awvalid.eq(self.axi.awvalid & self.axi.wvalid),
        ]


class _Blind(_Faulty):
    """Answers every read OKAY."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.axi.rresp.eq(0)


class _Stuck(_Faulty):
    """Does not answer a write while a read waits."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += [
            self.axi.bvalid.eq(inner.axi.bvalid & ~inner.axi.rvalid),
            inner.axi.bready.eq(self.axi.bready & ~inner.axi.rvalid),
        ]


def test_broken_slaves_are_caught() -> None:
    mutants = {
        "forgets": (_Forgets, "b_valid_kept"),
        "early": (_Early, "b_due"),
        "twice": (_Twice, "once"),
        "moves": (_Moves, "r_payload_kept"),
        "coupled": (_Coupled, "aw_open"),
        "blind": (_Blind, "r_data"),
        "stuck": (_Stuck, "acts"),
    }
    proof = Proof(hunt={f"{name}_{claim}" for name, (_, claim) in mutants.items()})
    for name, (mutant, _) in mutants.items():
        slave = mutant()
        proof.m.submodules[name] = slave
        _describe(proof, name, slave)
    proof.cover(depth=10)
