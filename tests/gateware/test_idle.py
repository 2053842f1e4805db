"""A core without a sweep toggles no register, whatever its inputs do."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth import Value
from amaranth.sim import Simulator

from pezo_hw import config
from pezo_hw.gateware.pipeline import Pipeline
from pezo_hw.gateware.step import StepCore
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.schedules import outputs_of
from tests.formal.sby import Opened
from tests.gateware.benches import get
from tests.gateware.test_schedules import DSP, ZOQO, configured

CLOCKS = 60
# All that does not begin something. (Of the start index, the engine keeps whether it is reached.)
COMMANDS = ("beats", "k", "coefficient", "dither_seed", "capture", "abort")


def toggles(given: config.Config, *, beats: int, cut: int | None = None) -> tuple[int, int, int]:
    """Count the toggles of all registers in a sweep and behind it.

    Parameters
    ----------
    given : Config
    beats : int
        Of the sweep.
    cut : int, optional
        Beats behind which it is aborted.

    Returns
    -------
    registers, during, behind : int
        Registers of the core; toggled bits in the sweep, and in as many clocks without one.
    """
    core: Any = StepCore(given, model=engine_of(given))
    inside = Opened(core)
    registers = list(inside.registers.values())
    assert given.zo is not None
    outputs = [getattr(core, f"{name}_out") for name in outputs_of(given.zo.schedule)]
    rng = random.Random(1)
    counts = []

    def drive(ctx: Any, *, commands: bool) -> None:
        ctx.set(core.weights_in.valid, rng.getrandbits(1))
        payload = Value.cast(core.weights_in.payload)
        ctx.set(payload, rng.getrandbits(len(payload)))
        if not commands:
            ctx.set(core.weights_in.payload.last, 0)
        for output in outputs:
            ctx.set(output.ready, rng.getrandbits(1))
        for name in COMMANDS if commands else ():
            port = getattr(core.command, name)
            ctx.set(port, rng.getrandbits(len(port)))

    async def count(ctx: Any, *, commands: bool) -> None:
        before = [get(ctx, register) for register in registers]
        total = 0
        for _ in range(CLOCKS):
            drive(ctx, commands=commands)
            await ctx.tick()
            after = [get(ctx, register) for register in registers]
            total += sum((a ^ b).bit_count() for a, b in zip(after, before, strict=True))
            before = after
        counts.append(total)

    async def bench(ctx: Any) -> None:
        while ctx.get(core.command.busy):
            await ctx.tick()
        ctx.set(core.command.beats, beats)
        ctx.set(core.command.k, 1)
        ctx.set(core.command.coefficient, 77)
        ctx.set(core.command.go, 1)
        await ctx.tick()
        ctx.set(core.command.go, 0)
        await count(ctx, commands=False)
        if cut is not None:
            ctx.set(core.command.abort, 1)
        for _ in range(10 * beats):
            drive(ctx, commands=False)
            await ctx.tick()
            if not ctx.get(core.command.busy):
                break
        ctx.set(core.command.abort, 0)
        assert not ctx.get(core.command.busy)
        # The registers ahead of the lanes come to rest behind the sweep.
        for _ in range(12):
            await ctx.tick()
        await count(ctx, commands=True)

    simulator = Simulator(inside.fragment)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return len(registers), counts[0], counts[1]


CASES = {
    "in-place": (configured("in-place", "exact", DSP), 30, None),
    "rounded": (configured("in-place", "rounded", DSP), 30, None),
    "fused, with a table, cut short": (
        configured("fused", "rounded", DSP, tensors=4), 1000, 5,
    ),
    "wide": (configured("inline-both", "wide", DSP), 30, None),
    "zoqo": (configured("in-place", "plain", ZOQO), 30, None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_idle_core_toggles_nothing(name: str) -> None:
    given, beats, cut = CASES[name]
    registers, during, behind = toggles(given, beats=beats, cut=cut)
    assert registers > 50 and during > 20 * CLOCKS
    assert behind == 0


def test_registers_without_a_clock_enable_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:

    def register(self: Any, stage: int, values: Any) -> None:
        with self._m.If(self._moves[stage - 1]):
            self._m.d.sync += [register.eq(value) for register, value in values]

    monkeypatch.setattr(Pipeline, "register", register)
    given, beats, cut = CASES["in-place"]
    _, _, behind = toggles(given, beats=beats, cut=cut)
    assert behind > 5 * CLOCKS
