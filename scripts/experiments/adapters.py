"""Experiment 5: adapters against all weights, on a compact convolutional transformer (CCT-2).

CCT-2 is trained by back-propagation on clean digits and fine-tuned on shifted ones. Accuracy is
compared at equal steps and at equal time, and the memory of a step is measured tensor by tensor.
"""

from __future__ import annotations

import functools
import statistics
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
# A pass over the 10,240 weights of the adapters takes 320 groups of 32, so that training begins at
# only 51 of the bank's 8,160 places; with 31 generators it is all 7,905 (`pezo check`).
COPRIME = ["source.generators=31", "reuse.lanes=31"]
METHODS: dict[str, dict[str, Any]] = {
    "MeZO Gaussian, all weights": {"source": "gaussian", "rank": 0},
    "MeZO Gaussian, LoRA 4": {"source": "gaussian", "rank": 4},
    "on the fly, all weights": {"source": "zcu102-onthefly", "set": NO_REUSE, "rank": 0},
    "on the fly, LoRA 4": {"source": "zcu102-onthefly", "set": NO_REUSE, "rank": 4},
    "on the fly, 31 generators, LoRA 4": {
        "source": "zcu102-onthefly",
        "set": COPRIME,
        "rank": 4,
    },
    "back-propagation, all weights": {"source": "bp", "rank": 0},
    "MeZO Gaussian, LoRA 4, B = 0": {"source": "gaussian", "rank": 4, "start": "zero"},
    "back-propagation, LoRA 4": {"source": "bp", "rank": 4},
}
# Around the best one, as many for each method.
RATES = {0: (3e-5, 1e-4, 3e-4), 4: (1e-4, 3e-4, 1e-3)}
RATES_OF = {
    "MeZO Gaussian, LoRA 4, B = 0": (3e-4, 1e-3, 3e-3),
    "back-propagation, all weights": (1e-3, 3e-3, 1e-2),
    "back-propagation, LoRA 4": (3e-3, 1e-2, 3e-2),
}
BATCH = 32
PARTS = 8
TURNS, STEPS_A_TURN = 15, 10


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


class Training:
    """A model on its way from clean to shifted digits, as a trial says."""

    def __init__(self, trial: common.Trial):
        torch.set_num_threads(1)
        samples, held, weights = _task(trial["seed"])
        self.model: Any = cct.cct2(channels=1, side=8, seed=0)
        self.model.load_state_dict(weights)
        self.test = _tensors(samples.test_x, samples.test_y)
        self.held = _tensors(held.test_x, held.test_y)
        self.before = judge(self.model, *self.test)[1]
        if trial["rank"]:
            lora.adapt(
                self.model,
                "blocks.*",
                rank=trial["rank"],
                start=trial.get("start", "balanced"),
                seed=trial["seed"],
            )
        trained = [tensor for _, tensor in lora.trainable(self.model)]
        self.parameters = sum(tensor.numel() for tensor in trained)
        self._x, self._y = _tensors(samples.train_x, samples.train_y)
        self._rng = np.random.default_rng([trial["seed"], 4])
        self._descends = trial["source"] == "bp"
        self._optimiser: Any = None
        if self._descends:
            self._optimiser = torch.optim.SGD(trained, lr=trial["rate"], momentum=0.9)
        else:
            source: Any = trial["source"]
            if "set" in trial:
                source = common.source(source, tuple(trial["set"]))
            self._optimiser = ZO(
                trained, source=source, lr=trial["rate"], eps=1e-3, seed=trial["seed"]
            )

    def step(self) -> None:
        """Do a step."""
        chosen = torch.from_numpy(self._rng.integers(0, len(self._y), BATCH))

        def loss() -> Any:
            return functional.cross_entropy(self.model(self._x[chosen]), self._y[chosen])

        if self._descends:
            self._optimiser.zero_grad()
            loss().backward()
            self._optimiser.step()
        else:
            self._optimiser.step(loss)


def run(trial: common.Trial) -> common.Outcome:
    """Fine-tune; return accuracy after each eighth of the steps."""
    training = Training(trial)
    curve = []
    for _ in range(PARTS):
        for _ in range(trial["steps"] // PARTS):
            training.step()
        curve.append(judge(training.model, *training.test)[1])
    tracker = Tracker()
    for parameter in training.model.parameters():
        tracker.add(parameter)
    with tracker:
        training.step()
    return {
        "before": training.before,
        "accuracy": curve[-1],
        "validation": judge(training.model, *training.held)[1],
        "curve": curve,
        "parameters": training.parameters,
        "peak bytes": tracker.peak,
    }


def seconds_a_step() -> dict[str, float]:
    """Return the median time of a step of each method, all measured in turn."""
    trainings = {name: Training({**one, "rate": 1e-5, "seed": 0}) for name, one in METHODS.items()}
    times: dict[str, list[float]] = {name: [] for name in trainings}
    for _ in range(1 + TURNS):
        for name, training in trainings.items():
            began = time.perf_counter()
            for _ in range(STEPS_A_TURN):
                training.step()
            times[name].append((time.perf_counter() - began) / STEPS_A_TURN)
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def main() -> None:
    """Run it."""
    options = common.arguments(__doc__.splitlines()[0], steps=1200)
    kept = common.Kept("adapters", run, options)
    results: dict[str, Any] = {}
    for name, method in METHODS.items():
        trial = {"steps": options.steps, **method}
        rates = RATES_OF.get(name, RATES[method["rank"]])
        if method["source"] == "bp":
            trial["steps"] = min(400, options.steps)
        tuned = kept.tuned(trial, [{"rate": rate} for rate in rates])
        results[name] = {
            **method,
            **tuned.best,
            "tuning": tuned.tuning,
            "steps": trial["steps"],
            "parameters": tuned.found[0]["parameters"],
            "peak bytes": tuned.found[0]["peak bytes"],
            "before": common.spread(one["before"] for one in tuned.found),
            "accuracy": common.spread(one["accuracy"] for one in tuned.found),
            "curves": [one["curve"] for one in tuned.found],
        }
        common.write("adapters", {"batch": BATCH, "results": results}, options)
    _equal_time(results, seconds_a_step())
    common.write("adapters", {"batch": BATCH, "results": results}, options)
    common.figure(options.output / "adapters.png", lambda axes: _draw(axes, results))


def _equal_time(results: dict[str, Any], seconds: dict[str, float]) -> None:
    """Add the time of a step, and the accuracy after the time that the fastest method took."""
    for name, entry in results.items():
        entry["ms a step"] = 1000 * seconds[name]
    zeroth = {name: entry for name, entry in results.items() if entry["source"] != "bp"}
    least = min(entry["steps"] * seconds[name] for name, entry in zeroth.items())
    for name, entry in zeroth.items():
        ends = seconds[name] * entry["steps"] * np.arange(1, PARTS + 1) / PARTS
        entry["accuracy at equal time"] = common.spread(
            float(np.interp(least, ends, curve)) for curve in entry["curves"]
        ) | {"seconds": least}


def _draw(axes: Any, results: dict[str, Any]) -> None:
    for name, entry in results.items():
        curves = np.array(entry["curves"])
        steps = np.arange(1, PARTS + 1) * entry["steps"] / PARTS
        axes.errorbar(steps, curves.mean(axis=0), curves.std(axis=0, ddof=1), label=name)
    axes.set_xlabel("steps")
    axes.set_ylabel("test accuracy")
    axes.legend(fontsize=7)


if __name__ == "__main__":
    main()
