"""Checks of what an optimiser is given at run time: states to load, losses, closures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pezo_hw.arguments import shown
from pezo_hw.errors import PezoError


def is_copy(values: Any, size: int) -> bool:
    """Tell whether a state's copy of so many weights is one, or none."""
    if values is None:
        return True
    return isinstance(values, np.ndarray) and values.dtype == np.float32 and values.shape == (size,)


def groups_of(state: Mapping[str, Any], *, count: int, names: Sequence[str]) -> list[Any]:
    """Return the parameter groups of a state to load, or refuse those of another optimiser."""
    groups = part(state, "param_groups")
    if not isinstance(groups, Sequence) or len(groups) != count:
        has = len(groups) if isinstance(groups, Sequence) else "none"
        raise PezoError(f"a state to load must have {count} parameter groups, not {has}")
    for group in groups:
        for name in names:
            part(group, name)
    return list(groups)


def same(given: Any, own: Any) -> bool:
    """Tell whether two values of states are equal, of whatever type they are."""
    try:
        return bool(given == own)
    except (RuntimeError, ValueError):  # arrays and tensors do not compare to one truth
        return False


def part(state: Any, name: str) -> Any:
    """Return a part of a state, or refuse a state without it."""
    if not isinstance(state, Mapping) or name not in state:
        raise PezoError(f"a state to load must have {name}, but has none")
    return state[name]


def finite(value: Any) -> float:
    """Return a loss, or refuse what is none."""
    try:
        loss = float(value)
    except (OverflowError, RuntimeError, TypeError, ValueError):  # the second is torch's
        raise PezoError(
            f"a loss must be one number, not {shown(value)}; return the mean of the batch"
        ) from None
    if not math.isfinite(loss):
        raise PezoError(
            f"a loss must be a finite number, not {loss}; use a smaller learning rate or eps"
        )
    return loss


def callable_of(closure: Any) -> Callable[[], float]:
    """Return what computes the loss, or refuse what cannot be called."""
    if not callable(closure):
        raise PezoError(
            f"a step must get a function that returns the loss, not {shown(closure)}; write e.g. "
            "step(lambda: loss(model))"
        )
    return closure
