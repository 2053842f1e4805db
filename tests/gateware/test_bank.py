from __future__ import annotations

import random
from typing import Any

import pytest

from pezo_hw.gateware.bank import Bank
from pezo_hw.golden import bank as golden
from pezo_hw.golden import draws, matrices
from tests.gateware.benches import run, words_of

# bits, generators: 1, a prime, one that shares a factor with the period, all states there are.
SIZES = [(4, 1), (4, 2), (4, 3), (4, 15), (5, 7), (8, 4), (16, 2)]
ROTATIONS = ["clock", "period"]


def _model(bits: int, generators: int, rotation: str, *, seed: int = 1) -> golden.Bank:
    phases = draws.distinct((1 << bits) - 1, generators, seed=seed)
    return golden.Bank(matrices.MATRICES[bits], tuple(phases.tolist()), rotation)


def _follow(component: Bank, model: golden.Bank, groups: int) -> None:
    """Step through groups, stalled now and then, and compare each."""
    rng = random.Random(1)
    expected = model.groups(0, groups).tolist()

    async def bench(ctx: Any) -> None:
        for index, group in enumerate(expected):
            for _ in range(rng.choice([0, 0, 0, 1, 3])):
                assert words_of(ctx, component.words) == group, f"group {index} while stalled"
                await ctx.tick()
            assert words_of(ctx, component.words) == group, f"group {index}"
            ctx.set(component.step, 1)
            await ctx.tick()
            ctx.set(component.step, 0)

    run(component, bench)


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize(("bits", "generators"), SIZES)
def test_groups_over_a_period(bits: int, generators: int, rotation: str) -> None:
    model = _model(bits, generators, rotation)
    # The turn at the end of the period as well; of a long one, what is before its first turn.
    groups = min(model.period + 2, 1100)
    _follow(Bank(model, prefetched=False, tracked=False), model, groups)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_another_order_is_seen(rotation: str) -> None:
    model = _model(4, 3, rotation)
    other = golden.Bank(model.matrix, model.phases[::-1], rotation)
    with pytest.raises(AssertionError, match="group 0"):
        _follow(Bank(other, prefetched=False, tracked=False), model, 5)
    turned = golden.Bank(model.matrix, model.phases, "clock" if rotation == "period" else "period")
    with pytest.raises(AssertionError, match="group 1"):
        _follow(Bank(turned, prefetched=False, tracked=False), model, 5)


@pytest.mark.parametrize("prefetched", [False, True])
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize(("bits", "generators"), [(4, 3), (8, 5)])
def test_commands(bits: int, generators: int, rotation: str, prefetched: bool) -> None:
    model = _model(bits, generators, rotation)
    component = Bank(model, prefetched=prefetched, tracked=True)
    rng = random.Random(2)
    period = model.period
    table = model.groups(0, period).tolist()
    first = model.phases[0]
    seen = set()

    async def bench(ctx: Any) -> None:
        index = snapshot = 0
        for _ in range(600):
            assert words_of(ctx, component.words) == table[index]
            step = rng.random() < 0.7
            restore = rng.random() < 0.15
            # A consumer in step takes the group that comes next, which takes a step.
            capture = rng.random() < 0.2 and (prefetched or step)
            clear = rng.random() < 0.1
            ctx.set(component.step, step)
            ctx.set(component.restore, restore)
            ctx.set(component.capture, capture)
            ctx.set(component.clear, clear)
            following = snapshot if restore else (index + 1) % period
            if step or restore:
                # Generator 0, wherever it is in the ring.
                state = model.sequence[(first + following) % model.word_period]
                assert ctx.get(component.tracked_next) == state
            seen.add((step, restore, capture, clear))
            if clear:
                snapshot = 0
            elif capture:
                snapshot = index if prefetched else following
            if step or restore:
                index = following
            await ctx.tick()

    run(component, bench)
    # All commands came, and came together.
    assert len(seen) >= 10
