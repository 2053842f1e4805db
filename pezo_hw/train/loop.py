"""The training loop on a driver: steps, checkpoints, and going on after an interruption."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.driver import Backend, Description, Engine, State, save
from pezo_hw.errors import PezoError

from . import host
from .data import DataSet
from .mlp import Mlp

CHECKPOINT = "checkpoint.npz"
# Seconds between two checkpoints: what an interruption without notice costs.
_EVERY = 5.0
# Begins of the steps of different seeds: a number without a common factor with any period.
_SPREAD = 0x9E3779B1

# What a file with parts missing or changed gives.
_DAMAGES = (
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    OverflowError,
    TypeError,
    ValueError,
    zlib.error,
)


@dataclass(frozen=True)
class Plan:
    """What decides the weights of a run at each step, and so must stay the same when it goes on.

    Attributes
    ----------
    data : str
        Name of the data set.
    sizes : tuple of int
        Of the perceptron.
    batch : int
        Samples a step.
    rate : float
        Learning rate.
    seed : int
        Of initial weights, batches, start index and rounding.
    backend : str
        "golden" or "rtl": on the second every sweep is compared with the first.
    decay : int
        Steps over which the rate falls to 0, on a straight line; 0: it stays.
    """

    data: str
    sizes: tuple[int, ...]
    batch: int
    rate: float
    seed: int
    backend: str
    decay: int = 0

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step."""
        return self.rate * max(0.0, 1 - step / self.decay) if self.decay else self.rate


def batch_of(
    data: DataSet, step: int, *, seed: int, size: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return samples and labels of a step's batch, drawn with replacement.

    They depend on the seed and the number of the step alone, so that no state of a generator has to
    be kept.
    """
    chosen = np.random.default_rng([seed, step]).integers(0, len(data.train_y), size)
    return data.train_x[chosen], data.train_y[chosen]


class Trainer:
    """A training in fixed point.

    Parameters
    ----------
    plan : Plan
    backend : Backend
    data : DataSet
    place : Path, optional
        Folder for the checkpoint, which must exist. A run that is there is gone on with.

    Attributes
    ----------
    engine : Engine
    losses : list of float
        Mean of the losses of both sides, by step.

    Raises
    ------
    PezoError
        If the folder holds a run of another plan.
    """

    def __init__(self, plan: Plan, backend: Backend, data: DataSet, *, place: Path | None = None):
        self.plan, self.data = plan, data
        self.model = Mlp(plan.sizes)
        self._arithmetic = backend.description.arithmetic
        self._path = place / CHECKPOINT if place is not None else None
        self.losses: list[float] = []
        # What others want to keep beside the state.
        self.extra: dict[str, Any] = {}
        if self._path is not None and self._path.exists():
            self.engine = self._resume(self._path, backend)
        else:
            self.engine = Engine(
                backend,
                self._initial(backend.description),
                start=plan.seed * _SPREAD,
                seed=plan.seed,
            )

    def _initial(self, description: Description) -> NDArray[np.int64]:
        """Return the first weights, with padding that lets steps begin at every group."""
        count = self.model.parameters
        beats = description.spread_beats(count)
        more = 0 if beats == description.beats(count) else beats * description.lanes - count
        weights = host.to_fixed(
            self.model.initial(seed=self.plan.seed), arithmetic=self._arithmetic
        )
        return np.pad(weights, (0, more))

    def _real(self, weights: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of the model as real numbers, without padding.

        In double precision, as matrix sums are then exact for inputs with few bits, such as the
        digits, and do not depend on the order in which a processor's BLAS adds. Its exp and log may
        still differ in their last bits; rounding the coefficient absorbs that in nearly all steps.
        Rounding the losses first would not help: they cross a border of a coarser grid more rarely,
        but then by more.
        """
        real = host.to_float(weights[: self.model.parameters], arithmetic=self._arithmetic)
        return real.astype(np.float64)

    @property
    def done(self) -> int:
        """Steps so far."""
        return len(self.engine.log)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The stored weights as real numbers."""
        return self._real(self.engine.weights)

    @property
    def test_accuracy(self) -> float:
        """Share of the test samples that are classified right."""
        return self.model.accuracy(self.weights, self.data.test_x, self.data.test_y)

    @property
    def test_loss(self) -> float:
        """Mean cross entropy of the test samples, in nats."""
        return self.model.loss(self.weights, self.data.test_x, self.data.test_y)

    @property
    def initial_loss(self) -> float:
        """As `test_loss`, of the weights before the first step."""
        initial = self._real(self.engine.initial)
        return self.model.loss(initial, self.data.test_x, self.data.test_y)

    @property
    def sha256(self) -> str:
        """Digest of the model's weights as they lie in memory."""
        weights = self.engine.weights[: self.model.parameters]
        data = weights.astype(f"<i{self._arithmetic.weight_bits // 8}").tobytes()
        return hashlib.sha256(data).hexdigest()

    def run(
        self,
        steps: int,
        *,
        stopped: Callable[[], bool] = lambda: False,
        report: Callable[[Trainer], None] = lambda _: None,
    ) -> bool:
        """Go on until `steps` steps are done.

        Parameters
        ----------
        steps : int
            Of the whole run, those that a checkpoint brought included.
        stopped : callable
            Asked between two steps; if true the run ends there.
        report : callable
            Called after each step.

        Returns
        -------
        bool
            Whether all steps are done. The checkpoint is written in either case.

        Raises
        ------
        PezoError
            If the run has more steps already.
        """
        if self.done > steps:
            raise PezoError(
                f"{self._path} holds a run of {self.done} steps, but only {steps} are asked for; "
                "ask for more, or choose another folder"
            )
        saved = time.monotonic()
        while self.done < steps and not stopped():
            self._step()
            report(self)
            if time.monotonic() - saved > _EVERY:
                self.save()
                saved = time.monotonic()
        # Not after an error: the weights may be those of the middle of a step.
        self.save()
        return self.done == steps

    def save(self) -> None:
        """Write the checkpoint, if there is a folder for it."""
        if self._path is not None:
            extra = {"plan": self._identity, "extra": self.extra}
            save(self.engine, self._path, extra=extra, arrays={"losses": np.array(self.losses)})

    def _step(self) -> None:
        x, y = batch_of(self.data, self.done, seed=self.plan.seed, size=self.plan.batch)
        plus, minus = (self.model.loss(self._real(side), x, y) for side in self.engine.sides())
        self.engine.step(plus, minus, lr=self.plan.rate_at(self.done))
        self.losses.append((plus + minus) / 2)

    @property
    def _identity(self) -> dict[str, Any]:
        return {**asdict(self.plan), "sizes": list(self.plan.sizes)}

    def _resume(self, path: Path, backend: Backend) -> Engine:
        try:
            return self._resumed(path, backend)
        except _DAMAGES as error:
            raise PezoError(
                f"{path}: must be a whole checkpoint, but reading it gives "
                f"{type(error).__name__}; choose another folder"
            ) from None

    def _resumed(self, path: Path, backend: Backend) -> Engine:
        state = State.read(path)
        plan: dict[str, Any] = state.extra.get("plan", {})
        for key, value in self._identity.items():
            if plan.get(key) != value:
                raise PezoError(
                    f"{path} holds a run with {key} = {plan.get(key)}, not {value}; "
                    "choose another folder"
                )
        losses, extra = state.extra_arrays["losses"], dict(state.extra["extra"])
        steps = len(state.log.indices)
        expected = self._initial(backend.description).shape
        for name, found, shape in (
            ("losses", losses, (steps,)),
            ("coefficients", state.arrays["coefficients"], (steps,)),
            ("weights", state.arrays["weights"], expected),
            ("initial", state.arrays["initial"], expected),
        ):
            if found.shape != shape:
                raise PezoError(
                    f"{path}: {name} of a checkpoint must have shape {shape}, not {found.shape}; "
                    "choose another folder"
                )
        engine = state.engine(backend)
        self.losses, self.extra = losses.astype(np.float64).tolist(), extra
        return engine
