from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from pezo_hw.gateware.control import Control, Length, command_signature
from pezo_hw.golden import dither
from tests.gateware.benches import run


class Sequencer(wiring.Component):
    """The control and the count of its groups."""

    def __init__(self, schedule: str = "in-place", *, mixing: int = dither.WARM_UP):
        signature = command_signature(coefficient_bits=10, index_bits=4, schedule=schedule)
        self._control = Control(signature, saturated_bits=3, mixing=mixing, schedule=schedule)
        members = dict(self._control.signature.members)
        members["last"] = members["last"].flip()
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.control = control = self._control
        m.submodules.length = length = Length()
        for name, member in self.signature.members.items():
            if name == "command":
                wiring.connect(m, wiring.flipped(self.command), control.command)
            elif name != "last":
                inner, outer = getattr(control, name), getattr(self, name)
                m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        m.d.comb += [
            length.load.eq(control.restore),
            length.beats.eq(self.command.beats),
            length.step.eq(self.issued),
            control.last.eq(length.last),
            self.last.eq(length.last),
        ]
        return m


def _control() -> Sequencer:
    return Sequencer()


async def _go(ctx: Any, dut: Sequencer, **given: int) -> None:
    """Raise `go` for a clock, after which the commands change."""
    for name, value in given.items():
        ctx.set(getattr(dut.command, name), value)
    ctx.set(dut.command.go, 1)
    await ctx.tick()
    ctx.set(dut.command.go, 0)
    for name in given:
        ctx.set(getattr(dut.command, name), 0)


async def _mix(ctx: Any, dut: Sequencer) -> None:
    """Follow the clocks in which the dither's seed is mixed."""
    for _ in range(dither.WARM_UP):
        assert ctx.get(dut.mix) and ctx.get(dut.command.busy)
        assert not ctx.get(dut.issue) and not ctx.get(dut.run) and not ctx.get(dut.restore)
        await ctx.tick()
    assert not ctx.get(dut.mix)
    assert ctx.get(dut.issue) and ctx.get(dut.run)


@pytest.mark.parametrize("stalls", [0.0, 0.5])
@pytest.mark.parametrize("beats", [0, 1, 2, 3, 9])
def test_a_sweep_issues_its_beats(beats: int, stalls: float) -> None:
    dut = _control()
    rng = random.Random(1)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.empty, 1)
        assert not ctx.get(dut.command.busy)
        ctx.set(dut.command.go, 1)
        assert ctx.get(dut.restore)
        ctx.set(dut.command.go, 0)
        assert not ctx.get(dut.restore)
        await _go(ctx, dut, beats=beats, k=-2, coefficient=-512, capture=1)
        assert Control.LATENCY == 1
        await _mix(ctx, dut)
        assert ctx.get(dut.k) == -2 and ctx.get(dut.coefficient) == -512
        assert ctx.get(dut.capture)
        count = max(beats, 1)
        for i in range(count):
            while rng.random() < stalls:
                assert ctx.get(dut.issue) and ctx.get(dut.last) == (i == count - 1)
                await ctx.tick()
            assert ctx.get(dut.issue) and ctx.get(dut.last) == (i == count - 1)
            ctx.set(dut.issued, 1)
            await ctx.tick()
            ctx.set(dut.issued, 0)
        # No group too many, however long the last beat takes.
        for _ in range(3):
            assert not ctx.get(dut.issue) and ctx.get(dut.run) and ctx.get(dut.command.busy)
            await ctx.tick()
        ctx.set(dut.taken, 1)
        ctx.set(dut.tlast, 1)
        ctx.set(dut.final, 1)
        ctx.set(dut.empty, 0)
        await ctx.tick()
        ctx.set(dut.taken, 0)
        for _ in range(3):
            assert ctx.get(dut.command.busy) and not ctx.get(dut.run)
            assert not ctx.get(dut.command.done)
            await ctx.tick()
        ctx.set(dut.empty, 1)
        assert ctx.get(dut.command.done)
        await ctx.tick()
        assert not ctx.get(dut.command.done) and not ctx.get(dut.command.busy)
        assert not ctx.get(dut.command.tlast_early) and not ctx.get(dut.command.tlast_late)
        assert not ctx.get(dut.command.aborted) and ctx.get(dut.command.beats_done) == 1

    run(dut, bench)


def test_without_a_dither_groups_are_issued_at_once() -> None:
    dut = Sequencer(mixing=0)
    command = dut.command

    async def bench(ctx: Any) -> None:
        for beats in (1, 3):
            await _go(ctx, dut, beats=beats, k=1)
            ctx.set(dut.issued, 1)
            for i in range(beats):
                assert ctx.get(dut.issue) and ctx.get(dut.run) and not ctx.get(dut.mix)
                assert ctx.get(dut.last) == (i == beats - 1)
                await ctx.tick()
            ctx.set(dut.issued, 0)
            for _ in range(3):
                assert not ctx.get(dut.issue) and ctx.get(dut.run)
                await ctx.tick()
            # An abort where there would be mixing.
            ctx.set(command.abort, 1)
            await ctx.tick()
            ctx.set(command.abort, 0)
            assert ctx.get(command.busy) and not ctx.get(dut.run) and ctx.get(command.aborted)
            ctx.set(dut.empty, 1)
            await ctx.tick()
            ctx.set(dut.empty, 0)
            assert not ctx.get(command.busy)

    run(dut, bench)


def test_limits_add_up_and_are_cleared_by_the_next_sweep() -> None:
    dut = _control()
    counts = [0, 1, 7, 0, 5]

    async def bench(ctx: Any) -> None:
        for _ in range(2):
            await _go(ctx, dut, beats=1)
            assert ctx.get(dut.command.saturations) == 0
            await _mix(ctx, dut)
            for count in counts:
                ctx.set(dut.saturated, count)
                await ctx.tick()
            ctx.set(dut.saturated, 0)
            assert ctx.get(dut.command.saturations) == sum(counts)
            ctx.set(dut.issued, 1)
            ctx.set(dut.taken, 1)
            ctx.set(dut.final, 1)
            await ctx.tick()
            ctx.set(dut.issued, 0)
            ctx.set(dut.taken, 0)
            ctx.set(dut.empty, 1)
            await ctx.tick().repeat(5)
            ctx.set(dut.empty, 0)
            assert not ctx.get(dut.command.busy)
            # They stay for the host to read.
            assert ctx.get(dut.command.saturations) == sum(counts)

    run(dut, bench)


@pytest.mark.parametrize(("tlast", "final"), [(1, 0), (0, 1)])
def test_an_end_that_does_not_fit_stops_the_groups_and_is_reported(tlast: int, final: int) -> None:
    dut = _control()

    async def bench(ctx: Any) -> None:
        await _go(ctx, dut, beats=100)
        await _mix(ctx, dut)
        ctx.set(dut.issued, 1)
        ctx.set(dut.taken, 1)
        await ctx.tick().repeat(5)
        ctx.set(dut.tlast, tlast)
        ctx.set(dut.final, final)
        await ctx.tick()
        ctx.set(dut.taken, 0)
        ctx.set(dut.issued, 0)
        assert not ctx.get(dut.issue) and not ctx.get(dut.run)
        ctx.set(dut.empty, 1)
        await ctx.tick()
        command = dut.command
        assert not ctx.get(command.busy) and ctx.get(command.beats_done) == 6
        assert (ctx.get(command.tlast_early), ctx.get(command.tlast_late)) == (tlast, final)
        await _go(ctx, dut, beats=1)
        assert not ctx.get(command.tlast_early) and not ctx.get(command.tlast_late)
        assert not ctx.get(command.beats_done)

    run(dut, bench)


@pytest.mark.parametrize("clocks", [1, dither.WARM_UP, dither.WARM_UP + 1, dither.WARM_UP + 9])
def test_an_abort_takes_no_further_beat(clocks: int) -> None:
    """In the mixing, at its end, in the first clock of beats and among them."""
    dut = _control()
    command = dut.command

    async def bench(ctx: Any) -> None:
        # Ignored with go, as the other commands are behind it.
        ctx.set(command.abort, 1)
        await _go(ctx, dut, beats=100)
        ctx.set(command.abort, 0)
        ctx.set(dut.issued, 1)
        ctx.set(dut.taken, 1)
        for _ in range(clocks - 1):
            await ctx.tick()
        assert not ctx.get(command.aborted)
        ctx.set(command.abort, 1)
        await ctx.tick()
        ctx.set(command.abort, 0)
        taken = max(0, clocks - dither.WARM_UP)
        for _ in range(3):
            assert not ctx.get(dut.issue) and not ctx.get(dut.run)
            assert ctx.get(command.busy) and not ctx.get(command.done)
            assert ctx.get(command.aborted) and ctx.get(command.beats_done) == taken
            await ctx.tick()
        ctx.set(dut.empty, 1)
        assert ctx.get(command.done)
        await ctx.tick()
        assert not ctx.get(command.busy) and ctx.get(command.aborted)
        # One without a sweep does nothing, nor does it to the next sweep.
        ctx.set(command.abort, 1)
        await ctx.tick().repeat(2)
        assert not ctx.get(command.busy)
        ctx.set(command.abort, 0)
        await _go(ctx, dut, beats=1)
        assert not ctx.get(command.aborted)
        await _mix(ctx, dut)

    run(dut, bench)


def test_an_abort_behind_the_last_beat_is_ignored() -> None:
    dut = _control()

    async def bench(ctx: Any) -> None:
        await _go(ctx, dut, beats=1)
        await _mix(ctx, dut)
        for name in ("taken", "tlast", "final"):
            ctx.set(getattr(dut, name), 1)
        # With the last beat itself, and while it leaves.
        ctx.set(dut.command.abort, 1)
        await ctx.tick()
        ctx.set(dut.taken, 0)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.command.busy) and not ctx.get(dut.command.aborted)
        ctx.set(dut.empty, 1)
        await ctx.tick()
        assert not ctx.get(dut.command.busy) and not ctx.get(dut.command.aborted)

    run(dut, bench)


def test_a_flush_drops_beats_up_to_tlast() -> None:
    dut = _control()
    command = dut.command

    async def bench(ctx: Any) -> None:
        ctx.set(dut.empty, 1)
        ctx.set(dut.taken, 1)
        ctx.set(command.flush, 1)
        for _ in range(3):
            assert ctx.get(dut.flush) and ctx.get(command.busy) and not ctx.get(command.sweeping)
            await ctx.tick()
        ctx.set(dut.tlast, 1)
        await ctx.tick()
        # No more until it has been low, and no sweep.
        ctx.set(command.go, 1)
        for _ in range(3):
            assert not ctx.get(dut.flush) and ctx.get(command.busy) and not ctx.get(dut.restore)
            await ctx.tick()
        ctx.set(command.go, 0)
        ctx.set(command.flush, 0)
        assert not ctx.get(command.busy)
        await ctx.tick()
        ctx.set(command.flush, 1)
        assert ctx.get(dut.flush)
        ctx.set(command.flush, 0)
        await ctx.tick()
        # In a sweep it waits.
        ctx.set(dut.tlast, 0)
        ctx.set(dut.taken, 0)
        await _go(ctx, dut, beats=3)
        ctx.set(command.flush, 1)
        assert not ctx.get(dut.flush)
        ctx.set(command.abort, 1)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.flush) and not ctx.get(command.beats_done)

    run(dut, bench)


# Schedule, kind: the outputs, k and C of engine A, for given k = -1 and C = 5.
KINDS = [
    ("inline", 0, "weights", -1, 5),
    ("inline", 1, "plus", -1, 5),
    ("inline", 2, "weights", -1, 5),
    ("inline-both", 0, "weights", -1, 5),
    ("inline-both", 1, "plus", -1, 5),
    ("inline-both", 2, "plus minus", 1, 0),
    ("inline-both", 3, "weights", -1, 5),
    ("fused", 0, "weights", -1, 5),
    ("fused", 1, "plus", -1, 5),
    ("fused", 2, "plus minus", 0, 0),
    ("fused", 3, "weights plus minus", -1, 5),
]


@pytest.mark.parametrize(("schedule", "kind", "outputs", "k", "coefficient"), KINDS)
def test_kinds(schedule: str, kind: int, outputs: str, k: int, coefficient: int) -> None:
    dut = Sequencer(schedule)

    async def bench(ctx: Any) -> None:
        await _go(ctx, dut, beats=3, kind=kind, k=-1, coefficient=5)
        used = [name for name in ("weights", "plus", "minus") if ctx.get(getattr(dut, name))]
        assert used == outputs.split()
        assert (ctx.get(dut.k), ctx.get(dut.coefficient)) == (k, coefficient)

    run(dut, bench)


def test_go_waits_for_nobody() -> None:
    dut = _control()

    async def bench(ctx: Any) -> None:
        # While the source walks, a go is ignored, not kept.
        ctx.set(dut.source_busy, 1)
        assert ctx.get(dut.command.busy)
        ctx.set(dut.command.go, 1)
        assert not ctx.get(dut.restore)
        await ctx.tick()
        ctx.set(dut.command.go, 0)
        ctx.set(dut.source_busy, 0)
        await ctx.tick().repeat(3)
        assert not ctx.get(dut.command.busy)
        # And so is one in the middle of a sweep.
        await _go(ctx, dut, beats=2, k=1)
        await ctx.tick().repeat(dither.WARM_UP + 2)
        await _go(ctx, dut, beats=7, k=2)
        assert ctx.get(dut.k) == 1 and not ctx.get(dut.restore) and ctx.get(dut.run)
        assert not ctx.get(dut.last)
        ctx.set(dut.issued, 1)
        await ctx.tick()
        assert ctx.get(dut.last)

    run(dut, bench)
