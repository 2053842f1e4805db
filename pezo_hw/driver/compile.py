"""Compile a generated folder and the harness to a shared library.

Beside `pezo_hw.simulate.build`, which makes simulations that cocotb runs: this one has no VPI, and
no Python per clock.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from pezo_hw import tools
from pezo_hw.errors import PezoError
from pezo_hw.simulate.build import UNOPTIMISED, one_unit
from pezo_hw.simulate.cache import Cache, digest
from pezo_hw.simulate.design import MANIFEST, Design

HARNESS = Path(__file__).with_name("harness.cpp")

_VERILATOR_FLAGS = (
    *("-cc", "--prefix", "Vtop", "-Wno-lint", "-Wno-fatal", "--timescale", "1ns/1ps"),
    *("--x-assign", "unique", "--x-initial", "unique"),
)
# -O1 takes half of the time of -O2 and gives most of its speed.
_CXX_FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0"),
    *("-DVM_TIMING=0", "-DVM_TRACE=0"),
)
_RUNTIME = ("verilated", "verilated_threads")


def library(
    folder: Path | str,
    *,
    cache: Cache | None = None,
    progress: Callable[[str], object] | None = None,
) -> Path:
    """Return the shared library of a generated folder, compiled unless it is in the cache.

    Parameters
    ----------
    folder : Path or str
        Of a step core with ``control.interface = "axi-lite"``.
    cache : Cache, optional
        Default: that of the user.
    progress : callable, optional
        Called with a line of text if something has to be compiled.

    Raises
    ------
    PezoError
        If the core has no registers, a tool is missing, or a compiler fails.
    """
    cache = cache or Cache()
    design = Design.read(Path(folder))
    manifest = json.loads((design.folder / MANIFEST).read_text(encoding="utf-8"))
    ports = {port["name"]: port["width"] for port in manifest["ports"]}
    if "s_axi_awaddr" not in ports:
        raise PezoError(
            f'{folder} must hold a core with control.interface = "axi-lite" to be driven; '
            "generate it so"
        )
    defines = (
        f"-DPEZO_BEAT={ports['s_axis_tdata'] // 8}",
        f"-DPEZO_PLUS={int('m_axis_plus_tdata' in ports)}",
        f"-DPEZO_MINUS={int('m_axis_minus_tdata' in ports)}",
    )
    verilator = tools.verilator()
    compiler = str(tools.require("g++")["g++"])
    identity = _run([compiler, "-dumpfullversion", "-dumpmachine"], cwd=Path("/"))
    includes = [f"-I{verilator.include}", f"-I{verilator.include / 'vltstd'}"]
    common = ("verilator", verilator.version, identity, *_CXX_FLAGS, *_RUNTIME)

    def make_runtime(place: Path) -> Path:
        unit, result = place / "runtime.cpp", place / "runtime.o"
        unit.write_text("".join(f'#include "{name}.cpp"\n' for name in _RUNTIME))
        _run([compiler, *_CXX_FLAGS, *includes, "-c", str(unit), "-o", str(result)], cwd=place)
        return result

    def make_library(place: Path) -> Path:
        if progress is not None:
            progress("compiling the core for simulation; it is kept for the next time")
        files = ["--top-module", design.top, *map(str, (*design.waivers, *design.sources))]
        command = [*verilator.command, *_VERILATOR_FLAGS, "-Mdir", str(place / "cpp"), *files]
        _run(command, cwd=place, environment=verilator.environment())
        unit, result = place / "all.cpp", place / "library.so"
        unit.write_text(one_unit(place / "cpp", HARNESS))
        command = [compiler, *_CXX_FLAGS, *defines, *includes, f"-I{place / 'cpp'}", "-shared"]
        _run(
            [*command, "-o", str(result), str(unit), str(runtime), "-lpthread"],
            cwd=place,
        )
        return result

    runtime = cache.get(digest(("library-runtime", *common)), make_runtime)
    contents = [(f.name, f.read_bytes()) for f in (*design.waivers, *design.sources, HARNESS)]
    parts = [part for pair in contents for part in pair]
    key = digest(("library", *common, UNOPTIMISED, *_VERILATOR_FLAGS, *defines, design.top, *parts))
    return cache.get(key, make_library)


def _run(command: list[str], *, cwd: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "rror" in line), "no message")
        raise PezoError(f"{Path(command[0]).name} must compile the core, but says: {first.strip()}")
    return done.stdout
