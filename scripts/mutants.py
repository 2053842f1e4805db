"""Measure which share of netlist mutants of the step core the benches find.

Yosys makes the mutants (`pezo_hw.simulate.mutation`), evenly over the flat netlist of small cores
that hold every part; the benches of `pezo simulate` run on each. Writes the result into
``docs/results/mutants.json``, with a fingerprint of each core, and exits 1 if less than the wanted
share is found, if a mutant that is not found has no explanation, or if an explanation is of none.
It takes about 2 s a mutant.

    python scripts/mutants.py --count 60
"""

from __future__ import annotations

import argparse
import json
import re
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
from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.simulate import run
from pezo_hw.simulate.mutation import Mutation, insert, select
from pezo_hw.simulate.plan import Effort, make_plan

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "mutants.json"

LEAST, WANTED = 100, 0.95

# With a longest sweep whose length is all ones.
EFFORT = Effort(groups=300, commands=800, beats=8191, steps=12)

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
            # More lanes than are counted at once.
            "reuse": {"lanes": 8, "stride": 1},
            "zo": {"epsilon_log2": -4, "schedule": "fused"},
            "control": {"interface": "axi-lite", "tensors": 64},
        },
        "ZOQO, both signs, registers": _SMALL
        | {
            "source": {"kind": "pre-generated", "pool_size": 127, "words": 2, "bits": 4},
            "scaling": {"mode": "none"},
            "zo": {"update": "zoqo", "levels": 3, "schedule": "inline-both"},
            "control": {"interface": "axi-lite"},
        },
    }
)
"""What is mutated: small cores, which together hold every part of a step core."""

EXPLAINED: Mapping[str, str] = MappingProxyType(
    {
        r"cnot1 by bit (1[4-9]|2\d|3[01]) at .*(beats_done\[\d+\]|sub\(length\.remaining, 1\))": (
            "It acts once a count of beats is 2^14 or more, and shows when that many have been "
            "streamed; the longest sweep here has 8,193."
        ),
        r"cnot1 by bit (1[3-9]|2\d|3[01]) at mem_v2\(core\.tensors\.address, .*\[\d+\]": (
            "It acts on tensors of 2^13 beats or more, and shows when such a one has been streamed "
            "to its end; the longest here has 8,191."
        ),
        r"const0 at .*mux\(core\.control\.command__saturations\[31\], 0, s_axi__araddr\[2\]\).*": (
            "The highest bit of ``SATURATIONS`` as it is read: set once 2^31 weights were limited."
        ),
        r"cnot1 by bit 7 at core\.engine: add\(core\.engine\.steps, 1\)\[\d\]": (
            "The carry of the steps of a walk: 1 behind index 127 only, the last that "
            "``START_INDEX`` can hold, where the walk has arrived and its steps are not used again."
        ),
    }
)
"""Why a mutant cannot be found, by a pattern of all that is said of it but its number.

Each has to be explained here, and nothing that a bench could find.
"""


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
        "fingerprint": print_of(name),
        "mutants": len(mutations),
        "killed": len(mutations) - len(survivors),
        "survivors": [
            {"number": mutation.number, "mutant": mutation.what, "why": explanation(mutation.what)}
            for mutation in survivors
        ],
    }


def print_of(name: str) -> str:
    """Return the fingerprint of a core."""
    return fingerprint(build(from_mapping(CORES[name])))


def explanation(mutant: str) -> str | None:
    """Return why a mutant is not found, if that is known."""
    return next((why for text, why in EXPLAINED.items() if re.fullmatch(text, mutant)), None)


def problems(cores: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a measurement, one sentence each."""
    found = []
    mutants = sum(core["mutants"] for core in cores.values())
    share = sum(core["killed"] for core in cores.values()) / mutants
    if mutants < LEAST:
        found.append(f"at least {LEAST} mutants are wanted, not {mutants}")
    if share < WANTED:
        found.append(f"at least {WANTED:.1%} of the mutants must be found, not {share:.1%}")
    survivors = [
        (name, survivor["mutant"]) for name, core in cores.items() for survivor in core["survivors"]
    ]
    found += [
        f"{name}: {mutant}: must be found or explained in EXPLAINED"
        for name, mutant in survivors
        if explanation(mutant) is None
    ]
    found += [
        f"EXPLAINED holds {text!r}, which no mutant that is left needs; remove it"
        for text in EXPLAINED
        if not any(re.fullmatch(text, mutant) for _, mutant in survivors)
    ]
    return found


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
    for name, core in cores.items():
        print(f"{name}: {core['killed']} of {core['mutants']} mutants found")
        for survivor in core["survivors"]:
            print(f"  {survivor['mutant']}: {survivor['why'] or 'NOT EXPLAINED'}")
    if given.core:
        return int(any(s["why"] is None for core in cores.values() for s in core["survivors"]))
    total = sum(core["mutants"] for core in cores.values())
    killed = sum(core["killed"] for core in cores.values())
    print(f"{killed} of {total}: {killed / total:.1%}, wanted {WANTED:.1%}")
    wrong = problems(cores)
    for text in wrong:
        print(f"error: {text}", file=sys.stderr)
    document = {
        "command": f"python scripts/mutants.py --count {given.count} --seed {given.seed}",
        "tools": {name: tools.versions()[name] for name in ("yosys", "verilator")},
        "share": round(killed / total, 4),
        "cores": cores,
    }
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
