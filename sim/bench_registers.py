"""Bench of a ZO step core's registers: what each does, by its description, and what it refuses."""

from __future__ import annotations

from typing import Any

import cocotb
from bench_ip import Ip
from players.registers import Checks, RegisterBus


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
    for register in bus.map:
        if (
            register.name not in ("ERROR", "IRQ_STATUS", "CONTROL")
            and register.writable
            and register.readable
        ):
            # With ones where there is no field as well: they are another register's causes.
            await bus.axi.write(register.address(), 0xFFFFFFFF)
            await bus.axi.write(register.address(), register.reset or 0)
    await bus.expect("ERROR", **both)
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
    # In a sweep that waits for its weights.
    await bus.write("CONTROL", go=1)
    await bus.write("TENSOR_BEATS", beats=9)
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


async def locked(ip: Ip) -> None:
    """Try to change the start index during a walk to it."""
    bus = ip.bus
    far = int(ip.bench.manifest["source"]["period"]) - 1
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
