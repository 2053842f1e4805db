"""One zeroth-order step on the golden model, on a loss whose gradient is known."""

import numpy as np

from pezo_hw.config import load
from pezo_hw.golden.step import StepCore
from pezo_hw.train import host

config = load("zcu102-step")
core = StepCore(config)
arithmetic, engine = core.arithmetic, core.engine

target = np.linspace(-0.5, 0.5, 100)


def loss(weights):
    """Return the mean squared distance to the target."""
    return float(((host.to_float(weights, arithmetic=arithmetic) - target) ** 2).mean())


weights = host.to_fixed(np.zeros(100), arithmetic=arithmetic)
before = loss(weights)
for step in range(400):
    # Three sweeps over the same groups: + eps z, - 2 eps z, then restore and update in one.
    plus = core.sweep(weights, k=+1)
    minus = core.sweep(plus.weights, k=-2)
    gradient = host.projected_gradient(
        loss(plus.weights), loss(minus.weights), epsilon=config.zo.epsilon
    )
    c = host.coefficient(
        gradient,
        rate=0.5,
        bits=engine.bits,
        leftover=engine.leftover,
        arithmetic=arithmetic,
    )
    # The end of this sweep is the start of the next step.
    last = core.sweep(minus.weights, k=+1, coefficient=c, dither_seed=step, capture=True)
    weights = last.weights
print(f"loss before {before:.4f}, after 400 steps {loss(weights):.4f}")
