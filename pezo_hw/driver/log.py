"""The log of a run: a few bytes a step, from which the weights can be built again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import shown
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
        k of the in-place sweeps of a step; the last one updates as well.
    indices, coefficients : list of int
        Start index and C, by step.
    exact : bool
        False once sweeps that limited a weight were left by another start: what they did cannot be
        told from the log.
    others : dict of int to tuple of int
        Steps, from 0, that had other sweeps than `passes`: at the ends of the range of a weight
        these give other weights.
    """

    seed: int
    passes: tuple[int, ...] = (0,)
    indices: list[int] = field(default_factory=list)
    coefficients: list[int] = field(default_factory=list)
    exact: bool = True
    others: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.indices)

    def append(
        self, index: int, coefficient: int, *, passes: tuple[int, ...] | None = None
    ) -> None:
        """Add a step; `passes` are its own sweeps."""
        if passes is not None and passes != self.passes:
            self.others[len(self)] = passes
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
        If the log is not exact or not whole, or the core cannot take weights or table.
    """
    _check(log)
    description = backend.description
    theta = arguments.weights(weights, description=description).astype(np.int64)
    table = arguments.table(table, description=description, weights=len(theta))
    # All is checked: from here on the backend is changed.
    backend.load_table(table)
    beats = description.beats(len(theta))
    place: int | None = None
    for step, (index, coefficient, seed) in enumerate(log.entries()):
        # A start may take K clocks, and most steps begin where the one before ended.
        if index != place:
            backend.start(index)
        passes = log.others.get(step, log.passes)
        for k in passes[:-1]:
            theta = backend.sweep(Sweep(k=k), theta).outputs["weights"]
        last = Sweep(k=passes[-1], coefficient=coefficient, dither_seed=seed, capture=True)
        theta = backend.sweep(last, theta).outputs["weights"]
        place = description.after(index, beats=beats)
    return theta


def _check(log: Any) -> None:
    """Raise PezoError for what cannot be replayed."""
    if not isinstance(log, Log):
        raise PezoError(f"a log to replay must be a Log, not {shown(log)}; use Engine.log")
    if not log.exact:
        raise PezoError(
            "a log to replay must hold all sweeps, but misses some that limited a weight; end the "
            "step that they belong to before Engine.start, or replay from a later state"
        )
    if len(log.indices) != len(log.coefficients):
        raise PezoError(
            "a log to replay must have an index and a coefficient for each step, not "
            f"{len(log.indices)} and {len(log.coefficients)}; use Engine.log as it is"
        )
    if not log.passes or not all(log.others.values()):
        raise PezoError(
            "passes of a log to replay must be at least one, the one with the update, but there "
            "is a step with none; use Engine.log as it is"
        )
