"""What the tests of the step share."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from pezo_hw.config import Config, from_mapping


def configured(
    source: dict[str, Any] | None = None,
    *,
    weights: tuple[int, int] = (16, 13),
    epsilon_log2: int = -7,
    coefficient: tuple[int, int] = (18, 16),
    blocks: int = 2,
    stride: int = 1,
    **scaling: Any,
) -> Config:
    source = source or {"kind": "on-the-fly", "bits": 8, "generators": 4, "phases": "seeded"}
    words = source.get("generators") or source["words"]
    return from_mapping(
        {
            "core": {"name": "dut", "kind": "zo-step", "board": "zcu102"},
            "source": source,
            "scaling": scaling or {"mode": "group"},
            "reuse": {"lanes": words * blocks, "stride": stride % words},
            "weights": {"bits": weights[0], "frac": weights[1]},
            "zo": {
                "epsilon_log2": epsilon_log2,
                "coefficient_bits": coefficient[0],
                "coefficient_shift": coefficient[1],
            },
        }
    )


def nearest(value: Fraction) -> int:
    """Round to the nearest integer, halves away from zero."""
    size = math.floor(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size
