"""Small cores to drive."""

from __future__ import annotations

import copy
import tomllib
from functools import cache
from typing import Any

from pezo_hw.config import Config, from_mapping, to_toml
from pezo_hw.driver import GoldenBackend


def small(
    schedule: str = "in-place",
    *,
    update: str = "dsp",
    bits: int = 16,
    source: str = "on-the-fly",
    tensors: int = 0,
) -> Config:
    """Return a core of four lanes behind registers."""
    sources: dict[str, dict[str, Any]] = {
        "on-the-fly": {"kind": "on-the-fly", "generators": 4, "bits": 8},
        "pre-generated": {"kind": "pre-generated", "pool_size": 61, "words": 4, "bits": 8},
        "rademacher": {"kind": "rademacher"},
    }
    frac = {16: 13, 8: 5}[bits]
    zo = {"epsilon_log2": -frac + 1} if update == "dsp" else {"update": "zoqo", "levels": 3}
    return from_mapping(
        {
            "core": {"name": "driven", "kind": "zo-step", "board": "zcu102"},
            "source": sources[source],
            "reuse": {"lanes": 4},
            "weights": {"bits": bits, "frac": frac},
            "zo": {"schedule": schedule, **zo},
            "control": {"interface": "axi-lite", "tensors": tensors},
        }
    )


def golden(config: Config) -> GoldenBackend:
    """Return a fresh model; the choices that its seed makes are made once for all tests."""
    return copy.deepcopy(_made(to_toml(config)))


@cache
def _made(text: str) -> GoldenBackend:
    return GoldenBackend(from_mapping(tomllib.loads(text)))
