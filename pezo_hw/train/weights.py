"""Tensors of weights seen as rows, and what an optimiser can be told about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import flag, one_of, real, whole
from pezo_hw.errors import PezoError

from .sources import Floats

VARIANTS = ("in-place", "replay")
RULES = ("sgd", "sign", "zoqo")
LAYOUTS = ("flat", "tensors")
MOST_STRENGTH = 3
MOST_QUERIES = 1 << 16
"""More would be a typing error, and a step without an end."""


Copy = NDArray[np.floating[Any]]
"""A second copy of weights at rest: float64 for weights in it, else float32."""


class Slot(Protocol):
    """A tensor of weights, seen as a row."""

    @property
    def size(self) -> int:
        """Number of weights."""

    @property
    def narrow(self) -> bool:
        """Whether the weights have fewer bits than their second copy."""

    def copy(self) -> Copy:
        """Return a second copy of all weights, which loses nothing, shape (size,)."""

    def holds(self, values: Copy) -> bool:
        """Tell whether the weights are these, rounded to the weights' type."""

    def add(self, begin: int, change: Floats) -> None:
        """Add to the weights from `begin` on."""

    def read(self) -> Floats:
        """Return a copy of all weights, shape (size,)."""

    def write(self, begin: int, values: Copy) -> None:
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
        self.narrow = False

    def add(self, begin: int, change: Floats) -> None:
        """Add to the weights from `begin` on."""
        part = self._flat[begin : begin + len(change)]
        np.add(part, change, out=part)

    def read(self) -> Floats:
        """Return a copy of all weights."""
        return self._flat.copy()

    def copy(self) -> Copy:
        """Return a second copy of all weights."""
        return self._flat.copy()

    def holds(self, values: Copy) -> bool:
        """Tell whether the weights are these."""
        return np.array_equal(self._flat, values)

    def write(self, begin: int, values: Copy) -> None:
        """Set the weights from `begin` on."""
        self._flat[begin : begin + len(values)] = values


def check_apart(spans: Iterable[tuple[str, int, int]]) -> None:
    """Refuse parameters that share memory, which a step would change twice.

    Parameters
    ----------
    spans : iterable of (str, int, int)
        Name, first address, and the address behind the last.
    """
    last = ("", 0, 0)
    for span in sorted((span for span in spans if span[1] < span[2]), key=lambda one: one[1:]):
        if span[1] < last[2]:
            first, second = sorted((last[0], span[0]))
            raise PezoError(
                f"parameters must not share memory, but {first} and {second} (group.place) do; "
                "give each weight once"
            )
        last = span


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

    def check_rate(self) -> None:
        """Refuse a rate that no step can be made with; 0 is where a schedule may end."""
        self.rate = real("lr", self.rate, positive=False, example="1e-4")

    def check(self) -> None:
        """Refuse values that no step can be made with."""
        self.check_rate()
        self.base = real("base of lr", self.base, positive=False, example="0")
        self.strength = whole(
            "strength",
            self.strength,
            least=0,
            most=MOST_STRENGTH,
            hint="; perturbation and update are 2^strength times as large",
        )
        self.word_bits = whole("word_bits", self.word_bits, least=0, hint="; 0 takes all bits")
        self.frozen = flag("frozen", self.frozen)


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
        plain = {
            "epsilon": real("eps", self.epsilon, positive=True, example="1e-3"),
            "queries": whole("queries", self.queries, least=1, most=MOST_QUERIES),
            "rule": one_of("rule", self.rule, RULES),
            "variant": one_of("variant", self.variant, VARIANTS),
            "layout": one_of("layout", self.layout, LAYOUTS),
            "fold": flag("fold", self.fold),
            "bits": whole("bits", self.bits, least=2, most=16),
        }
        # A log must be able to write them, which it cannot for numbers of NumPy.
        for name, value in plain.items():
            object.__setattr__(self, name, value)
