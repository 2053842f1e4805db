"""Bench of a ZO step core: sweeps over weights, compared with the golden model's results.

`pezo_hw.simulate.check` plans the sweeps and runs this bench.

Arrays: ``weights`` of all sweeps one after the other, in LSBs; ``results``, for each sweep what
leaves on each of its ``outputs``, one after the other.  Parameter ``sweeps``: for each its
``length`` in weights, its commands, its ``stalls`` (of the weights that come in, and of those that
go out), its ``saturations``, and what is special about it; see `pezo_hw.simulate.plan.Sweeps.add`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Timer
from kit import Bench, StreamSink, StreamSource, pack, unpack
from numpy.typing import NDArray
from players.commands import COMMANDS, Status, idle

# By the code of the kind of sweep.
OVERHEADS = tuple(f"sweep_overhead{kind}" for kind in ("", "_inline", "_inline_both", "_fused"))
PREFIXES = {"weights": "m_axis", "plus": "m_axis_plus", "minus": "m_axis_minus"}


@dataclass
class Sweep:
    """One sweep, as it was planned."""

    commands: dict[str, Any]
    weights: NDArray[np.int64]
    results: dict[str, NDArray[np.int64]]
    special: dict[str, Any] = field(default_factory=dict)

    @property
    def aborted(self) -> bool:
        """Whether an abort is given, which may come too late to end it."""
        return "abort" in self.special

    def is_cut(self, done: int, count: int) -> bool:
        """Return whether it ended by an abort, with `done` of `count` beats, and check that."""
        if not self.aborted:
            return False
        when = self.special["abort"]
        assert done < count or isinstance(when, str), "the abort comes too late"
        assert done == count or when != "behind", "an abort behind the last beat ended a sweep"
        return done < count

    @property
    def extra(self) -> int:
        """Beats that come behind the last one, to be dropped."""
        return int(self.special.get("extra", 0))


class Step:
    """The device with all that is around it."""

    def __init__(self, dut: Any, *, after_valid: bool = False):
        self.bench = bench = Bench(dut, **idle(dut))
        self.bits = int(bench.manifest["config"]["weights"]["bits"])
        self.lanes = int(bench.manifest["source"]["lanes"])
        self.source: StreamSource = bench.source()
        self.sinks: dict[str, StreamSink] = {
            name: bench.sink(prefix, after_valid=after_valid)
            for name, prefix in PREFIXES.items()
            if hasattr(dut, f"{prefix}_tvalid")
        }
        self.status: Status = bench.add(Status(bench))
        self.overheads: dict[str, set[int]] = {}
        self.counts = dict.fromkeys(("sweeps", "beats", "weights", "saturations"), 0)

    def planned(self) -> Iterator[Sweep]:
        """Yield the sweeps in order."""
        at = begin = 0
        for entry in self.bench.parameters["sweeps"]:
            length = entry["length"]
            part = slice(at, at + length)
            results = {}
            for name in entry["outputs"]:
                found = self.bench.arrays["results"][begin : begin + length]
                results[name] = found.astype(np.int64)
                begin += length
            at += length
            yield Sweep(
                commands={name: entry[name] for name in COMMANDS if name in entry},
                weights=self.bench.arrays["weights"][part].astype(np.int64),
                results=results,
                special=entry,
            )

    async def run(self, sweep: Sweep) -> NDArray[np.int64] | None:
        """Stream the weights through and check all that comes out; return the stored weights.

        None if the sweep was one that a reset or an abort ends.
        """
        bench, source, status = self.bench, self.source, self.status
        special = sweep.special
        count = -(-len(sweep.weights) // self.lanes)
        source.stalls = bench.stalls(special["stalls"][0])
        for sink in self.sinks.values():
            sink.stalls = bench.stalls(special["stalls"][1])
            sink.clear()
        if special.get("start") is not None:
            await self._go_to(special["start"])
        await self._write_table(special.get("table", []))
        # Sometimes the weights wait for the sweep, sometimes it waits for them.
        early = bench.rng.random() < 0.5 or special.get("measured", False)
        beats, keeps = self._beats(sweep.weights, count)
        beats += [bench.rng.getrandbits(self.lanes * self.bits) for _ in range(sweep.extra)]
        sends: dict[str, Any] = {"last_keep": None if sweep.extra else keeps}
        sends["last"] = bool(sweep.extra) or not special.get("late")
        if early:
            source.send(beats, **sends)
            await bench.clock(bench.rng.randint(1, 4))
            assert source.pending == len(beats), "beats were taken before the sweep"
        went = bench.cycle
        await self._go(sweep, count)
        if not early:
            await bench.clock(bench.rng.randint(0, 40))
            source.send(beats, **sends)
        if "reset" in special:
            await self._reset_in_sweep(sweep, special["reset"])
            return None
        if sweep.aborted:
            await self._come_to(sweep, special["abort"])
            await bench.pulse("abort_sweep")
        await bench.run_until(lambda: status.ended is not None)
        assert status.ended is not None
        status.rest()
        done = bench.read("beats_done") if sweep.aborted else count
        cut = sweep.is_cut(done, count)
        result = self._check(sweep, done, count, keeps)
        if special.get("measured"):
            name = OVERHEADS[sweep.commands.get("kind", 0)]
            self.overheads.setdefault(name, set()).add(status.ended - went - count)
        if cut or sweep.extra:
            await self._flush()
        # What was counted stays until the next go, and nothing more comes.
        for _ in range(bench.rng.randint(0, 3)):
            bench.write(abort_sweep=bench.rng.getrandbits(1))
            await bench.clock()
            bench.write(abort_sweep=0)
            self._check_status(sweep, done, count)
            assert bench.read("busy") == 0, "busy behind a sweep"
        for name in sweep.results:
            assert len(self.sinks[name].data) == done, f"{name}: a beat too many"
        return None if sweep.aborted else result

    async def _write_table(self, table: list[list[int]]) -> None:
        for index, entry in enumerate(table):
            for which, value in enumerate(entry):
                self.bench.write(
                    table_write=1, table_index=index, table_field=which, table_data=value
                )
                await self.bench.clock()
        if table:
            self.bench.write(table_write=0)
            await self.bench.clock()

    async def _flush(self) -> None:
        """Drop the beats that are left over."""
        bench = self.bench
        left = self.source.pending
        assert left, "no beat is left over"
        bench.write(flush=1)
        await bench.run_until(lambda: self.source.pending == 0)
        # No more until flush has been low.
        self.source.send([0, 1])
        for flush in (1, 1, 1, 0):
            bench.write(flush=flush)
            await bench.clock()
            assert self.source.pending == 2 and bench.read("s_axis_tready") == 0
            assert bench.read("busy") == flush
        bench.write(flush=1)
        await bench.run_until(lambda: self.source.pending == 0)
        bench.write(flush=0)
        await bench.clock()

    async def _go_to(self, index: int) -> None:
        self.status.shake()
        self.bench.write(start_index=index)
        await self.bench.pulse("start")
        assert self.bench.read("busy") == 1, "not busy behind start"
        # A go on the way is ignored: the core would wait for weights and stay busy.
        await self.bench.pulse("go", "abort_sweep")
        await self.bench.run_until(lambda: self.bench.read("busy") == 0)
        self.status.shake()

    async def _go(self, sweep: Sweep, count: int) -> None:
        bench = self.bench
        commands = {"beats": count + sweep.special.get("early", 0), **sweep.commands}
        if hasattr(bench.dut, "tensor_count"):
            commands["tensor_count"] = len(sweep.special.get("table", []))
        for name, value in commands.items():
            if not hasattr(bench.dut, name):  # such as the kind, where there is one only
                continue
            handle = getattr(bench.dut, name)
            bench.put(handle, value & ((1 << len(handle)) - 1))
        self.status.calm()
        # Outside a sweep an abort is ignored, in the clock that begins one as well.
        others = [name for name in ("abort_sweep",) if bench.rng.random() < 0.25]
        await bench.pulse("go", *others)
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

    async def _come_to(self, sweep: Sweep, when: int | str) -> None:
        """Wait until some beats have come, or until about the last one has been taken in.

        Before the first beat: for the clocks that are planned, or some.
        """
        bench = self.bench
        if isinstance(when, str):
            left = int(when == "last")
            await bench.run_until(lambda: self.source.pending <= left)
        elif when:
            sink = self.sinks[next(iter(sweep.results))]
            await bench.run_until(lambda: len(sink.data) >= when)
        else:
            await bench.clock(sweep.special.get("clocks", bench.rng.randint(0, 24)))

    async def _reset_in_sweep(self, sweep: Sweep, beats: int) -> None:
        await self._come_to(sweep, beats)
        assert self.status.ended is None, "the reset comes too late"
        await self.bench.reset(self.bench.rng.randint(1, 3))

    def _check(self, sweep: Sweep, done: int, count: int, keep: int) -> NDArray[np.int64]:
        """Check `done` beats of `count` on all outputs, and return the stored weights."""
        full = (1 << (self.lanes * self.bits // 8)) - 1
        keeps = [full] * (count - 1) + [keep]
        lasts = [False] * (count - 1) + [True]
        for name, sink in self.sinks.items():
            expected = sweep.results.get(name)
            if expected is None:
                assert not sink.data, f"{name} must be silent, with {sweep.commands}"
                continue
            assert len(sink.data) == done, f"{name}: {len(sink.data)} beats came, not {done}"
            assert sink.last == lasts[:done], f"{name}: TLAST is not on the last beat alone"
            assert sink.keep == keeps[:done], f"{name}: TKEEP is not what came in"
            if done:
                self._compare(sweep, name, sink.data, expected)
        self._check_status(sweep, done, count)
        self.counts["sweeps"] += 1
        self.counts["beats"] += done
        self.counts["weights"] += min(done * self.lanes, len(sweep.weights))
        if not sweep.aborted:
            self.counts["saturations"] += sweep.special["saturations"]
        return sweep.results.get("weights", sweep.weights)

    def _compare(
        self, sweep: Sweep, name: str, data: list[int], expected: NDArray[np.int64]
    ) -> None:
        rows = unpack(data, width=self.bits, lanes=self.lanes)
        result = rows.reshape(-1)[: len(expected)]
        expected = expected[: len(result)]
        wrong = np.flatnonzero(result != expected)
        if len(wrong):
            at = int(wrong[0])
            raise AssertionError(
                f"{name}: {len(wrong)} of {len(result)} weights differ; weight {at}: "
                f"{sweep.weights[at]} became {result[at]}, not {expected[at]}, with "
                f"{sweep.commands}"
            )

    def _check_status(self, sweep: Sweep, done: int, count: int) -> None:
        special = sweep.special
        saturations = special["limited"][done] if sweep.aborted else special["saturations"]
        expected = {
            "saturations": saturations,
            "beats_done": done,
            "tlast_early": int("early" in special),
            "tlast_late": int("late" in special),
            "aborted": int(sweep.is_cut(done, count)),
            "sweeping": 0,
        }
        found = {name: self.bench.read(name) for name in expected}
        assert found == expected, f"{found}, not {expected}"


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
    latency = step.bench.manifest["latency"]
    stated = {name: clocks for name, clocks in latency.items() if name in OVERHEADS}
    expected = {name: {clocks} for name, clocks in stated.items()}
    assert step.overheads == expected, f"{step.overheads}, not {expected}"
    step.bench.report(
        sweeps={**step.counts, "restored": restored, "ignored": step.status.shaken},
        latencies=stated,
    )


@cocotb.test
async def patient_sink(dut: Any) -> None:
    """Sweeps into a sink whose ready waits for valid."""
    step = Step(dut, after_valid=True)
    await step.bench.reset()
    await step.bench.run_until(lambda: step.bench.read("busy") == 0)
    for sweep in itertools.islice(step.planned(), step.bench.parameters["patient"]):
        await step.run(sweep)
        await step.bench.run_until(lambda: step.bench.read("busy") == 0)


@cocotb.test
async def trace(dut: Any) -> None:
    """All outputs in every clock from time 0 on, to be compared between simulators."""
    streams: dict[str, Any] = dict.fromkeys(
        ("s_axis_tvalid", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "m_axis_tready"), 0
    )
    bench = Bench(dut, **streams, **idle(dut))
    ports = ["s_axis_tready", "m_axis_tvalid", "m_axis_tdata", "m_axis_tkeep", "m_axis_tlast"]
    ports += ["busy", "sweeping", "done", "saturations", "beats_done"]
    ports += ["tlast_early", "tlast_late", "aborted"]
    # Registers have values at power-up, so this begins without a reset.
    bench.write(aresetn=1)
    await Timer(1, "ns")
    shown = [",".join(str(getattr(dut, port).value) for port in ports)]
    draw, bits = bench.rng.random, bench.rng.getrandbits
    data, keep = len(dut.s_axis_tdata), len(dut.s_axis_tkeep)
    for _ in range(bench.parameters["trace"]):
        rests = bench.read("busy") == 0
        bench.write(
            aresetn=int(draw() < 0.995),
            s_axis_tvalid=int(draw() < 0.7),
            s_axis_tdata=bits(data),
            s_axis_tkeep=bits(keep),
            s_axis_tlast=int(draw() < 0.02),
            m_axis_tready=int(draw() < 0.7),
            go=int(draw() < 0.1),
            abort_sweep=int(draw() < 0.01),
            flush=int(draw() < 0.1),
            start=int(rests and draw() < 0.02),
            k=bench.rng.randint(-2, 2) & 7,
            beats=bench.rng.randint(0, 30),
            coefficient=bits(len(dut.coefficient)),
            dither_seed=bits(32),
            capture=bits(1),
        )
        await bench.clock()
        shown.append(",".join(str(getattr(dut, port).value) for port in ports))
    bench.save(trace=np.array(shown))
