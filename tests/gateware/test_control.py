from __future__ import annotations

import random
from typing import Any

import pytest

from pezo_hw.gateware.control import Control, command_signature
from pezo_hw.golden import dither
from tests.gateware.benches import run


def _control() -> Control:
    signature = command_signature(coefficient_bits=10, index_bits=4)
    return Control(signature, saturated_bits=3)


async def _go(ctx: Any, dut: Control, **given: int) -> None:
    """Raise `go` for a clock, after which the commands change."""
    for name, value in given.items():
        ctx.set(getattr(dut.command, name), value)
    ctx.set(dut.command.go, 1)
    await ctx.tick()
    ctx.set(dut.command.go, 0)
    for name in given:
        ctx.set(getattr(dut.command, name), 0)


async def _mix(ctx: Any, dut: Control) -> None:
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
        assert Control.LATENCY == 1 + dither.WARM_UP
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
        ctx.set(dut.ended, 1)
        ctx.set(dut.empty, 0)
        await ctx.tick()
        ctx.set(dut.ended, 0)
        for _ in range(3):
            assert ctx.get(dut.command.busy) and not ctx.get(dut.run)
            assert not ctx.get(dut.command.done)
            await ctx.tick()
        ctx.set(dut.empty, 1)
        assert ctx.get(dut.command.done)
        await ctx.tick()
        assert not ctx.get(dut.command.done) and not ctx.get(dut.command.busy)
        assert not ctx.get(dut.command.tlast_error)

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
            ctx.set(dut.ended, 1)
            await ctx.tick()
            ctx.set(dut.issued, 0)
            ctx.set(dut.ended, 0)
            ctx.set(dut.empty, 1)
            await ctx.tick().repeat(5)
            ctx.set(dut.empty, 0)
            assert not ctx.get(dut.command.busy)
            # They stay for the host to read.
            assert ctx.get(dut.command.saturations) == sum(counts)

    run(dut, bench)


def test_an_early_end_stops_the_groups_and_is_reported() -> None:
    dut = _control()

    async def bench(ctx: Any) -> None:
        await _go(ctx, dut, beats=100)
        await _mix(ctx, dut)
        ctx.set(dut.issued, 1)
        await ctx.tick().repeat(5)
        ctx.set(dut.ended, 1)
        ctx.set(dut.mismatch, 1)
        await ctx.tick()
        ctx.set(dut.ended, 0)
        ctx.set(dut.issued, 0)
        assert not ctx.get(dut.issue) and not ctx.get(dut.run)
        ctx.set(dut.mismatch, 0)
        ctx.set(dut.empty, 1)
        await ctx.tick()
        assert not ctx.get(dut.command.busy) and ctx.get(dut.command.tlast_error)
        await _go(ctx, dut, beats=1)
        assert not ctx.get(dut.command.tlast_error)

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
