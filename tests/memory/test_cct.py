"""What the documents say about the memory of CCT-2 is what was measured, and still is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from scripts import cct_memory

CLAIMS = Path(__file__).resolve().parent.parent.parent / "docs" / "claims.rst"
RESULTS: dict[str, Any] = json.loads(cct_memory.RESULTS.read_text(encoding="utf-8"))["results"]


@pytest.mark.parametrize("name", RESULTS)
def test_kept_results_are_what_is_measured(name: str) -> None:
    kept = RESULTS[name]
    found = cct_memory.measure(kept["method"], batch=kept["batch"], rank=kept["rank"])
    for key in ("parameters", "trained"):
        assert found[key] == kept[key]
    # Another version of torch may hold another tensor for a moment.
    for key in ("peak bytes", "beside the parameters"):
        assert found[key] == pytest.approx(kept[key], rel=0.03)


def test_the_documents_say_what_was_measured() -> None:
    text = " ".join(CLAIMS.read_text(encoding="utf-8").split())
    rank = cct_memory.RANK

    def of(method: str, adapters: bool, batch: int, key: str) -> float:
        kind = f"LoRA {rank}" if adapters else "all weights"
        return float(RESULTS[f"{method}, {kind}, batch {batch}"][key])

    peaks = [of(method, False, 8, "peak bytes") / 1e6 for method in ("mezo", "bp")]
    assert "{:.1f} MB against {:.1f} MB for CCT-2 with a batch of 8".format(*peaks) in text
    fewer = of("bp", False, 1, "trained") / of("bp", True, 1, "trained")
    assert f"rank {rank} on the blocks: {fewer:.0f} times fewer" in text
    key = "beside the parameters"
    less = [100 * (1 - of("bp", True, n, key) / of("bp", False, n, key)) for n in (1, 8)]
    said = "{:.0f} % less beside the parameters with a batch of 1 and {:.0f} % less with 8"
    assert said.format(*less) in text
    without, adapted = ([of("mezo", kind, n, key) / 1e6 for n in (8, 1)] for kind in (False, True))
    assert without[0] == adapted[0]
    assert f"MeZO holds {without[0]:.2f} MB with a batch of 8" in text
    assert f"batch of 1 it is {without[1]:.2f} MB without and {adapted[1]:.2f} MB with them" in text
