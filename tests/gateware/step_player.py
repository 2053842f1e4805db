"""Plays sweeps on a step core of any schedule and compares all that it gives with the model."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from amaranth import Value

from pezo_hw import config
from pezo_hw.gateware.step import StepCore
from pezo_hw.golden.schedules import KINDS, USED, outputs_of
from pezo_hw.golden.step import StepCore as Model
from pezo_hw.golden.step import SweepResult
from pezo_hw.golden.tensors import Tensor
from tests.gateware.benches import get, join, run, split


@dataclass(frozen=True)
class Sweep:
    """Commands of a sweep, and how long its weights are.

    `stuck` is an output that takes nothing until all others have waited for long.
    """

    k: int
    coefficient: int
    weights: int
    kind: str = "in-place"
    capture: bool = False
    capture_b: bool = False
    start: int | None = None
    table: tuple[Tensor, ...] = ()
    stuck: str | None = None


@dataclass
class Received:
    """What an output has given."""

    words: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)
    waiting: int | None = None


class Player:
    """A core, its model, and the sweeps that are played on both.

    Attributes
    ----------
    saturations : list of int
        Of the sweeps so far.
    moved : dict of str to int
        Beats that went over each stream.
    """

    def __init__(self, given: config.Config, *, model: Model | None = None, seed: int = 4):
        assert given.weights is not None and given.zo is not None
        self.model = Model(given) if model is None else model
        self.core = StepCore(given, model=self.model.engine)
        self.bits, self.lanes = given.weights.bits, given.reuse.lanes
        self.names = outputs_of(given.zo.schedule)
        self.saturations: list[int] = []
        self.moved = dict.fromkeys(("in", *self.names), 0)
        self._table: tuple[Tensor, ...] = ()
        self._rng, self._values = random.Random(seed), np.random.default_rng(seed)

    def play(self, sweeps: list[Sweep], *, stalls: Sequence[float] = (0.0,)) -> Player:
        """Run the sweeps, one after the other, with random weights and these stalls in turn."""

        async def bench(ctx: Any) -> None:
            for seed, (sweep, often) in enumerate(zip(sweeps, itertools.cycle(stalls))):
                await self.begin(ctx, sweep)
                top = 1 << (self.bits - 1)
                weights = self._values.integers(-top, top, sweep.weights)
                await self.sweep(ctx, sweep, weights, seed=seed * 0x1111_1111, stalls=often)

        run(self.core, bench)
        return self

    async def begin(self, ctx: Any, sweep: Sweep) -> None:
        """Go to the start of a sweep and write its table."""
        command = self.core.command
        if sweep.start is not None:
            ctx.set(command.start_index, sweep.start)
            ctx.set(command.start, 1)
            await ctx.tick()
            ctx.set(command.start, 0)
            self.model.start(sweep.start)
        if sweep.table and sweep.table != self._table:
            self._table = sweep.table
            for i, tensor in enumerate(sweep.table):
                # All other bits of the word are ignored.
                noise = self._rng.getrandbits(32) & ~0x71F3
                for where, value in enumerate((tensor.beats, tensor.settings | noise)):
                    ctx.set(command.table_write, 1)
                    ctx.set(command.table_index, i)
                    ctx.set(command.table_field, where)
                    ctx.set(command.table_data, value)
                    await ctx.tick()
            ctx.set(command.table_write, 0)
            await ctx.tick()
        while ctx.get(command.busy):
            await ctx.tick()

    def go(self, ctx: Any, sweep: Sweep, *, beats: int, seed: int) -> None:
        """Put the commands of a sweep on the ports."""
        command = self.core.command
        values = {
            "beats": beats,
            "k": sweep.k,
            "coefficient": sweep.coefficient,
            "dither_seed": seed,
            "capture": sweep.capture,
            "capture_b": sweep.capture_b,
            "kind": KINDS.index(sweep.kind),
        }
        if hasattr(command, "tensor_count"):
            values["tensor_count"] = len(sweep.table)
            if sweep.table:
                values["beats"] = self._rng.getrandbits(32)
        for name, value in values.items():
            if hasattr(command, name):
                ctx.set(getattr(command, name), value)
        ctx.set(command.go, 1)

    def offer(self, ctx: Any, weights: Any, *, sent: int, beats: int) -> None:
        """Put a beat of the weights, padded with themselves, on the input."""
        payload = self.core.weights_in.payload
        padded = np.resize(weights, beats * self.lanes)
        row = padded[sent * self.lanes : (sent + 1) * self.lanes]
        ctx.set(Value.cast(payload.data), join(row, width=self.bits))
        kept = min(self.lanes, len(weights) - self.lanes * sent)
        ctx.set(payload.keep, (1 << kept * self.bits // 8) - 1)
        ctx.set(payload.last, sent == beats - 1)

    def receive(self, ctx: Any, name: str, received: Received, *, ready: bool) -> bool:
        """Look at an output; return whether a beat was taken."""
        output = getattr(self.core, f"{name}_out")
        ctx.set(output.ready, ready)
        if not ctx.get(output.valid):
            assert received.waiting is None, f"{name}: valid fell before ready"
            return False
        beat = get(ctx, output.payload)
        assert received.waiting in (None, beat), f"{name}: the payload changed before ready"
        received.waiting = None if ready else beat
        if not ready:
            return False
        kept = ctx.get(output.payload.keep).bit_count() * 8 // self.bits
        width = self.lanes * self.bits
        words = split(beat & ((1 << width) - 1), width=self.bits, count=self.lanes)
        received.words += words[:kept]
        received.lasts.append(ctx.get(output.payload.last))
        self.moved[name] += 1
        return True

    async def sweep(
        self, ctx: Any, sweep: Sweep, weights: Any, *, seed: int, stalls: float
    ) -> SweepResult:
        """Play one sweep and check it."""
        core, command, rng = self.core, self.core.command, self._rng
        beats = -(-len(weights) // self.lanes)
        self.go(ctx, sweep, beats=beats, seed=seed)
        await ctx.tick()
        ctx.set(command.go, 0)
        sent, clocks, done = 0, 1, False
        got = {name: Received() for name in self.names}
        while not done:
            clocks += 1
            assert clocks < 200 + 30 * beats, f"stuck in {sweep}"
            offer = sent < beats and rng.random() >= stalls
            ctx.set(core.weights_in.valid, offer)
            if offer:
                self.offer(ctx, weights, sent=sent, beats=beats)
            for name, received in got.items():
                holds = name == sweep.stuck and clocks < 80
                ready = not holds and rng.random() >= stalls
                self.receive(ctx, name, received, ready=ready)
                if holds:
                    # No output runs ahead of one that is stuck by more than there are registers.
                    others = [len(other.lasts) for other in got.values()]
                    assert max(others) <= len(received.lasts) + 8
            taken = bool(offer and ctx.get(core.weights_in.ready))
            sent += taken
            self.moved["in"] += taken
            done = ctx.get(command.done)
            await ctx.tick()
        ctx.set(core.weights_in.valid, 0)
        if not stalls and not sweep.stuck:
            # From the clock of `go` to that of `done`, both included.
            assert clocks == beats + core.sweep_overheads[sweep.kind] + 1, f"{sweep}"
        return self._check(ctx, sweep, weights, got, seed=seed, beats=beats)

    def _check(
        self, ctx: Any, sweep: Sweep, weights: Any, got: Any, *, seed: int, beats: int
    ) -> SweepResult:
        command = self.core.command
        more: dict[str, Any] = {
            "kind": sweep.kind,
            "capture_b": sweep.capture_b,
            "table": sweep.table,
        }
        expected = self.model.sweep(
            weights,
            k=sweep.k,
            coefficient=sweep.coefficient,
            dither_seed=seed,
            capture=sweep.capture,
            **{name: value for name, value in more.items() if value},
        )
        for name, received in got.items():
            assert received.waiting is None
            if name not in USED[sweep.kind]:
                assert not received.lasts, f"{name} is not silent in {sweep}"
                continue
            assert received.words == getattr(expected, name).tolist(), f"{name} of {sweep}"
            assert received.lasts == [0] * (beats - 1) + [1]
        assert ctx.get(command.saturations) == expected.saturations, f"{sweep}"
        assert ctx.get(command.beats_done) == beats
        for flag in ("tlast_early", "tlast_late", "aborted", "busy", "sweeping"):
            assert not ctx.get(getattr(command, flag)), flag
        self.saturations.append(expected.saturations)
        return expected
