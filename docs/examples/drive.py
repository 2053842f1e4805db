"""Train a few numbers through the driver, save the state, and rebuild the weights from the log."""

import tempfile
from pathlib import Path

import numpy as np

from pezo_hw.config import load
from pezo_hw.driver import Engine, GoldenBackend, State, replay, save
from pezo_hw.train import host

config = load("zcu102-step")
backend = GoldenBackend(config)  # or driver.rtl.open_rtl(config), or driver.pynq.open_board(...)
arithmetic = backend.description.arithmetic
target = np.linspace(-0.5, 0.5, 100)


def loss(weights):
    """Return the mean squared distance to the target."""
    return float(((host.to_float(weights, arithmetic=arithmetic) - target) ** 2).mean())


engine = Engine(backend, host.to_fixed(np.zeros(100), arithmetic=arithmetic))
for _ in range(400):
    # Both sides, by the schedule that the core was built for.
    plus, minus = (loss(weights) for weights in engine.sides())
    engine.step(plus, minus, lr=0.5)
print(f"loss {loss(engine.initial):.4f} -> {loss(engine.weights):.4f}")
print(f"{engine.transfers / 400:g} transfers of a weight and step, {engine.saturations} limited")

with tempfile.TemporaryDirectory() as folder:
    save(engine, Path(folder) / "state.npz")
    state = State.read(Path(folder) / "state.npz")
again = replay(state.log, state.arrays["initial"], backend=GoldenBackend(config))
equal = (again == engine.weights).all()
print(f"rebuilt from {len(state.log)} steps: {'equal' if equal else 'different'}")
