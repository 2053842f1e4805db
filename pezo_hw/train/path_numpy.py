"""Training in floating point with numpy alone: perceptrons and linear classifiers."""

from __future__ import annotations

import contextlib
import time

import numpy as np

from pezo_hw.errors import PezoError

from . import backprop, data
from .data import DataSet
from .interruption import until_interrupted
from .log import LogWriter
from .methods import Plan, plan
from .mlp import Mlp
from .numpy import ZO, names_of
from .paths import Request, Run, Say, check_going, log_path

HIDDEN = 32
MODELS = ("mlp", "linear")


def model_of(name: str | None, samples: DataSet) -> Mlp:
    """Return a model by name, for a data set's features and classes."""
    if name in (None, "mlp"):
        return Mlp((samples.features, HIDDEN, samples.classes))
    if name == "linear":
        return Mlp((samples.features, samples.classes))
    raise PezoError(
        f"the model must be {' or '.join(MODELS)} with numpy, not {name!r}; "
        "others need --backend torch"
    )


def run(request: Request, *, say: Say) -> list[Run]:
    """Train once for each seed; see `pezo_hw.train.paths`."""
    if request.lora is not None:
        raise PezoError("adapters need the models of torch; add --backend torch")
    asked = plan(request)
    return [_one(request, asked, seed, say=say) for seed in request.seeds]


# What a model that diverges computes is told once, by the loss.
@np.errstate(over="ignore", invalid="ignore")
def _one(request: Request, asked: Plan, seed: int, *, say: Say) -> Run:
    samples = data.load(request.data, seed=seed)
    model = model_of(request.model, samples)
    weights = model.initial(seed=seed)
    before = model.loss(weights, samples.test_x, samples.test_y)
    seconds = train(model, weights, samples, request, asked, seed=seed, say=say)
    return Run(
        seed=seed,
        steps=request.steps,
        parameters=model.parameters,
        loss_before=before,
        loss_after=model.loss(weights, samples.test_x, samples.test_y),
        accuracy=model.accuracy(weights, samples.test_x, samples.test_y),
        seconds=seconds,
    )


def train(
    model: Mlp,
    weights: np.ndarray,
    samples: DataSet,
    request: Request,
    asked: Plan,
    *,
    seed: int,
    say: Say,
) -> float:
    """Train weights in place; return the seconds that the steps took."""
    rng = np.random.default_rng([seed, 1])
    count = len(samples.train_y)
    descent = optimiser = None
    if request.method == "bp":
        descent = backprop.Sgd(weights, lr=asked.rate)
    else:
        optimiser = ZO(
            weights,
            source=asked.source,
            lr=asked.rate,
            eps=asked.epsilon,
            rule=asked.rule,
            fold=asked.fold,
            bits=asked.bits,
            seed=seed,
        )
    said = began = time.monotonic()
    with contextlib.ExitStack() as stack:
        path = log_path(request, seed)
        if optimiser is not None and path is not None:
            names = names_of(optimiser.param_groups)
            stack.enter_context(LogWriter(path, optimiser.stepper, names=names))
        stopped = stack.enter_context(until_interrupted())
        for step in range(request.steps):
            chosen = rng.integers(0, count, request.batch)
            x, y = samples.train_x[chosen], samples.train_y[chosen]
            if descent is not None:
                loss, slope = backprop.gradient(model, weights, x, y)
                descent.step(slope)
            else:
                assert optimiser is not None
                loss = optimiser.step(lambda x=x, y=y: model.loss(weights, x, y))  # type: ignore[misc]
            check_going(request, seed, step + 1, stopped=stopped())
            if time.monotonic() - said > 1:
                said = time.monotonic()
                say(f"seed {seed}: step {step + 1} of {request.steps}, loss {loss:.4f}")
    return time.monotonic() - began
