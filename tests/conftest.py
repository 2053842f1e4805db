"""What tests of all parts share."""

from __future__ import annotations

import shutil

import pytest

from pezo_hw.simulate import SIMULATORS


@pytest.fixture(params=[pytest.param(name, id=name) for name in SIMULATORS])
def simulator(request: pytest.FixtureRequest) -> str:
    """Each simulator in turn; Icarus only where it is installed."""
    name: str = request.param
    if name == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog (iverilog) is not installed")
    return name
