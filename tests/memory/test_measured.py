"""The memory model against real models of torch, tensor by tensor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pezo_hw import memory

pytest.importorskip("torch", reason="torch is not installed")

from pezo_hw.memory.measured import peak

DEEP = memory.Shape(layers=6, width=64, heads=4, vocabulary=500, positions=512)
WIDE = memory.Shape(layers=3, width=256, heads=4, vocabulary=4000, positions=128, tied=False)
CASES = {
    "short": (DEEP, memory.Options(context=16, bytes=4)),
    "scores": (DEEP, memory.Options(context=512, bytes=4)),
    "batch": (DEEP, memory.Options(context=64, batch=4, bytes=4)),
    "vocabulary": (WIDE, memory.Options(context=64, batch=2, bytes=4)),
    "no scores": (DEEP, memory.Options(context=256, bytes=4, flash=True)),
    "segments": (DEEP, memory.Options(context=256, bytes=4, segment=3)),
}


@pytest.mark.parametrize("method", memory.METHODS)
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_within_15_percent_of_what_is_measured(case: str, method: str) -> None:
    shape, options = CASES[case]
    options = replace(options, method=method)
    estimated = memory.usage(shape, options).total
    assert estimated == pytest.approx(peak(shape, options), rel=0.15)


def test_the_measurement_tells_methods_apart() -> None:
    shape, options = CASES["batch"]
    found: dict[str, Any] = {
        method: peak(shape, replace(options, method=method)) for method in memory.METHODS
    }
    assert found["mezo"] < 0.7 * found["bp-checkpoint"] < 0.7 * found["bp"]
    # Estimates of one method do not pass for another.
    wrong = memory.usage(shape, replace(options, method="bp")).total
    assert wrong != pytest.approx(found["mezo"], rel=0.15)
