"""The first steps of a training, kept beside its results.

A whole training takes too long for a test. From the log of its first steps the weights come again
without computing a loss, so a kept log tells in no time whether a model still gives what it gave
when the results were recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.driver import Backend, Log, replay
from pezo_hw.errors import CheckFailed

from .loop import Trainer

STEPS = 20


def record(trainer: Trainer) -> dict[str, Any]:
    """Return the first steps of a training, and the weights behind them.

    Parameters
    ----------
    trainer : Trainer
        Between two steps; its backend is used.
    """
    engine = trainer.engine
    log = engine.log
    first = Log(log.seed, log.passes, log.indices[:STEPS], log.coefficients[:STEPS])
    weights = replay(first, engine.initial, backend=engine.backend)
    engine.backend.start(engine.index)
    return {
        "seed": first.seed,
        "passes": list(first.passes),
        "indices": first.indices,
        "coefficients": first.coefficients,
        "initial_sha256": _digest(engine.initial),
        "weights_sha256": _digest(weights),
    }


def check(kept: Mapping[str, Any], initial: NDArray[np.int64], *, backend: Backend) -> None:
    """Do the kept steps again, without computing a loss.

    Parameters
    ----------
    kept : mapping
        Of `record`.
    initial : ndarray of int64, shape (d,)
        The weights that the training begins with today.
    backend : Backend
        Of the configuration that was trained.

    Raises
    ------
    CheckFailed
        If the weights are others.
    """
    log = Log(kept["seed"], tuple(kept["passes"]), kept["indices"], kept["coefficients"])
    for name, weights in (
        ("initial", initial),
        ("weights", replay(log, initial, backend=backend)),
    ):
        wanted, found = kept[f"{name}_sha256"], _digest(weights)
        if found != wanted:
            raise CheckFailed(
                f"{name} of the kept training must have the SHA-256 {wanted}, not {found}"
            )


def _digest(weights: NDArray[np.int64]) -> str:
    return hashlib.sha256(weights.astype("<i8").tobytes()).hexdigest()
