"""Bench of a ZO step core behind registers, driven by cocotbext-axi.

Its managers and stream ends were written by someone else. Every pattern of idle clocks is crossed
with every pattern of back pressure, on the streams and on all channels of AXI4-Lite.

Arrays: ``weights`` of all sweeps one after the other, in LSBs; ``results``, for each sweep what
leaves on each of its ``outputs``. Parameter ``sweeps``: for each its ``length`` in weights, its
commands and ``saturations``, and the ``patterns`` of what drives, and by output of what takes; the
first of these also of the bus. With ``behind_reset``, a sweep that is reset after so many beats
comes before it.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from kit.bench import Bench
from numpy.typing import NDArray

from pezo_hw.registers import RegisterMap

with warnings.catch_warnings():
    # It is written for cocotb 1 as well, and uses what cocotb 2 has other names for.
    warnings.simplefilter("ignore", DeprecationWarning)
    from cocotbext.axi import (
        AxiLiteBus,
        AxiLiteMaster,
        AxiResp,
        AxiStreamBus,
        AxiStreamFrame,
        AxiStreamSink,
        AxiStreamSource,
    )

warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"cocotbext\.axi|cocotb_bus")


OUTPUTS = {"weights": "m_axis", "plus": "m_axis_plus", "minus": "m_axis_minus"}
# Beats of a sweep that is reset.
LONG = 200


def pattern(name: str, rng: random.Random) -> Iterator[int] | None:
    """Return a pattern by name: 1 in clocks in which a side pauses."""
    if name == "never":
        return None
    if name == "cycle":
        return itertools.cycle((1, 1, 1, 0))
    return (int(rng.random() < 0.5) for _ in itertools.count())


class TB:
    """The device and what is around it."""

    def __init__(self, dut: Any):
        self.dut = dut
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        folder = Path(os.environ["PEZO_FOLDER"])
        self.manifest = json.loads((folder / "pezo.json").read_text(encoding="utf-8"))
        self.parameters = json.loads(os.environ["PEZO_PARAMETERS"])
        self.map = RegisterMap.from_json(self.manifest["registers"])
        self.rng = random.Random(random.getrandbits(64))
        ends = {"clock": dut.aclk, "reset": dut.aresetn, "reset_active_level": False}
        dut.aresetn.value = 0
        Clock(dut.aclk, 10, "ns").start()
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), **ends)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), **ends)
        self.sinks = {
            name: AxiStreamSink(AxiStreamBus.from_prefix(dut, prefix), **ends)
            for name, prefix in OUTPUTS.items()
            if hasattr(dut, f"{prefix}_tvalid")
        }

    def pause(self, driving: str, *taking: str) -> None:
        """Set the patterns of what drives valid and, by output, of what drives ready."""
        write, read = self.bus.write_if, self.bus.read_if
        drives = (self.source, write.aw_channel, write.w_channel, read.ar_channel)
        ends = [(end, driving) for end in drives]
        ends += [(end, taking[0]) for end in (write.b_channel, read.r_channel)]
        ends += zip(self.sinks.values(), taking, strict=True)
        for end, name in ends:
            end.clear_pause_generator()
            end.pause = False
            chosen = pattern(name, self.rng)
            if chosen is not None:
                end.set_pause_generator(chosen)

    async def reset(self, clocks: int = 4) -> None:
        self.dut.aresetn.value = 0
        for _ in range(clocks):
            await RisingEdge(self.dut.aclk)
        self.dut.aresetn.value = 1
        await RisingEdge(self.dut.aclk)

    async def write(self, name: str, **fields: int) -> None:
        register = self.map[name]
        data = register.pack(**fields).to_bytes(4, "little")
        answer = await with_timeout(self.bus.write(register.address(), data), 10, "us")
        assert answer.resp == AxiResp.OKAY, f"{name}: {answer.resp!r}"

    async def read(self, name: str) -> dict[str, int]:
        register = self.map[name]
        answer = await with_timeout(self.bus.read(register.address(), 4), 10, "us")
        assert answer.resp == AxiResp.OKAY, f"{name}: {answer.resp!r}"
        return register.unpack(int.from_bytes(answer.data, "little"))

    async def go(self, sweep: dict[str, Any], beats: int) -> None:
        await self.write("LENGTH", beats=beats)
        await self.write("SWEEP", **{f.name: sweep[f.name] for f in self.map["SWEEP"].fields})
        await self.write("COEFFICIENT", c=sweep["coefficient"])
        if "DITHER_SEED" in self.map:
            await self.write("DITHER_SEED", seed=sweep["dither_seed"])
        await self.write("CONTROL", go=1)


class Sweeps:
    """The planned sweeps, in order."""

    def __init__(self, tb: TB):
        self.tb = tb
        with np.load(os.environ["PEZO_ARRAYS"]) as arrays:
            self._inputs, self._results = arrays["weights"], arrays["results"]
        self._lanes = int(tb.manifest["source"]["lanes"])
        self._at = self._given = 0
        self.beats = dict.fromkeys(tb.sinks, 0)

    async def run(self, sweep: dict[str, Any]) -> None:
        """Command a sweep, stream its weights through and check all that can be seen of it."""
        tb = self.tb
        part = slice(self._at, self._at + sweep["length"])
        self._at = part.stop
        beats = -(-sweep["length"] // self._lanes)
        tb.pause(*sweep["patterns"])
        # The weights wait for the sweep: the stream and the bus go on side by side.
        await tb.source.send(AxiStreamFrame(self._inputs[part].tobytes()))
        await tb.go(sweep, beats)
        for name in sweep["outputs"]:
            await self._receive(name, sweep, beats)
        if not tb.dut.irq.value:
            await with_timeout(RisingEdge(tb.dut.irq), 10, "us")
        await self._check(sweep, beats)
        for name, sink in tb.sinks.items():
            assert sink.empty(), f"{sweep}: more comes on {name}"

    async def _receive(self, name: str, sweep: dict[str, Any], beats: int) -> None:
        """Take what an output gives, and compare it."""
        frame = await with_timeout(self.tb.sinks[name].recv(), 40 * beats + 40, "us")
        result: NDArray[Any] = np.frombuffer(bytes(frame.tdata), dtype=self._inputs.dtype)
        expected = self._results[self._given : self._given + sweep["length"]]
        self._given += sweep["length"]
        assert len(result) == len(expected), f"{name} of {sweep}: {len(result)} weights"
        wrong = np.flatnonzero(result != expected)
        assert not len(wrong), f"{name} of {sweep}: {wrong[:5]} differ"
        self.beats[name] += beats

    async def _check(self, sweep: dict[str, Any], beats: int) -> None:
        tb = self.tb
        assert (await tb.read("STATUS")) == {"busy": 0, "done": 1, "sweeping": 0, "walking": 0}
        assert (await tb.read("INDEX"))["beats"] == beats
        assert (await tb.read("SATURATIONS"))["weights"] == sweep["saturations"]
        assert not any((await tb.read("ERROR")).values())
        assert (await tb.read("IRQ_STATUS")) == {"done": 1, "error": 0}
        await tb.write("IRQ_STATUS", done=1)
        await RisingEdge(tb.dut.aclk)
        await RisingEdge(tb.dut.aclk)
        assert not tb.dut.irq.value, "irq stays"

    async def reset_inside(self, after: int, sweep: dict[str, Any]) -> None:
        """Reset the device behind some beats of a sweep, and see that nothing of it is left.

        The commands are those of another sweep, but all that a reset must undo is set.
        """
        tb = self.tb
        tb.pause(*sweep["patterns"])
        size = self._inputs.itemsize * self._lanes
        await tb.source.send(AxiStreamFrame(bytes(size * LONG)))
        await tb.go({**sweep, "capture": 1, "capture_b": 1, "coefficient": 9}, LONG)
        prefix = OUTPUTS[sweep["outputs"][-1]]
        valid, ready = (getattr(tb.dut, f"{prefix}_t{end}") for end in ("valid", "ready"))
        came = 0
        while came < after:
            await RisingEdge(tb.dut.aclk)
            came += int(valid.value) & int(ready.value)
        assert not tb.dut.irq.value, "the reset comes too late"
        await tb.reset(tb.rng.randint(1, 4))
        for sink in tb.sinks.values():
            sink.clear()
        for register in tb.map:
            if register.readable and register.name != "STATUS":
                values = await tb.read(register.name)
                expected = register.unpack(register.reset or 0)
                assert values == expected, f"{register.name} after a reset: {values}"
        await tb.write("IRQ_ENABLE", done=1)


@cocotb.test
async def crossed(dut: Any) -> None:
    """All sweeps, with all patterns crossed, and resets in the middle of sweeps."""
    tb = TB(dut)
    await tb.reset()
    await tb.write("IRQ_ENABLE", done=1)
    sweeps = Sweeps(tb)
    resets = 0
    for sweep in tb.parameters["sweeps"]:
        if "behind_reset" in sweep:
            await sweeps.reset_inside(sweep["behind_reset"], sweep)
            resets += 1
        await sweeps.run(sweep)
    Bench.report(crossed={"beats": sweeps.beats, "resets": resets})
