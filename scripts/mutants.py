"""Measure which share of netlist mutants of the step core the benches find.

Yosys makes the mutants (`pezo_hw.simulate.mutation`), evenly over the flat netlist of small cores
that hold every part; the benches of `pezo simulate` run on each. Writes the result into
``docs/results/mutants.json`` and exits 1 if less than the wanted share is found. It takes about 2 s
a mutant.

    python scripts/mutants.py --count 60
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pezo_hw import tools
from pezo_hw.cli.progress import Progress
from pezo_hw.config import Config, from_mapping
from pezo_hw.errors import CheckFailed
from pezo_hw.export.folder import generate
from pezo_hw.simulate import run
from pezo_hw.simulate.mutation import Mutation, insert, select
from pezo_hw.simulate.plan import Effort, make_plan

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "mutants.json"

WANTED = 0.95

EFFORT = Effort(groups=300, commands=800, beats=1500, steps=12)

_SMALL: dict[str, Any] = {
    "core": {"name": "mutated", "kind": "zo-step", "board": "zcu102"},
    # With exponents that differ.
    "source": {"kind": "on-the-fly", "generators": 2, "bits": 4, "phases": "seeded", "seed": 3},
    "reuse": {"lanes": 4, "stride": 1},
    # With perturbations that are rounded.
    "weights": {"bits": 8, "frac": 6},
    "zo": {"epsilon_log2": -4},
}

CORES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "in place, ports": _SMALL,
        "fused, registers, tensors": _SMALL
        | {
            "zo": {"epsilon_log2": -4, "schedule": "fused"},
            "control": {"interface": "axi-lite", "tensors": 4},
        },
        "ZOQO, both signs, registers": _SMALL
        | {
            "source": {"kind": "pre-generated", "pool_size": 13, "words": 2, "bits": 4},
            "scaling": {"mode": "none"},
            "zo": {"update": "zoqo", "levels": 3, "schedule": "inline-both"},
            "control": {"interface": "axi-lite"},
        },
    }
)
"""What is mutated: small cores, which together hold every part of a step core."""

EXPLAINED: Mapping[str, str] = MappingProxyType({})
"""Why a mutant cannot be found, by what its place starts with; each has to be named here."""


def measure(name: str, *, count: int, seed: int, folder: Path, say: Progress) -> dict[str, Any]:
    """Return what became of the mutants of one core."""
    config: Config = from_mapping(CORES[name])
    original, mutated = folder / "original", folder / "mutated"
    generate(config, original)
    mutations = insert(original, mutated, count=count, seed=seed)
    plan = make_plan(config, seed=seed, effort=EFFORT)

    def killed(number: int) -> str | None:
        """Return how a mutant was found, or None if it was not."""
        place = folder / f"run-{number}"
        select(place, number)
        try:
            run(
                mutated,
                bench=plan.bench,
                parameters=plan.parameters,
                arrays=plan.arrays,
                tests=plan.tests,
                build_dir=place,
                timeout=120,
            )
            if config.control is not None and config.control.interface == "axi-lite":
                run(mutated, bench="bench_registers", build_dir=place, timeout=120)
        except CheckFailed as error:
            return str(error).splitlines()[0]
        return None

    if (found := killed(0)) is not None:
        raise CheckFailed(f"{name}: the core without a mutant must pass, but: {found}")
    survivors = []

    def one(mutation: Mutation) -> None:
        found = killed(mutation.number)
        say(f"{name} {mutation}: {found or 'SURVIVED'}")
        if found is None:
            survivors.append(mutation)

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(one, mutations))
    survivors.sort(key=lambda mutation: mutation.number)
    return {
        "mutants": len(mutations),
        "killed": len(mutations) - len(survivors),
        "survivors": [
            {"mutant": str(mutation), "why": _explanation(mutation)} for mutation in survivors
        ],
    }


def _explanation(mutation: Mutation) -> str | None:
    place = str(mutation).split(" at ", 1)[1]
    return next((why for start, why in EXPLAINED.items() if place.startswith(start)), None)


def main(arguments: list[str] | None = None) -> int:
    """Run the measurement and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60, help="mutants of each core")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--core", choices=sorted(CORES), help="only this one; writes nothing")
    given = parser.parse_args(arguments)
    cores = {}
    with Progress() as say:
        for name in [given.core] if given.core else CORES:
            with tempfile.TemporaryDirectory(prefix="pezo-mutants-") as folder:
                cores[name] = measure(
                    name, count=given.count, seed=given.seed, folder=Path(folder), say=say
                )
    total = sum(core["mutants"] for core in cores.values())
    killed = sum(core["killed"] for core in cores.values())
    share = killed / total
    for name, core in cores.items():
        print(f"{name}: {core['killed']} of {core['mutants']} mutants found")
        for survivor in core["survivors"]:
            print(f"  {survivor['mutant']}: {survivor['why'] or 'NOT EXPLAINED'}")
    print(f"{killed} of {total}: {100 * share:.1f} %, wanted {100 * WANTED:g} %")
    if not given.core:
        document = {
            "command": f"python scripts/mutants.py --count {given.count} --seed {given.seed}",
            "tools": {name: tools.versions()[name] for name in ("yosys", "verilator")},
            "share": round(share, 4),
            "cores": cores,
        }
        RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
