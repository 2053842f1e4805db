"""Training in floating point with torch: perceptrons, CCT-2, adapters on their linear layers."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np

from pezo_hw.errors import PezoError

from . import data
from .data import DataSet
from .interruption import until_interrupted
from .methods import Plan, plan
from .paths import Request, Run, Say, check_going, log_path

try:
    import torch
except ModuleNotFoundError:
    raise PezoError(
        "training with torch needs the package torch, which is not installed; "
        "pip install 'pezo-hw[torch]'"
    ) from None

from . import cct, lora
from .torch import ZO

MODELS = ("mlp", "linear", "cct-2")
HIDDEN = 32
_TEST_BATCH = 250


def model_of(name: str | None, samples: DataSet, *, seed: int) -> Any:
    """Return a model by name with fresh weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name in (None, "mlp"):
            return torch.nn.Sequential(
                torch.nn.Linear(samples.features, HIDDEN),
                torch.nn.ReLU(),
                torch.nn.Linear(HIDDEN, samples.classes),
            )
        if name == "linear":
            return torch.nn.Sequential(torch.nn.Linear(samples.features, samples.classes))
        if name == "cct-2":
            if len(samples.shape) != 3 or samples.shape[1] != samples.shape[2]:
                raise PezoError(
                    f"the model cct-2 needs square images, and {samples.name} has none; take mlp"
                )
            channels, side, _ = samples.shape
            return cct.cct2(classes=samples.classes, channels=channels, side=side, seed=seed)
    raise PezoError(f"the model must be {', '.join(MODELS)} with torch, not {name!r}")


def shaped(name: str | None, x: Any, samples: DataSet) -> Any:
    """Return samples as a model of this name takes them: rows, or images."""
    tensor = torch.from_numpy(np.ascontiguousarray(x))
    return tensor.reshape(-1, *samples.shape) if name == "cct-2" else tensor


def run(request: Request, *, say: Say) -> list[Run]:
    """Train once for each seed; see `pezo_hw.train.paths`."""
    asked = plan(request)
    return [_one(request, asked, seed, say=say) for seed in request.seeds]


def _one(request: Request, asked: Plan, seed: int, *, say: Say) -> Run:
    samples = data.load(request.data, seed=seed)
    model = model_of(request.model, samples, seed=seed)
    if request.lora is not None:
        lora.adapt(model, rank=request.lora, seed=seed)
    trained = lora.trainable(model)
    test_x = shaped(request.model, samples.test_x, samples)
    test_y = torch.from_numpy(samples.test_y)
    before, _ = judge(model, test_x, test_y)
    seconds = train(model, trained, samples, request, asked, seed=seed, say=say)
    after, accuracy = judge(model, test_x, test_y)
    return Run(
        seed=seed,
        steps=request.steps,
        parameters=sum(tensor.numel() for _, tensor in trained),
        loss_before=before,
        loss_after=after,
        accuracy=accuracy,
        seconds=seconds,
        details={"parameters of the model": cct.parameters(model)},
    )


@torch.no_grad()
def judge(model: Any, x: Any, y: Any) -> tuple[float, float]:
    """Return mean cross entropy and accuracy."""
    model.eval()
    loss, right = 0.0, 0
    for begin in range(0, len(y), _TEST_BATCH):
        outputs = model(x[begin : begin + _TEST_BATCH])
        labels = y[begin : begin + _TEST_BATCH]
        loss += float(torch.nn.functional.cross_entropy(outputs, labels, reduction="sum"))
        right += int((outputs.argmax(dim=1) == labels).sum())
    return loss / len(y), right / len(y)


def train(
    model: Any,
    trained: list[tuple[str, Any]],
    samples: DataSet,
    request: Request,
    asked: Plan,
    *,
    seed: int,
    say: Say,
) -> float:
    """Train a model in place; return the seconds that the steps took."""
    model.eval()  # no dropout: both passes of a step must see the same model
    x = shaped(request.model, samples.train_x, samples)
    y = torch.from_numpy(samples.train_y)
    rng = np.random.default_rng([seed, 1])
    optimiser: Any
    if request.method == "bp":
        optimiser = torch.optim.SGD([tensor for _, tensor in trained], lr=asked.rate, momentum=0.9)
    else:
        optimiser = ZO(
            trained,
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
        if path is not None:
            stack.enter_context(optimiser.log(path))
        stopped = stack.enter_context(until_interrupted())
        for step in range(request.steps):
            chosen = torch.from_numpy(rng.integers(0, len(y), request.batch))
            batch_x, batch_y = x[chosen], y[chosen]

            def loss(batch_x: Any = batch_x, batch_y: Any = batch_y) -> Any:
                return torch.nn.functional.cross_entropy(model(batch_x), batch_y)

            if request.method == "bp":
                optimiser.zero_grad()
                value = loss()
                value.backward()
                optimiser.step()
            else:
                value = optimiser.step(loss)
            check_going(request, seed, step + 1, stopped=stopped())
            if time.monotonic() - said > 1:
                said = time.monotonic()
                say(f"seed {seed}: step {step + 1} of {request.steps}, loss {float(value):.4f}")
    return time.monotonic() - began
