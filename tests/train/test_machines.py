"""A training in fixed point does not depend on how a processor adds."""

from __future__ import annotations

import os
import subprocess
import sys

from pezo_hw.driver import GoldenBackend
from pezo_hw.train import data, hardware
from pezo_hw.train.loop import Plan, Trainer

# Kernels for processors of 2004, and NumPy's loops without the instructions that came later. With
# losses in single precision these give other weights after a few steps.
OLDEST = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3 AVX512F AVX2"}


def weights() -> str:
    """Train for a few steps; return the digest of the weights."""
    config = hardware.configuration(source="on-the-fly", update="dsp", bits=16)
    plan = Plan("digits", (64, 32, 10), 64, hardware.rate_of(config), 0, "golden")
    trainer = Trainer(plan, GoldenBackend(config), data.digits())
    trainer.run(200)
    return trainer.sha256


def test_an_old_processor_trains_to_the_same_weights() -> None:
    old = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        env=os.environ | OLDEST | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert old.stdout.strip() == weights()


if __name__ == "__main__":
    print(weights())
