"""The whole step core on small sources of each kind; the exported cores have benches in sim/."""

from __future__ import annotations

from typing import Any

import pytest

from pezo_hw import config
from pezo_hw.golden.step import StepCore as Model
from tests.gateware.benches import bank, pool
from tests.gateware.step_player import Player, Sweep

LANES, BITS = 6, 8

SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bank": (bank(3, bits=4), {"mode": "none"}),
    "bank_norm": (bank(2, bits=5, phases="seeded"), {"mode": "group"}),
    "period": (bank(3, bits=4, rotation="period"), {"mode": "constant", "exponent": 1}),
    "pool_norm": (pool(31, 6, bits=5, phases="seeded"), {"mode": "group"}),
}

SWEEPS = [
    Sweep(1, 0, 31),
    Sweep(-2, 0, 31),
    # Restore and update in one, the last of its step.
    Sweep(1, 77, 31, capture=True),
    Sweep(0, -128, 1),
    Sweep(0, 127, 36, capture=True),
    Sweep(2, 0, 6),
    Sweep(-1, 5, 13, start=11),
    Sweep(-1, 5, 13),
]


def _config(source: dict[str, Any], scaling: dict[str, Any]) -> config.Config:
    return config.from_mapping(
        {
            "core": {"name": "step", "kind": "zo-step", "board": "zcu102"},
            "source": source,
            "scaling": scaling,
            "reuse": {"lanes": LANES},
            "weights": {"bits": BITS, "frac": 5},
            "zo": {"epsilon_log2": -3, "coefficient_bits": 8, "coefficient_shift": 4},
        }
    )


@pytest.mark.parametrize("name", SOURCES)
def test_sweeps(name: str) -> None:
    player = Player(_config(*SOURCES[name]))
    assert player.model.engine.live == name.endswith("_norm")
    assert (
        sum(player.play(SWEEPS * 2, stalls=(0.0,) * len(SWEEPS) + (0.4,) * len(SWEEPS)).saturations)
        > 0
    )


def test_a_lost_capture_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    given = _config(*SOURCES["bank"])
    model = Model(given)
    monkeypatch.setattr(model.engine, "capture", lambda: None)
    with pytest.raises(AssertionError, match="coefficient=-128"):
        Player(given, model=model).play(SWEEPS)
