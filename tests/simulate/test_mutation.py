"""Mutants of a netlist: none changes the core unless it is selected, and benches find them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pezo_hw.config import load
from pezo_hw.errors import CheckFailed
from pezo_hw.export.folder import generate
from pezo_hw.simulate import run
from pezo_hw.simulate.mutation import Mutation, insert, select
from pezo_hw.simulate.plan import Effort, make_plan

COUNT = 8


@pytest.fixture(scope="module")
def mutated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Mutation]]:
    place = tmp_path_factory.mktemp("mutation")
    generate(load("tiny"), place / "original")
    return place / "mutated", insert(place / "original", place / "mutated", count=COUNT)


def simulate(folder: Path, number: int, place: Path) -> None:
    plan = make_plan(load("tiny"), seed=1, effort=Effort(groups=60, commands=300))
    select(place, number)
    run(
        folder,
        bench=plan.bench,
        parameters=plan.parameters,
        arrays=plan.arrays,
        tests=plan.tests,
        build_dir=place,
        timeout=60,
    )


def test_as_many_as_wanted_and_all_different(mutated: tuple[Path, list[Mutation]]) -> None:
    _, mutations = mutated
    assert [mutation.number for mutation in mutations] == list(range(1, COUNT + 1))
    places = {(m.mode, m.cell, m.port, m.bit, m.control) for m in mutations}
    assert len(places) == COUNT
    assert len({m.what for m in mutations}) == COUNT


def test_without_one_the_core_is_as_it_was(
    mutated: tuple[Path, list[Mutation]], tmp_path: Path
) -> None:
    simulate(mutated[0], 0, tmp_path)
    # Nor with a number that no mutant has.
    simulate(mutated[0], COUNT + 1, tmp_path / "other")


def test_benches_find_them(mutated: tuple[Path, list[Mutation]], tmp_path: Path) -> None:
    folder, mutations = mutated
    found = 0
    for mutation in mutations:
        try:
            simulate(folder, mutation.number, tmp_path / str(mutation.number))
        except CheckFailed:
            found += 1
    assert found >= COUNT - 1
