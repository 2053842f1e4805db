"""Measure which share of netlist mutants of the step core the benches find.

Yosys makes the mutants (`pezo_hw.simulate.mutation`), evenly over the flat netlist of small cores:
every schedule, both interfaces, the table of tensors, and four of the six kinds of source, without
``rademacher``, which has the generator of ``wide-uniform``, and without ``gaussian-tree``. The
benches of `pezo simulate` run on each mutant, and a long sweep on those that the benches do not
find. Writes the result into ``docs/results/mutants.json``, with a fingerprint of each core and a
digest of the benches. Exits 1 if less than the wanted share is found with any seed, if a mutant
that is not found has no explanation, or if an explanation is of none. It takes about 2 s a mutant.

    python scripts/mutants.py --count 60 --seed 1 2
    python scripts/mutants.py --explain  # after a change of EXPLAINED: measures nothing
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw import tools
from pezo_hw.cli.progress import Progress
from pezo_hw.config import Config, from_mapping
from pezo_hw.driver.rtl import open_folder
from pezo_hw.driver.sweep import Sweep
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.export.folder import generate
from pezo_hw.export.rtl import build, fingerprint
from pezo_hw.golden.tensors import Tensor
from pezo_hw.simulate import run
from pezo_hw.simulate.cache import digest
from pezo_hw.simulate.mutation import Mutation, insert, select
from pezo_hw.simulate.plan import Effort, Plan, make_plan
from pezo_hw.simulate.plan_step import Sweeps

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "mutants.json"
COUNT, SEEDS = 60, (1, 2)
COMMAND = f"python scripts/mutants.py --count {COUNT} --seed {' '.join(map(str, SEEDS))}"

LEAST, WANTED = 100, 0.95

# With a longest sweep whose length is all ones.
EFFORT = Effort(groups=300, commands=800, beats=8191, steps=12)
# Beats of the long sweep: through the driver, which is fast, and through the bench on ports. Even,
# and all other bits 1: then each bit but the lowest is 1 in an odd number of the counts down to 1,
# so that what it inverts in every one of them does not come right again.
LONG = {"axi-lite": (1 << 20) - 2, "ports": (1 << 18) - 2}

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
        "ports": _SMALL,
        "fused": _SMALL
        | {
            # More lanes than are counted at once.
            "reuse": {"lanes": 8, "stride": 1},
            "zo": {"epsilon_log2": -4, "schedule": "fused"},
            "control": {"interface": "axi-lite", "tensors": 64},
        },
        "zoqo": _SMALL
        | {
            "source": {"kind": "pre-generated", "pool_size": 127, "words": 2, "bits": 4},
            "scaling": {"mode": "none"},
            "zo": {"update": "zoqo", "levels": 3, "schedule": "inline-both"},
            "control": {"interface": "axi-lite"},
        },
        "wide": _SMALL
        | {
            "source": {"kind": "wide-uniform", "words": 2, "bits": 4},
            "scaling": {"mode": "constant"},
            "zo": {"epsilon_log2": -4, "schedule": "inline"},
            "control": {"interface": "axi-lite"},
        },
        "clt": _SMALL
        | {
            "source": {"kind": "gaussian-clt"},
            "scaling": {"mode": "none"},
            "reuse": {"lanes": 4},
            "weights": {"bits": 16, "frac": 12},
            "control": {"interface": "axi-lite"},
        },
    }
)
"""What is mutated: small cores."""

_SAME_RIPPLE = (
    "All bits of the counter are one adder's, each with the carry of those below, and the lower "
    "bits are found."
)

EXPLAINED: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (
            "ports",
            r"cnot1 by bit (1[89]|2\d|3[01]) at A\[\d+\] of length: sub\(length\.remaining, 1\)",
        ): (
            "It acts while 2^18 beats or more remain, and shows at the end of such a sweep; the "
            f"longest here has 2^18 - 2. {_SAME_RIPPLE} In this bench a sweep of 2^19 beats takes "
            "a minute, and one of 2^31 days."
        ),
        (
            "ports",
            r"const0 at control: mux\(0, add\(command__saturations, lane_path\.count_0_0\[2:0\]\), "
            r"and\(or\(lane_path\.count_0_0\[2:0\]\), not\(command__saturations\[31\]\)\)\)"
            r"\[(2\d|3[01])\]",
        ): (
            "It acts once 2^20 weights or more were limited in a sweep; the longest here has that "
            f"many, and half of them are limited. {_SAME_RIPPLE} In this bench a sweep that limits "
            "2^26 takes half an hour or more."
        ),
        (
            "zoqo",
            re.escape(
                "const0 at B[0] of registers.block: mux(mux(registers.block.LENGTH__beats[31], "
                "core.control.command__beats_done[31], s_axi__araddr[2]), "
                "mux(core.control.command__saturations[31], 0, s_axi__araddr[2]), "
                "s_axi__araddr[3])"
            ),
        ): (
            "The highest bit of ``SATURATIONS`` as it is read: set once 2^31 weights were limited, "
            "in 2^29 beats, which take half an hour through the driver. All bits of a register are "
            "read alike."
        ),
        (
            "zoqo",
            r"cnot1 by bit 7 at core\.engine: add\(core\.engine\.steps, 1\)\[\d\]",
        ): (
            "The carry of the steps of a walk: 1 behind index 127 only, the last that "
            "``START_INDEX`` can hold, where the walk has arrived and its steps are not used again."
        ),
        (
            "zoqo",
            re.escape(
                "cnot1 by bit 2 at A[1] of core.minus_path: add(add(core.minus_path.limited_0, "
                "core.minus_path.limited_1), core.minus_path.limited_2)"
            ),
        ): "It changes nothing: bit 2 of the sum of two bits is 0.",
        (
            "wide",
            re.escape(
                "const1 at B[0] of registers.block: mux(core.control.command__saturations[16], 0, "
                "s_axi__araddr[2])"
            ),
        ): (
            "It changes nothing: the place of a register without this bit in a layer of the "
            "multiplexer, which is not chosen at that register's address."
        ),
        (
            "wide",
            re.escape("cnot1 by bit 31 at core.control.command__saturations[2]"),
        ): (
            "It acts once 2^31 weights were limited in a sweep, in 2^29 beats, which take half an "
            "hour through the driver. The lower bits of the adder are found."
        ),
        ("wide", re.escape("inv at D[2] of core.control.mixed")): (
            "It changes nothing: the clocks of the mixing are counted in another order, and are as "
            "many from its beginning to 15."
        ),
        ("wide", re.escape("cnot1 by bit 4 at core.lane_path.count_0_0[0]")): (
            "It changes nothing: bit 4 of a count of four is 0."
        ),
        (
            "wide",
            re.escape(
                "const1 at B[0] of core.control: and(eq(core.control.sweep_state, 1), "
                "or(core.control.issue, eq(core.control.mixed, 15)))"
            ),
        ): (
            "Groups may be taken from the first clock of the mixing on, but the source offers none "
            "before its 32 clocks are over. It would show if a sweep with ``capture`` of few beats "
            "was aborted in the mixing, which no bench tries."
        ),
    }
)
"""Why a mutant is not found, by its core and a pattern of all that is said of it.

Each has to be explained here. For the sample of seed 1, nothing that a bench could find; for that
of seed 2, on which the benches are not improved, it may be that no bench tries it.
"""


@dataclass(frozen=True)
class LongSweep:
    """A sweep through the driver, and what must come of it."""

    command: Sweep
    table: tuple[Tensor, ...]
    weights: NDArray[np.integer]
    result: NDArray[np.integer]
    saturations: int


def long_sweeps(config: Config) -> list[LongSweep]:
    """Return the long sweep of a core with registers, and with a table one of a tensor as long."""
    sweeps, beats = Sweeps(config, seed=1), LONG["axi-lite"]
    tables: list[tuple[Tensor, ...]] = [(), (Tensor(beats),)] if sweeps.core.tensors else [()]
    command = Sweep(k=1, coefficient=sweeps.random_coefficient(), dither_seed=1)
    fields: dict[str, Any] = {"k": 1, "coefficient": command.coefficient, "dither_seed": 1}
    # Many are limited, as the count of them is wide.
    weights = _half_limited(sweeps, beats, fields)
    found = []
    for table in tables:
        result = sweeps.core.sweep(weights, table=table, **fields)
        stored = result.weights.astype(np.int16)
        short = weights.astype(np.int16)
        found.append(LongSweep(command, table, short, stored, result.saturations))
    return found


def _half_limited(sweeps: Sweeps, beats: int, fields: Mapping[str, Any]) -> NDArray[np.int64]:
    weights = sweeps.random_weights(beats * sweeps.lanes)
    limited = sweeps.limited_weights(len(weights), output="weights", **fields)
    return np.where(sweeps.rng.random(len(weights)) < 1 / 2, limited, weights)


def long_plan(config: Config) -> Plan:
    """Return the long sweep of a core on ports, for its bench."""
    sweeps = Sweeps(config, seed=1)
    fields: dict[str, Any] = {"k": 1, "coefficient": sweeps.random_coefficient(), "dither_seed": 1}
    weights = _half_limited(sweeps, LONG["ports"], fields)
    sweeps.add(weights, measured=True, **fields)
    return sweeps.plan()


def through_driver(folder: Path, sweeps: Sequence[LongSweep], *, place: Path) -> None:
    """Put sweeps through a folder's core with the driver, in the folder of a run."""
    # The library reads there which mutant it is of.
    with contextlib.chdir(place), contextlib.closing(open_folder(folder)) as backend:
        for sweep in sweeps:
            backend.load_table(sweep.table)
            outcome = backend.sweep(sweep.command, sweep.weights)
            beats = -(-len(sweep.weights) // backend.description.lanes)
            if (outcome.beats, outcome.saturations) != (beats, sweep.saturations):
                raise CheckFailed("the long sweep: the counts differ")
            if not np.array_equal(outcome.outputs["weights"], sweep.result):
                raise CheckFailed("the long sweep: weights differ")


def tests_of(config: Config) -> tuple[Callable[[Path, Path], None], Callable[[Path, Path], None]]:
    """Return what runs the benches, and what runs the long sweep, in a folder and one of a run."""
    assert config.control is not None
    plan = make_plan(config, seed=1, effort=EFFORT)

    def through_bench(
        plan: Plan, tests: Sequence[str], folder: Path, place: Path, *, timeout: int = 120
    ) -> None:
        run(
            folder,
            bench=plan.bench,
            parameters=plan.parameters,
            arrays=plan.arrays,
            tests=tests,
            build_dir=place,
            timeout=timeout,
        )

    if config.control.interface == "ports":
        long = long_plan(config)
        return (
            lambda folder, place: through_bench(plan, plan.tests, folder, place),
            lambda folder, place: through_bench(long, ("sweeps",), folder, place, timeout=300),
        )
    sweeps = long_sweeps(config)

    def benches(folder: Path, place: Path) -> None:
        through_bench(plan, plan.tests, folder, place)
        run(folder, bench="bench_registers", build_dir=place, timeout=120)

    return benches, lambda folder, place: through_driver(folder, sweeps, place=place)


def measure(name: str, *, count: int, seeds: Sequence[int], say: Progress) -> list[dict[str, Any]]:
    """Return what became of the mutants of one core, for each seed."""
    config = from_mapping(CORES[name])
    benches, long = tests_of(config)
    found = []
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="pezo-mutants-") as place:
            folder = Path(place)
            generate(config, folder / "original")
            mutations = insert(folder / "original", folder / "mutated", count=count, seed=seed)
            survivors = _survivors(
                mutations, folder=folder, benches=benches, long=long, what=f"{name} {seed}", say=say
            )
        found.append(
            {
                "mutants": len(mutations),
                "killed": len(mutations) - len(survivors),
                "survivors": [
                    {"number": one.number, "mutant": one.what, "why": explanation(name, one.what)}
                    for one in survivors
                ],
            }
        )
    return found


def _survivors(
    mutations: Sequence[Mutation],
    *,
    folder: Path,
    benches: Callable[[Path, Path], None],
    long: Callable[[Path, Path], None],
    what: str,
    say: Progress,
) -> list[Mutation]:
    """Return the mutants that neither the benches nor the long sweep find."""

    def killed(number: int, test: Callable[[Path, Path], None]) -> str | None:
        """Return how a mutant was found, or None if it was not."""
        place = folder / f"run-{number}"
        select(place, number)
        try:
            test(folder / "mutated", place)
        except (CheckFailed, PezoError) as error:
            return str(error).splitlines()[0]
        return None

    def by_benches(mutation: Mutation) -> bool:
        how = killed(mutation.number, benches)
        say(f"{what} {mutation}: {how or 'survived the benches'}")
        return how is not None

    for test in (benches, long):
        if (how := killed(0, test)) is not None:
            raise CheckFailed(f"{what}: the core without a mutant must pass, but: {how}")
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(by_benches, mutations))
    left = []
    # One after the other: the folder in which they run is that of the process.
    for mutation in (one for one, gone in zip(mutations, found, strict=True) if not gone):
        how = killed(mutation.number, long)
        say(f"{what} {mutation}: {how or 'SURVIVED'}")
        if how is None:
            left.append(mutation)
    return left


def print_of(name: str) -> str:
    """Return the fingerprint of a core."""
    return fingerprint(build(from_mapping(CORES[name])))


def benches() -> str:
    """Return a digest of all that decides what a bench finds: the benches, and what they do."""
    files = sorted((ROOT / "sim").rglob("*.py"))
    files += sorted((ROOT / "pezo_hw" / "simulate").glob("plan*.py"))
    parts: list[str | bytes] = [repr(EFFORT), repr(LONG)]
    for file in files:
        parts += [file.relative_to(ROOT).as_posix(), file.read_bytes()]
    return digest(parts)


def explanation(core: str, mutant: str) -> str | None:
    """Return why a mutant of a core is not found, if that is known."""
    return next(
        (
            why
            for (name, text), why in EXPLAINED.items()
            if name == core and re.fullmatch(text, mutant)
        ),
        None,
    )


def share(cores: Mapping[str, Any]) -> float:
    """Return the share of the mutants of all cores that is found."""
    mutants = sum(core["mutants"] for core in cores.values())
    return float(sum(core["killed"] for core in cores.values()) / mutants)


def problems(seeds: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what is wrong with a measurement, one sentence each.

    Parameters
    ----------
    seeds : mapping of str to mapping
        By seed and core.
    """
    found = []
    for seed, cores in seeds.items():
        mutants = sum(core["mutants"] for core in cores.values())
        if mutants < LEAST:
            found.append(f"seed {seed}: at least {LEAST} mutants are wanted, not {mutants}")
        if share(cores) < WANTED:
            found.append(
                f"seed {seed}: at least {WANTED:.1%} of the mutants must be found, not "
                f"{share(cores):.1%}"
            )
    survivors = [
        (seed, name, survivor["mutant"])
        for seed, cores in seeds.items()
        for name, core in cores.items()
        for survivor in core["survivors"]
    ]
    found += [
        f"seed {seed}: {name}: {mutant}: must be found or explained in EXPLAINED"
        for seed, name, mutant in survivors
        if explanation(name, mutant) is None
    ]
    found += [
        f"EXPLAINED holds {text!r} of {core}, which no mutant that is left needs; remove it"
        for core, text in EXPLAINED
        if not any(name == core and re.fullmatch(text, mutant) for _, name, mutant in survivors)
    ]
    return found


def _tell(seeds: Mapping[str, Mapping[str, Any]]) -> None:
    for seed, cores in seeds.items():
        for name, core in cores.items():
            print(f"seed {seed}, {name}: {core['killed']} of {core['mutants']} mutants found")
            for survivor in core["survivors"]:
                print(f"  {survivor['mutant']}: {survivor['why'] or 'NOT EXPLAINED'}")
        print(f"seed {seed}: {share(cores):.1%}, wanted {WANTED:.1%}")


def _keep(document: dict[str, Any]) -> int:
    """Write a result with today's explanations; tell what is wrong, and return the exit code."""
    for cores in document["seeds"].values():
        for name, core in cores.items():
            for survivor in core["survivors"]:
                survivor["why"] = explanation(name, survivor["mutant"])
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    wrong = problems(document["seeds"])
    for text in wrong:
        print(f"error: {text}", file=sys.stderr)
    return int(bool(wrong))


def main(arguments: list[str] | None = None) -> int:
    """Run the measurement and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="mutants of each core and seed")
    parser.add_argument("--seed", type=int, nargs="+", default=SEEDS, help="of the samples")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--core", choices=sorted(CORES), help="only this one; writes nothing")
    only.add_argument(
        "--explain", action="store_true", help="put today's explanations into the kept result"
    )
    given = parser.parse_args(arguments)
    if given.explain:
        return _keep(json.loads(RESULTS.read_text(encoding="utf-8")))
    before = benches()
    seeds: dict[str, dict[str, Any]] = {str(seed): {} for seed in given.seed}
    with Progress() as say:
        for name in [given.core] if given.core else CORES:
            found = measure(name, count=given.count, seeds=given.seed, say=say)
            for cores, one in zip(seeds.values(), found, strict=True):
                cores[name] = one
    _tell(seeds)
    if given.core:
        left = [s for cores in seeds.values() for s in cores[given.core]["survivors"]]
        return int(any(s["why"] is None for s in left))
    if benches() != before:
        raise CheckFailed("the benches must stay as they are during a measurement; run it again")
    chosen = " ".join(map(str, given.seed))
    document = {
        "command": f"python scripts/mutants.py --count {given.count} --seed {chosen}",
        "tools": {name: tools.versions()[name] for name in ("yosys", "verilator")},
        "benches": before,
        "fingerprints": {name: print_of(name) for name in CORES},
        "shares": {seed: round(share(cores), 4) for seed, cores in seeds.items()},
        "seeds": seeds,
    }
    return _keep(document)


if __name__ == "__main__":
    sys.exit(main())
