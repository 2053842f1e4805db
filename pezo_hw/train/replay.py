"""From a base model and a log to the trained weights, without a single forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pezo_hw.arguments import whole
from pezo_hw.errors import PezoError

from . import log as logs
from .sources import Floats
from .weights import ArraySlot, Slot


def replay(
    log: logs.Log | Path | str, base: Mapping[str, Floats], *, steps: int | None = None
) -> dict[str, Floats]:
    """Return the weights after the logged steps.

    They equal the trained ones to the last bit: the same sweeps are done on the same numbers, and
    on a grid (zoqo) all of it is integers.

    Parameters
    ----------
    log : Log, Path or str
    base : mapping of str to ndarray
        The weights that the training began with, by the names in the log. They stay as they are.
    steps : int, optional
        Stop after so many; by default all that were logged.

    Raises
    ------
    PezoError
        If the log cannot be read, or weights are missing or not those that it began with.
    """
    if not isinstance(log, logs.Log):
        log = logs.read(Path(log))
    missing = [name for name in log.names if name not in base]
    if missing:
        raise PezoError(
            f"the base model must have the tensor {missing[0]!r} of the log; it has none"
        )
    weights = {name: logs.array_of(base[name]) for name in log.names}
    apply(log, [ArraySlot(weights[name]) for name in log.names], steps=steps)
    return weights


def apply(log: logs.Log, slots: Sequence[Slot], *, steps: int | None = None) -> None:
    """Do the logged steps on weights where they lie."""
    queries = log.options.queries
    done = len(log.starts) // queries
    if steps is not None:
        done = min(done, whole("steps", steps, least=0))
    stepper = log.stepper(slots)
    for step in range(done):
        chosen = slice(step * queries, (step + 1) * queries)
        stepper.apply(log.starts[chosen], log.scalars[chosen])
