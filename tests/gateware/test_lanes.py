from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth import signed

from pezo_hw.gateware.lanes import Lanes
from tests.gateware.benches import put, run, words_of

# Weights, changes, kept lanes and TLAST go in; weights, kept lanes and TLAST come out.
Beat = tuple[list[int], list[int], int, int]
Result = tuple[list[int], int, int]


def _beats(lanes: int, weights: np.ndarray, changes: np.ndarray) -> list[Beat]:
    """Cut weights and changes into beats; what TKEEP leaves out of a beat is arbitrary."""
    rng = random.Random(1)
    count = len(weights) // lanes
    return [
        (
            weights[lanes * i : lanes * (i + 1)].tolist(),
            changes[lanes * i : lanes * (i + 1)].tolist(),
            (1 << lanes) - 1 if i % 3 else rng.getrandbits(lanes),
            int(i == count - 1),
        )
        for i in range(count)
    ]


def _pass(
    component: Lanes, beats: list[Beat], *, bits: int, stalls: float
) -> tuple[list[Result], int]:
    """Send beats through; return those that come out and the number of limits counted."""
    out: list[Result] = []
    counted = 0
    rng = random.Random(2)
    taken, given = component.weights_in, component.weights_out
    size = bits // 8

    async def bench(ctx: Any) -> None:
        nonlocal counted
        sent = clocks = 0
        assert ctx.get(component.empty)
        while len(out) < len(beats) or not ctx.get(component.empty):
            clocks += 1
            assert clocks < 20 * len(beats) + 20, "stuck"
            offer = sent < len(beats) and rng.random() >= stalls
            ctx.set(taken.valid, offer)
            if offer:
                weights, changes, keep, last = beats[sent]
                put(ctx, taken.payload.data, weights)
                put(ctx, component.change, changes)
                spread = sum(((1 << size) - 1) << (size * i) for i in range(keep.bit_length())
                             if keep >> i & 1)  # fmt: skip
                ctx.set(taken.payload.keep, spread)
                ctx.set(taken.payload.last, last)
            ctx.set(given.ready, rng.random() >= stalls)
            if ctx.get(given.valid) and ctx.get(given.ready):
                kept = ctx.get(given.payload.keep)
                keep = sum((kept >> (size * i) & 1) << i for i in range(len(beats[0][0])))
                out.append((words_of(ctx, given.payload.data), keep, ctx.get(given.payload.last)))
            sent += bool(offer and ctx.get(taken.ready))
            counted += ctx.get(component.saturated)
            await ctx.tick()
        if not stalls:
            # The clock in which the first of them is taken in included.
            assert clocks == len(beats) - 1 + component.drain

    run(component, bench)
    return out, counted


def _check(component: Lanes, beats: list[Beat], *, bits: int, stalls: float) -> None:
    out, counted = _pass(component, beats, bits=bits, stalls=stalls)
    limit = 1 << (bits - 1)
    exact = np.array([beat[0] for beat in beats]) - np.array([beat[1] for beat in beats])
    limited = np.clip(exact, -limit, limit - 1)
    assert [beat[0] for beat in out] == limited.tolist()
    assert [beat[1:] for beat in out] == [beat[2:] for beat in beats]
    keep = np.array([[beat[2] >> i & 1 for i in range(len(beat[0]))] for beat in beats])
    assert counted == ((limited != exact) & (keep == 1)).sum()


@pytest.mark.parametrize("stalls", [0.0, 0.4])
def test_all_weights_and_small_changes(stalls: float) -> None:
    weights, changes = (side.ravel() for side in np.mgrid[-128:128, -8:8])
    component = Lanes(32, bits=8, change=signed(4))
    _check(component, _beats(32, weights, changes), bits=8, stalls=stalls)


@pytest.mark.parametrize("lanes", [1, 2, 5, 6, 7, 12, 13])
@pytest.mark.parametrize(("bits", "change"), [(8, 8), (8, 12), (16, 9), (16, 18)])
def test_corners_on_any_number_of_lanes(lanes: int, bits: int, change: int) -> None:
    edges, limit, most = np.array([-2, -1, 0, 1]), 1 << (bits - 1), 1 << (change - 1)
    corners = np.concatenate([edges[2:] - limit, edges, edges[:2] + limit])
    steps = np.concatenate([edges[2:] - most, edges, edges[:2] + most])
    weights, changes = (side.ravel() for side in np.meshgrid(corners, steps))
    beats = -(-len(weights) // lanes)
    component = Lanes(lanes, bits=bits, change=signed(change))
    weights, changes = (np.resize(side, beats * lanes) for side in (weights, changes))
    _check(component, _beats(lanes, weights, changes), bits=bits, stalls=0.2 * (lanes % 2))


def test_a_wrong_sign_is_seen() -> None:
    component = Lanes(2, bits=8, change=signed(4))
    beats = _beats(2, np.array([5, 127, -128, 3]), np.array([1, -1, 1, 0]))
    out, counted = _pass(component, beats, bits=8, stalls=0)
    assert [beat[0] for beat in out] == [[4, 127], [-128, 3]]
    added = [[a + b for a, b in zip(beat[0], beat[1], strict=True)] for beat in beats]
    assert [beat[0] for beat in out] != added
    assert counted == 1 + (beats[0][2] >> 1 & 1)
