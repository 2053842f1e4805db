"""Zeroth-order steps on a backend: the calls that a training program makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import number, real, whole
from pezo_hw.errors import PezoError
from pezo_hw.golden.tensors import Tensor
from pezo_hw.train import host

from . import arguments
from .log import PASSES, Log, dither_seed
from .sweep import Backend, Outcome, Sweep


class Engine:
    """Stored weights and the sweeps over them.

    A step with any schedule::

        plus, minus = (loss(weights) for weights in engine.sides())
        engine.step(plus, minus, lr=3e-3)

    or, sweep by sweep: `perturb`, `perturb`, `restore_update` in place; `inline`, `inline`,
    `update` where the stored weights stay.

    Parameters
    ----------
    backend : Backend
        What carries out the sweeps.
    weights : ndarray of int, shape (d,)
        Initial weights, in LSBs.
    start : int
        Group, or seed, that the first step begins with.
    seed : int
        Of the stochastic rounding.
    table : sequence of Tensor
        How the core treats each tensor, see `layout`; none: all weights alike.

    Raises
    ------
    PezoError
        For anything that the core cannot take; so do all calls, and change nothing then.

    Attributes
    ----------
    weights : ndarray of int64, shape (d,)
        The stored weights, as they are now.
    initial : ndarray of int64, shape (d,)
        The weights that the log begins with.
    index : int
        Where the current step begins.
    displacement : int
        Multiple of the perturbation that the stored weights carry at the moment.
    saturations : int
        Weights limited so far, in all outputs of all sweeps.
    transfers : int
        Times that each weight was read from or written to memory so far, with the reads of forward
        passes over stored weights that `sides` yields.
    log : Log
        Finished steps.
    passes : list of int
        Of the step under way: k of its in-place sweeps.
    pass_limited : bool
        Whether one of these limited a weight, so that they are part of the weights.
    """

    def __init__(
        self,
        backend: Backend,
        weights: NDArray[np.integer],
        *,
        start: int = 0,
        seed: int = 0,
        table: Sequence[Tensor] = (),
    ):
        self.backend = backend
        self.description = backend.description
        seed = whole("seed", seed)
        given = arguments.weights(weights, description=self.description)
        self.weights: NDArray[np.int64] = given.astype(np.int64)
        self.table = arguments.table(table, description=self.description, weights=len(given))
        self.index = whole("start", start) % self.description.period
        # All is checked: from here on the backend is another engine's no more.
        backend.load_table(self.table)
        self.initial = self.weights.copy()
        self.saturations = 0
        self.transfers = 0
        self.displacement = 0
        self.log = Log(seed=seed, passes=PASSES.get(self.description.schedule, (0,)))
        self.passes: list[int] = []
        self.pass_limited = False
        # Both sides of the step under way, where the sweep of the step before gave them.
        self._sides: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self.start(self.index)

    @property
    def beats(self) -> int:
        """Beats of a sweep."""
        return self.description.beats(len(self.weights))

    @property
    def limited(self) -> int:
        """Steps whose coefficient was as large as its port, maybe less than the losses asked for.

        Many of them mean that the rate does not fit ``zo.coefficient_shift``.
        """
        most = (1 << (self.description.arithmetic.coefficient_bits - 1)) - 1
        return sum(abs(coefficient) >= most for coefficient in self.log.coefficients)

    def start(self, index: int) -> None:
        """Choose the group, or the seed, that the next step begins with.

        Raises
        ------
        PezoError
            In the middle of a step: the perturbation on the weights could not be taken back.
        """
        self._between_steps("start")
        index = whole("start", index) % self.description.period
        self.backend.start(index)
        self._sides = None
        if index != self.index:
            # Sweeps of the step under way began elsewhere, which the log has no place for. Where
            # they limited no weight they took each other back, and can be forgotten.
            if self.pass_limited:
                self.log.exact = False
            self.passes, self.pass_limited = [], False
        self.index = index

    def perturb(self, k: int = 1) -> NDArray[np.int64]:
        """Add k times the perturbation to the stored weights, and return them."""
        self._sweep(Sweep(k=k))
        self.displacement += int(k)
        return self.weights

    def inline(self, k: int = 1) -> NDArray[np.int64]:
        """Return the weights with k times the perturbation; the stored ones stay."""
        return self._sweep(Sweep(kind="inline", k=k)).outputs["plus"]

    def inline_both(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the weights plus and minus the perturbation; the stored ones stay.

        In a core with the fused schedule the second source goes on to the next step.
        """
        fused = self.description.schedule == "fused"
        if fused and self._sides is not None:
            return self._sides
        both = self._sweep(Sweep(kind="inline-both", k=1, capture_b=fused)).outputs
        sides = both["plus"], both["minus"]
        if fused:
            self._sides = sides
        return sides

    def update(self, coefficient: int) -> None:
        """Subtract the update from the stored weights, which must be unperturbed; end the step.

        Parameters
        ----------
        coefficient : int
            C.
        """
        self._between_steps("update")
        self.restore_update(coefficient)

    def restore_update(self, coefficient: int) -> None:
        """Take the perturbation back and subtract the update in one sweep; end the step."""
        if not -2 <= self.displacement <= 2:
            raise PezoError(
                "restore_update takes back at most twice the perturbation, but the weights carry "
                f"{self.displacement} times; perturb back first"
            )
        seed = dither_seed(self.log.seed, len(self.log))
        sweep = Sweep(k=-self.displacement, coefficient=coefficient, dither_seed=seed, capture=True)
        self._sweep(sweep)
        self._end_step(coefficient)
        if self.description.schedule == "fused":
            # The second source is where it was, or a step ahead: both begin anew together.
            self.start(self.index)

    def sides(self) -> Iterator[NDArray[np.int64]]:
        """Yield the weights plus, then minus the perturbation, as the core's schedule does it.

        With the schedule "in-place" these are the stored weights themselves.
        """
        schedule = self.description.schedule
        if schedule == "in-place":
            for side in (1, -1):
                side_weights = self.perturb(side - self.displacement)
                self.transfers += 1
                yield side_weights
        elif schedule == "inline":
            for side in (1, -1):
                yield self.inline(side)
        else:
            yield from self.inline_both()

    def step(self, loss_plus: float, loss_minus: float, lr: float) -> int:
        """Update the weights by the two losses and end the step.

        Parameters
        ----------
        loss_plus, loss_minus : float
            Of the weights plus and minus the perturbation, on the same data.
        lr : float
            Learning rate, 0 or more, of perturbations with a mean square of 1; in ZOQO eta.

        Returns
        -------
        int
            C, the coefficient that was used.
        """
        coefficient = host.coefficient_of(
            number("loss_plus", loss_plus),
            number("loss_minus", loss_minus),
            rate=real("lr", lr, positive=False, example="3e-3"),
            description=self.description,
        )
        if self.description.schedule != "fused" or self.displacement:
            self.restore_update(coefficient)
            return coefficient
        if self._sides is None:
            # The second source must be a step ahead of the first.
            self.inline_both()
        seed = dither_seed(self.log.seed, len(self.log))
        sweep = Sweep("fused", 0, coefficient, dither_seed=seed, capture=True, capture_b=True)
        given = self._sweep(sweep).outputs
        self._end_step(coefficient)
        self._sides = given["plus"], given["minus"]
        return coefficient

    def close(self) -> None:
        """Give the backend back."""
        self.backend.close()

    def _sweep(self, command: Sweep) -> Outcome:
        # Here as well, as not all backends look.
        command = arguments.command(command, description=self.description)
        outcome = self.backend.sweep(command, self.weights)
        self.saturations += outcome.saturations
        self.transfers += 1 + ("weights" in outcome.outputs)
        if "weights" in outcome.outputs:
            self.weights = outcome.outputs["weights"]
            self.passes.append(command.k)
            self.pass_limited |= outcome.saturations > 0
        return outcome

    def _end_step(self, coefficient: int) -> None:
        self.log.append(self.index, int(coefficient), passes=tuple(self.passes))
        self.index = self.description.after(self.index, beats=self.beats)
        self.displacement = 0
        self.passes, self.pass_limited, self._sides = [], False, None

    def _between_steps(self, what: str) -> None:
        if self.displacement:
            raise PezoError(
                f"{what} needs unperturbed weights, but they carry {self.displacement} times the "
                "perturbation; perturb back first, or use restore_update"
            )
