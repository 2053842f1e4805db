"""Run a cocotb bench on a generated folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import cocotb_tools.config
import numpy as np
from numpy.typing import NDArray

import pezo_hw
from pezo_hw import resources, tools
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.simulate.build import build_icarus, build_verilator
from pezo_hw.simulate.cache import Cache
from pezo_hw.simulate.design import Design
from pezo_hw.simulate.results import Case, Result, read_arrays, read_cases

_TAIL = 30


def run(
    folder: Path,
    *,
    bench: str | Path,
    simulator: str = "verilator",
    parameters: Mapping[str, Any] | None = None,
    arrays: Mapping[str, NDArray[Any]] | None = None,
    tests: Sequence[str] = (),
    seed: int = 1,
    waves: bool = False,
    build_dir: Path | None = None,
    cache: Cache | None = None,
    timeout: float = 600.0,
    verbose: bool = False,
) -> Result:
    """Simulate a generated folder with a bench.

    Parameters
    ----------
    folder : Path
        A folder that `pezo generate` wrote. It is only read.
    bench : str or Path
        Name of a bench in ``sim/``, or the path of a Python file with cocotb tests.
    simulator : str
        "verilator" or "icarus".
    parameters : mapping, optional
        What the bench finds in `Bench.parameters`. Anything that JSON can hold.
    arrays : mapping of str to ndarray, optional
        What the bench finds in `Bench.arrays`.
    tests : sequence of str
        Names of the tests to run. Default: all of the bench.
    seed : int
        Seed of the bench's stalls and random data, and of what the RTL leaves undefined.
    waves : bool
        Whether to write ``waves.vcd`` into `build_dir`, which must then be given.
    build_dir : Path, optional
        Where log, results and waves go; made if needed, and never shared by two runs at once.
        Default: a private folder, which is removed at the end.
    cache : Cache, optional
        Where compiled simulations are kept. Default: the user's cache folder.
    timeout : float
        Seconds after which a run that is still going is stopped, which is a failure.
    verbose : bool
        Whether the simulator's output goes to standard output instead of a log file.

    Returns
    -------
    Result
        Of a run in which at least one test ran and all passed.

    Raises
    ------
    CheckFailed
        If the simulator refuses the RTL or a test fails; the message starts with the first
        failure and ends with the last lines of the log.
    PezoError
        If a tool, the bench or the folder is missing or wrong.
    """
    if simulator not in SIMULATORS:
        known = " or ".join(SIMULATORS)
        raise PezoError(f"simulator must be {known}, not {simulator!r}")
    if waves and build_dir is None:
        raise PezoError("waves need a folder to stay in: give build_dir")
    design, script = Design.read(folder), _find_bench(bench)
    libpython = tools.libpython()
    build, command = SIMULATORS[simulator]
    began = time.monotonic()
    binary = build(design, waves=waves, cache=cache or Cache())
    built = time.monotonic()

    with contextlib.ExitStack() as stack:
        if build_dir is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pezo-sim-")))
        else:
            place = Path(build_dir).resolve()
            place.mkdir(parents=True, exist_ok=True)
        files = {name: place / file for name, file in _FILES.items()}
        for file in files.values():
            file.unlink(missing_ok=True)  # an old result must not pass for a new one
        if arrays:
            np.savez(files["arrays"], allow_pickle=False, **arrays)
        environment = _environment(script, libpython=libpython, simulator=simulator) | {
            "COCOTB_TOPLEVEL": design.top,
            "COCOTB_RANDOM_SEED": str(seed),
            "COCOTB_RESULTS_FILE": str(files["results"]),
            "PEZO_FOLDER": str(design.folder),
            "PEZO_PARAMETERS": json.dumps(dict(parameters or {})),
            "PEZO_ARRAYS": str(files["arrays"]) if arrays else "",
            "PEZO_REPORT": str(files["report"]),
            "PEZO_SAVED": str(files["saved"]),
        }
        if tests:
            names = "|".join(re.escape(name) for name in tests)
            environment["COCOTB_TEST_FILTER"] = rf"(^|\.)({names})$"
        # By its name alone: simulators run in this folder, and not all can write any path.
        line = command(binary, seed, Path(_FILES["waves"]) if waves else None)
        ended = _execute(line, place, environment, None if verbose else files["log"], timeout)
        finished = time.monotonic()

        cases = read_cases(files["results"])
        if problem := _problem(cases, ended, wanted=tests):
            tail = _tail(files["log"], named=build_dir is not None)
            raise CheckFailed(f"{script.stem} on {simulator}: {problem}{tail}")
        report = files["report"]
        return Result(
            simulator=simulator,
            bench=script.stem,
            cases=cases,
            data=json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {},
            arrays=read_arrays(files["saved"]),
            build_seconds=built - began,
            run_seconds=finished - built,
            log=files["log"] if build_dir and not verbose else None,
            waves=files["waves"] if waves else None,
        )


# In names of their own, so that a folder may hold reports as well.
_FILES = {
    "log": "simulation.log",
    "results": "simulation.xml",
    "arrays": "simulation-in.npz",
    "saved": "simulation-out.npz",
    "report": "simulation.json",
    "waves": "waves.vcd",
}


def _verilator_command(binary: Path, seed: int, waves: Path | None) -> list[str]:
    # Registers without a reset start at random; Verilator wants a seed of 1 to 2^31 - 1.
    start = ["+verilator+rand+reset+2", f"+verilator+seed+{seed % (2**31 - 1) + 1}"]
    return [str(binary), *start, *(["--trace", "--trace-file", str(waves)] if waves else [])]


def _icarus_command(binary: Path, seed: int, waves: Path | None) -> list[str]:
    del seed  # what is undefined is X
    library = cocotb_tools.config.lib_entry("vpi", "icarus")
    command = [str(tools.icarus().vvp), "-m", library, str(binary)]
    return [*command, "-vcd" if waves else "-none", *([f"+pezo_waves={waves}"] if waves else [])]


#: How to build for and run each simulator.
SIMULATORS: Mapping[
    str, tuple[Callable[..., Path], Callable[[Path, int, Path | None], list[str]]]
] = MappingProxyType(
    {
        "verilator": (build_verilator, _verilator_command),
        "icarus": (build_icarus, _icarus_command),
    }
)


def _find_bench(bench: str | Path) -> Path:
    if isinstance(bench, Path):
        if not bench.is_file():
            raise PezoError(f"the bench {bench} must be a Python file, but does not exist")
        return bench.resolve()
    path = resources.sim_dir() / f"{bench}.py"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.py")))
        raise PezoError(f"the bench must be one of {known}, not {bench!r}")
    return path.resolve()


def _environment(script: Path, *, libpython: Path, simulator: str) -> dict[str, str]:
    """Return the environment in which a simulator starts cocotb."""
    # Settings of a surrounding cocotb or pytest would change what the run does.
    foreign = ("COCOTB_", "GPI_", "PYGPI_", "PEZO_", "PYTEST_", "COVERAGE", "VERILATOR_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    libraries = str(cocotb_tools.config.libs_dir)
    package = str(Path(pezo_hw.__file__).resolve().parent.parent)
    search = [str(script.parent), str(resources.sim_dir()), package]
    return kept | {
        "PYTHONPATH": os.pathsep.join([*search, *_given(kept, "PYTHONPATH")]),
        "LD_LIBRARY_PATH": os.pathsep.join([libraries, *_given(kept, "LD_LIBRARY_PATH")]),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{libpython};{cocotb_tools.config.pygpi_entry_point()}",
        "COCOTB_TEST_MODULES": script.stem,
        "TOPLEVEL_LANG": "verilog",
        # The kit writes away from clock edges and immediately, so nothing depends on how writes are
        # scheduled; this takes the cheaper way.
        "COCOTB_TRUST_INERTIAL_WRITES": "1" if simulator == "verilator" else "0",
        # Else cocotb imports pytest where it is installed, which takes longer than many runs.
        "COCOTB_REWRITE_ASSERTION_FILES": "",
        "COCOTB_ANSI_OUTPUT": "0",
    }


def _given(environment: Mapping[str, str], name: str) -> list[str]:
    return [environment[name]] if environment.get(name) else []


def _execute(
    command: list[str],
    place: Path,
    environment: dict[str, str],
    log: Path | None,
    timeout: float,
) -> str:
    """Run a simulation and say how it ended: empty if it ended well."""
    output = log.open("wb") if log else None
    try:
        with subprocess.Popen(
            command,
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
        ) as process:
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                return f"the simulation did not end within {timeout:g} s"
            except BaseException:
                process.kill()  # else an interrupted command leaves the simulator running
                raise
    finally:
        if output:
            output.close()
    if code < 0:
        return f"the simulator was ended by {signal.Signals(-code).name}"
    return f"the simulator ended with code {code}" if code else ""


def _problem(cases: tuple[Case, ...], ended: str, *, wanted: Sequence[str]) -> str:
    failed = [case for case in cases if case.status == "failed"]
    if failed:
        first = failed[0]
        count = f"{len(failed)} of {len(cases)} tests failed; the first, " if len(cases) > 1 else ""
        return f"{count}{first.name}: {first.message}"
    if ended:
        return ended
    passed = [case.name for case in cases if case.status == "passed"]
    if not passed:
        return "no test ran"
    missing = sorted(set(wanted) - set(passed))
    return f"these tests did not run: {', '.join(missing)}" if missing else ""


def _tail(log: Path, *, named: bool) -> str:
    if not log.is_file():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(["", f"last lines of {log}:" if named else "last lines:", *lines[-_TAIL:]])
