"""The RTL of step cores equals the golden model, sweep by sweep and on both simulators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pezo_hw.config import Config, from_mapping, load
from pezo_hw.gateware.words import Factors
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.schedules import KINDS as KINDS_OF_SWEEPS
from pezo_hw.golden.step import Arithmetic
from pezo_hw.simulate import run
from pezo_hw.simulate.check import compare
from pezo_hw.simulate.plan import Effort

Generated = Callable[[Config], Path]

EFFORT = Effort(beats=300)
# The whole promise: 10,000 beats take 10,000 clocks and a constant.
LONG = Effort(beats=10_000)

SEEDED = "source.phases=seeded"
# A core behind registers has a bench of its own.
PORTS = "control.interface=ports"
TABLE, FUSED, BOTH = "control.tensors=9", "zo.schedule=fused", "zo.schedule=inline-both"


def step(generators: int, bits: int, lanes: int, *more: str) -> Config:
    sizes = (f"source.generators={generators}", f"source.bits={bits}", f"reuse.lanes={lanes}")
    stride = f"reuse.stride={int(generators > 1)}"
    return load("zcu102-step", [PORTS, *sizes, stride, *more])


def zoqo(generators: int, bits: int, lanes: int, *, levels: int, more: tuple[str, ...]) -> Config:
    mapping = step(generators, bits, lanes, *more).model_dump(mode="json", exclude_none=True)
    mapping["zo"] = {"update": "zoqo", "levels": levels, "schedule": mapping["zo"]["schedule"]}
    mapping["scaling"] = {"mode": "none"}
    return from_mapping(mapping)


def pool_step(size: int, words: int, lanes: int) -> Config:
    mapping = load("zcu102-step", [PORTS]).model_dump(mode="json", exclude_none=True)
    source = {"kind": "pre-generated", "pool_size": size, "words": words, "bits": 8}
    mapping["source"] = source | {"phases": "seeded", "seed": 1}
    mapping["reuse"] = {"lanes": lanes, "stride": 2}
    return from_mapping(mapping)


def eight(frac: int, epsilon_log2: int) -> tuple[str, ...]:
    return ("weights.bits=8", f"weights.frac={frac}", f"zo.epsilon_log2={epsilon_log2}")


CONFIGS: dict[str, Config] = {
    "zcu102-step": load("zcu102-step", [PORTS]),
    # Perturbations that are rounded; exponents that differ.
    "rounded-live": step(5, 8, 10, SEEDED, "source.seed=1", "weights.frac=12"),
    "eight-bits": step(7, 5, 14, *eight(6, -4), "source.rotation=period"),
    "one-lane": step(1, 4, 1, *eight(6, -4)),
    "pool": pool_step(31, 5, 15),
    # Perturbations of whole LSBs, folded into the coefficient and too wide for that.
    "gain": step(3, 4, 3, "weights.frac=10", "zo.epsilon_log2=-3", "scaling.mode=none"),
    "widest": step(
        3, 4, 6, "weights.frac=10", "zo.epsilon_log2=-3",
        "zo.coefficient_bits=25", "zo.coefficient_shift=24",
    ),
    # Other schedules and updates.
    "fused-live-tables": step(3, 6, 6, SEEDED, "weights.frac=11", FUSED, TABLE),
    "inline-both": step(2, 8, 4, BOTH, *eight(6, -4)),
    "fused-zoqo": zoqo(3, 5, 6, levels=3, more=(*eight(6, -4), FUSED, TABLE)),
    "inline-zoqo": zoqo(3, 8, 3, levels=20, more=("zo.schedule=inline",)),
    "one-tensor": step(1, 4, 2, *eight(6, -4), "control.tensors=1"),
    "narrowest": step(3, 8, 9, "zo.coefficient_bits=8", "zo.coefficient_shift=1"),
}  # fmt: skip

ICARUS = ("rounded-live", "one-lane", "gain")


def exact(config: Config, engine: Engine) -> bool:
    arithmetic = Arithmetic.of(config)
    return not arithmetic.levels and Factors(engine, arithmetic=arithmetic).exact


def has_schedule(schedule: str, config: Config, _: Engine) -> bool:
    return config.zo is not None and config.zo.schedule == schedule


KINDS: dict[str, Callable[[Config, Engine], bool]] = {
    "exact": exact,
    "rounded": lambda c, e: not exact(c, e) and Arithmetic.of(c).drop > 0,
    "rounded, live": lambda c, e: not exact(c, e) and e.live,
    "not folded, whole LSBs": lambda c, e: (
        not exact(c, e) and Arithmetic.of(c).drop <= 0 and not Arithmetic.of(c).levels
    ),
    "whole LSBs folded": lambda c, e: exact(c, e) and Arithmetic.of(c).drop < 0,
    "more lanes than words": lambda _, e: e.lane_count > e.words,
    "one lane": lambda _, e: e.lane_count == 1,
    "weights of 8 bits": lambda c, _: c.weights is not None and c.weights.bits == 8,
    "pool": lambda c, _: c.source.kind == "pre-generated",
    "table": lambda c, _: c.control is not None and c.control.tensors > 0,
    "ZOQO": lambda c, _: Arithmetic.of(c).levels > 0,
    **{schedule: partial(has_schedule, schedule) for schedule in KINDS_OF_SWEEPS},
}


def test_the_configurations_cover_all_kinds() -> None:
    engines = [(config, Engine(config)) for config in CONFIGS.values()]
    missing = [kind for kind, holds in KINDS.items() if not any(holds(c, e) for c, e in engines)]
    assert not missing


@pytest.mark.parametrize("name", CONFIGS)
def test_equal_to_golden(generated: Generated, name: str) -> None:
    config = CONFIGS[name]
    effort = LONG if name == "zcu102-step" else EFFORT
    report = compare(generated(config), config=config, effort=effort)
    counts = report.result.data["sweeps"]
    # Two of the sweeps end in a reset.
    assert counts["sweeps"] > 40 and counts["restored"] == 3 and counts["ignored"] > 0
    assert counts["beats"] > effort.beats and counts["saturations"] > 20


@pytest.mark.parametrize("name", ICARUS)
def test_equal_to_golden_on_icarus(generated: Generated, name: str, icarus: str) -> None:
    config = CONFIGS[name]
    report = compare(generated(config), config=config, effort=EFFORT, simulator=icarus)
    assert report.result.data["sweeps"]["sweeps"] > 40


@pytest.mark.parametrize("name", ["rounded-live", "pool", "gain"])
def test_simulators_agree_from_time_0(generated: Generated, name: str, icarus: str) -> None:
    traces = [
        run(
            generated(CONFIGS[name]),
            bench="bench_step",
            simulator=simulator,
            tests=("trace",),
            parameters={"trace": 600},
        ).arrays["trace"]
        for simulator in ("verilator", icarus)
    ]
    different = np.flatnonzero(traces[0] != traces[1])
    assert not len(different), (different[:5], traces[0][different[0]], traces[1][different[0]])
    assert len(set(traces[0].tolist())) > 100, "hardly anything moves"
