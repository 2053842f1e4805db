from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from pezo_hw.gateware.pool import CircularAddress, Pool
from pezo_hw.golden import pool as golden
from tests.gateware.benches import run, words_of

# N, W: K from 1 up, primes, powers of two, one less and one more; W with and without a factor of N.
SIZES = [
    (2, 1), (2, 2), (3, 2), (5, 5), (7, 3), (8, 3), (8, 4), (15, 6), (16, 7), (17, 4), (31, 8),
    (33, 32), (63, 5), (64, 5), (65, 64), (255, 4), (256, 3),
]  # fmt: skip


def _model(size: int, words: int, *, bits: int = 6, seed: int = 1) -> golden.Pool:
    contents = golden.draw(size, bits=bits, words=words, seed=seed, level=False)
    return golden.Pool(bits=bits, contents=contents, words=words)


def _follow(component: Pool, model: golden.Pool, codes: list[int], groups: int) -> None:
    """Restore, then step through groups, stalled now and then, and compare each."""
    rng = random.Random(1)
    expected = model.groups(0, groups).tolist()

    async def bench(ctx: Any) -> None:
        ctx.set(component.restore, 1)
        await ctx.tick()
        ctx.set(component.restore, 0)
        for index, group in enumerate(expected):
            for _ in range(rng.choice([0, 0, 0, 1, 3])):
                assert words_of(ctx, component.words) == group, f"group {index} while stalled"
                await ctx.tick()
            assert words_of(ctx, component.words) == group, f"group {index}"
            assert ctx.get(component.code) == codes[index % model.period], f"code {index}"
            ctx.set(component.step, 1)
            await ctx.tick()
            ctx.set(component.step, 0)

    run(component, bench)


@pytest.mark.parametrize(("size", "words"), SIZES)
def test_groups_over_three_wraps(size: int, words: int) -> None:
    model = _model(size, words)
    codes = [(5 * k + 1) % 4 for k in range(model.period)]
    _follow(Pool(model, codes=codes, code_bits=2), model, codes, 3 * model.period + 1)


def test_a_pool_without_codes_gives_none() -> None:
    model = _model(7, 3)
    component = Pool(model)
    assert len(component.code) == 0
    _follow(component, model, [0] * 7, 15)


def test_a_word_too_many_is_seen() -> None:
    # As if the wrap were at the next power of two, or one word late.
    model = _model(7, 3)
    for longer in (8, 9):
        contents = np.resize(model.contents, longer)
        other = golden.Pool(bits=model.bits, contents=contents, words=3)
        with pytest.raises(AssertionError, match="group"):
            _follow(Pool(other), model, [0] * 7, 15)


@pytest.mark.parametrize(("size", "words"), [(7, 3), (8, 3), (12, 9), (4, 4)])
def test_commands(size: int, words: int) -> None:
    model = _model(size, words)
    period = model.period
    codes = [k % 4 for k in range(period)]
    component = Pool(model, codes=codes, code_bits=2)
    rng = random.Random(2)
    table = model.groups(0, period).tolist()

    async def bench(ctx: Any) -> None:
        ctx.set(component.restore, 1)
        await ctx.tick()
        index = snapshot = 0
        for _ in range(400):
            assert words_of(ctx, component.words) == table[index]
            assert ctx.get(component.code) == codes[index]
            step, restore = rng.random() < 0.7, rng.random() < 0.1
            capture, clear = rng.random() < 0.1, rng.random() < 0.03
            ctx.set(component.step, step)
            ctx.set(component.restore, restore)
            ctx.set(component.capture, capture)
            ctx.set(component.clear, clear)
            following = snapshot if restore else (index + 1) % period
            if clear:
                snapshot = 0
            elif capture:
                snapshot = index
            if step or restore:
                index = following
            await ctx.tick()

    run(component, bench)


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 255, 256, 257])
def test_an_address_is_one_ahead_of_its_row(rows: int) -> None:
    # The formal proof has the rest.
    start = rows // 2
    counter = CircularAddress(rows, start=start)

    async def bench(ctx: Any) -> None:
        ctx.set(counter.step, 1)
        for k in range(2 * rows + 1):
            assert ctx.get(counter.row) == (start + k) % rows
            assert ctx.get(counter.address) == (start + k + 1) % rows
            await ctx.tick()

    run(counter, bench)
