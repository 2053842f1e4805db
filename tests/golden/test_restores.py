"""+1, -2, +1 in place gives the exact weights back wherever nothing was limited."""

from __future__ import annotations

import numpy as np
import pytest

from pezo_hw.config import Config, from_mapping, load
from pezo_hw.golden.step import StepCore

STEPS = 10_000
COUNT = 61

DSP = load("zcu102-step", ["source.generators=8", "reuse.lanes=16", "weights.frac=14"])
ZOQO = from_mapping(
    DSP.model_dump(mode="json", exclude_none=True)
    | {
        "zo": {"update": "zoqo", "levels": 3},
        "scaling": {"mode": "none"},
        "weights": {"bits": 8, "frac": 7},
    }
)


def walk(core: StepCore, *, steps: int) -> tuple[int, int, int]:
    """Train at random, near the limits of the weights.

    Returns
    -------
    restored, limited, wrong : int
        Steps in which nothing was limited, and all weights came back; steps in which something was;
        weights that did not come back in the steps in which nothing was.
    """
    rng = np.random.default_rng(5)
    top = core.arithmetic.weight_max
    most = core.arithmetic.largest_perturbation(core.engine.bits, exponent=1)
    limit = 1 << (core.arithmetic.coefficient_bits - 1)
    weights = rng.integers(-top - 1, top + 1, COUNT)
    restored = limited = wrong = 0
    for _ in range(steps):
        # Now and then far from the limits, now and then close to them.
        if rng.random() < 1 / 2:
            span = top + 1 - int(rng.integers(0, 2 * most))
            weights = rng.integers(-span, span, COUNT)
        core.start(int(rng.integers(core.engine.period)))
        plus = core.sweep(weights, k=1)
        minus = core.sweep(plus.weights, k=-2)
        back = core.sweep(minus.weights, k=1)
        saturations = plus.saturations + minus.saturations + back.saturations
        lost = int((back.weights != weights).sum())
        # The counter says how many at most: a weight is lost only where the limit acted.
        assert lost <= saturations
        restored += not saturations and not lost
        limited += saturations > 0
        wrong += lost if not saturations else 0
        size = 1 << int(rng.integers(core.arithmetic.coefficient_bits - 2))
        coefficient = int(np.clip(rng.integers(-size, size), -limit, limit - 1))
        weights = core.sweep(
            back.weights,
            coefficient=coefficient,
            dither_seed=int(rng.integers(1 << 32)),
            capture=True,
        ).weights
    return restored, limited, wrong


@pytest.mark.parametrize(
    ("config", "steps"), [(DSP, STEPS), (ZOQO, STEPS // 5)], ids=["dsp", "zoqo"]
)
def test_weights_come_back(config: Config, steps: int) -> None:
    restored, limited, wrong = walk(StepCore(config), steps=steps)
    assert restored + limited == steps and wrong == 0
    assert min(restored, limited) > steps // 100, (restored, limited)


def test_a_perturbation_that_changes_on_the_way_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    core = StepCore(DSP)
    swept = core.sweep
    calls = []

    def drifting(weights: object, **commands: object) -> object:
        calls.append(commands)
        if len(calls) % 41 == 0:
            core.engine.captured = (core.engine.captured + 1) % core.engine.period
        return swept(weights, **commands)  # type: ignore[arg-type]

    monkeypatch.setattr(core, "sweep", drifting)
    with pytest.raises(AssertionError):
        walk(core, steps=100)
