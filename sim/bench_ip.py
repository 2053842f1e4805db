"""Bench of a ZO step core behind registers: every register, and sweeps compared with golden.

What is done to the registers follows from their description in the manifest. Sweeps are planned and
compared as for `bench_step`, see there.
"""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
import numpy as np
from bench_step import OVERHEADS, PREFIXES, Step, Sweep
from kit import Bench, StreamSink, StreamSource
from numpy.typing import NDArray
from players.registers import RegisterBus

# Clocks from the last of address and data of a write to the core's go, and from done to irq.
WRITE_TO_GO, DONE_TO_IRQ = 2, 2


class Interrupt:
    """Watches the interrupt.

    Attributes
    ----------
    ended : int or None
        `Bench.cycle` at the first edge at which it was high, since `begin`.
    """

    def __init__(self, bench: Bench):
        self.ended: int | None = None
        self._bench = bench
        self._irq = bench.dut.irq

    def begin(self) -> None:
        """Forget what was."""
        self.ended = None

    def drive(self) -> None:
        """Drive nothing."""

    def sample(self) -> None:
        """Note when it rises."""
        level = str(self._irq.value)
        assert level in "01", f"clock {self._bench.cycle}: irq is {level}"
        if level == "1" and self.ended is None:
            self.ended = self._bench.cycle
            self._bench.moved()

    def reset(self) -> None:
        """Forget what was."""
        self.ended = None

    def check_reset(self) -> None:
        """Check that it is low."""
        assert str(self._irq.value) == "0", "irq must be 0 at the end of a reset"

    def state(self) -> str:
        """Return its level."""
        return f"irq={self._irq.value}"


class Ip(Step):
    """The device with all that is around it: a `Step` whose commands go through the registers."""

    def __init__(self, dut: Any, *, after_valid: bool = False):
        # Not the parent's: there are no ports of commands to watch.
        self.bench = bench = Bench(dut)
        self.bits = int(bench.manifest["config"]["weights"]["bits"])
        self.lanes = int(bench.manifest["source"]["lanes"])
        self.source: StreamSource = bench.source()
        self.sinks: dict[str, StreamSink] = {
            name: bench.sink(prefix, after_valid=after_valid)
            for name, prefix in PREFIXES.items()
            if hasattr(dut, f"{prefix}_tvalid")
        }
        self.interrupt = bench.add(Interrupt(bench))
        self.bus = RegisterBus(bench)
        self.overheads: dict[str, set[int]] = {}
        self.counts = dict.fromkeys(("sweeps", "beats", "weights", "saturations"), 0)
        self.refused = 0

    async def begin(self) -> None:
        """Reset the device, wait until it is idle and let the end of a sweep interrupt."""
        await self.bench.reset()
        await self.ready()

    async def ready(self) -> None:
        """Come back from a reset."""
        await self.bus.wait_idle()
        await self.bus.write("IRQ_ENABLE", done=1)

    async def run(self, sweep: Sweep) -> NDArray[np.int64] | None:
        """Stream the weights through and check all that comes out; return the stored weights.

        None if the sweep was one that a reset or an abort ends.
        """
        bench, bus, special = self.bench, self.bus, sweep.special
        count = -(-len(sweep.weights) // self.lanes)
        self.source.stalls = bench.stalls(special["stalls"][0])
        for sink in self.sinks.values():
            sink.stalls = bench.stalls(special["stalls"][1])
            sink.clear()
        if special.get("start") is not None:
            await self._go_to(special["start"])
        await self._write_table(special.get("table", []))
        early = bench.rng.random() < 0.5 or special.get("measured", False)
        beats, keeps = self._beats(sweep.weights, count)
        beats += [bench.rng.getrandbits(self.lanes * self.bits) for _ in range(sweep.extra)]

        def send() -> None:
            last = bool(sweep.extra) or not special.get("late")
            self.source.send(beats, last_keep=None if sweep.extra else keeps, last=last)

        if early:
            send()
            await bench.clock(bench.rng.randint(1, 4))
            assert self.source.pending == len(beats), "beats were taken before the sweep"
        self.interrupt.begin()
        await self._go(sweep, count)
        went = bus.axi.written + WRITE_TO_GO
        if not early:
            send()
        if "reset" in special:
            await self._come_to(sweep, special["reset"])
            assert self.interrupt.ended is None, "the reset comes too late"
            await bench.reset(bench.rng.randint(1, 3))
            await self.ready()
            return None
        soon = special.get("measured") or "clocks" in special
        refused = {} if soon else await self._meddle(sweep)
        if sweep.aborted:
            await self._come_to(sweep, special["abort"])
            await bus.write("CONTROL", abort=1)
        await bench.run_until(lambda: self.interrupt.ended is not None)
        assert self.interrupt.ended is not None
        done = await bus.get("INDEX", "beats")
        cut = sweep.is_cut(done, count)
        result = self._check(sweep, done, count, keeps)
        await self._check_registers(sweep, done, refused, cut=cut)
        if special.get("measured"):
            name = OVERHEADS[sweep.commands.get("kind", 0)]
            clocks = self.interrupt.ended - DONE_TO_IRQ - went - count
            self.overheads.setdefault(name, set()).add(clocks)
        if cut or sweep.extra:
            await self._flush()
        for name in sweep.results:
            assert len(self.sinks[name].data) == done, f"{name}: a beat too many"
        return None if sweep.aborted else result

    async def _go_to(self, index: int) -> None:
        await self.bus.write("START_INDEX", group=index)
        await self.bus.write("CONTROL", start=1)
        await self.bus.wait_idle()

    async def _write_table(self, table: list[list[int]]) -> None:
        for index, entry in enumerate(table):
            for name, value in zip(("TENSOR_BEATS", "TENSOR_SETTINGS"), entry, strict=True):
                response = await self.bus.axi.write(self.bus.map[name].address(index), value)
                assert response == 0, f"a write to {name} is answered {response}"
            if self.bench.rng.random() < 0.5:
                # 0 beats are refused, and leave what was written, as the sweep shows.
                await self.bus.write("TENSOR_BEATS", index=index)
                await self.bus.expect_error(length_zero=1)

    async def _go(self, sweep: Sweep, count: int) -> None:
        bus, commands = self.bus, {"beats": count + sweep.special.get("early", 0), **sweep.commands}
        await bus.write("LENGTH", beats=commands["beats"])
        names = [field.name for field in bus.map["SWEEP"].fields]
        await bus.write("SWEEP", **{name: commands.get(name, 0) for name in names})
        await bus.write("COEFFICIENT", c=commands["coefficient"])
        if "DITHER_SEED" in bus.map:
            await bus.write("DITHER_SEED", seed=commands["dither_seed"])
        if "TENSOR_COUNT" in bus.map:
            await bus.write("TENSOR_COUNT", tensors=len(sweep.special.get("table", [])))
        if commands["beats"] == 0:
            # On ports it counts as 1.
            await bus.write("CONTROL", go=1)
            await bus.expect_error(length_zero=1)
            await bus.write("LENGTH", beats=1)
        await bus.write("CONTROL", go=1)

    async def _meddle(self, sweep: Sweep) -> dict[str, int]:
        """Write what a sweep under way must not mind; return the causes that are set by it."""
        bus, rng = self.bus, self.bench.rng
        causes = {}
        # At once, as no sweep is over before.
        if rng.random() < 0.5:
            await bus.write("CONTROL", **{rng.choice(("go", "start")): 1})
            causes["start_while_busy"] = 1
            self.refused += 1
        if "TENSOR_BEATS" in bus.map and not causes and rng.random() < 0.5:
            await bus.write("TENSOR_BEATS", index=0, beats=rng.getrandbits(32))
            causes["table_while_busy"] = 1
            self.refused += 1
        await bus.write("LENGTH", beats=rng.getrandbits(32))
        await bus.write("SWEEP", k=rng.randint(-4, 3), capture=rng.getrandbits(1))
        coefficient = bus.map["COEFFICIENT"]
        await bus.axi.write(coefficient.address(), rng.getrandbits(32))
        if "DITHER_SEED" in bus.map:
            await bus.write("DITHER_SEED", seed=rng.getrandbits(32))
        return causes

    async def _flush(self) -> None:
        """Drop the beats that are left over."""
        assert self.source.pending, "no beat is left over"
        await self.bus.write("CONTROL", flush=1)
        await self.bench.run_until(lambda: self.source.pending == 0)
        await self.bus.expect("CONTROL")
        await self.bus.wait_idle()

    def _check_status(self, sweep: Sweep, done: int, count: int) -> None:
        """Leave it to `_check_registers`, as that takes clocks."""

    async def _check_registers(
        self, sweep: Sweep, done: int, refused: dict[str, int], *, cut: bool
    ) -> None:
        bus, special = self.bus, sweep.special
        saturations = special["limited"][done] if sweep.aborted else special["saturations"]
        if sweep.aborted:
            # A seeded source may still be at its seed.
            await bus.wait_idle()
        await bus.expect("STATUS", done=1)
        await bus.expect("INDEX", beats=done)
        await bus.expect("SATURATIONS", weights=saturations)
        ends = {
            "tlast_early": int("early" in special),
            "tlast_late": int("late" in special),
            "aborted": int(cut),
        }
        await bus.expect_error(**ends, **refused)
        await bus.expect("IRQ_STATUS", done=1)
        assert self.bench.read("irq") == 1, "irq fell by itself"
        await bus.write("IRQ_STATUS", done=1)
        await self.irq(0)

    async def irq(self, level: int) -> None:
        """Check the interrupt, behind what changes it."""
        await self.bench.clock(2)
        assert self.bench.read("irq") == level, f"irq is {1 - level}"


@cocotb.test
async def sweeps(dut: Any) -> None:
    """All planned sweeps, one after the other."""
    ip = Ip(dut)
    await ip.begin()
    inputs: list[NDArray[np.int64]] = []
    restored = 0
    for sweep in ip.planned():
        result = await ip.run(sweep)
        inputs.append(sweep.weights)
        if "restores" in sweep.special:
            original = inputs[-1 - sweep.special["restores"]]
            assert result is not None and np.array_equal(result, original), "not restored exactly"
            restored += 1
    latency = ip.bench.manifest["latency"]
    stated = {name: clocks for name, clocks in latency.items() if name in OVERHEADS}
    expected = {name: {clocks} for name, clocks in stated.items()}
    assert ip.overheads == expected, f"{ip.overheads}, not {expected}"
    ip.bench.report(
        sweeps={**ip.counts, "restored": restored, "ignored": ip.refused}, latencies=stated
    )


@cocotb.test
async def patient_sink(dut: Any) -> None:
    """Sweeps into sinks whose ready waits for valid."""
    ip = Ip(dut, after_valid=True)
    await ip.begin()
    for sweep in itertools.islice(ip.planned(), ip.bench.parameters["patient"]):
        await ip.run(sweep)
