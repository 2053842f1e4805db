"""Where tensors lie in the one row of weights that a sweep streams.

The rule: every tensor begins at a beat. What is left of its last beat is padding, zeros at first,
which the core changes as it does weights and which nobody reads. The last tensor needs none, as
TKEEP leaves out what is behind the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import whole
from pezo_hw.errors import PezoError
from pezo_hw.golden.tensors import Tensor

from .arguments import array_of


@dataclass(frozen=True)
class Layout:
    """Tensors, each at the begin of a beat.

    Attributes
    ----------
    sizes : tuple of int
        Weights of each tensor, at least 1.
    lanes : int
        P, weights of a beat.
    """

    sizes: tuple[int, ...]
    lanes: int

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, tuple) or not self.sizes:
            raise PezoError(f"a layout must have a tuple of sizes, not {self.sizes!r}")
        for size in self.sizes:
            whole("the size of a tensor in a layout", size, least=1)
        whole("lanes", self.lanes, least=1)

    @property
    def beats(self) -> tuple[int, ...]:
        """Beats of each tensor."""
        return tuple(-(-size // self.lanes) for size in self.sizes)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each tensor begins, in weights."""
        ends = np.cumsum(self.beats) * self.lanes
        return (0, *(int(end) for end in ends[:-1]))

    @property
    def length(self) -> int:
        """Weights with padding."""
        return self.offsets[-1] + self.sizes[-1]

    @property
    def padding(self) -> int:
        """Weights that are padding."""
        return self.length - sum(self.sizes)

    def pack(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weights of all tensors in a row, shape (d,), with padding, shape (length,)."""
        weights = array_of("weights to lay out", weights)
        if weights.shape != (sum(self.sizes),):
            raise PezoError(
                f"weights to lay out must have the shape ({sum(self.sizes)},), not {weights.shape}"
            )
        result = np.zeros(self.length, dtype=weights.dtype)
        result[self._places] = weights
        return result

    def unpack(self, packed: NDArray[Any]) -> NDArray[Any]:
        """Return the weights without padding; what `pack` was given."""
        packed = array_of("weights of this layout", packed)
        if packed.shape != (self.length,):
            raise PezoError(
                f"weights of this layout must have the shape ({self.length},), not {packed.shape}"
            )
        return packed[self._places]

    def table(self, settings: Sequence[dict[str, Any]] | None = None) -> tuple[Tensor, ...]:
        """Return the entries of the core's table.

        Parameters
        ----------
        settings : sequence of dict, optional
            Of each tensor: ``strength``, ``word_bits``, ``frozen``, ``coefficient_exponent``.
            Default: none has any.
        """
        chosen: Sequence[dict[str, Any]] = [{}] * len(self.sizes) if settings is None else settings
        if len(chosen) != len(self.sizes):
            raise PezoError(
                f"settings must be given for {len(self.sizes)} tensors, not {len(chosen)}"
            )
        try:
            return tuple(
                Tensor(beats=beats, **given)
                for beats, given in zip(self.beats, chosen, strict=True)
            )
        except TypeError as error:
            raise PezoError(f"settings of a tensor: {error}") from None

    @property
    def _places(self) -> NDArray[np.int64]:
        return np.concatenate(
            [
                np.arange(offset, offset + size)
                for offset, size in zip(self.offsets, self.sizes, strict=True)
            ]
        )
