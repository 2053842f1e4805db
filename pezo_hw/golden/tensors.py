"""The table of tensors: how the sweep treats each stretch of the weights.

A tensor begins at a beat; whoever lays the weights out pads the last beat of each tensor. The sweep
runs over the tensors in order, and every beat consumes a group whatever the settings, so the stream
of perturbations does not depend on the table.

::

    u_t = high word_bits bits of u, the s = b - word_bits low bits read as 1 0..0
    x_t = u_t 2^(e + strength)                     in place of u 2^e
    C_t = C >> coefficient_exponent
    k_t = C_t = 0 if frozen
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import flag, whole

MOST = 64
"""Entries that a table can have."""

MAX_STRENGTH = 3
MAX_EXPONENT = 7


@dataclass(frozen=True)
class Tensor:
    """An entry of the table.

    Attributes
    ----------
    beats : int
        Length, 1 to 2^32 - 1.
    strength : int
        The perturbation, and with it the update, is times 2^strength, 0 to 3.
    word_bits : int
        High bits of the word that are used, 1 to 15; 0, or b and more: all of them.
    frozen : bool
        The weights stay as they are.
    coefficient_exponent : int
        The update is times 2^-coefficient_exponent, 0 to 7.

    Raises
    ------
    PezoError
        If the table cannot hold it.
    """

    beats: int
    strength: int = 0
    word_bits: int = 0
    frozen: bool = False
    coefficient_exponent: int = 0

    def __post_init__(self) -> None:
        ranges = {
            "beats": (1, (1 << 32) - 1),
            "strength": (0, MAX_STRENGTH),
            "word_bits": (0, 15),
            "coefficient_exponent": (0, MAX_EXPONENT),
        }
        for name, (low, high) in ranges.items():
            value = whole(f"{name} of a tensor", getattr(self, name), least=low, most=high)
            # A plain number: others write it as JSON.
            object.__setattr__(self, name, value)
        object.__setattr__(self, "frozen", flag("frozen of a tensor", self.frozen))

    @property
    def settings(self) -> int:
        """The settings as the word that is written into the table."""
        return (
            self.strength
            | self.word_bits << 4
            | int(self.frozen) << 8
            | self.coefficient_exponent << 12
        )

    @classmethod
    def of(cls, beats: int, settings: int) -> Tensor:
        """Return the entry of the two words of the table; other bits of `settings` are ignored."""
        return cls(
            beats=beats,
            strength=settings & 3,
            word_bits=settings >> 4 & 15,
            frozen=bool(settings >> 8 & 1),
            coefficient_exponent=settings >> 12 & 7,
        )


@dataclass(frozen=True)
class Settings:
    """The settings of each beat of a sweep.

    Attributes
    ----------
    strength, word_bits, coefficient_exponent : ndarray of int64, shape (B, 1)
    live : ndarray of int64, shape (B, 1)
        0 where frozen, else 1.
    """

    strength: NDArray[np.int64]
    word_bits: NDArray[np.int64]
    coefficient_exponent: NDArray[np.int64]
    live: NDArray[np.int64]

    @classmethod
    def of(cls, table: Sequence[Tensor], *, beats: int) -> Settings:
        """Spread a table over the beats of a sweep.

        Raises
        ------
        ValueError
            If the table's tensors do not add up to `beats`, or there are too many.
        """
        if len(table) > MOST:
            raise ValueError(f"a table has at most {MOST} tensors, not {len(table)}")
        lengths = [tensor.beats for tensor in table]
        if sum(lengths) != beats:
            raise ValueError(
                f"the tensors of the table must add up to {beats} beats, not {sum(lengths)}"
            )

        def spread(values: list[int]) -> NDArray[np.int64]:
            return np.repeat(np.array(values, dtype=np.int64), lengths)[:, None]

        return cls(
            strength=spread([tensor.strength for tensor in table]),
            word_bits=spread([tensor.word_bits for tensor in table]),
            coefficient_exponent=spread([tensor.coefficient_exponent for tensor in table]),
            live=spread([int(not tensor.frozen) for tensor in table]),
        )

    def words(
        self, scaled: NDArray[np.integer], *, bits: int, exponents: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return x_t = u_t 2^(e + strength) for scaled words u 2^e, shape (B, W).

        Parameters
        ----------
        scaled : ndarray of int, shape (B, W)
        bits : int
            b.
        exponents : ndarray of int64, shape (B,)
            e of each group.
        """
        some = (self.word_bits > 0) & (self.word_bits < bits)
        # The lowest bit that is used; below it stands half of it.
        place = np.where(some, bits - self.word_bits + exponents[:, None], 0)
        value = scaled.astype(np.int64)
        half = np.where(some, 1 << np.maximum(place - 1, 0), 0)
        return (value >> place << place | half) << self.strength
