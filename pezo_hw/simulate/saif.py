"""Run exported RTL in Verilator on recorded inputs, and write its switching activity: SAIF."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pezo_hw import tools
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.simulate.build import UNOPTIMISED, build_runtime, one_unit
from pezo_hw.simulate.cache import Cache, digest
from pezo_hw.simulate.design import Design

__all__ = ["Stimulus", "read", "record"]

_VERILATOR_FLAGS = (
    *("-cc", "--prefix", "Vtop", "-Wno-lint", "-Wno-fatal", "--timescale", "1ps/1ps"),
    # Without a limit of the width, so that the state of a wide generator is in the file.
    *("--trace-saif", "--trace-max-width", "0"),
)
# -O0: what is compiled runs for some hundred clocks.
_CXX_FLAGS = (
    *("-std=c++17", "-O0", "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0"),
    *("-DVM_TRACE=1", "-DVM_TRACE_SAIF=1"),
)

_TOGGLES = re.compile(r"\(TC (\d+)\)")

_MAIN = """\
#include "Vtop.h"
#include "verilated_saif_c.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

static FILE* file;
template <typename T> void take(T& value) {
  if (fread(&value, sizeof(T), 1, file) != 1) exit(3);
}
template <typename T> bool differs(const T& port) {
  T wanted;
  take(wanted);
  return memcmp(&port, &wanted, sizeof(T)) != 0;
}

// Recording, SAIF file, first clock of the window, last clock of all, half a period.
int main(int argc, char** argv) {
  if (argc != 6 || !(file = fopen(argv[1], "rb"))) return 3;
  const long first = atol(argv[3]), last = atol(argv[4]), half = atol(argv[5]);
  VerilatedContext context;
  context.traceEverOn(true);
  Vtop top{&context, "TOP"};
  VerilatedSaifC saif;
  top.trace(&saif, 99);
  for (long clock = 0;; ++clock) {
    const uint64_t time = 2 * uint64_t(clock - first) * uint64_t(half);
    top.aclk = 0;
@inputs@
    top.eval();
    bool wrong = false;
@outputs@
    if (clock >= first && wrong) {
      printf("%ld\\n", clock - first);
      return 1;
    }
    if (clock == first) saif.open(argv[2]);
    if (clock >= first) saif.dump(time);
    if (clock == last) break;
    top.aclk = 1;
    top.eval();
    if (clock >= first) saif.dump(time + uint64_t(half));
  }
  saif.close();
  return 0;
}
"""


@dataclass(frozen=True, eq=False)
class Stimulus:
    """What happens at the ports of a design, clock by clock.

    Attributes
    ----------
    inputs, outputs : dict of str to ndarray of uint8, shape (clocks, width)
        Bits by port, least significant first, as they are before a rising edge; without ``aclk``.
    first : int
        First clock of the window that counts, which lasts to the end.
    """

    inputs: Mapping[str, NDArray[np.uint8]]
    outputs: Mapping[str, NDArray[np.uint8]]
    first: int

    @property
    def clocks(self) -> int:
        """Clocks from the reset to the end."""
        return len(next(iter(self.inputs.values())))


def record(
    design: Design, stimulus: Stimulus, *, period_ps: int, path: Path, cache: Cache | None = None
) -> None:
    """Write the SAIF file of a window.

    Parameters
    ----------
    design : Design
        Its RTL is what runs.
    stimulus : Stimulus
        The inputs, and the outputs that must come in the window.
    period_ps : int
        Clock period in ps, to which the times in the file refer; even.
    path : Path
        The file to write.
    cache : Cache, optional
        Where compiled simulations are kept. Default: the user's cache folder.

    Raises
    ------
    CheckFailed
        If an output of the RTL differs in the window.
    PezoError
        If a tool is missing or fails.
    """
    binary = _build(design, stimulus, cache=cache or Cache())
    with tempfile.TemporaryDirectory(prefix="pezo-saif-") as name:
        recording = Path(name, "recording")
        recording.write_bytes(_recording(stimulus))

        def window(last: int) -> list[str]:
            result = Path(name, "result")
            result.unlink(missing_ok=True)
            numbers = (stimulus.first, last, period_ps // 2)
            command = [str(binary), str(recording), str(result), *map(str, numbers)]
            done = _run(command, cwd=Path(name))
            if done.returncode == 1:
                raise CheckFailed(
                    f"the RTL of {design.top} must do what its netlist does, but differs in clock "
                    f"{done.stdout.strip()} of the window"
                )
            if done.returncode or not result.is_file():
                raise PezoError(
                    f"the simulation of {design.top} ended with code {done.returncode} "
                    "and without a SAIF file"
                )
            return result.read_text().splitlines()

        text = _corrected(window(stimulus.clocks - 1), window(stimulus.first))
    path.write_text(text, encoding="utf-8")


def _corrected(window: list[str], first: list[str]) -> str:
    """Return a SAIF file without the toggles that a window begins with.

    Verilator takes every bit for 0 before its first value, and counts a toggle where that is 1. A
    file of the first moment alone holds just these toggles.
    """

    def line(text: str, before: str) -> str:
        found, extra = _TOGGLES.search(text), _TOGGLES.search(before)
        if not found or not extra:
            return text
        return f"{text[: found.start(1)]}{int(found[1]) - int(extra[1])}{text[found.end(1) :]}"

    return "".join(f"{line(*pair)}\n" for pair in zip(window, first, strict=True))


def read(path: Path) -> dict[tuple[str, ...], int]:
    """Return how often each bit of a SAIF file toggled.

    Parameters
    ----------
    path : Path
        A file of `record`.

    Returns
    -------
    dict of tuple of str to int
        By scopes and name, such as ``("TOP", "tiny", "core", "state[3]")``.
    """
    scopes: list[str] = []
    found: dict[tuple[str, ...], int] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if opened := re.fullmatch(r"\(INSTANCE (\S+)", text):
            scopes.append(opened[1])
        elif text == "(NET":
            scopes.append("")
        elif text == ")" and scopes:
            scopes.pop()
        elif net := re.fullmatch(r"\((\S+) .*\(TC (\d+)\)\)", text):
            name = net[1].replace("\\", "")
            found[(*filter(None, scopes), name)] = int(net[2])
    return found


def _build(design: Design, stimulus: Stimulus, *, cache: Cache) -> Path:
    verilator = tools.verilator()
    compiler = str(tools.require("g++")["g++"])
    runtime = build_runtime(cache=cache)
    main = _MAIN.replace(
        "@inputs@", "\n".join(f"    take(top.{name});" for name in stimulus.inputs)
    ).replace("@outputs@", "\n".join(f"    wrong |= differs(top.{n});" for n in stimulus.outputs))

    def make(folder: Path) -> Path:
        command = [*verilator.command, *_VERILATOR_FLAGS, "-Mdir", str(folder / "cpp")]
        command += ["--top-module", design.top, *map(str, (*design.waivers, *design.sources))]
        done = _run(command, cwd=folder, environment=verilator.environment())
        if done.returncode:
            raise PezoError(f"Verilator must compile {design.top}, but says: {_first(done.stderr)}")
        (folder / "main.cpp").write_text(main)
        # The writer first, as it specialises templates that the others use.
        writer = verilator.include / "verilated_saif_c.cpp"
        unit = folder / "all.cpp"
        unit.write_text(one_unit(folder / "cpp", folder / "main.cpp", first=[writer]))
        binary = folder / "simulation"
        include = [f"-I{verilator.include}", f"-I{verilator.include / 'vltstd'}"]
        command = [compiler, *_CXX_FLAGS, *include, f"-I{folder / 'cpp'}", "-o", str(binary)]
        done = _run([*command, str(unit), str(runtime), "-lpthread"], cwd=folder)
        if done.returncode:
            raise PezoError(
                f"the C++ compiler must compile Verilator's output, but says: {_first(done.stderr)}"
            )
        return binary

    contents = [
        part
        for file in (*design.waivers, *design.sources)
        for part in (file.name, file.read_bytes())
    ]
    identity = _run([compiler, "-dumpfullversion", "-dumpmachine"], cwd=Path("/")).stdout
    key = (
        "saif",
        verilator.version,
        identity,
        *_VERILATOR_FLAGS,
        *_CXX_FLAGS,
        UNOPTIMISED,
        main,
        design.top,
    )
    return cache.get(digest((*key, *contents)), make)


def _recording(stimulus: Stimulus) -> bytes:
    """Return all ports of all clocks as Verilator keeps them in memory."""
    columns = [_packed(bits) for bits in (*stimulus.inputs.values(), *stimulus.outputs.values())]
    return np.hstack(columns).tobytes()


def _packed(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    width = bits.shape[1]
    # 8, 16, 32 or 64 bits, or words of 32 for what is wider.
    size = next((n for n in (1, 2, 4, 8) if width <= 8 * n), -(-width // 32) * 4)
    packed = np.packbits(bits, axis=1, bitorder="little")
    return np.pad(packed, ((0, 0), (0, size - packed.shape[1])))


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "rror" in line), lines[0] if lines else "no message")


def _run(
    command: list[str], *, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
