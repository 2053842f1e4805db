"""Experiment 5: adapters against all weights, on a compact convolutional transformer (CCT-2).

CCT-2 is trained by back-propagation on clean digits and fine-tuned on shifted ones. Accuracy is
compared at equal steps and at equal time, and the memory of a step is measured tensor by tensor.
"""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import Any

import common
import numpy as np
import torch
from torch.nn import functional

from pezo_hw.memory.measured import Tracker
from pezo_hw.train import cct, data, lora
from pezo_hw.train.path_torch import judge
from pezo_hw.train.torch import ZO

NO_REUSE = ["reuse.lanes=32"]
METHODS: dict[str, dict[str, Any]] = {
    "MeZO Gaussian, all weights": {"source": "gaussian", "rank": 0},
    "MeZO Gaussian, LoRA 4": {"source": "gaussian", "rank": 4},
    "on the fly, all weights": {"source": "zcu102-onthefly", "set": NO_REUSE, "rank": 0},
    "on the fly, LoRA 4": {"source": "zcu102-onthefly", "set": NO_REUSE, "rank": 4},
    "back-propagation, all weights": {"source": "bp", "rank": 0},
    "MeZO Gaussian, LoRA 4, B = 0": {"source": "gaussian", "rank": 4, "start": "zero"},
    "back-propagation, LoRA 4": {"source": "bp", "rank": 4},
}
RATES = {0: (1e-4, 3e-4, 1e-3), 4: (1e-4, 3e-4, 1e-3)}
BP_RATES = (3e-3, 1e-2, 3e-2)
BATCH = 32
PARTS = 8


@functools.cache
def _task(seed: int) -> tuple[Any, Any, Any]:
    """Return shifted digits, the same with a validation part, and the pre-trained weights."""
    clean = data.digits(seed=seed)
    model = cct.cct2(channels=1, side=8, seed=seed)
    _descend(model, list(model.parameters()), clean, steps=300, rate=0.01, seed=seed)
    shifted = data.shifted(clean, seed=seed)
    held = replace(shifted, test_x=shifted.train_x[:300], test_y=shifted.train_y[:300])
    rest = replace(shifted, train_x=shifted.train_x[300:], train_y=shifted.train_y[300:])
    return rest, held, model.state_dict()


def _tensors(x: Any, y: Any) -> tuple[Any, Any]:
    return torch.from_numpy(np.ascontiguousarray(x)).reshape(-1, 1, 8, 8), torch.from_numpy(y)


def _descend(
    model: Any, weights: list[Any], samples: Any, *, steps: int, rate: float, seed: int
) -> None:
    x, y = _tensors(samples.train_x, samples.train_y)
    rng = np.random.default_rng([seed, 3])
    optimiser = torch.optim.SGD(weights, lr=rate, momentum=0.9)
    for _ in range(steps):
        chosen = torch.from_numpy(rng.integers(0, len(y), BATCH))
        optimiser.zero_grad()
        functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
        optimiser.step()


def run(trial: common.Trial) -> common.Outcome:
    """Fine-tune; return accuracy after each eighth of the steps, with the time it took."""
    torch.set_num_threads(1)
    samples, held, weights = _task(trial["seed"])
    model = cct.cct2(channels=1, side=8, seed=0)
    model.load_state_dict(weights)
    test = _tensors(samples.test_x, samples.test_y)
    before = judge(model, *test)[1]
    if trial["rank"]:
        lora.adapt(
            model,
            "blocks.*",
            rank=trial["rank"],
            start=trial.get("start", "balanced"),
            seed=trial["seed"],
        )
    trained = [tensor for _, tensor in lora.trainable(model)]
    x, y = _tensors(samples.train_x, samples.train_y)
    rng = np.random.default_rng([trial["seed"], 4])
    optimiser: Any = None
    if trial["source"] == "bp":
        optimiser = torch.optim.SGD(trained, lr=trial["rate"], momentum=0.9)
    else:
        source: Any = trial["source"]
        if "set" in trial:
            source = common.source(source, tuple(trial["set"]))
        optimiser = ZO(trained, source=source, lr=trial["rate"], eps=1e-3, seed=trial["seed"])

    def step() -> None:
        chosen = torch.from_numpy(rng.integers(0, len(y), BATCH))

        def loss() -> Any:
            return functional.cross_entropy(model(x[chosen]), y[chosen])

        if trial["source"] == "bp":
            optimiser.zero_grad()
            loss().backward()
            optimiser.step()
        else:
            optimiser.step(loss)

    curve, spent = [], 0.0
    for _ in range(PARTS):
        began = time.perf_counter()
        for _ in range(trial["steps"] // PARTS):
            step()
        spent += time.perf_counter() - began
        curve.append([spent, judge(model, *test)[1]])
    tracker = Tracker()
    for parameter in model.parameters():
        tracker.add(parameter)
    with tracker:
        step()
    return {
        "before": before,
        "accuracy": curve[-1][1],
        "validation": judge(model, *_tensors(held.test_x, held.test_y))[1],
        "curve": curve,
        "parameters": sum(tensor.numel() for tensor in trained),
        "peak bytes": tracker.peak,
    }


def main() -> None:
    """Run it."""
    options = common.arguments(__doc__.splitlines()[0], steps=1200)
    kept = common.Kept("adapters", run, options)
    results: dict[str, Any] = {}
    for name, method in METHODS.items():
        trial = {"steps": options.steps, **method}
        rates = RATES[method["rank"]]
        if method["source"] == "bp":
            rates, trial["steps"] = BP_RATES, min(400, options.steps)
        best, found = kept.tuned(trial, [{"rate": rate} for rate in rates])
        results[name] = {
            **method,
            **best,
            "steps": trial["steps"],
            "parameters": found[0]["parameters"],
            "peak bytes": found[0]["peak bytes"],
            "before": common.spread(one["before"] for one in found),
            "accuracy": common.spread(one["accuracy"] for one in found),
            "curves": [one["curve"] for one in found],
        }
        _equal_time(results)
        common.write("adapters", {"batch": BATCH, "results": results}, options)
    common.figure(options.output / "adapters.png", lambda axes: _draw(axes, results))


def _equal_time(results: dict[str, Any]) -> None:
    """Add each zeroth-order method's accuracy after the time that the fastest of them took."""
    zeroth = [entry for entry in results.values() if entry["source"] != "bp"]
    if not zeroth:
        return
    least = min(float(np.mean([curve[-1][0] for curve in entry["curves"]])) for entry in zeroth)
    for entry in zeroth:
        entry["accuracy at equal time"] = common.spread(
            float(np.interp(least, *np.array(curve).T)) for curve in entry["curves"]
        ) | {"seconds": least}


def _draw(axes: Any, results: dict[str, Any]) -> None:
    for name, entry in results.items():
        curves = np.array(entry["curves"])
        steps = np.arange(1, PARTS + 1) * entry["steps"] / PARTS
        axes.errorbar(
            steps, curves[..., 1].mean(axis=0), curves[..., 1].std(axis=0, ddof=1), label=name
        )
    axes.set_xlabel("steps")
    axes.set_ylabel("test accuracy")
    axes.legend(fontsize=7)


if __name__ == "__main__":
    main()
