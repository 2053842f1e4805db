"""Turning the memory model round: the largest model for a budget, and what fits a board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pezo_hw.errors import PezoError

from .methods import Options, check, usage
from .models import MODELS, Shape

# Units of `family` beyond which no budget is looked at.
_MOST_UNITS = 800


def family(units: int) -> Shape:
    """Return a model of the family that `largest` looks through: D = 64 units, L = D / 128.

    LLaMA-2 7B and 13B have these proportions.
    """
    return Shape(
        layers=max(1, units // 2),
        width=64 * units,
        heads=units,
        vocabulary=32_000,
        tied=False,
        positions=0,
    )


def largest(budget: float, options: Options) -> Shape | None:
    """Return the largest model of `family` that fits a budget of bytes; None if none does."""
    low, high = 0, _MOST_UNITS
    while low < high:
        middle = (low + high + 1) // 2
        shape = family(middle)
        # A model that is too small for the options is none of those that are too large.
        if not _possible(shape, options) or usage(shape, options).total <= budget:
            low = middle
        else:
            high = middle - 1
    return family(low) if low and _possible(family(low), options) else None


def largest_model(budget: float, options: Options) -> str | None:
    """Return the name of the largest public model that fits a budget of bytes."""
    fitting = [
        (shape.parameters, name)
        for name, shape in MODELS.items()
        if _possible(shape, options) and usage(shape, options).total <= budget
    ]
    return max(fitting)[1] if fitting else None


def _possible(shape: Shape, options: Options) -> bool:
    try:
        check(shape, options)
    except PezoError:
        return False
    return True


@dataclass(frozen=True)
class BoardMemory:
    """Bytes on a board.

    Attributes
    ----------
    bram, uram : int
        Block and ultra RAM of the device's logic.
    ddr : int
        All DRAM on the board.
    """

    bram: int
    uram: int
    ddr: int


_BRAM36, _URAM, _GIB = 36 * 1024 // 8, 288 * 1024 // 8, 1 << 30

BOARDS: Mapping[str, BoardMemory] = MappingProxyType(
    {
        # 4 GB at the processor and 512 MB at the logic: UG1182.
        "zcu102": BoardMemory(912 * _BRAM36, 0, 4 * _GIB + _GIB // 2),
        # 2 GB at the processor: UG1267.
        "zcu104": BoardMemory(312 * _BRAM36, 96 * _URAM, 2 * _GIB),
        # Kria K26, 4 GB at the processor: DS987.
        "kv260": BoardMemory(144 * _BRAM36, 64 * _URAM, 4 * _GIB),
    }
)
"""By board; device data: DS891."""


@dataclass(frozen=True)
class Fit:
    """Whether a memory holds something.

    Attributes
    ----------
    memory : str
        ``"BRAM"``, ``"URAM"``, ``"BRAM + URAM"`` or ``"DDR"``.
    capacity : int
    weights : bool
        The parameters alone fit.
    all : bool
        All that a step holds fits.
    """

    memory: str
    capacity: int
    weights: bool
    all: bool


def fits(board: str, shape: Shape, options: Options) -> list[Fit]:
    """Return which memories of a board hold a model, smallest first."""
    used, has = usage(shape, options), BOARDS[board]
    rows = {"BRAM": has.bram}
    if has.uram:
        rows |= {"URAM": has.uram, "BRAM + URAM": has.bram + has.uram}
    return [
        Fit(name, capacity, used.parameters <= capacity, used.total <= capacity)
        for name, capacity in (rows | {"DDR": has.ddr}).items()
    ]


def ratio(shape: Shape, options: Options, *, method: str) -> float:
    """Return how many times the bytes of `options` another method takes."""
    return usage(shape, replace(options, method=method)).total / usage(shape, options).total
