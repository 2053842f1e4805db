"""+1, -2, +1 in place through the RTL: exact weights wherever its counter stayed 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.config import Config
from pezo_hw.driver import Backend, GoldenBackend, Outcome, Sweep
from pezo_hw.driver.registers import RegisterBackend
from tests.driver.cores import small

STEPS = 10_000
COUNT = 13
PASSES = (1, -2, 1)


@dataclass
class Found:
    """What became of the steps.

    Attributes
    ----------
    restored, limited : int
        Steps in which nothing was limited, and in which something was.
    lost : int
        Weights that did not come back.
    """

    restored: int = 0
    limited: int = 0
    lost: int = 0


def _limits(weights: NDArray[np.int64], change: NDArray[np.int64], *, top: int) -> int:
    """Return how many of the sums leave the range."""
    sums = weights + change
    return int(((sums > top) | (sums < -top - 1)).sum())


def walk(backend: Backend, *, steps: int) -> Found:
    """Train at random, near the limits of the weights, and check every sweep.

    Nothing of the model is used: the perturbations are what a sweep makes of zeros, and from them
    follows how many weights are limited.
    """
    found, rng = Found(), np.random.default_rng(5)
    description = backend.description
    top, lanes = description.arithmetic.weight_max, description.lanes
    period, beats = description.period, description.beats(COUNT)
    backend.start(0)
    every = np.zeros((period + beats) * lanes, dtype=np.int64)
    every = backend.sweep(Sweep(k=1), every).outputs["weights"]
    largest = int(abs(every).max())
    size = 1 << (description.arithmetic.coefficient_bits - 1)
    weights, index = every[:0], 0
    for step in range(steps):
        # Now and then far from the limits, now and then close to them.
        if step % 2 == 0:
            span = top + 1 - int(rng.integers(0, 3 * largest))
            weights = rng.integers(-span, span, COUNT)
            weights[step % COUNT] = rng.choice((-span, span - 1))
        if step % 64 == 0:
            index = int(rng.integers(min(period, 100)))
            backend.start(index)
        p = every[index * lanes :][:COUNT]
        at, limited = weights, 0
        for k in PASSES:
            outcome = backend.sweep(Sweep(k=k), at)
            expected = _limits(at, k * p, top=top)
            assert outcome.saturations == expected, f"{outcome.saturations}, not {expected}"
            at, limited = outcome.outputs["weights"], limited + outcome.saturations
        lost = int((at != weights).sum())
        # A weight is lost only where the limit acted, and the counter has counted it.
        assert lost <= limited, f"{lost} weights did not come back, {limited} were limited"
        found.restored += not limited
        found.limited += limited > 0
        found.lost += lost
        if step % 4 == 1:
            update = Sweep(
                coefficient=int(rng.integers(-size, size)) >> int(rng.integers(10)),
                dither_seed=int(rng.integers(1 << 32)),
                capture=True,
            )
            weights = backend.sweep(update, at).outputs["weights"]
            index = description.after(index, beats=beats)
    return found


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        pytest.param(small(), STEPS, id="dsp"),
        pytest.param(small("inline-both", update="zoqo", bits=8), STEPS // 5, id="zoqo, 8 bits"),
    ],
)
def test_weights_come_back(
    rtl_of: Callable[..., RegisterBackend], config: Config, steps: int
) -> None:
    found = walk(rtl_of(config), steps=steps)
    assert found.restored + found.limited == steps
    assert min(found.restored, found.limited, found.lost) > steps // 20, found


class _Wrong(GoldenBackend):
    """Counts a limited weight too few, or changes a weight that came back."""

    def __init__(self, config: Config, fault: str):
        super().__init__(config)
        self.fault = fault

    def sweep(self, command: Sweep, weights: NDArray[np.integer]) -> Outcome:
        """See `Backend`."""
        given = super().sweep(command, weights)
        if self.fault == "count":
            return Outcome(given.outputs, max(0, given.saturations - 1), given.beats)
        if command.k == 1 and len(weights) == COUNT:
            given.outputs["weights"][3] ^= 1
        return given


@pytest.mark.parametrize(
    ("fault", "message"),
    [("count", r"^0, not 1"), ("weight", r"^1 weights did not come back, 0 were limited")],
)
def test_what_is_wrong_is_found(fault: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        walk(_Wrong(small(), fault), steps=300)
