from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth import Const, signed

from pezo_hw.config import load
from pezo_hw.gateware.perturbation import PerturbationCore
from pezo_hw.gateware.signs import CyclicSigns, SignedReuse, negative_of
from pezo_hw.golden import reuse as golden
from pezo_hw.golden import signs
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.seeded import SeededEngine
from tests.gateware.benches import get, put, run, words_of

SIGNED = "reuse.signs=true"


@pytest.mark.parametrize(
    ("lanes", "words", "stride"), [(3, 1, 0), (6, 3, 1), (35, 7, 3), (64, 16, 15)]
)
def test_lanes_get_their_words_and_signs(lanes: int, words: int, stride: int) -> None:
    component = SignedReuse(lanes, words=words, stride=stride, shape=signed(9))
    values = np.arange(words) * 7 % 511 - 255
    sign = np.array([1 - 2 * (m % 3 == 1) for m in range(lanes // words)])

    async def bench(ctx: Any) -> None:
        put(ctx, component.words, values)
        put(ctx, component.negated, -values)
        ctx.set(component.negative, sum(1 << m for m in np.flatnonzero(sign < 0).tolist()))
        expected = golden.signed(
            golden.spread(values[None, :], lanes=lanes, stride=stride), sign[None, :]
        )[0]
        assert words_of(ctx, component.lanes) == expected.tolist()

    run(component, bench, clocked=False)


@pytest.mark.parametrize("zeros", [0, 1, 3])
def test_the_negative_of_a_word(zeros: int) -> None:
    component = SignedReuse(1, words=1, stride=0, shape=signed(7))

    async def bench(ctx: Any) -> None:
        for word in range(-63, 64):
            if word % (1 << zeros) == 0:
                bits = ctx.get(negative_of(Const(word, signed(7)), zeros=zeros).as_signed())
                assert bits == -word

    run(component, bench, clocked=False)


def test_the_generator_is_its_model() -> None:
    model = signs.CyclicSigns(64, seed=3)
    rows = model.values(0, 400)
    codes = [sum(1 << m for m in np.flatnonzero(row < 0).tolist()) for row in rows]
    component, rng = CyclicSigns(model), random.Random(1)

    async def bench(ctx: Any) -> None:
        index = captured = 0
        for _ in range(300):
            step, restore, clear = rng.random() < 0.8, rng.random() < 0.1, rng.random() < 0.02
            capture = step and not restore and rng.random() < 0.2
            for name, level in (("step", step), ("restore", restore), ("clear", clear)):
                ctx.set(getattr(component, name), level)
            ctx.set(component.capture, capture)
            assert get(ctx, component.negative) == codes[index]
            await ctx.tick()
            if clear:
                index = captured = 0
            elif restore:
                index = captured
            elif step:
                index += 1
                captured = index if capture else captured

    run(component, bench)


CORES = {
    "bank": ("tiny", [SIGNED]),
    "live": ("tiny", [SIGNED, "source.phases=seeded", "source.bits=5"]),
    "pool": ("zcu102-pregen", [SIGNED, "source.pool_size=31", "source.words=4", "reuse.lanes=12"]),
    "wide": ("zcu102-wide", [SIGNED, "source.words=8", "reuse.lanes=24"]),
}


def play(name: str, *, model: Any = None, clocks: int = 250) -> set[str]:
    """Give random commands under random stalls, compare every group, return what happened."""
    preset, overrides = CORES[name]
    config = load(preset, overrides)
    engine = engine_of(config)
    component = PerturbationCore(config, model=engine)
    model, rng, happened = model or engine_of(config), random.Random(5), set()

    async def bench(ctx: Any) -> None:
        for _ in range(clocks):
            busy, valid = ctx.get(component.busy), ctx.get(component.z.valid)
            if valid:
                assert words_of(ctx, component.z.payload) == model.lanes(model.index, 1)[0].tolist()
            given = {
                "restore": not busy and rng.random() < 0.05,
                "capture": rng.random() < 0.2,
                "start": not busy and rng.random() < 0.02,
            }
            ready = rng.random() < 0.7
            index = rng.randrange(16)
            ctx.set(component.z.ready, ready)
            for port, level in given.items():
                ctx.set(getattr(component, port), level)
            if given["start"]:
                ctx.set(component.start_index, index)
            await ctx.tick()
            if valid and ready:
                happened.add("transfer")
                model.advance()
                if given["capture"] and not (given["restore"] or given["start"]):
                    happened.add("capture")
                    model.capture()
            if given["start"]:
                happened.add("start")
                model.start(index)
            elif given["restore"]:
                happened.add("restore")
                model.restore()

    run(component, bench)
    return happened


@pytest.mark.parametrize("name", CORES)
def test_the_core_is_its_model(name: str) -> None:
    clocks = 1200 if isinstance(engine_of(load(*CORES[name])), SeededEngine) else 300
    assert play(name, clocks=clocks) == {"transfer", "capture", "restore", "start"}


@pytest.mark.parametrize("name", ["bank", "pool"])
def test_signs_that_begin_again_with_a_capture_are_seen(name: str) -> None:
    model = engine_of(load(*CORES[name]))
    right = model.signs.values  # type: ignore[union-attr]
    words = model.sequence.period
    model.signs.values = lambda start, count: right(start % words, count)  # type: ignore[union-attr, method-assign, call-arg]
    with pytest.raises(AssertionError):
        play(name, model=model)
