"""Counts how often each weight moves in a training step, in a simulation of every schedule.

The weights lie in a memory. A beat that the core takes in is a read of it, a beat of
``weights_out`` a write; the perturbed weights of ``plus_out`` and ``minus_out`` go to the consumer,
past the memory. Where the weights are perturbed in place, the consumer reads them from the memory
itself: one more pass for each forward pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from amaranth import Value
from amaranth.sim import Simulator
from numpy.typing import NDArray

from pezo_hw.config import Config, load
from pezo_hw.gateware.step import StepCore
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.schedules import KINDS, outputs_of


@dataclass(frozen=True)
class Pass:
    """One sweep of a step.

    Attributes
    ----------
    kind : str
    k : int
    updates : bool
        The step's coefficient goes with it, and it is the last of its step.
    forward : bool
        The consumer reads the weights behind it.
    """

    kind: str = "in-place"
    k: int = 0
    updates: bool = False
    forward: bool = False


@dataclass(frozen=True)
class Method:
    """How a step is made of sweeps.

    Attributes
    ----------
    schedule : str
        ``zo.schedule`` of the core that it needs.
    step : tuple of Pass
    lead : tuple of Pass
        Before the first step.
    """

    schedule: str
    step: tuple[Pass, ...]
    lead: tuple[Pass, ...] = ()


_PROBES = (Pass(k=1, forward=True), Pass(k=-2, forward=True))

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "naive MeZO, in place": Method("in-place", (*_PROBES, Pass(k=1), Pass(updates=True))),
        "with restore_update": Method("in-place", (*_PROBES, Pass(k=1, updates=True))),
        "inline": Method("inline", (Pass("inline", k=1), Pass("inline", k=-1), Pass(updates=True))),
        "inline-both": Method("inline-both", (Pass("inline-both"), Pass(updates=True))),
        "fused": Method("fused", (Pass("fused", updates=True),), lead=(Pass("inline-both"),)),
    }
)
"""The ways to make a step, from the most to the fewest transfers."""

_LANES, _BEATS = 4, 6
_COEFFICIENTS = (900, -2000, 1500)


@dataclass(frozen=True)
class Count:
    """What was counted.

    Attributes
    ----------
    transfers : float
        Of each weight in a step, reads and writes of the memory.
    weights : tuple of int
        In the memory behind the last step: the same for all methods.
    consumed : int
        Perturbed weights that the consumer got, for each weight and step.
    """

    transfers: float
    weights: tuple[int, ...]
    consumed: float


def configured(schedule: str) -> Config:
    """Return the small core that is simulated."""
    sizes = ["source.generators=2", "reuse.lanes=4", "source.bits=6", "control.interface=ports"]
    return load("zcu102-step", [*sizes, f"zo.schedule={schedule}"])


def count(name: str) -> Count:
    """Simulate some steps of one of `METHODS` and count.

    What belongs to the run as a whole (`Method.lead`) is not counted to its steps.
    """
    method = METHODS[name]
    memory = _Memory(configured(method.schedule))
    memory.play(method)
    weights = len(_COEFFICIENTS) * _BEATS
    return Count(
        transfers=memory.moved / weights,
        weights=tuple(memory.weights.ravel().tolist()),
        consumed=memory.consumed / weights,
    )


class _Memory:
    """Weights, the core that they stream through, and the counts of beats."""

    def __init__(self, config: Config):
        assert config.zo is not None and config.weights is not None
        self._core: Any = StepCore(config, model=engine_of(config))
        self._outputs = outputs_of(config.zo.schedule)
        self._bits = config.weights.bits
        self.weights: NDArray[np.int64] = np.random.default_rng(1).integers(
            -9000, 9000, (_BEATS, _LANES)
        )
        self.moved = self.consumed = 0

    def play(self, method: Method) -> None:
        async def bench(ctx: Any) -> None:
            while ctx.get(self._core.command.busy):
                await ctx.tick()
            for one in method.lead:
                await self._sweep(ctx, one, 0, 0)
            self.moved = self.consumed = 0
            for number, coefficient in enumerate(_COEFFICIENTS):
                for one in method.step:
                    await self._sweep(ctx, one, coefficient if one.updates else 0, number)

        simulator = Simulator(self._core)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()

    async def _sweep(self, ctx: Any, one: Pass, coefficient: int, seed: int) -> None:
        core, command = self._core, self._core.command
        lag = one.kind in ("inline-both", "fused") and hasattr(command, "capture_b")
        values = {
            "beats": _BEATS,
            "kind": KINDS.index(one.kind),
            "k": one.k,
            "coefficient": coefficient,
            "dither_seed": seed,
            "capture": one.updates,
            "capture_b": lag,
            "go": 1,
        }
        for name, value in values.items():
            if hasattr(command, name):
                ctx.set(getattr(command, name), value)
        await ctx.tick()
        ctx.set(command.go, 0)
        payload = core.weights_in.payload
        ctx.set(core.weights_in.valid, 1)
        ctx.set(payload.keep, -1)
        for name in self._outputs:
            ctx.set(getattr(core, f"{name}_out").ready, 1)
        read = written = 0
        stored = self.weights.copy()
        done = False
        while not done:
            ctx.set(Value.cast(payload.data), self._joined(stored[min(read, _BEATS - 1)]))
            ctx.set(payload.last, read == _BEATS - 1)
            for name in self._outputs:
                output = getattr(core, f"{name}_out")
                if ctx.get(output.valid):
                    if name == "weights":
                        row = [ctx.get(output.payload.data[i]) for i in range(_LANES)]
                        self.weights[written] = row
                        written += 1
                    else:
                        self.consumed += 1
            read += ctx.get(core.weights_in.ready)
            done = ctx.get(command.done)
            await ctx.tick()
        ctx.set(core.weights_in.valid, 0)
        assert read == _BEATS and written in (0, _BEATS)
        if ctx.get(command.saturations):
            raise AssertionError("no weight may be limited, or the methods differ")
        forward = _BEATS if one.forward else 0
        self.moved += read + written + forward
        self.consumed += forward

    def _joined(self, row: NDArray[np.int64]) -> int:
        mask = (1 << self._bits) - 1
        return sum((int(value) & mask) << (self._bits * i) for i, value in enumerate(row))
