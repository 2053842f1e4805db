"""What the experiments share: tasks, trials that are kept, tuning, and tables of results.

A trial is a mapping of plain values and gives a mapping of plain values. Each one that is done is
appended to ``build/experiments/NAME.jsonl``, so that an experiment that was stopped goes on where
it was, and nothing is computed twice.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from variants import VARIANTS

import pezo_hw
from pezo_hw.config import load
from pezo_hw.train import backprop, data
from pezo_hw.train.data import DataSet
from pezo_hw.train.mlp import Mlp
from pezo_hw.train.numpy import ZO
from pezo_hw.train.sources import Source, source_of

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "docs" / "results" / "experiments"
SEEDS = (0, 1, 2, 3, 4)
# Other splits, weights and batches than those of the results.
TUNING_SEEDS = (100, 101)

Trial = Mapping[str, Any]
Outcome = dict[str, Any]


def arguments(text: str, *, steps: int) -> argparse.Namespace:
    """Return the options that every experiment has."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--steps", type=int, default=steps, help="zeroth-order steps of a trial")
    parser.add_argument("--tasks", help="only these, separated by commas")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "experiments")
    parser.add_argument("--output", type=Path, default=RESULTS)
    return parser.parse_args()


@dataclass(frozen=True)
class Tuned:
    """The setting of a method, and what it gave.

    Attributes
    ----------
    best : dict
        The setting.
    tuning : list of dict
        Every setting that was tried, with its mean validation accuracy.
    found : list of dict
        Outcomes of the best one, by seed.
    """

    best: dict[str, Any]
    tuning: list[dict[str, Any]]
    found: list[Outcome]


class Kept:
    """Runs trials and keeps their outcomes.

    Parameters
    ----------
    name : str
        Of the experiment.
    run : callable
        Does a trial; a function of a module, so that another process finds it.
    options : argparse.Namespace
    """

    def __init__(self, name: str, run: Callable[[Trial], Outcome], options: argparse.Namespace):
        self.name, self.run, self.options = name, run, options
        self.path = options.kept / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.done: dict[str, Outcome] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue  # a line that was cut off when the experiment was stopped
                # What other versions gave does not count.
                if entry["versions"] == versions():
                    self.done[_key(entry["trial"])] = entry["outcome"]

    def all(self, trials: Iterable[Trial]) -> list[Outcome]:
        """Return the outcome of each trial, after doing those that are not there yet."""
        trials = [dict(trial) for trial in trials]
        missing = list({_key(t): t for t in trials if _key(t) not in self.done}.values())
        began = time.monotonic()
        # One thread a process: two processes share the two cores.
        threadpool_limits(1)
        if self.options.jobs == 1:
            for number, trial in enumerate(missing):
                self._keep(trial, self.run(trial))
                self._say(number + 1, len(missing), began)
        elif missing:
            with ProcessPoolExecutor(
                self.options.jobs, initializer=threadpool_limits, initargs=(1,)
            ) as pool:
                running = {pool.submit(self.run, trial): trial for trial in missing}
                for number, future in enumerate(as_completed(running)):
                    self._keep(running[future], future.result())
                    self._say(number + 1, len(missing), began)
        return [self.done[_key(trial)] for trial in trials]

    def _keep(self, trial: Trial, outcome: Outcome) -> None:
        self.done[_key(trial)] = outcome
        with self.path.open("a", encoding="utf-8") as file:
            entry = {"versions": versions(), "trial": trial, "outcome": outcome}
            file.write(json.dumps(entry) + "\n")

    def _say(self, done: int, of: int, began: float) -> None:
        left = (time.monotonic() - began) / done * (of - done)
        print(f"{self.name}: {done} of {of} trials, {left:.0f} s left", file=sys.stderr)

    def tuned(self, trial: Trial, grid: Sequence[Mapping[str, Any]]) -> Tuned:
        """Choose among settings by their validation accuracy, then run all seeds with the best.

        Every method gets a grid of the same size.
        """
        tries = [{**trial, **setting, "seed": seed} for setting in grid for seed in TUNING_SEEDS]
        found = self.all(tries)
        scores = [
            statistics.fmean(
                outcome["validation"]
                for outcome in found[place * len(TUNING_SEEDS) : (place + 1) * len(TUNING_SEEDS)]
            )
            for place in range(len(grid))
        ]
        best = dict(grid[int(np.argmax(scores))])
        found = self.all({**trial, **best, "seed": seed} for seed in SEEDS)
        tuning = [{**one, "validation": score} for one, score in zip(grid, scores, strict=True)]
        return Tuned(best, tuning, found)


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of what results depend on; torch's where it is installed."""
    found = {
        "pezo-hw": pezo_hw.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["torch"] = metadata.version("torch")
    return found


def _key(trial: Trial) -> str:
    return hashlib.sha256(json.dumps(trial, sort_keys=True).encode()).hexdigest()


@functools.cache
def task(name: str, seed: int) -> tuple[DataSet, DataSet, Mlp, bytes]:
    """Return a task: data set, validation set as its test part, model and initial weights.

    ``digits-shift`` and ``mnist-shift``: a perceptron trained by back-propagation on clean images
    is fine-tuned on shifted ones. ``reviews-16`` and ``reviews-256``: polarity of movie reviews
    with so many samples of each class, from the features of a sentence encoder. ``digits``: from
    scratch.
    """
    kind, _, rest = name.partition("-")
    samples = data.load(kind, seed=seed)
    if rest == "shift":
        model = Mlp((samples.features, 32, samples.classes))
        weights = model.initial(seed=seed)
        _descend(model, weights, samples, steps=600, rate=0.03, batch=64, seed=seed)
        samples = data.shifted(samples, seed=seed)
    else:
        model = Mlp((samples.features, 32, samples.classes))
        weights = model.initial(seed=seed)
    held = replace(samples, test_x=samples.train_x[:300], test_y=samples.train_y[:300])
    rest_of = replace(samples, train_x=samples.train_x[300:], train_y=samples.train_y[300:])
    if rest.isdigit():
        rest_of = data.few(rest_of, int(rest), seed=seed)
    return rest_of, held, model, weights.tobytes()


def _descend(
    model: Mlp, weights: Any, samples: DataSet, *, steps: int, rate: float, batch: int, seed: int
) -> None:
    rng = np.random.default_rng([seed, 2])
    descent = backprop.Sgd(weights, lr=rate)
    for _ in range(steps):
        chosen = rng.integers(0, len(samples.train_y), batch)
        descent.step(
            backprop.gradient(model, weights, samples.train_x[chosen], samples.train_y[chosen])[1]
        )


@functools.cache
def source(kind: str, overrides: tuple[str, ...] = (), variant: str = "") -> Source:
    """Return the source of a trial's keys ``source``, ``set`` and ``variant``."""
    if variant:
        return VARIANTS[variant](load(kind, list(overrides)))
    return source_of(load(kind, list(overrides)) if overrides else kind)


def perceptron(trial: Trial) -> Outcome:
    """Train a perceptron as a trial says; the trial function of most experiments.

    Keys: task, seed, steps, batch, rate, epsilon, source (``bp``, a name of software's sources, or
    a preset), set (overrides of the preset), variant, rule, fold, bits.
    """
    samples, held, model, initial = task(trial["task"], trial["seed"])
    weights = np.frombuffer(initial, dtype=np.float32).copy()
    before = model.accuracy(weights, samples.test_x, samples.test_y)
    began = time.perf_counter()
    if trial["source"] == "bp":
        _descend(
            model,
            weights,
            samples,
            steps=trial["steps"],
            rate=trial["rate"],
            batch=trial["batch"],
            seed=trial["seed"],
        )
    else:
        optimiser = ZO(
            weights,
            source=source(trial["source"], tuple(trial.get("set", ())), trial.get("variant", "")),
            lr=trial["rate"],
            eps=trial.get("epsilon", 1e-3),
            rule=trial.get("rule", "sgd"),
            fold=trial.get("fold", True),
            bits=trial.get("bits", 8),
            seed=trial["seed"],
        )
        rng = np.random.default_rng([trial["seed"], 2])
        for _ in range(trial["steps"]):
            chosen = rng.integers(0, len(samples.train_y), trial["batch"])
            x, y = samples.train_x[chosen], samples.train_y[chosen]
            try:
                optimiser.step(lambda x=x, y=y: model.loss(weights, x, y))  # type: ignore[misc]
            except pezo_hw.errors.PezoError:
                break  # diverged: what is left counts
    return {
        "before": before,
        "accuracy": model.accuracy(weights, samples.test_x, samples.test_y),
        "validation": model.accuracy(weights, held.test_x, held.test_y),
        "seconds": time.perf_counter() - began,
    }


def spread(values: Iterable[float]) -> dict[str, Any]:
    """Return mean, standard deviation and the values."""
    listed = [float(value) for value in values]
    deviation = statistics.stdev(listed) if len(listed) > 1 else 0.0
    return {
        "mean": statistics.fmean(listed),
        "std": deviation,
        "values": listed,
    }


def write(name: str, content: Mapping[str, Any], options: argparse.Namespace) -> Path:
    """Write the results of an experiment with what made them."""
    options.output.mkdir(parents=True, exist_ok=True)
    path: Path = options.output / f"{name}.json"
    document = {
        "experiment": name,
        "command": f"python scripts/experiments/{Path(sys.argv[0]).name} --steps {options.steps}"
        + (f" --tasks {options.tasks}" if options.tasks else ""),
        "versions": versions(),
        "seeds": list(SEEDS),
        # An experiment that does not tune says so in its content.
        "tuning seeds": list(TUNING_SEEDS),
        **content,
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(path)
    return path


def figure(path: Path, draw: Callable[[Any], None], *, size: tuple[float, float] = (8, 4)) -> None:
    """Draw on one pair of axes and write a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=size, layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    draw(canvas.add_subplot())
    canvas.savefig(path, metadata={"Software": None})
    print(path)
