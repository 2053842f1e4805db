"""Stochastic rounding has no bias: over all classes of words and coefficients, and for any dither.

The update of a word u by C is floor((u C + dither) / 2^S). Its error depends on the word and the
coefficient only through (u C) mod 2^S, so the 2^S classes are all there are; the mean error of the
class f is the share of dithers of at least 2^S - f, less f / 2^S.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.config import load_preset
from pezo_hw.golden import dither
from pezo_hw.golden.step import StepCore

SHIFT, WORDS, BEATS, SEEDS = 16, 32, 2000, 12
BOUND = 1 / 50

Draw = Callable[[int], NDArray[np.int64]]


def right(seed: int) -> NDArray[np.int64]:
    return dither.dither(seed, BEATS, words=WORDS, shift=SHIFT)


def worst_bias(draw: Draw, *, shift: int = SHIFT) -> float:
    """Return the largest mean error of any class at any word of a group, in weight LSBs."""
    drawn = np.concatenate([draw(seed * 0x0101_0101) for seed in range(SEEDS)])
    classes = np.arange(1 << shift)
    worst = 0.0
    for values in drawn.T:
        # Dithers of at least 2^S - f, for f of 0 to 2^S - 1.
        counts = np.bincount(values, minlength=1 << shift)
        at_least = np.concatenate([[0], np.cumsum(counts[::-1])[:-1]])
        errors = at_least / len(values) - classes / (1 << shift)
        worst = max(worst, float(np.abs(errors).max()))
    return worst


def test_no_class_has_a_bias() -> None:
    assert worst_bias(right) < BOUND


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda _: np.zeros((BEATS, WORDS), dtype=np.int64), id="floor"),
        pytest.param(
            lambda _: np.full((BEATS, WORDS), 1 << (SHIFT - 1), dtype=np.int64), id="nearest"
        ),
        pytest.param(lambda seed: right(seed) >> 1, id="top bit 0"),
        pytest.param(lambda seed: right(seed) & ~0x0800, id="bit 11 stuck"),
        pytest.param(lambda seed: np.maximum(right(seed), right(seed + 1)), id="uneven"),
        pytest.param(
            lambda seed: np.where(np.arange(WORDS) == 7, right(seed) | 0x1000, right(seed)),
            id="one word of the group",
        ),
    ],
)
def test_a_biased_dither_is_seen(fault: Draw) -> None:
    assert worst_bias(fault) >= BOUND


def bias_of_sweeps(core: StepCore, *, beats: int, sweeps: int) -> float:
    """Return the largest mean error over the words of one value and one coefficient, in LSBs.

    Of whole sweeps: so the dither must not go with the words either.
    """
    lanes = core.engine.lane_count
    zeros = np.zeros(beats * lanes, dtype=np.int64)
    core.engine.restore()
    words = core.engine.lanes(core.engine.index, beats).ravel().astype(np.int64)
    _, at = np.unique(words, return_inverse=True)
    counts = np.bincount(at)
    worst = 0.0
    for coefficient in (1, 129, -257, 4099, 40_001, -131_072):
        total = np.zeros(len(counts))
        for seed in range(sweeps):
            result = core.sweep(zeros, coefficient=coefficient, dither_seed=seed * 77)
            errors = -result.weights - words * coefficient / 2**core.arithmetic.shift
            total += np.bincount(at, weights=errors)
        often = counts * sweeps >= 25_000
        assert often.sum() > 200
        worst = max(worst, float(np.abs(total / (counts * sweeps))[often].max()))
    return worst


def test_no_word_has_a_bias_in_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    core = StepCore(load_preset("zcu102-step"))
    assert bias_of_sweeps(core, beats=255 * 4, sweeps=220) < BOUND
    # With the same dither in every sweep, a word meets the same few dithers again and again.
    drawn = dither.dither
    monkeypatch.setattr(dither, "dither", lambda _, *rest, **more: drawn(0, *rest, **more))
    assert bias_of_sweeps(core, beats=255 * 4, sweeps=220) >= BOUND
