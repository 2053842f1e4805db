from __future__ import annotations

import random
from typing import Any

import pytest

from pezo_hw.gateware.engine import Engine
from pezo_hw.golden.engine import Engine as Model
from tests.gateware.benches import bank, perturbation, pool, run, words_of

SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bank": (bank(4, bits=6), {"mode": "none"}),
    "bank_constant": (bank(3, bits=4), {"mode": "constant", "exponent": 3}),
    "bank_norm": (bank(3, bits=5, phases="seeded"), {"mode": "group"}),
    "period": (bank(2, bits=4, rotation="period"), {"mode": "none"}),
    "period_norm": (bank(2, bits=4, rotation="period", phases="seeded"), {"mode": "group"}),
    "leap": (bank(3, bits=8, polynomial=0x11D, leap=7), {"mode": "constant", "exponent": 1}),
    "pool": (pool(64, 7, bits=8), {"mode": "none"}),
    "pool_norm": (pool(31, 4, bits=5, phases="seeded"), {"mode": "group"}),
    "pool_of_one_group": (pool(5, 5, bits=4), {"mode": "group"}),
}


def _model(name: str) -> Model:
    source, scaling = SOURCES[name]
    model = Model(perturbation(source, **scaling))
    assert model.live == name.endswith("_norm")
    return model


def _play(component: Engine, model: Model, *, clocks: int) -> set[str]:
    """Give random commands under random stalls, compare every clock, and return what happened."""
    rng = random.Random(3)
    z = component.z
    happened = set()

    async def bench(ctx: Any) -> None:
        offered: list[int] | None = None
        waited = 0
        while ctx.get(component.busy):
            await ctx.tick()
        for _ in range(clocks):
            ready, restore = rng.random() < 0.7, rng.random() < 0.06
            capture, start = rng.random() < 0.2, rng.random() < 0.02
            ctx.set(z.ready, ready)
            ctx.set(component.restore, restore)
            ctx.set(component.capture, capture)
            ctx.set(component.start, start)
            index = rng.randrange(1 << len(component.start_index))
            if start:
                ctx.set(component.start_index, index)
            valid = ctx.get(z.valid)
            # A register behind the source takes one clock to fill.
            waited = 0 if valid else waited + 1
            assert waited <= model.prefetched
            if offered is not None:
                assert valid, "an offer was taken back"
            offered = words_of(ctx, z.payload) if valid else None
            if valid:
                expected = model.scaled(model.index, 1)[0].tolist()
                assert offered == expected, f"group {model.index}"
            await ctx.tick()
            if valid and ready:
                happened.add("transfer")
                offered = None
                model.advance()
                if capture and not restore:
                    model.capture()
                    happened.add("capture")
            if start:
                happened.add("start beyond K" if index >= model.period else "start")
                model.start(index)
                ctx.set(component.start, 0)
                busy = 0
                while ctx.get(component.busy):
                    busy += 1
                    assert busy < 3 + (1 << len(component.start_index)), "busy for ever"
                    # Commands are refused on the way.
                    ctx.set(component.restore, rng.random() < 0.5)
                    ctx.set(component.capture, rng.random() < 0.5)
                    assert not ctx.get(z.valid)
                    await ctx.tick()
                assert busy == index + 2
                offered, waited = None, 0
            elif restore:
                happened.add("restore")
                model.restore()
                offered, waited = None, 0

    run(component, bench)
    return happened


@pytest.mark.parametrize("name", SOURCES)
def test_the_engine_is_its_model(name: str) -> None:
    model = _model(name)
    happened = _play(Engine(model), model, clocks=500)
    assert {"transfer", "capture", "restore", "start"} <= happened


@pytest.mark.parametrize("name", ["bank_norm", "pool_norm"])
def test_another_table_is_seen(name: str) -> None:
    source, scaling = SOURCES[name]
    other = Model(perturbation(source | {"seed": 9}, **scaling))
    with pytest.raises(AssertionError, match="group"):
        _play(Engine(other), _model(name), clocks=100)


def test_a_wrong_exponent_is_seen() -> None:
    model = _model("bank_norm")
    component = Engine(_model("bank_norm"))
    model.exponent_table = model.exponent_table[::-1].copy()
    with pytest.raises(AssertionError, match="group"):
        _play(component, model, clocks=100)


@pytest.mark.parametrize("name", ["bank", "bank_norm", "pool"])
def test_a_group_a_clock_and_the_latencies(name: str) -> None:
    model = _model(name)
    component = Engine(model)
    z = component.z
    # After a restore, in clocks until valid.
    latency = 2 if model.prefetched else 1

    async def bench(ctx: Any) -> None:
        ctx.set(z.ready, 1)
        while not ctx.get(z.valid):
            await ctx.tick()
        for _ in range(40):
            assert ctx.get(z.valid)
            await ctx.tick()
        ctx.set(component.restore, 1)
        await ctx.tick()
        ctx.set(component.restore, 0)
        for _ in range(latency - 1):
            assert not ctx.get(z.valid)
            await ctx.tick()
        assert ctx.get(z.valid)
        ctx.set(component.start_index, 5)
        ctx.set(component.start, 1)
        await ctx.tick()
        ctx.set(component.start, 0)
        clocks = 1
        while not ctx.get(z.valid):
            clocks += 1
            await ctx.tick()
        assert clocks == latency + 5 + 2

    run(component, bench)
