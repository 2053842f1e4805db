"""A training in fixed point does not depend on how a processor adds."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from pezo_hw.driver import GoldenBackend
from pezo_hw.train import data, hardware
from pezo_hw.train.loop import Plan, Trainer

# Kernels for processors of 2004, and NumPy's loops without the instructions that came later. With
# losses in single precision these give other weights after a few steps.
OLDEST = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3 AVX512F AVX2"}
# What OpenBLAS calls processors without AVX, on which its kernels may add as the oldest ones do.
WITHOUT_AVX = (
    "Atom",
    "Barcelona",
    "Core2",
    "Dunnington",
    "Katmai",
    "Nehalem",
    "Penryn",
    "Prescott",
)


def weights() -> str:
    """Train for a few steps; return the digest of the weights."""
    config = hardware.configuration(source="on-the-fly", update="dsp", bits=16)
    plan = Plan("digits", (64, 32, 10), 64, hardware.rate_of(config), 0, "golden")
    trainer = Trainer(plan, GoldenBackend(config), data.digits())
    trainer.run(200)
    return trainer.sha256


def sums() -> str:
    """Return the digest of matrix sums that are not exact."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape).astype(np.float32) for shape in ((64, 200), (200, 32)))
    return hashlib.sha256((a @ b).tobytes()).hexdigest()


@pytest.fixture(scope="module")
def old() -> dict[str, str]:
    """What an old processor gives."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        env=os.environ | OLDEST | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def test_an_old_processor_trains_to_the_same_weights(old: dict[str, str]) -> None:
    assert old["weights"] == weights()


def _kernels() -> str:
    """Return which kernels NumPy's OpenBLAS has chosen for this processor."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip(f"the old kernels are of x86-64, this is {platform.machine()}")
    pools = pytest.importorskip("threadpoolctl").threadpool_info()
    found = [pool for pool in pools if pool["internal_api"] == "openblas" and "numpy" in str(pool)]
    if len(found) != 1:
        pytest.skip("NumPy's matrices are not multiplied by an OpenBLAS of its own")
    return str(found[0].get("architecture"))


def test_the_old_processor_adds_otherwise(old: dict[str, str]) -> None:
    """Else the test above would compare a processor with itself."""
    if (kernels := _kernels()) in WITHOUT_AVX:
        pytest.skip(f"this processor has old kernels itself: {kernels}")
    assert old["sums"] != sums()


if __name__ == "__main__":
    print(json.dumps({"weights": weights(), "sums": sums()}))
