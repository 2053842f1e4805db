"""Step cores behind registers: the exported RTL, its registers, and sweeps through them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pezo_hw.config import Config, load
from pezo_hw.export.folder import read
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.schedules import OFFERED, outputs_of
from pezo_hw.registers import Access, RegisterMap
from pezo_hw.registers.description import register_map
from pezo_hw.simulate import run
from pezo_hw.simulate.check import compare
from pezo_hw.simulate.plan import Effort
from pezo_hw.simulate.plan_step import Sweeps
from tests.registers import documents

Generated = Callable[[Config], Path]

EFFORT = Effort(beats=300, steps=3)
COCOTBEXT = Path(__file__).with_name("bench_cocotbext.py")
PATTERNS = ("never", "cycle", "random")
# Of what drives and what takes on up to three outputs, as numbers of patterns: in these nine rows
# each two of them meet with every pair of patterns.
CROSSED = [(a, b, (a + b) % 3, (a + 2 * b) % 3) for a in range(3) for b in range(3)]
# What drives and what takes the weights in sweeps of 10,000 of them.
LONG = ((0, 1), (2, 2), (1, 0))
# Beats of 200 after which a reset comes.
RESETS = (0, 1, 100, 199)


def _config(*more: str) -> Config:
    sizes = ("source.generators=5", "source.bits=5", "reuse.lanes=5", "weights.frac=12")
    return load("zcu102-step", [*sizes, "control.interface=axi-lite", *more])


IN_PLACE = _config()
# All that there is: every kind of sweep, and a table.
FUSED = _config("zo.schedule=fused", "control.tensors=5")
CONFIGS = {"in-place": IN_PLACE, "fused": FUSED}


@pytest.mark.parametrize("name", CONFIGS)
def test_every_document_and_the_rtl_agree(generated: Generated, tmp_path: Path, name: str) -> None:
    config = CONFIGS[name]
    folder = generated(config)
    # What the driver uses; and what the bench takes from the manifest and tries on the RTL.
    registers = register_map(config, model=engine_of(config))
    assert RegisterMap.from_json(read(folder)["registers"]) == registers
    said = documents.of_map(registers)
    place = folder / "registers"
    texts = {path.suffix: path.read_text(encoding="utf-8") for path in place.iterdir()}
    assert set(texts) == {".h", ".html", ".md", ".rdl", ".xml"}
    assert documents.of_html(texts[".html"]) == said
    assert documents.of_markdown(texts[".md"]) == said
    assert documents.of_ip_xact(texts[".xml"]) == said
    header = place / f"{config.core.name}.h"
    found = documents.of_c_header(header, expected=said, folder=tmp_path)
    assert found == documents.without_access(said)

    result = run(folder, bench="bench_registers", tests=("registers",))
    counts = result.data["registers"]
    fields = [field for register in registers for field in register.fields]
    for access in Access:
        assert counts[access] == sum(field.access is access for field in fields)
    assert counts["unmapped"] == 1024 - sum(register.count for register in registers)


@pytest.mark.parametrize("name", CONFIGS)
def test_sweeps_equal_golden(generated: Generated, name: str) -> None:
    config = CONFIGS[name]
    report = compare(generated(config), config=config, effort=EFFORT)
    counts = report.result.data["sweeps"]
    assert report.result.bench == "bench_ip"
    assert counts["sweeps"] > 40 and counts["ignored"] > 10 and counts["saturations"] > 20


def _crossed(config: Config) -> Sweeps:
    """Plan sweeps of every length under every pair of patterns, and resets before some."""
    sweeps = Sweeps(config, seed=1)
    lanes, schedule = sweeps.lanes, sweeps.core.schedule
    outputs, kinds = len(outputs_of(schedule)), OFFERED[schedule]
    resets = list(RESETS)
    for number, row in enumerate(CROSSED):
        patterns = [PATTERNS[i] for i in row[: 1 + outputs]]
        for place, length in enumerate((1, lanes - 1, lanes, lanes + 1, 97, 10_000)):
            if length == 10_000 and row[:2] not in LONG:
                continue
            special: dict[str, Any] = {"patterns": patterns}
            if resets and place == number % 3:
                special["behind_reset"] = resets.pop()
                sweeps.core.start(sweeps.core.engine.reset_index)
            sweeps.add(
                sweeps.random_weights(length),
                kind=kinds[(number + place) % len(kinds)],
                k=(1, -2, 2, 0, -1)[place % 5],
                coefficient=sweeps.random_coefficient(),
                capture=number % 2 == 0,
                capture_b=schedule == "fused" and place % 2 == 0,
                **special,
            )
    assert not resets
    return sweeps


@pytest.mark.parametrize("name", CONFIGS)
def test_patterns_crossed_with_cocotbext_axi(generated: Generated, name: str) -> None:
    plan = _crossed(CONFIGS[name]).plan()
    result = run(
        generated(CONFIGS[name]), bench=COCOTBEXT, parameters=plan.parameters, arrays=plan.arrays
    )
    found = result.data["crossed"]
    assert found["resets"] == len(RESETS)
    expected = dict.fromkeys(found["beats"], 0)
    for sweep in plan.parameters["sweeps"]:
        for output in sweep["outputs"]:
            expected[output] += -(-sweep["length"] // 5)
    assert found["beats"] == expected and min(expected.values()) > 2000


def test_the_patterns_are_crossed() -> None:
    for one, other in itertools.combinations(range(4), 2):
        assert len({(row[one], row[other]) for row in CROSSED}) == 9
