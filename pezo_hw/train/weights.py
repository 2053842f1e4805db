"""Tensors of weights seen as rows, and what an optimiser can be told about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pezo_hw.errors import PezoError

from .sources import Floats

VARIANTS = ("in-place", "replay")
RULES = ("sgd", "sign", "zoqo")
LAYOUTS = ("flat", "tensors")
MOST_STRENGTH = 3


class Slot(Protocol):
    """A tensor of weights, seen as a row."""

    @property
    def size(self) -> int:
        """Number of weights."""

    def add(self, begin: int, change: Floats) -> None:
        """Add to the weights from `begin` on."""

    def read(self) -> Floats:
        """Return a copy of all weights, shape (size,)."""

    def write(self, begin: int, values: Floats) -> None:
        """Set the weights from `begin` on."""


class ArraySlot:
    """Weights in an array of float32 in memory, changed where they lie.

    Parameters
    ----------
    array : ndarray of float32, C-contiguous, writable
    """

    def __init__(self, array: Floats):
        self._flat = array.reshape(-1)
        self.size = self._flat.size

    def add(self, begin: int, change: Floats) -> None:
        """Add to the weights from `begin` on."""
        part = self._flat[begin : begin + len(change)]
        np.add(part, change, out=part)

    def read(self) -> Floats:
        """Return a copy of all weights."""
        return self._flat.copy()

    def write(self, begin: int, values: Floats) -> None:
        """Set the weights from `begin` on."""
        self._flat[begin : begin + len(values)] = values


@dataclass
class Group:
    """Settings that some tensors share; those of a core's tensor table, and the rate.

    Attributes
    ----------
    rate : float
        eta, now; a schedule may change it.
    base : float
        eta that a log's scalars count from.
    strength : int
        Perturbation and update are 2^strength times as large, 0 to 3.
    word_bits : int
        Use the high bits of each word only; 0: all.
    frozen : bool
        Neither perturbed nor updated. Its positions are passed over, so z does not depend on it.
    """

    rate: float
    base: float = 0.0
    strength: int = 0
    word_bits: int = 0
    frozen: bool = False

    def __post_init__(self) -> None:
        self.check()
        self.base = self.base or self.rate or 1.0

    def check(self) -> None:
        """Refuse a rate that no step can be made with; 0 is where a schedule may end."""
        if not 0 <= self.rate < math.inf:
            raise PezoError(f"lr must be a finite number, 0 or more, not {self.rate}")


@dataclass(frozen=True)
class Options:
    """How steps are made.

    Attributes
    ----------
    epsilon : float
        eps.
    queries : int
        Directions whose updates are averaged, q.
    rule : str
        ``"sgd"``; ``"sign"``: eta sign(g) sign(z); ``"zoqo"``: weights stay on a grid.
    variant : str
        ``"in-place"``: perturbed where they lie and restored by the stream, as MeZO does, to the
        rounding of float32. ``"replay"``: both sides are made from a second copy, which only
        the update changes.
    layout : str
        ``"flat"``: tensors follow each other without a gap. ``"tensors"``: each begins with a new
        group, as a core with a tensor table has them.
    fold : bool
        Fold the source's factor in; without, z is used as the source delivers it.
    bits : int
        Of a weight on its grid (zoqo).
    """

    epsilon: float
    queries: int = 1
    rule: str = "sgd"
    variant: str = "in-place"
    layout: str = "flat"
    fold: bool = True
    bits: int = 8

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("rule", self.rule, RULES),
            ("variant", self.variant, VARIANTS),
            ("layout", self.layout, LAYOUTS),
        ):
            if value not in allowed:
                raise PezoError(f"{name} must be {' or '.join(allowed)}, not {value!r}")
        if not 0 < self.epsilon < math.inf:
            raise PezoError(f"eps must be a positive number, not {self.epsilon}")
        if self.queries < 1:
            raise PezoError(f"queries must be at least 1, not {self.queries}")
        if not 2 <= self.bits <= 16:
            raise PezoError(f"bits must be 2 to 16, not {self.bits}")
