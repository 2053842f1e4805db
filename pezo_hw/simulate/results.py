"""What a simulation gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Case:
    """One test of a bench.

    Attributes
    ----------
    name : str
        Name of the test function.
    status : str
        "passed", "failed" or "skipped".
    seconds : float
        How long it took.
    message : str
        Why it failed or was skipped; empty for one that passed.
    """

    name: str
    status: str
    seconds: float
    message: str = ""


@dataclass(frozen=True)
class Result:
    """A simulation that passed.

    Attributes
    ----------
    simulator : str
        "verilator" or "icarus".
    bench : str
        Name of the bench.
    cases : tuple of Case
        The tests of the bench, in the order in which they ran.
    data : mapping
        What the bench reported with `Bench.report`.
    arrays : mapping of str to ndarray
        What the bench stored with `Bench.save`.
    build_seconds, run_seconds : float
        Time taken; building is nearly free where the cache holds the design.
    log : Path or None
        The simulator's log, where the run's folder was kept.
    waves : Path or None
        The wave file, a VCD, if waves were asked for.
    """

    simulator: str
    bench: str
    cases: tuple[Case, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    build_seconds: float = 0.0
    run_seconds: float = 0.0
    log: Path | None = None
    waves: Path | None = None

    @property
    def tests(self) -> int:
        """Number of tests that ran and passed."""
        return sum(case.status == "passed" for case in self.cases)


def read_cases(path: Path) -> tuple[Case, ...]:
    """Read cocotb's results.

    Parameters
    ----------
    path : Path
        An xUnit file, as cocotb writes it.

    Returns
    -------
    tuple of Case
        Empty if the file is missing or damaged: the simulator died before its end.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return ()
    return tuple(_case(element) for element in root.iter("testcase"))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read an .npz file whole; without the file there are no arrays."""
    if not path.is_file():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def _case(element: ElementTree.Element) -> Case:
    status, message = "passed", ""
    for tag, name in (("skipped", "skipped"), ("failure", "failed"), ("error", "failed")):
        found = element.find(tag)
        if found is not None:
            kind = found.get("type", "")
            text = found.get("message") or found.text or ""
            # An assertion's own words say it all; of anything else the kind is part of the story.
            prefix = "" if kind in ("", "AssertionError") else f"{kind}: "
            status, message = name, prefix + text.strip()
    return Case(
        name=element.get("name", ""),
        status=status,
        seconds=float(element.get("time", "0")),
        message=message,
    )
