"""How much is simulated, and what a run of a bench is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Effort:
    """How much is simulated.

    Attributes
    ----------
    groups : int
        Most groups of the period of a perturbation core that are compared one after the other.
    wraps : int
        Times that a pool is gone through; a bank is gone through once.
    commands : int
        Clocks of random commands.
    reach : int
        Longest walk to a start index, in clocks.
    beats : int
        Beats of the step core's long sweep.
    steps : int
        Training steps of random length, each some sweeps.
    """

    groups: int = 70_000
    wraps: int = 3
    commands: int = 8_000
    reach: int = 70_000
    beats: int = 10_000
    steps: int = 6


#: Short enough for a wave file that can be read.
SHORT = Effort(groups=100, commands=400, reach=100, beats=50, steps=2)


@dataclass(frozen=True)
class Plan:
    """What one run of a bench is given.

    Attributes
    ----------
    bench : str
    tests : tuple of str
        Tests of the bench, in order.
    parameters : dict
    arrays : dict of str to ndarray
    period : int
        K of the source, groups.
    """

    bench: str
    tests: tuple[str, ...]
    parameters: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    period: int
