"""The whole step core on small sources of each kind; the exported cores have benches in sim/."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pezo_hw import config
from pezo_hw.gateware.step import StepCore
from pezo_hw.golden.step import StepCore as Model
from tests.gateware.benches import bank, pool, put, run, words_of

LANES, BITS = 6, 8

SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bank": (bank(3, bits=4), {"mode": "none"}),
    "bank_norm": (bank(2, bits=5, phases="seeded"), {"mode": "group"}),
    "period": (bank(3, bits=4, rotation="period"), {"mode": "constant", "exponent": 1}),
    "pool_norm": (pool(31, 6, bits=5, phases="seeded"), {"mode": "group"}),
}


@dataclass(frozen=True)
class Sweep:
    """Commands of a sweep, and how long its weights are."""

    k: int
    coefficient: int
    weights: int
    capture: bool = False
    start: int | None = None


SWEEPS = [
    Sweep(1, 0, 31),
    Sweep(-2, 0, 31),
    # Restore and update in one, the last of its step.
    Sweep(1, 77, 31, capture=True),
    Sweep(0, -128, 1),
    Sweep(0, 127, 36, capture=True),
    Sweep(2, 0, 6),
    Sweep(-1, 5, 13, start=11),
    Sweep(-1, 5, 13),
]


def _config(source: dict[str, Any], scaling: dict[str, Any]) -> config.Config:
    return config.from_mapping(
        {
            "core": {"name": "step", "kind": "zo-step", "board": "zcu102"},
            "source": source,
            "scaling": scaling,
            "reuse": {"lanes": LANES},
            "weights": {"bits": BITS, "frac": 5},
            "zo": {"epsilon_log2": -3, "coefficient_bits": 8, "coefficient_shift": 4},
        }
    )


def _play(given: config.Config, model: Model, *, stalls: float) -> list[int]:
    """Run the sweeps on the core, compare each with the model, and return their saturations."""
    core = StepCore(given, model=model.engine)
    command, taken, result = core.command, core.weights_in, core.weights_out
    rng, values = random.Random(4), np.random.default_rng(4)
    saturations = []

    async def one(ctx: Any, sweep: Sweep, seed: int) -> None:
        weights = values.integers(-(1 << (BITS - 1)), 1 << (BITS - 1), sweep.weights)
        beats = -(-sweep.weights // LANES)
        padded = np.resize(weights, beats * LANES).reshape(beats, LANES)
        ctx.set(command.beats, beats)
        ctx.set(command.k, sweep.k)
        ctx.set(command.coefficient, sweep.coefficient)
        ctx.set(command.dither_seed, seed)
        ctx.set(command.capture, sweep.capture)
        ctx.set(command.go, 1)
        await ctx.tick()
        ctx.set(command.go, 0)
        sent, clocks, got = 0, 1, list[int]()
        done = False
        while not done:
            clocks += 1
            assert clocks < 60 + 20 * beats, "stuck"
            offer = sent < beats and rng.random() >= stalls
            ctx.set(taken.valid, offer)
            if offer:
                put(ctx, taken.payload.data, padded[sent])
                kept = min(LANES, sweep.weights - LANES * sent)
                ctx.set(taken.payload.keep, (1 << kept) - 1)
                ctx.set(taken.payload.last, sent == beats - 1)
            ctx.set(result.ready, rng.random() >= stalls)
            if ctx.get(result.valid) and ctx.get(result.ready):
                keep = ctx.get(result.payload.keep)
                got += words_of(ctx, result.payload.data)[: keep.bit_count()]
                assert ctx.get(result.payload.last) == (len(got) == sweep.weights)
            sent += bool(offer and ctx.get(taken.ready))
            done = ctx.get(command.done)
            await ctx.tick()
        ctx.set(taken.valid, 0)
        if not stalls:
            # From the clock of `go` to that of `done`, both included.
            assert clocks == beats + core.sweep_overhead + 1
        expected = model.sweep(
            weights,
            k=sweep.k,
            coefficient=sweep.coefficient,
            dither_seed=seed,
            capture=sweep.capture,
        )
        assert got == expected.weights.tolist(), f"{sweep}"
        assert ctx.get(command.saturations) == expected.saturations
        assert not ctx.get(command.tlast_error) and not ctx.get(command.busy)
        saturations.append(expected.saturations)

    async def bench(ctx: Any) -> None:
        for seed, sweep in enumerate(SWEEPS):
            if sweep.start is not None:
                ctx.set(command.start_index, sweep.start)
                ctx.set(command.start, 1)
                await ctx.tick()
                ctx.set(command.start, 0)
                model.start(sweep.start)
            while ctx.get(command.busy):
                await ctx.tick()
            await one(ctx, sweep, seed * 0x1111_1111)

    run(core, bench)
    return saturations


@pytest.mark.parametrize("stalls", [0.0, 0.4])
@pytest.mark.parametrize("name", SOURCES)
def test_sweeps(name: str, stalls: float) -> None:
    given = _config(*SOURCES[name])
    model = Model(given)
    assert model.engine.live == name.endswith("_norm")
    assert sum(_play(given, model, stalls=stalls)) > 0


def test_a_lost_capture_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    given = _config(*SOURCES["bank"])
    model = Model(given)
    monkeypatch.setattr(model.engine, "capture", lambda: None)
    with pytest.raises(AssertionError, match="coefficient=-128"):
        _play(given, model, stalls=0)
