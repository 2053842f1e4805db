from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth import Value

from pezo_hw.gateware.dither import Dither
from pezo_hw.golden import dither as golden
from tests.gateware.benches import get, run

SEEDS = [0, 1, 0x1234_5678, 2**32 - 1]


def _beats(component: Dither, seed: int, count: int, *, stalls: bool = False) -> np.ndarray:
    layout = component.dither.shape()
    width, words = layout.elem_shape.width, layout.length
    rows = []

    async def bench(ctx: Any) -> None:
        ctx.set(component.seed, seed)
        ctx.set(component.load, 1)
        # A load wins over a step.
        ctx.set(component.step, 1)
        await ctx.tick()
        ctx.set(component.load, 0)
        for _ in range(golden.WARM_UP):
            await ctx.tick()
        for beat in range(count):
            if stalls and beat % 3 == 0:
                ctx.set(component.step, 0)
                await ctx.tick().repeat(2)
                ctx.set(component.step, 1)
            bits = get(ctx, component.dither)
            rows.append([bits >> (width * j) & ((1 << width) - 1) for j in range(words)])
            await ctx.tick()

    run(component, bench)
    return np.array(rows)


@pytest.mark.parametrize(("words", "shift"), [(1, 1), (2, 24), (5, 16), (64, 8)])
def test_dithers_are_the_golden_ones(words: int, shift: int) -> None:
    for seed in SEEDS:
        got = _beats(Dither(words, shift=shift), seed, 40, stalls=seed == 1)
        assert (got == golden.dither(seed, 40, words=words, shift=shift)).all()


def test_seeds_differ() -> None:
    beats = [_beats(Dither(3, shift=16), seed, 10).tolist() for seed in SEEDS]
    assert len({str(beat) for beat in beats}) == len(SEEDS)


def test_one_more_step_is_seen() -> None:
    got = _beats(Dither(3, shift=16), 7, 11)
    expected = golden.dither(7, 11, words=3, shift=16)
    assert (got[1:] == expected[1:]).all()
    assert not (got[1:] == expected[:-1]).any(axis=1).any()


def test_it_runs_from_reset_without_a_load() -> None:
    component = Dither(64, shift=1)

    async def bench(ctx: Any) -> None:
        ctx.set(component.step, 1)
        seen = set()
        for _ in range(50):
            seen.add(ctx.get(Value.cast(component.dither)))
            await ctx.tick()
        assert len(seen) == 50 and 0 not in seen

    run(component, bench)
