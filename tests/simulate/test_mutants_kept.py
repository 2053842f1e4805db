"""The mutants that ``scripts/mutants.py`` has measured are of today's gateware, and enough."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import mutants

RESULTS: dict[str, Any] = json.loads(mutants.RESULTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", mutants.CORES)
def test_the_mutants_are_of_this_gateware(name: str) -> None:
    # If this fails: python scripts/mutants.py --count 60
    assert mutants.print_of(name) == RESULTS["cores"][name]["fingerprint"]


def test_enough_are_found_and_the_others_explained() -> None:
    cores = RESULTS["cores"]
    assert list(cores) == list(mutants.CORES)
    assert not mutants.problems(cores)
    killed, total = (sum(core[key] for core in cores.values()) for key in ("killed", "mutants"))
    assert RESULTS["share"] == round(killed / total, 4) >= mutants.WANTED
    for core in cores.values():
        assert core["mutants"] - core["killed"] == len(core["survivors"])
        for survivor in core["survivors"]:
            assert survivor["why"] == mutants.explanation(survivor["mutant"])


def test_a_bad_measurement_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    survivors = [s for core in RESULTS["cores"].values() for s in core["survivors"]]

    def problems(mutants_: int, killed: int, *more: dict[str, str]) -> list[str]:
        core = {"mutants": mutants_, "killed": killed, "survivors": [*survivors, *more]}
        return mutants.problems({"one": core})

    assert not problems(100, 95)
    (few,) = problems(99, 99)
    assert "at least 100 mutants" in few
    (share,) = problems(1000, 949)
    assert "must be found, not 94.9%" in share
    (unexplained,) = problems(100, 95, {"mutant": "inv at nowhere"})
    assert unexplained.startswith("one: inv at nowhere: ")
    monkeypatch.setattr(mutants, "EXPLAINED", {**mutants.EXPLAINED, "inv at nowhere": "why"})
    (stale,) = problems(100, 95)
    assert "'inv at nowhere'" in stale


def test_the_script_fails_for_what_is_not_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    survivors = [s for core in RESULTS["cores"].values() for s in core["survivors"]]
    core = {"mutants": 1000, "killed": 999, "survivors": survivors}
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "mutants.json")
    monkeypatch.setattr(mutants, "measure", lambda *_, **__: core)
    assert mutants.main([]) == 0
    core["survivors"] = [*survivors, {"number": 1, "mutant": "inv at nowhere", "why": None}]
    assert mutants.main([]) == 1
    assert mutants.main(["--core", next(iter(mutants.CORES))]) == 1
