"""The mutants that ``scripts/mutants.py`` has measured are of today's code, and enough."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import from_mapping
from pezo_hw.errors import CheckFailed
from pezo_hw.export.folder import generate
from scripts import mutants

RESULTS: dict[str, Any] = json.loads(mutants.RESULTS.read_text(encoding="utf-8"))
RERUN = f"docs/results/mutants.json is of other code; run: {mutants.COMMAND}"
SURVIVORS = [
    (name, survivor)
    for cores in RESULTS["seeds"].values()
    for name, core in cores.items()
    for survivor in core["survivors"]
]


@pytest.mark.parametrize("name", mutants.CORES)
def test_the_mutants_are_of_this_gateware(name: str) -> None:
    assert mutants.print_of(name) == RESULTS["fingerprints"][name], RERUN


def test_they_were_looked_for_with_these_benches() -> None:
    assert mutants.benches() == RESULTS["benches"], RERUN


def test_another_bench_or_effort_is_another_digest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("sim/bench_a.py", "sim/kit/b.py", "pezo_hw/simulate/plan_c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    digests = [mutants.benches()]
    for file in sorted(tmp_path.rglob("*.py")):
        file.write_text("less", encoding="utf-8")
        digests.append(mutants.benches())
    monkeypatch.setattr(mutants, "EFFORT", dataclasses.replace(mutants.EFFORT, beats=1))
    digests.append(mutants.benches())
    monkeypatch.setattr(mutants, "LONG", {"ports": 1})
    digests.append(mutants.benches())
    assert len(set(digests)) == len(digests) == 6


def test_enough_are_found_and_the_others_explained() -> None:
    seeds = RESULTS["seeds"]
    assert RESULTS["command"] == mutants.COMMAND
    assert list(seeds) == list(map(str, mutants.SEEDS))
    assert not mutants.problems(seeds)
    for seed, cores in seeds.items():
        assert list(cores) == list(mutants.CORES)
        assert RESULTS["shares"][seed] == round(mutants.share(cores), 4)
        for core in cores.values():
            assert core["mutants"] - core["killed"] == len(core["survivors"])
    for name, survivor in SURVIVORS:
        assert survivor["why"] == mutants.explanation(name, survivor["mutant"])


def test_an_explanation_is_of_its_core_and_nothing_else() -> None:
    for name, survivor in SURVIVORS:
        what = survivor["mutant"]
        assert mutants.explanation(name, what)
        # Neither by its start nor by its end.
        assert mutants.explanation(name, f"not {what}") is None
        assert mutants.explanation(name, f"{what}!") is None
        assert mutants.explanation("none", what) is None


def test_only_the_highest_bit_of_saturations_is_explained() -> None:
    block = (
        "registers.block: mux(mux(registers.block.LENGTH__beats[31], "
        "core.control.command__beats_done[31], s_axi__araddr[2]), "
        "mux(core.control.command__saturations[31], 0, s_axi__araddr[2]), s_axi__araddr[3])"
    )
    assert mutants.explanation("zoqo", f"const0 at B[0] of {block}")
    # A is the highest bit of LENGTH and of INDEX, S chooses, and without either it is what is read.
    for other in ("A[0] of ", "S[0] of ", "B[1] of ", ""):
        assert mutants.explanation("zoqo", f"const0 at {other}{block}") is None
    assert mutants.explanation("zoqo", f"const1 at B[0] of {block}") is None
    for bit in ("[30]", "[3]"):
        lower = block.replace("saturations[31]", f"saturations{bit}")
        assert mutants.explanation("zoqo", f"const0 at B[0] of {lower}") is None


def test_only_high_bits_of_counters_are_explained() -> None:
    remaining = "cnot1 by bit {} at A[26] of length: sub(length.remaining, 1)".format
    assert mutants.explanation("ports", remaining(18)) and mutants.explanation(
        "ports", remaining(31)
    )
    assert mutants.explanation("ports", remaining(17)) is None
    assert mutants.explanation("ports", remaining(8)) is None
    limited = (
        "const0 at control: mux(0, add(command__saturations, lane_path.count_0_0[2:0]), "
        "and(or(lane_path.count_0_0[2:0]), not(command__saturations[31])))[{}]"
    ).format
    assert mutants.explanation("ports", limited(20)) and mutants.explanation("ports", limited(31))
    assert mutants.explanation("ports", limited(19)) is None
    assert mutants.explanation("ports", limited(2)) is None


def test_a_bad_measurement_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(iter(mutants.CORES))

    def problems(count: int, killed: int, *more: dict[str, str]) -> list[str]:
        cores: dict[str, Any] = {
            core: {"mutants": 0, "killed": 0, "survivors": [s for c, s in SURVIVORS if c == core]}
            for core in mutants.CORES
        }
        cores[name] |= {"mutants": count, "killed": killed}
        cores[name]["survivors"] += more
        good = {"one": {"mutants": 1000, "killed": 1000, "survivors": []}}
        return mutants.problems({"1": good, "2": cores})

    assert not problems(100, 95)
    (few,) = problems(99, 99)
    assert few.startswith("seed 2: at least 100 mutants")
    # Of each seed: those of the other are found.
    (share,) = problems(1000, 949)
    assert share.startswith("seed 2: ") and "must be found, not 94.9%" in share
    (unexplained,) = problems(100, 95, {"mutant": "inv at nowhere"})
    assert unexplained.startswith(f"seed 2: {name}: inv at nowhere: ")
    why = {**mutants.EXPLAINED, ("zoqo", "inv at nowhere"): "why"}
    monkeypatch.setattr(mutants, "EXPLAINED", why)
    (stale,) = problems(100, 95)
    assert "'inv at nowhere' of zoqo" in stale
    # What is known of another core explains nothing.
    assert len(problems(100, 95, {"mutant": "inv at nowhere"})) == 2


def test_the_script_fails_for_what_is_not_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measure(name: str, *, seeds: list[int], **_: Any) -> list[dict[str, Any]]:
        survivors = [s for core, s in SURVIVORS if core == name] + more.get(name, [])
        return [{"mutants": 1000, "killed": 999, "survivors": survivors} for _ in seeds]

    more: dict[str, list[dict[str, Any]]] = {}
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "mutants.json")
    monkeypatch.setattr(mutants, "measure", measure)
    assert mutants.main([]) == 0
    kept = mutants.RESULTS.read_text(encoding="utf-8")
    assert mutants.main(["--explain"]) == 0
    assert mutants.RESULTS.read_text(encoding="utf-8") == kept
    assert list(json.loads(kept)["seeds"]) == ["1", "2"]
    more["zoqo"] = [{"number": 1, "mutant": "inv at nowhere", "why": None}]
    assert mutants.main(["--seed", "7"]) == 1
    assert list(json.loads(mutants.RESULTS.read_text(encoding="utf-8"))["seeds"]) == ["7"]
    assert mutants.main(["--explain"]) == 1
    assert mutants.main(["--core", "zoqo"]) == 1
    assert mutants.main(["--core", "ports"]) == 0


def test_a_long_sweep_finds_what_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mutants, "LONG", {"axi-lite": 62, "ports": 62})
    config = from_mapping(mutants.CORES["fused"])
    folder = tmp_path / "core"
    generate(config, folder)
    sweeps = mutants.long_sweeps(config)
    assert [len(sweep.table) for sweep in sweeps] == [0, 1]
    assert all(0 < sweep.saturations < len(sweep.weights) == 62 * 8 for sweep in sweeps)
    mutants.through_driver(folder, sweeps, place=tmp_path)
    result = np.copy(sweeps[1].result)
    result[-1] += 1
    other = dataclasses.replace(sweeps[1], result=result)
    with pytest.raises(CheckFailed, match="weights differ"):
        mutants.through_driver(folder, [sweeps[0], other], place=tmp_path)
    more = dataclasses.replace(sweeps[0], saturations=sweeps[0].saturations + 1)
    with pytest.raises(CheckFailed, match="the counts differ"):
        mutants.through_driver(folder, [more], place=tmp_path)
    plan = mutants.long_plan(from_mapping(mutants.CORES["ports"]))
    assert [sweep["length"] for sweep in plan.parameters["sweeps"]] == [62 * 4]
