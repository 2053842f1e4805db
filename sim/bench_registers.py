"""Bench of a ZO step core's registers: what each does, by its description, and what it refuses."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
from bench_ip import Ip
from players.registers import Checks, RegisterBus

# Clocks from the last of address and data of a write to the clock in which it acts.
WRITE_TO_FLUSH = 1
# A walk that lasts longer than some accesses.
LONG = 100


@cocotb.test
async def registers(dut: Any) -> None:
    """Every register and every other address."""
    ip = Ip(dut)
    await ip.bench.reset()
    await ip.bus.wait_idle()
    checks = Checks(ip.bus, bench=ip.bench)
    await checks.all()
    await refusals(ip)
    await once(ip)
    await locked(ip)
    await flushed(ip)
    ip.bench.report(registers={**checks.checked, "accesses": ip.bus.axi.accesses})


async def refusals(ip: Ip) -> None:
    """Try what cannot begin: it sets its cause, and only that, which a 1 clears."""
    bus = ip.bus
    await bus.write("IRQ_ENABLE", error=1)
    await bus.write("LENGTH", beats=0)
    await bus.write("CONTROL", go=1)
    await ip.irq(1)
    await bus.expect_error(length_zero=1)
    await ip.irq(0)
    await bus.write("LENGTH", beats=5)
    for fault in _bad_sweeps(bus):
        await bus.write("SWEEP", **fault)
        await bus.write("CONTROL", go=1)
        await bus.expect_error(kind_unsupported=1)
    await bus.write("SWEEP", k=1)
    for commands in ({"go": 1, "start": 1}, {"go": 1, "abort": 1}, {"start": 1, "abort": 1}):
        await bus.write("CONTROL", **commands)
        await bus.expect_error(start_while_busy=1)
    # An abort without a sweep is nothing; a go beside a flush is refused.
    await bus.write("CONTROL", abort=1)
    await bus.expect_error()
    await bus.write("CONTROL", go=1, flush=1)
    await bus.expect_error(start_while_busy=1)
    await bus.expect("STATUS", busy=1)
    await bus.write("CONTROL")
    await bus.expect("STATUS")
    if "TENSOR_COUNT" in bus.map:
        await _table_refusals(bus)
    # One cause is cleared and the other stays, whatever else is written.
    await bus.write("CONTROL", go=1, start=1)
    await bus.write("LENGTH", beats=0)
    await bus.write("CONTROL", go=1)
    both = {"start_while_busy": 1, "length_zero": 1}
    await bus.write("ERROR")
    await bus.write("ERROR", strobe=0xE, **both)
    known = {register.address(): register for register in bus.map}
    others = [bus.map[name].address() for name in ("ERROR", "IRQ_STATUS", "CONTROL")]
    for address in range(0, 0x100, 4):
        if address not in others:
            # With ones where there is no field or no register as well: they are another's causes.
            await bus.axi.write(address, 0xFFFFFFFF)
            await bus.axi.write(address, (known[address].reset or 0) if address in known else 0)
    await bus.expect("ERROR", **both)
    await bus.expect("IRQ_STATUS", error=1)
    await bus.write("ERROR", start_while_busy=1)
    await bus.expect_error(length_zero=1)
    await bus.write("IRQ_ENABLE")


def _bad_sweeps(bus: RegisterBus) -> list[dict[str, int]]:
    schedule = bus.map["CAPS1"].field("schedule").reset
    assert schedule is not None
    faults: list[dict[str, int]] = [{"k": k} for k in (3, -3, -4)]
    return faults + [{"k": 1, "kind": kind} for kind in range(schedule + 1, 4)]


async def _table_refusals(bus: RegisterBus) -> None:
    tensors = bus.map["TENSOR_BEATS"].count
    await bus.write("TENSOR_COUNT", tensors=tensors + 1)
    await bus.write("CONTROL", go=1)
    await bus.expect_error(length_zero=1)
    await bus.write("TENSOR_COUNT")
    for index in (0, tensors - 1):
        await bus.write("TENSOR_BEATS", index=index)
        await bus.expect_error(length_zero=1)
    # In a sweep that waits for its weights.
    await bus.write("CONTROL", go=1)
    await bus.write("TENSOR_BEATS", beats=9)
    await bus.expect_error(table_while_busy=1)
    await bus.write("TENSOR_BEATS")
    await bus.expect_error(table_while_busy=1, length_zero=1)
    await bus.write("TENSOR_SETTINGS")
    await bus.expect_error(table_while_busy=1)
    await _abort(bus)


async def _abort(bus: RegisterBus) -> None:
    await bus.write("CONTROL", abort=1)
    await bus.wait_idle()
    await bus.expect("STATUS", done=1)
    await bus.expect_error(aborted=1)
    await bus.write("IRQ_STATUS", done=1)


async def once(ip: Ip) -> None:
    """Begin one sweep with a write of go, however long its response waits."""
    bench, bus, sink = ip.bench, ip.bus, ip.sinks["weights"]
    await bus.write("LENGTH", beats=1)
    await bus.write("SWEEP", k=0)
    ip.source.send([7, 8, 9], last=False)
    sink.clear()
    control = bus.map["CONTROL"]
    await bus.axi.write(control.address(), control.pack(go=1), wait=60)
    assert len(sink.data) == 1 and ip.source.pending == 2, "go did not begin one sweep"
    await bus.expect_error(tlast_late=1)
    # What is left is dropped up to its TLAST, which is still to come.
    await bus.write("CONTROL", flush=1)
    await bench.clock(5)
    await bus.expect("STATUS", busy=1, done=1)
    await bus.expect("CONTROL", flush=1)
    ip.source.send([10])
    await bus.wait_idle()
    await bus.expect("CONTROL")
    ip.source.send([11])
    await bench.clock(20)
    assert ip.source.pending == 1 and len(sink.data) == 1, "a beat behind TLAST was dropped"


async def flushed(ip: Ip) -> None:
    """Write a flush about when one ends: in that very clock, it waits until it is written low."""
    bench, bus, source = ip.bench, ip.bus, ip.source
    before = bench.cycle
    met: set[int] = set()
    while met != {-1, 0, 1}:
        assert bench.cycle < before + 100_000, "no flush is written in the clock that ends one"
        await bus.write("CONTROL", flush=1)
        # Two packets of a beat, the first after some clocks.
        stalls = [True] * bench.rng.randint(0, 9)
        source.stalls = itertools.chain(stalls, itertools.repeat(False))
        source.send([1])
        source.send([2])
        at = len(source.cycles)
        await bus.write("CONTROL", flush=1)
        await bench.clock(12)
        acts = bus.axi.written + WRITE_TO_FLUSH
        late = acts - source.cycles[at]
        await bus.expect("CONTROL", flush=int(late == 0))
        assert source.pending == int(late <= 0), f"a flush {late} clocks behind the end of one"
        met.add(max(-1, min(late, 1)))
        await bus.write("CONTROL")
        if source.pending:
            await bus.write("CONTROL", flush=1)
        await bus.wait_idle()
        assert source.pending == 0, "a flush behind a low one drops nothing"
    source.stalls = None


async def locked(ip: Ip) -> None:
    """Try to change the start index while it is used, during a walk to it or a flush."""
    bus = ip.bus
    far = int(ip.bench.manifest["source"]["period"]) - 1
    # A seed is not walked to, however long the period behind it.
    if LONG <= far < 1 << bus.map["START_INDEX"].field("group").bits:
        await bus.write("START_INDEX", group=far)
        await bus.write("CONTROL", start=1)
        await bus.expect("STATUS", busy=1, done=1, walking=1)
        await bus.write("START_INDEX", group=0)
        await bus.write("CONTROL", go=1)
        await bus.expect("START_INDEX", group=far)
        await bus.expect_error(start_while_busy=1)
        await bus.wait_idle()
    await bus.write("START_INDEX", group=1)
    await bus.expect("START_INDEX", group=1)
    # Whichever bytes are written, those without a field as well. A flush lasts as long as wanted
    # once the beat that is left over has been dropped.
    await bus.write("CONTROL", flush=1)
    await bus.wait_idle()
    await bus.write("CONTROL", flush=1)
    for strobe in range(16):
        await bus.axi.write(bus.map["START_INDEX"].address(), 0xFFFFFFFF, strobe=strobe)
        await bus.expect("START_INDEX", group=1)
        await bus.expect_error(**({"start_while_busy": 1} if strobe else {}))
    await bus.write("CONTROL")
    await bus.expect("STATUS", done=1)
    # In a sweep it is free.
    await bus.write("CONTROL", go=1)
    await bus.write("START_INDEX", group=0)
    await bus.expect("START_INDEX")
    await _abort(bus)
