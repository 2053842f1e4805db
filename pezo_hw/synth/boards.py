"""From the name of a board to what export and reports need to know of it.

A board is an Amaranth platform: a file in ``boards/``, a file of the user, or a class of
amaranth-boards. A board's file may say two things more than a platform does, as class attributes:
``capacity`` (dict of ``lut``, ``ff``, ``bram36``, ``dsp``) and ``target_clock_hz``.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import re
import runpy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.build.plat import Platform
from amaranth.build.res import ResourceError

from pezo_hw import resources
from pezo_hw.config import Config
from pezo_hw.errors import PezoError
from pezo_hw.synth import devices
from pezo_hw.synth.families import FAMILIES

__all__ = ["Board", "names", "of", "resolve"]

_CAPACITY_KEYS = ("lut", "ff", "bram36", "dsp")

# The module name of a board file while it runs; it tells the file's own classes from imported ones.
_BOARD_MODULE = "pezo_board"

# Beyond these a clock or a capacity is a typing error.
_SLOWEST_HZ, _FASTEST_HZ = 1e3, 1e10
_MOST_CELLS = 10**9

# For boards whose logic gets its clock from a processor, so that the platform has none.
_FALLBACK_CLOCK_HZ = 100e6

# Amaranth's name of a family to ours.
_FAMILY_NAMES = {
    "ultrascaleplus": "xcup",
    "ultrascale": "xcu",
    "series7": "xc7",
    "ecp5": "ecp5",
    "iCE40": "ice40",
}


@dataclass(frozen=True)
class Board:
    """A board, as far as synthesis and export care.

    Attributes
    ----------
    name : str
        What it was asked for by: ``"zcu102"``, ``"ulx3s_85f"``; a file's name without ``.py``.
    part : str
        Full part, as the vendor's tools take it.
    family : str
        Key of `pezo_hw.synth.families.FAMILIES`.
    vendor : str
        Who places and routes: ``"vivado"``, ``"trellis"`` or ``"icestorm"``.
    synth : str
        Yosys' synthesis command, without ``-top``.
    capacity : dict of str to float or None
        ``lut``, ``ff``, ``bram36`` (units of 36 kbit) and ``dsp`` of the device, None if unknown.
    clock_hz : float
        The clock to constrain for, in Hz: ``target_clock_hz`` of the board's file, else the
        platform's default clock, else 100 MHz.
    platform : type
        The Amaranth platform.
    """

    name: str
    part: str
    family: str
    vendor: str
    synth: str
    capacity: Mapping[str, float] | None = field(hash=False)
    clock_hz: float
    platform: type[Platform] = field(repr=False, compare=False)


def resolve(name: str, *, base: Path | None = None) -> Board:
    """Find a board.

    Parameters
    ----------
    name : str
        A file of ``boards/`` without ``.py``; a path that ends in ``.py``; or a class of
        amaranth-boards without ``Platform``, in any case, with or without underscores.
    base : Path, optional
        Where a relative path counts from; default: the current directory.

    Returns
    -------
    Board
        The board.

    Raises
    ------
    PezoError
        If there is no such board, its file is broken, or its devices cannot be synthesised for.
    """
    if name.endswith(".py"):
        path = (base or Path()) / Path(name).expanduser()
        return _describe(path.stem, _load_file(path), where=f"board file {path}")
    if name in resources.board_names():
        path = resources.boards_dir() / f"{name}.py"
        return _describe(name, _load_file(path), where=f"board file {path}")
    found = _amaranth_boards().get(_normal(name))
    if found is None:
        raise _unknown(name)
    module, class_name = found
    where = f"amaranth-boards platform {class_name}"
    try:
        platform = getattr(importlib.import_module(f"amaranth_boards.{module}"), class_name)
    except Exception as error:
        raise PezoError(f"{where} cannot be used: {_line(error)}") from error
    return _describe(name, platform, where=where)


def of(config: Config, *, where: str) -> Board:
    """Return the board of a configuration that `where` (a preset or file) names.

    Raises
    ------
    PezoError
        If there is no such board or its file is broken.
    """
    try:
        return resolve(config.board_reference)
    except PezoError as error:
        raise PezoError(f"{where}: {error}") from None


def names() -> list[str]:
    """Return the names that `resolve` knows: ``boards/`` first, then amaranth-boards, sorted."""
    own = resources.board_names()
    return own + sorted(_display(name) for _, name in _amaranth_boards().values())


def _normal(name: str) -> str:
    return re.sub(r"[_-]|platform$", "", name.lower().removesuffix("_platform"))


def _display(class_name: str) -> str:
    return re.sub(r"_?platform$", "", class_name, flags=re.IGNORECASE).lower()


def _amaranth_boards() -> dict[str, tuple[str, str]]:
    """Return module and class of every public platform of amaranth-boards, by normal name."""
    spec = importlib.util.find_spec("amaranth_boards")
    if spec is None or not spec.submodule_search_locations:
        return {}
    found = {}
    for path in sorted(Path(spec.submodule_search_locations[0]).glob("*.py")):
        # Reading is much faster than importing seventy modules, and cannot fail for want of one.
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.ClassDef)
                and node.name.endswith("Platform")
                and not node.name.startswith("_")
            ):
                found[_normal(node.name)] = (path.stem, node.name)
    return found


def _load_file(path: Path) -> type[Platform]:
    where = f"board file {path}"
    if not path.is_file():
        raise PezoError(f"{where} does not exist; give a path to a .py file, or a board's name")
    try:
        # Not an ordinary import: that would leave a __pycache__ beside the file.
        found = runpy.run_path(str(path), run_name=_BOARD_MODULE)
    # A board file may do anything, sys.exit() included.
    except (Exception, SystemExit) as error:
        raise PezoError(f"{where} is broken: {_line(error)}") from error
    return _only_platform(found, where=where)


def _only_platform(contents: Mapping[str, Any], *, where: str) -> type[Platform]:
    found = [
        value
        for name, value in contents.items()
        if isinstance(value, type)
        and issubclass(value, Platform)
        and value.__module__ == _BOARD_MODULE
        and not name.startswith("_")
    ]
    if len(found) != 1:
        have = ", ".join(value.__name__ for value in found) or "none"
        raise PezoError(
            f"{where} must define one public subclass of an Amaranth platform, but has {have}; "
            "start the name of a base class with an underscore"
        )
    return found[0]


def _describe(name: str, platform_class: type[Platform], *, where: str) -> Board:
    try:
        platform: Any = platform_class()
    except Exception as error:
        raise PezoError(f"{where} is broken: {_line(error)}") from error
    family_name = getattr(platform, "family", None) or _vendor_class(platform_class)
    family = FAMILIES.get(_FAMILY_NAMES.get(family_name, ""))
    if family is None:
        raise PezoError(
            f"{where} must have a device of a supported family "
            f"({', '.join(f.title for f in FAMILIES.values())}), not {family_name}"
        )
    return Board(
        name=name,
        part=family.part.format(
            device=platform.device,
            package=platform.package,
            speed=getattr(platform, "speed", ""),
        ),
        family=family.name,
        vendor=family.vendor,
        synth=family.synth,
        capacity=_capacity(platform, where=where),
        clock_hz=_clock(platform, where=where),
        platform=platform_class,
    )


def _capacity(platform: Any, *, where: str) -> dict[str, float] | None:
    given = getattr(platform, "capacity", None)
    if given is None:
        return devices.capacity(platform.device)
    if (
        not isinstance(given, Mapping)
        or set(given) != set(_CAPACITY_KEYS)
        or not all(isinstance(n, int | float) and 0 <= n <= _MOST_CELLS for n in given.values())
    ):
        raise PezoError(
            f"{where}: capacity must be a dict of numbers up to {_MOST_CELLS} for "
            f"{', '.join(_CAPACITY_KEYS)}, not {_short(given)}"
        )
    return {key: given[key] for key in _CAPACITY_KEYS}


def _clock(platform: Any, *, where: str) -> float:
    given = getattr(platform, "target_clock_hz", None)
    if given is None:
        try:
            given = platform.default_clk_frequency
        except (AttributeError, ResourceError):
            given = _FALLBACK_CLOCK_HZ
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise PezoError(f"{where}: target_clock_hz must be a number, not {_short(given)}")
    if not _SLOWEST_HZ <= given <= _FASTEST_HZ:
        raise PezoError(
            f"{where}: target_clock_hz must be within {_SLOWEST_HZ:g} and {_FASTEST_HZ:g} Hz, "
            f"not {_short(given)}"
        )
    return float(given)


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits to write
        text = f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _vendor_class(platform_class: type[Platform]) -> str:
    return next(
        (c.__name__ for c in platform_class.__mro__ if c.__module__.startswith("amaranth.vendor")),
        platform_class.__name__,
    )


def _unknown(name: str) -> PezoError:
    by_normal = {_normal(known): known for known in names()}
    close = difflib.get_close_matches(_normal(name), by_normal, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(by_normal[item] for item in close)}? " if close else ""
    return PezoError(
        f'core.board must be a known board, not "{name}"; {hint}known are '
        f"{', '.join(resources.board_names())}, the platforms of amaranth-boards "
        "(such as ulx3s_85f or arty_a7_35), and files whose path ends in .py"
    )


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
