"""Parameter groups as the optimisers for NumPy and PyTorch both take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pezo_hw.arguments import shown
from pezo_hw.errors import PezoError

from .weights import Group
from .zo import Stepper

SETTINGS = ("lr", "strength", "word_bits", "frozen")
"""What a parameter group may set for itself."""


def settings_of(group: Mapping[str, Any], *, base: float = 0.0) -> Group:
    """Return the checked settings of a parameter group."""
    return Group(
        rate=group["lr"], base=base, **{name: group[name] for name in SETTINGS if name != "lr"}
    )


def follow(stepper: Stepper, param_groups: Sequence[Mapping[str, Any]]) -> None:
    """Take over what may change between two steps, which are the rates.

    Raises
    ------
    PezoError
        If something else was changed: a step that did not see it would be silently another one.
    """
    if len(param_groups) != len(stepper.groups):
        raise PezoError(
            f"an optimiser must keep its {len(stepper.groups)} parameter groups, not have "
            f"{len(param_groups)}; make a new one with all of them"
        )
    for own, given in zip(stepper.groups, param_groups, strict=True):
        for name in SETTINGS:
            if name not in given:
                raise PezoError(f"a parameter group must keep its {name}, but has none; set it")
            if name != "lr" and given[name] != getattr(own, name):
                raise PezoError(
                    f"{name} of a parameter group must stay {getattr(own, name)} once the "
                    f"optimiser is made, not become {shown(given[name])}; make a new optimiser"
                )
        own.rate = given["lr"]
