"""The transfers of every schedule, counted as beats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.simulate.transfers import METHODS, Count, configured, count
from scripts import schedules

EXPECTED = dict(zip(METHODS, (10, 8, 4, 3, 2), strict=True))
RESULTS = Path(__file__).parents[2] / "docs" / "results" / "schedules.json"


@pytest.fixture(scope="module")
def counts() -> dict[str, Count]:
    return {name: count(name) for name in METHODS}


def test_transfers_of_a_step(counts: dict[str, Count]) -> None:
    assert {name: found.transfers for name, found in counts.items()} == EXPECTED


def test_all_methods_train_the_same_weights(counts: dict[str, Count]) -> None:
    assert len({found.weights for found in counts.values()}) == 1
    # Each gives the consumer both perturbations of every step.
    assert {found.consumed for found in counts.values()} == {2}


def test_the_documented_table_is_what_is_counted(counts: dict[str, Count]) -> None:
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["methods"]
    found = {name: count.transfers for name, count in counts.items()}
    assert {row["name"]: row["transfers"] for row in rows} == found


@pytest.mark.parametrize("place", [0, 5])
def test_the_documented_costs_are_those_of_the_gateware(place: int) -> None:
    entry = json.loads(RESULTS.read_text(encoding="utf-8"))["designs"][place]
    design = (entry["schedule"], entry["update"], entry["tensors"])
    assert design == schedules.DESIGNS[place]
    assert fingerprint(build(schedules.configured(*design))) == entry["fingerprint"]


def test_a_schedule_is_in_the_fingerprint() -> None:
    found = [fingerprint(build(configured(schedule))) for schedule in ("in-place", "inline")]
    assert len(set(found)) == 2
