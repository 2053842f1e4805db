"""One description of a training, and the ways to carry it out: in floating point or fixed point."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from pezo_hw.arguments import whole
from pezo_hw.errors import Interrupted, PezoError

from . import hardware
from .log import check_new

if TYPE_CHECKING:
    from pezo_hw.config import Config

METHODS = (
    "bp",
    "mezo",
    "pre-generated",
    "on-the-fly",
    "rademacher",
    "uniform",
    "zoqo",
)
"""How weights are trained: back-propagation, or zeroth-order steps with a kind of perturbation."""

PATHS: Mapping[str, str] = MappingProxyType(
    {
        "numpy": "pezo_hw.train.path_numpy:run",
        "torch": "pezo_hw.train.path_torch:run",
        "golden": "pezo_hw.train.path_fixed:run_golden",
        "rtl": "pezo_hw.train.path_fixed:run_rtl",
    }
)
"""Who carries a training out, by name; a new path is a line here."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to train, and how.

    Attributes
    ----------
    data : str
        A name of `pezo_hw.train.data.DATA_SETS`, or ``KIND:PATH``.
    model : str or None
        None: the path's default.
    method : str
        One of `METHODS`.
    config : Config or None
        What a fixed-point path runs; a floating-point path takes its source instead of the one
        that the method names.
    steps, batch : int
    seeds : tuple of int
        One training each: of the initial weights, the batches and where the perturbations start.
    rate, epsilon : float or None
        None: the method's default.
    decay : int or None
        Steps over which the rate falls to 0, for the fixed-point paths; None: it stays.
    lora : int or None
        Rank of adapters; None: all weights are trained.
    bits : int or None
        Bits of the weights, for zoqo.
    log : Path or None
        Where a training log is written; with several seeds, the seed is added to its name.
    output : Path or None
        Folder with a checkpoint and curves, for the paths that have them.
    """

    data: str = "digits"
    model: str | None = None
    method: str = "on-the-fly"
    config: Config | None = None
    steps: int = 400
    seeds: tuple[int, ...] = (0,)
    batch: int = 64
    rate: float | None = None
    epsilon: float | None = None
    decay: int | None = None
    lora: int | None = None
    bits: int | None = None
    log: Path | None = None
    output: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; a configuration by the name of its core."""
        return asdict(self) | {
            "config": None if self.config is None else self.config.core.name,
            "log": None if self.log is None else str(self.log),
            "output": None if self.output is None else str(self.output),
        }


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a training with one seed gave.

    Attributes
    ----------
    seed, steps : int
    parameters : int
        Weights that were trained.
    loss_before, loss_after : float
        On the test samples, in nats.
    accuracy : float
        On the test samples, at the end.
    seconds : float
        Of the steps alone.
    details : dict
        What only some paths have.
    """

    seed: int
    steps: int
    parameters: int
    loss_before: float
    loss_after: float
    accuracy: float
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


Say: TypeAlias = Callable[[str], None]
_Way: TypeAlias = Callable[..., list[Run]]


def run(path: str, request: Request, *, say: Say) -> list[Run]:
    """Carry out a request.

    Parameters
    ----------
    path : str
        A name of `PATHS`.
    request : Request
    say : callable
        Gets a line of progress.

    Raises
    ------
    PezoError
        If the request cannot be carried out, or not by this path.
    """
    if path not in PATHS:
        raise PezoError(f"the way to train must be {_listed(PATHS)}, not {path!r}")
    check(request)
    module, _, name = PATHS[path].partition(":")
    function: _Way = getattr(importlib.import_module(module), name)
    return function(request, say=say)


def check(request: Request) -> None:
    """Raise PezoError for values that no path can use."""
    # A configuration may have a source that no method has.
    known = METHODS if request.config is None else (*METHODS, *hardware.SOURCES)
    if request.method not in known:
        raise PezoError(f"the method must be {_listed(METHODS)}, not {request.method!r}")
    for what, value in (("steps", request.steps), ("batch", request.batch)):
        if value < 1:
            raise PezoError(f"{what} must be at least 1, not {value}")
    for what, real in (("rate", request.rate), ("epsilon", request.epsilon)):
        if real is not None and not 0 < real < float("inf"):
            raise PezoError(f"{what} must be a positive number, not {real}")
    if not request.seeds:
        raise PezoError("seeds must name at least one seed, such as 0,1,2")
    if len(set(request.seeds)) != len(request.seeds) or min(request.seeds) < 0:
        raise PezoError(f"seeds must be different and not negative, not {request.seeds}")
    for seed in request.seeds:
        # Before hours of training, of which a log may be all that is left.
        if (path := log_path(request, seed)) is not None:
            check_new(path)
    if request.lora is not None:
        whole("the rank of adapters", request.lora, least=1)
    if request.bits is not None and request.method != "zoqo":
        raise PezoError("bits are an option of the method zoqo; leave them out or take zoqo")


def log_path(request: Request, seed: int) -> Path | None:
    """Return where the log of a seed goes."""
    path = request.log
    if path is None or len(request.seeds) == 1:
        return path
    return path.with_name(f"{path.stem}-{seed}{path.suffix}")


def check_going(request: Request, seed: int, done: int, *, stopped: bool) -> None:
    """Raise Interrupted after a step in floating point if the user asked for it."""
    if not stopped or done == request.steps:
        return
    path = log_path(request, seed)
    kept = "nothing is kept without --log" if path is None else f"they are in {path}"
    raise Interrupted(f"seed {seed} did {done} of {request.steps} steps; {kept}")


def summary(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Return mean and standard deviation over the seeds, 0 for a single one."""
    names = ("loss_before", "loss_after", "accuracy", "seconds")
    columns = {name: [float(getattr(run, name)) for run in runs] for name in names}
    return {
        "mean": {name: fmean(values) for name, values in columns.items()},
        "std": {
            name: stdev(values) if len(values) > 1 else 0.0 for name, values in columns.items()
        },
    }


def _listed(names: Sequence[str] | Mapping[str, str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"
