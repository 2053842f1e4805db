"""Kinds of sweeps: what leaves on which output, and which schedule has which."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

KINDS: tuple[str, ...] = ("in-place", "inline", "inline-both", "fused")
"""The kinds of sweeps; the position is the code on the `kind` port."""

OUTPUTS: tuple[str, ...] = ("weights", "plus", "minus")
"""The output streams that there can be, in the order of the ports."""

USED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "in-place": ("weights",),
        "inline": ("plus",),
        "inline-both": ("plus", "minus"),
        "fused": ("weights", "plus", "minus"),
    }
)
"""The outputs that a kind of sweep uses; the others stay silent."""

OFFERED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {schedule: KINDS[: code + 1] for code, schedule in enumerate(KINDS)}
)
"""The kinds of sweeps that the core of each ``zo.schedule`` has: its own and those before it."""


def outputs_of(schedule: str) -> tuple[str, ...]:
    """Return the outputs that the core of a schedule has, in the order of `OUTPUTS`."""
    used = {name for kind in OFFERED[schedule] for name in USED[kind]}
    return tuple(name for name in OUTPUTS if name in used)
