"""Configurations to start from, as mappings that a test may change."""

from __future__ import annotations

import copy
from typing import Any

import pytest

Mapping = dict[str, dict[str, Any]]

ON_THE_FLY: Mapping = {
    "core": {"name": "fly", "kind": "perturbation", "board": "zcu102"},
    "source": {"kind": "on-the-fly", "generators": 4, "bits": 8},
    "reuse": {"lanes": 16},
}
PRE_GENERATED: Mapping = {
    "core": {"name": "pool", "kind": "perturbation", "board": "zcu102"},
    "source": {"kind": "pre-generated", "pool_size": 31, "words": 4, "bits": 8},
    "reuse": {"lanes": 16},
}
STEP: Mapping = {
    **ON_THE_FLY,
    "core": {"name": "step", "kind": "zo-step", "board": "zcu102"},
    "weights": {"bits": 16, "frac": 13},
    "zo": {"epsilon_log2": -7},
}
WIDE: Mapping = {
    "core": {"name": "wide", "kind": "perturbation", "board": "zcu102"},
    "source": {"kind": "wide-uniform", "words": 4, "bits": 8},
    "reuse": {"lanes": 16},
}
RADEMACHER: Mapping = {
    "core": {"name": "signs", "kind": "perturbation", "board": "zcu102"},
    "source": {"kind": "rademacher"},
    "reuse": {"lanes": 40},
}


@pytest.fixture
def on_the_fly() -> Mapping:
    return copy.deepcopy(ON_THE_FLY)


@pytest.fixture
def pre_generated() -> Mapping:
    return copy.deepcopy(PRE_GENERATED)


@pytest.fixture
def step() -> Mapping:
    return copy.deepcopy(STEP)


@pytest.fixture
def bases() -> dict[str, Mapping]:
    """All of them by a short name, for parametrised tests."""
    return copy.deepcopy(
        {
            "fly": ON_THE_FLY,
            "pool": PRE_GENERATED,
            "step": STEP,
            "wide": WIDE,
            "signs": RADEMACHER,
        }
    )
