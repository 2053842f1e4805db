"""The RTL of perturbation cores equals the golden model, in every clock and on both simulators."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pezo_hw.config import Config, load
from pezo_hw.golden.engine import Engine
from pezo_hw.simulate import run
from pezo_hw.simulate.check import Report, compare
from pezo_hw.simulate.plan import Effort

Generated = Callable[[Config], Path]

EFFORT = Effort(groups=9_000, commands=1200)


def bank(generators: int, bits: int, lanes: int, *more: str) -> Config:
    sizes = (f"source.generators={generators}", f"source.bits={bits}", f"reuse.lanes={lanes}")
    return load("tiny", [*sizes, f"reuse.stride={int(generators > 1)}", *more])


def pool(size: int, words: int, lanes: int, *more: str) -> Config:
    sizes = (f"source.pool_size={size}", f"source.words={words}", f"reuse.lanes={lanes}")
    return load("zcu102-pregen", [*sizes, f"reuse.stride={int(words > 1)}", *more])


SEEDED = "source.phases=seeded"
PERIOD = "source.rotation=period"

BANKS: dict[str, Config] = {
    "tiny": load("tiny"),
    # The preset, whose further lanes are wires of the same words.
    "zcu102-onthefly": load("zcu102-onthefly", ["reuse.lanes=32"]),
    "live": load("zcu102-onthefly", ["reuse.lanes=32", SEEDED, "source.seed=7"]),
    "one-word": bank(1, 12, 3),
    "one-lane": bank(1, 4, 1, "scaling.mode=none"),
    "all-states": bank(31, 5, 62, "reuse.stride=7", PERIOD),
    "period-live": bank(3, 5, 6, PERIOD, SEEDED, "source.seed=1"),
    # Without the norm table, which has 65536 entries here.
    "widest-words": bank(3, 16, 3, "scaling.mode=constant"),
    "most-generators": bank(64, 7, 64, "reuse.stride=0"),
    "leap": bank(5, 8, 20, "reuse.stride=3", "source.polynomial=0x11d", "source.leap=7"),
    "constant": bank(4, 6, 8, "scaling.mode=constant", "scaling.exponent=3"),
}

POOLS: dict[str, Config] = {
    "zcu102-pregen": load("zcu102-pregen", ["reuse.lanes=64"]),
    "two": pool(2, 1, 2, "source.bits=4"),
    "three": pool(3, 2, 4),
    "prime-31": pool(31, 5, 10, "reuse.stride=2"),
    "below-256": pool(255, 32, 32),
    "256": pool(256, 3, 3, "source.bits=16"),
    "above-256": pool(257, 32, 32),
    "4095": pool(4095, 4, 4),
    "one-group": pool(4, 4, 8, "source.bits=12"),
    "two-ports": pool(50, 20, 20),
    "odd-blocks": pool(45, 15, 15, "source.bits=5"),
    "live": pool(100, 3, 6, SEEDED, "source.seed=1"),
    "most-words": pool(65536, 64, 64, "source.bits=4"),
}

ALL = {f"bank-{name}": config for name, config in BANKS.items()} | {
    f"pool-{name}": config for name, config in POOLS.items()
}

# Icarus takes minutes for these; their hardware is there in a smaller size as well.
NOT_ON_ICARUS = {
    "bank-live": "bank-period-live",
    "bank-widest-words": "bank-constant",
    "bank-most-generators": "bank-all-states",
    "pool-below-256": "pool-prime-31",
    "pool-zcu102-pregen": "pool-4095",
    "pool-above-256": "pool-below-256",
    "pool-most-words": "pool-two-ports",
}
ICARUS = tuple(name for name in ALL if name not in NOT_ON_ICARUS)

# What the set above must hold, so that no kind of hardware is lost from it.
KINDS: dict[str, Callable[[Config, Engine], bool]] = {
    "live bank": lambda c, e: e.live and c.source.kind == "on-the-fly",
    "live pool": lambda c, e: e.live and c.source.kind == "pre-generated",
    "live, period": lambda c, e: e.live and getattr(c.source, "rotation", "") == "period",
    "more than two exponents": lambda _, e: len(set(e.exponent_table.tolist())) > 2,
    "plain bank": lambda _, e: not e.prefetched,
    "plain bank, period": lambda c, e: (
        not e.prefetched and getattr(c.source, "rotation", "") == "period"
    ),
    "plain pool": lambda c, e: not e.live and c.source.kind == "pre-generated",
    "period a power of two": lambda c, e: (
        c.source.kind == "pre-generated" and e.period.bit_count() == 1 and e.period > 1
    ),
    "one group": lambda _, e: e.period == 1,
    "common factor": lambda c, _: (
        c.source.kind == "pre-generated"
        and 1 < math.gcd(c.source.pool_size, c.words) < c.source.pool_size
    ),
}


def check(generated: Generated, name: str, simulator: str) -> Report:
    return compare(generated(ALL[name]), config=ALL[name], simulator=simulator, effort=EFFORT)


def test_the_configurations_cover_all_kinds() -> None:
    engines = [(config, Engine(config)) for config in ALL.values()]
    missing = [kind for kind, holds in KINDS.items() if not any(holds(c, e) for c, e in engines)]
    assert not missing


@pytest.mark.parametrize("name", ALL)
def test_equal_to_golden(generated: Generated, name: str) -> None:
    report = check(generated, name, "verilator")
    data = report.result.data
    assert data["period"]["seen"] == min(report.period, EFFORT.groups) or (
        data["period"]["seen"] >= EFFORT.groups - 1
    )
    assert data["period"]["wrapped"]
    wraps = 3 if name.startswith("pool") else 1
    assert data["period"]["transfers"] >= wraps * min(report.period, EFFORT.groups - 1)
    assert data["starts"]["chosen"] >= min(report.period, 3)


@pytest.mark.parametrize("name", ICARUS)
def test_equal_to_golden_on_icarus(generated: Generated, name: str, icarus: str) -> None:
    report = check(generated, name, icarus)
    assert report.result.data["period"]["seen"] == report.period


@pytest.mark.parametrize("name", ["bank-tiny", "bank-leap", "pool-two-ports", "pool-live"])
def test_simulators_agree_from_time_0(generated: Generated, name: str, icarus: str) -> None:
    traces = [
        run(
            generated(ALL[name]),
            bench="bench_perturbation",
            simulator=simulator,
            tests=("trace",),
            parameters={"trace": 400},
        ).arrays["trace"]
        for simulator in ("verilator", icarus)
    ]
    different = np.flatnonzero(traces[0] != traces[1])
    assert not len(different), (different[:5], traces[0][different[0]], traces[1][different[0]])
    assert sum(line.startswith("1,") for line in traces[0]) > 50, "hardly ever valid"
