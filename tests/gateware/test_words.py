from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pezo_hw import config
from pezo_hw.gateware.words import WordPath
from pezo_hw.golden import dither
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.step import Arithmetic
from tests.gateware.benches import bank, put, run, words_of


@dataclass(frozen=True)
class Case:
    """A word path, and whether its perturbations are exact."""

    bits: int
    weights: tuple[int, int]
    epsilon_log2: int
    coefficient: tuple[int, int]
    exact: bool
    scaling: str = "none"


CASES = {
    # The perturbation gains two bits, keeps its bits, loses one, loses three.
    "gains": Case(4, (8, 7), -2, (8, 4), True),
    "keeps": Case(4, (8, 5), -2, (8, 4), True),
    "drops_one": Case(4, (8, 5), -3, (8, 4), False),
    "drops_three": Case(8, (16, 11), -7, (18, 16), False),
    "wide": Case(8, (16, 13), -4, (25, 24), False),
    "narrow": Case(5, (8, 6), -3, (8, 1), False),
    "scaled": Case(4, (8, 5), -3, (8, 4), True, scaling="constant"),
    "norm": Case(4, (8, 5), -3, (9, 5), False, scaling="group"),
}


def _build(case: Case) -> tuple[Engine, Arithmetic, WordPath]:
    seeded = case.scaling == "group"
    source = bank(3, bits=case.bits, **({"phases": "seeded"} if seeded else {}))
    given = config.from_mapping(
        {
            "core": {"name": "words", "kind": "zo-step", "board": "zcu102"},
            "source": source,
            "scaling": {"mode": case.scaling}
            | ({"exponent": 1} if case.scaling == "constant" else {}),
            "reuse": {"lanes": 3},
            "weights": {"bits": case.weights[0], "frac": case.weights[1]},
            "zo": {
                "epsilon_log2": case.epsilon_log2,
                "coefficient_bits": case.coefficient[0],
                "coefficient_shift": case.coefficient[1],
            },
        }
    )
    model, arithmetic = Engine(given), Arithmetic.of(given)
    assert model.live == seeded
    component = WordPath(model, arithmetic=arithmetic)
    assert component.exact == case.exact
    return model, arithmetic, component


def _groups(model: Engine) -> np.ndarray:
    """Return groups with every word that there can be, the largest ones in each position."""
    most = (1 << (model.bits - 1)) - 1
    words = np.arange(-most, most + 1) << model.max_exponent
    corners = np.array([-most, most, 0]) << model.max_exponent
    return np.stack(
        [
            np.concatenate([np.roll(corners, i), words, np.zeros(-len(words) % 3, dtype=int)])
            for i in range(3)
        ],
        axis=1,
    )


def _expected(
    arithmetic: Arithmetic, groups: np.ndarray, *, k: int, coefficient: int, seed: int
) -> np.ndarray:
    dithers = dither.dither(seed, len(groups), words=3, shift=arithmetic.shift)
    updates = arithmetic.update(groups, coefficient=coefficient, dithers=dithers)
    return updates - k * arithmetic.perturbation(groups)


def _sweep(
    component: WordPath, groups: np.ndarray, *, k: int, coefficient: int, seed: int, stalls: float
) -> tuple[list[list[int]], list[int]]:
    """Send the groups through after a clear, and return the changes and the flags `last`."""
    changes: list[list[int]] = []
    lasts: list[int] = []
    rng = random.Random(5)
    words, change = component.words, component.change

    async def begin(ctx: Any) -> None:
        ctx.set(component.dither_seed, seed)
        ctx.set(component.clear, 1)
        await ctx.tick()
        ctx.set(component.clear, 0)
        ctx.set(component.dither_seed, 0)
        ctx.set(component.k, k)
        ctx.set(component.coefficient, coefficient)
        ctx.set(component.mix, 1)
        await ctx.tick().repeat(dither.WARM_UP)
        ctx.set(component.mix, 0)

    async def bench(ctx: Any) -> None:
        # Groups of a sweep that is cut off: nothing of them may be left.
        ctx.set(words.valid, 1)
        put(ctx, words.payload, groups[1])
        await ctx.tick().repeat(component.latency + 2)
        ctx.set(words.valid, 0)
        await begin(ctx)
        sent = clocks = 0
        while len(changes) < len(groups):
            clocks += 1
            assert clocks < 20 * len(groups) + 20, "stuck"
            offer = sent < len(groups) and rng.random() >= stalls
            ctx.set(words.valid, offer)
            if offer:
                put(ctx, words.payload, groups[sent])
                ctx.set(component.last, sent == len(groups) - 1)
            ctx.set(change.ready, rng.random() >= stalls)
            if ctx.get(change.valid) and ctx.get(change.ready):
                changes.append(words_of(ctx, change.payload.values))
                lasts.append(ctx.get(change.payload.last))
            sent += bool(offer and ctx.get(words.ready))
            await ctx.tick()
        if not stalls:
            assert clocks == len(groups) + component.latency
        # Nothing more comes.
        ctx.set(words.valid, 0)
        ctx.set(change.ready, 1)
        for _ in range(component.latency + 1):
            assert not ctx.get(change.valid)
            await ctx.tick()

    run(component, bench)
    return changes, lasts


@pytest.mark.parametrize("name", CASES)
def test_changes_for_all_words(name: str) -> None:
    model, arithmetic, component = _build(CASES[name])
    groups = _groups(model)[: 40 if model.bits > 5 else None]
    limit = 1 << (arithmetic.coefficient_bits - 1)
    commands = [
        *itertools.product([-2, -1, 0, 1, 2], [0]),
        (0, limit - 1), (0, -limit), (2, -limit), (-2, limit - 1), (1, limit // 3), (-1, -1),
    ]  # fmt: skip
    for i, (k, coefficient) in enumerate(commands):
        given = {"k": k, "coefficient": coefficient, "seed": i * 0x3333_3333 & 0xFFFF_FFFF}
        changes, lasts = _sweep(component, groups, stalls=0.3 if i % 2 else 0, **given)
        assert changes == _expected(arithmetic, groups, **given).tolist(), f"{given}"
        assert lasts == [0] * (len(groups) - 1) + [1]


def test_floor_for_round_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    _, arithmetic, component = _build(CASES["drops_one"])
    groups = np.array([[-5, -4, -3], [3, 4, 5]])
    changes, _ = _sweep(component, groups, k=-1, coefficient=0, seed=0, stalls=0)
    # Halves go away from zero, on both sides.
    assert changes == [[-3, -2, -2], [2, 2, 3]]
    monkeypatch.setattr(
        Arithmetic, "perturbation", lambda self, scaled: scaled.astype(int) >> self.drop
    )
    wrong = _expected(arithmetic, groups, k=-1, coefficient=0, seed=0)
    assert changes != wrong.tolist()


def test_the_update_is_odd_but_for_its_dither() -> None:
    # A draw more or less would show here: all dithers lie in [0, 2^S).
    _, arithmetic, component = _build(CASES["keeps"])
    groups = np.array([[7, -7, 1]] * 12)
    changes, _ = _sweep(component, groups, k=0, coefficient=33, seed=9, stalls=0)
    exact = groups * 33 / (1 << arithmetic.shift)
    error = np.array(changes) - exact
    assert (error > -1).all() and (error < 1).all()
    assert len({tuple(change) for change in changes}) > 1
    other, _ = _sweep(component, groups, k=0, coefficient=33, seed=10, stalls=0)
    assert other != changes
