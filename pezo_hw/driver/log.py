"""The log of a run: a few bytes a step, from which the weights can be built again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError
from pezo_hw.golden.tensors import Tensor

from . import arguments
from .sweep import Backend, Sweep

PASSES = {"in-place": (1, -2, 1)}
"""In-place sweeps of a step by schedule: their k, the last with the update; default (0,)."""

_MASK = (1 << 32) - 1


def dither_seed(seed: int, step: int) -> int:
    """Return the dither's seed of a step, so that no log needs to hold it.

    The finaliser of MurmurHash3 (a bijection of 32 bits) over a Weyl sequence: seeds of successive
    steps differ in all bits, as a difference in few bits would stay one in the dither, which is
    linear.
    """
    value = (seed + step * 0x9E3779B9) & _MASK
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    return value ^ value >> 16


@dataclass
class Log:
    """Where each step began and what it multiplied with.

    Attributes
    ----------
    seed : int
        Base of the dither's seeds, see `dither_seed`.
    passes : tuple of int
        k of the in-place sweeps of every step; the last one updates as well.
    indices, coefficients : list of int
        Start index and C, by step.
    exact : bool
        False once a step saturated and had other sweeps than `passes`: what such a step did cannot
        be told from the log.
    """

    seed: int
    passes: tuple[int, ...] = (0,)
    indices: list[int] = field(default_factory=list)
    coefficients: list[int] = field(default_factory=list)
    exact: bool = True

    def __len__(self) -> int:
        return len(self.indices)

    def append(self, index: int, coefficient: int) -> None:
        """Add a step."""
        self.indices.append(index)
        self.coefficients.append(coefficient)

    def entries(self) -> Iterator[tuple[int, int, int]]:
        """Yield start index, C and the dither's seed, by step."""
        for step, (index, coefficient) in enumerate(
            zip(self.indices, self.coefficients, strict=True)
        ):
            yield index, coefficient, dither_seed(self.seed, step)


def replay(
    log: Log,
    weights: NDArray[np.integer],
    *,
    backend: Backend,
    table: Sequence[Tensor] = (),
) -> NDArray[np.int64]:
    """Return the weights at the end of a run, from the initial ones and the log.

    No loss is computed; all sweeps that change stored weights are done again, so the result is the
    same to the last bit even where weights saturated.

    Parameters
    ----------
    log : Log
    weights : ndarray of int, shape (d,)
        The initial weights, in LSBs.
    backend : Backend
        Of the same configuration.
    table : sequence of Tensor
        As in the run.

    Raises
    ------
    PezoError
        If the log is not exact, or the core cannot take weights or table.
    """
    if not log.exact:
        raise PezoError(
            "a log to replay must come from steps of one form, but a step with other sweeps "
            "saturated; use Engine.sides and Engine.step"
        )
    description = backend.description
    backend.load_table(table)
    theta = arguments.weights(weights, description=description).astype(np.int64)
    beats = description.beats(len(theta))
    place: int | None = None
    for index, coefficient, seed in log.entries():
        # A start may take K clocks, and most steps begin where the one before ended.
        if index != place:
            backend.start(index)
        for k in log.passes[:-1]:
            theta = backend.sweep(Sweep(k=k), theta).outputs["weights"]
        last = Sweep(k=log.passes[-1], coefficient=coefficient, dither_seed=seed, capture=True)
        theta = backend.sweep(last, theta).outputs["weights"]
        place = description.after(index, beats=beats)
    return theta
