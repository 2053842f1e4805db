"""Bench of a ZO step core: sweeps over weights, compared with the golden model's results.

`pezo_hw.simulate.check` plans the sweeps and runs this bench.

Arrays: ``weights`` and ``results``, of all sweeps one after the other, in LSBs.  Parameter
``sweeps``: for each its ``length`` in weights, its commands, its ``stalls`` (of the weights that
come in, and of those that go out), its ``saturations``, and what is special about it; see
`pezo_hw.simulate.plan.Sweeps.add`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Timer
from kit import Bench, StreamSink, StreamSource, pack, unpack
from numpy.typing import NDArray

COMMANDS = ("beats", "k", "coefficient", "dither_seed", "capture")
INPUTS: dict[str, Any] = dict.fromkeys(("go", "start", "start_index", *COMMANDS), 0)


@dataclass
class Sweep:
    """One sweep, as it was planned."""

    commands: dict[str, Any]
    weights: NDArray[np.int64]
    result: NDArray[np.int64]
    special: dict[str, Any] = field(default_factory=dict)


class Status:
    """Watches busy and done, and gives commands that must be ignored while a sweep is under way.

    Attributes
    ----------
    ended : int or None
        `Bench.cycle` at the edge at which done was high, since `begin`.
    """

    def __init__(self, bench: Bench):
        self.ended: int | None = None
        self.shaken = 0
        self._bench = bench
        self._under_way = False
        self._shakes = False
        self._pulsed: list[Any] = []
        dut = bench.dut
        self._busy, self._done = dut.busy, dut.done
        ports = (*COMMANDS, "start_index")
        self._commands = [(getattr(dut, name), len(getattr(dut, name))) for name in ports]
        self._go, self._start = dut.go, dut.start

    def begin(self, *, shakes: bool) -> None:
        """Note that go was taken."""
        self.ended, self._under_way, self._shakes = None, True, shakes

    def drive(self) -> None:
        """Now and then give go with other commands, or start."""
        self.rest()
        # At the clock after done another sweep may begin; until then it must not.
        if self._under_way and self._shakes and self._bench.rng.random() < 0.1:
            self.shaken += 1
            self.shake()
            self._pulsed.append(self._bench.rng.choice((self._go, self._start)))
            self._bench.put(self._pulsed[0], 1)

    def calm(self) -> None:
        """Take back a go that was given in the sweep's last clock, before the next one is."""
        self._went = False
        self._bench.put(self._go, 0)

    def rest(self) -> None:
        """Take go and start back."""
        while self._pulsed:
            self._bench.put(self._pulsed.pop(), 0)

    def shake(self) -> None:
        """Put nonsense on the command ports."""
        for handle, width in self._commands:
            self._bench.put(handle, self._bench.rng.getrandbits(width))

    def sample(self) -> None:
        """Check that busy and done fit the sweep."""
        busy, done = str(self._busy.value), str(self._done.value)
        if self._under_way:
            assert busy == "1", f"clock {self._bench.cycle}: busy is {busy} in a sweep"
            if done == "1":
                self.ended = self._bench.cycle
                self._under_way = False
                self._bench.moved()
                return
        assert done == "0", f"clock {self._bench.cycle}: done is {done}"

    def reset(self) -> None:
        """Forget the sweep."""
        self._under_way = False
        self.ended = None
        self.rest()

    def check_reset(self) -> None:
        """Check that nothing is done."""
        assert str(self._done.value) == "0", "done must be 0 at the end of a reset"

    def state(self) -> str:
        """Return the levels of busy and done."""
        return f"busy={self._busy.value} done={self._done.value}"


class Step:
    """The device with all that is around it."""

    def __init__(self, dut: Any, *, after_valid: bool = False):
        self.bench = bench = Bench(dut, **INPUTS)
        self.bits = int(bench.manifest["config"]["weights"]["bits"])
        self.lanes = int(bench.manifest["source"]["lanes"])
        self.source: StreamSource = bench.source()
        self.sink: StreamSink = bench.sink(after_valid=after_valid)
        self.status: Status = bench.add(Status(bench))
        self.overheads: set[int] = set()
        self.counts = dict.fromkeys(("sweeps", "beats", "weights", "saturations"), 0)

    def planned(self) -> Iterator[Sweep]:
        """Yield the sweeps in order."""
        at = 0
        for entry in self.bench.parameters["sweeps"]:
            part = slice(at, at + entry["length"])
            at += entry["length"]
            yield Sweep(
                commands={name: entry[name] for name in COMMANDS if name in entry},
                weights=self.bench.arrays["weights"][part].astype(np.int64),
                result=self.bench.arrays["results"][part].astype(np.int64),
                special=entry,
            )

    async def run(self, sweep: Sweep) -> NDArray[np.int64] | None:
        """Stream the weights through and check all that comes out; return the new weights.

        None if the sweep was one that a reset ends.
        """
        bench, source, sink, status = self.bench, self.source, self.sink, self.status
        special = sweep.special
        count = -(-len(sweep.weights) // self.lanes)
        source.stalls, sink.stalls = (bench.stalls(name) for name in special["stalls"])
        sink.clear()
        if special.get("start") is not None:
            await self._go_to(special["start"])
        # Sometimes the weights wait for the sweep, sometimes it waits for them.
        early = bench.rng.random() < 0.5 or special.get("measured", False)
        beats, keeps = self._beats(sweep.weights, count)
        if early:
            source.send(beats, last_keep=keeps, last=not special.get("late"))
            await bench.clock(bench.rng.randint(1, 4))
            assert source.pending == count, "beats were taken before the sweep"
        went = bench.cycle
        await self._go(sweep, count)
        if not early:
            await bench.clock(bench.rng.randint(0, 40))
            source.send(beats, last_keep=keeps, last=not special.get("late"))
        if "reset" in special:
            await self._reset_in_sweep(special["reset"])
            return None
        await bench.run_until(lambda: status.ended is not None)
        assert status.ended is not None
        status.rest()
        result = self._check(sweep, count, keeps)
        if special.get("measured"):
            self.overheads.add(status.ended - went - count)
        # What was counted stays until the next go, and nothing more comes.
        for _ in range(bench.rng.randint(0, 3)):
            await bench.clock()
            self._check_status(sweep)
            assert bench.read("busy") == 0, "busy behind a sweep"
            assert len(sink.data) == count, "a beat too many"
        return result

    async def _go_to(self, index: int) -> None:
        self.status.shake()
        self.bench.write(start_index=index)
        await self.bench.pulse("start")
        assert self.bench.read("busy") == 1, "not busy behind start"
        # A go on the way is ignored: the core would wait for weights and stay busy.
        await self.bench.pulse("go")
        await self.bench.run_until(lambda: self.bench.read("busy") == 0)
        self.status.shake()

    async def _go(self, sweep: Sweep, count: int) -> None:
        bench = self.bench
        commands = {"beats": count + sweep.special.get("early", 0), **sweep.commands}
        for name, value in commands.items():
            handle = getattr(bench.dut, name)
            bench.put(handle, value & ((1 << len(handle)) - 1))
        self.status.calm()
        await bench.pulse("go")
        self.status.begin(shakes=not sweep.special.get("measured", False))
        self.status.shake()

    def _beats(self, weights: NDArray[np.int64], count: int) -> tuple[list[int], int]:
        """Return the beats, and TKEEP of the last. Lanes without a weight hold what saturates."""
        rng = np.random.default_rng(self.bench.rng.getrandbits(32))
        top = (1 << (self.bits - 1)) - 1
        table = rng.choice((-top - 1, top), count * self.lanes)
        table[: len(weights)] = weights
        used = len(weights) - (count - 1) * self.lanes
        beats = pack(table.reshape(count, self.lanes), width=self.bits)
        return beats, (1 << (used * self.bits // 8)) - 1

    async def _reset_in_sweep(self, beats: int) -> None:
        if beats:
            await self.bench.run_until(lambda: len(self.sink.data) >= beats)
        else:
            await self.bench.clock(self.bench.rng.randint(0, 24))
        assert self.status.ended is None, "the reset comes too late"
        await self.bench.reset(self.bench.rng.randint(1, 3))

    def _check(self, sweep: Sweep, count: int, keep: int) -> NDArray[np.int64]:
        sink = self.sink
        assert len(sink.data) == count, f"{len(sink.data)} beats came, not {count}"
        assert sink.last == [False] * (count - 1) + [True], "TLAST is not on the last beat alone"
        full = (1 << (self.lanes * self.bits // 8)) - 1
        assert sink.keep == [full] * (count - 1) + [keep], "TKEEP is not what came in"
        rows = unpack(sink.data, width=self.bits, lanes=self.lanes)
        result = rows.reshape(-1)[: len(sweep.weights)]
        wrong = np.flatnonzero(result != sweep.result)
        if len(wrong):
            at = int(wrong[0])
            raise AssertionError(
                f"{len(wrong)} of {len(result)} weights differ; weight {at}: {sweep.weights[at]} "
                f"became {result[at]}, not {sweep.result[at]}, with {sweep.commands}"
            )
        self._check_status(sweep)
        self.counts["sweeps"] += 1
        self.counts["beats"] += count
        self.counts["weights"] += len(result)
        self.counts["saturations"] += sweep.special["saturations"]
        return result

    def _check_status(self, sweep: Sweep) -> None:
        counted, expected = self.bench.read("saturations"), sweep.special["saturations"]
        assert counted == expected, f"saturations is {counted}, not {expected}"
        fault = int("early" in sweep.special or "late" in sweep.special)
        flag = self.bench.read("tlast_error")
        assert flag == fault, f"tlast_error is {flag}, not {fault}"


@cocotb.test
async def sweeps(dut: Any) -> None:
    """All planned sweeps, one after the other."""
    step = Step(dut)
    await step.bench.reset()
    await step.bench.run_until(lambda: step.bench.read("busy") == 0)
    inputs: list[NDArray[np.int64]] = []
    restored = 0
    for sweep in step.planned():
        result = await step.run(sweep)
        inputs.append(sweep.weights)
        if "restores" in sweep.special:
            original = inputs[-1 - sweep.special["restores"]]
            assert result is not None and np.array_equal(result, original), "not restored exactly"
            restored += 1
        if result is None:
            await step.bench.run_until(lambda: step.bench.read("busy") == 0)
    stated = step.bench.manifest["latency"]["sweep_overhead"]
    assert step.overheads == {stated}, f"sweep_overhead is {step.overheads}, not {stated}"
    step.bench.report(
        sweeps={**step.counts, "restored": restored, "ignored": step.status.shaken},
        latencies={"sweep_overhead": stated},
    )


@cocotb.test
async def patient_sink(dut: Any) -> None:
    """Sweeps into a sink whose ready waits for valid."""
    step = Step(dut, after_valid=True)
    await step.bench.reset()
    await step.bench.run_until(lambda: step.bench.read("busy") == 0)
    for number, sweep in enumerate(step.planned()):
        await step.run(sweep)
        if number == 5:
            break


@cocotb.test
async def trace(dut: Any) -> None:
    """All outputs in every clock from time 0 on, to be compared between simulators."""
    streams: dict[str, Any] = dict.fromkeys(
        ("s_axis_tvalid", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "m_axis_tready"), 0
    )
    bench = Bench(dut, **streams, **INPUTS)
    ports = ["s_axis_tready", "m_axis_tvalid", "m_axis_tdata", "m_axis_tkeep", "m_axis_tlast"]
    ports += ["busy", "done", "saturations", "tlast_error"]
    # Registers have values at power-up, so this begins without a reset.
    bench.write(aresetn=1)
    await Timer(1, "ns")
    shown = [",".join(str(getattr(dut, port).value) for port in ports)]
    draw, bits = bench.rng.random, bench.rng.getrandbits
    data, keep = len(dut.s_axis_tdata), len(dut.s_axis_tkeep)
    for _ in range(bench.parameters["trace"]):
        idle = bench.read("busy") == 0
        bench.write(
            aresetn=int(draw() < 0.995),
            s_axis_tvalid=int(draw() < 0.7),
            s_axis_tdata=bits(data),
            s_axis_tkeep=bits(keep),
            s_axis_tlast=int(draw() < 0.02),
            m_axis_tready=int(draw() < 0.7),
            go=int(draw() < 0.1),
            start=int(idle and draw() < 0.02),
            k=bench.rng.randint(-2, 2) & 7,
            beats=bench.rng.randint(0, 30),
            coefficient=bits(len(dut.coefficient)),
            dither_seed=bits(32),
            capture=bits(1),
        )
        await bench.clock()
        shown.append(",".join(str(getattr(dut, port).value) for port in ports))
    bench.save(trace=np.array(shown))
