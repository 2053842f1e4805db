"""A cocotb bench for `skid.v`: the kit passes a sound stream and finds every fault of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np
from kit import STALLS, Bench, StreamSink, StreamSource, pack, unpack

LANES, WIDTH = 8, 9
FULL_KEEP, LAST_KEEP = 0x1FF, 0x00F  # 72 bits are 9 bytes
FAULTS = range(1, 11)


def start(
    dut: Any, stall_in: str, stall_out: str, *, fault: int = 0, after_valid: bool = False
) -> tuple[Bench, StreamSource, StreamSink]:
    bench = Bench(dut, patience=100, fault=fault)
    source = bench.source(stalls=bench.stalls(stall_in))
    sink = bench.sink(stalls=bench.stalls(stall_out), after_valid=after_valid)
    return bench, source, sink


async def transfer(
    bench: Bench, source: StreamSource, sink: StreamSink, lengths: Sequence[int]
) -> None:
    """Send packets of the given lengths and compare all that comes out."""
    rng = np.random.default_rng(bench.rng.getrandbits(32))
    words = rng.integers(-(2 ** (WIDTH - 1)), 2 ** (WIDTH - 1), (sum(lengths), LANES))
    beats, at = pack(words, width=WIDTH), 0
    for length in lengths:
        source.send(beats[at : at + length], last_keep=LAST_KEEP)
        at += length
    await bench.run_until(lambda: len(sink.data) >= len(beats))
    await bench.clock(20)
    assert source.pending == 0, "a beat was not taken"
    assert len(sink.data) == len(beats), "a beat too many"
    ends = np.cumsum(lengths) - 1
    assert np.flatnonzero(sink.last).tolist() == ends.tolist(), "TLAST is not where it was put"
    keep = [LAST_KEEP if place in ends else FULL_KEEP for place in range(len(beats))]
    assert sink.keep == keep, "TKEEP differs"
    assert np.array_equal(unpack(sink.data, width=WIDTH, lanes=LANES), words), "TDATA differs"


@cocotb.test
async def sound(dut: Any) -> None:
    """All stall patterns of the source are crossed with all of the sink."""
    held_in = held_out = 0
    for stall_in in STALLS:
        for stall_out in STALLS:
            for after_valid in (False, True):
                bench, source, sink = start(dut, stall_in, stall_out, after_valid=after_valid)
                await bench.reset()
                await transfer(bench, source, sink, [1, 2, 1, 13])
                held_in, held_out = held_in + source.held, held_out + sink.held
    bench.report(held_in=held_in, held_out=held_out)


@cocotb.test
async def faults(dut: Any) -> None:
    """Each fault is switched on in turn; the caller looks at what the kit says."""
    messages = {}
    for fault in FAULTS:
        messages[fault] = "passed"
        bench, source, sink = start(dut, "rare", "half", fault=fault, after_valid=fault == 6)
        try:
            await bench.reset()
            await transfer(bench, source, sink, [1, 2, 1, 13])
        except AssertionError as error:
            messages[fault] = str(error)
    bench.report(messages=messages)


@cocotb.test
async def full_speed(dut: Any) -> None:
    """Without stalls a beat takes a clock."""
    bench, source, sink = start(dut, "never", "never")
    await bench.reset()
    await transfer(bench, source, sink, [100])
    bench.report(clocks=sink.cycles[-1] - source.cycles[0], held=source.held + sink.held)


@cocotb.test
async def commands(dut: Any) -> None:
    """A reset in the middle of a transfer leaves nothing of it; a command may withdraw a beat."""
    bench, source, sink = start(dut, "never", "half")
    await bench.reset()
    source.send(range(100))
    await bench.run_until(lambda: len(sink.data) > 10)
    await bench.reset()
    sink.clear()
    await transfer(bench, source, sink, [7])

    bench, source, sink = start(dut, "never", "never")
    sink.stalls = iter(lambda: True, None)
    await bench.reset()
    source.send([1, 2])
    await bench.clock(5)
    assert sink.held > 0
    # For the kit, taking valid away through a reset that it does not know of is such a command.
    sink.forgive()
    bench.write(aresetn=0)
    await bench.clock(2)
    bench.write(aresetn=1)
    sink.stalls = None
    sink.clear()
    await transfer(bench, source, sink, [3])


@cocotb.test
async def exchange(dut: Any) -> None:
    """Parameters and arrays arrive, and results leave."""
    bench = Bench(dut)
    bench.save(twice=2 * bench.arrays["numbers"])
    bench.save(text=np.array([bench.parameters["text"]]))
    bench.report(random=bench.rng.getrandbits(32), top=bench.manifest["top"])
    bench.report(more=[1, 2])


@cocotb.test
async def unknown(dut: Any) -> None:
    """An input that nobody drives and what follows from it: read as X, on Icarus."""
    bench = Bench(dut, fault=0)
    await bench.clock(2)
    bench.read("m_axis_tdata")
