"""Experiment 6: ZOQO, weights that never leave a grid of 8 or 4 bits."""

from __future__ import annotations

from typing import Any

import common

TASKS = ("digits-shift", "reviews-256")
# An LSB is 2 max|theta| / (2^bits - 1): about 0.015 here at 8 bits and 0.25 at 4, so the smallest
# values stand for one LSB.
GRID = [
    {"epsilon": epsilon, "rate": rate} for epsilon in (1e-3, 3e-2, 1e-1) for rate in (1e-3, 4e-2)
]
METHODS: dict[str, dict[str, Any]] = {
    "on the fly, no reuse, 8 bits": {
        "source": "zcu102-onthefly",
        "set": ["reuse.lanes=32", "scaling.mode=none"],
        "bits": 8,
    },
    "on the fly, no reuse, 4 bits": {
        "source": "zcu102-onthefly",
        "set": ["reuse.lanes=32", "scaling.mode=none"],
        "bits": 4,
    },
    "software uniform, 8 bits": {"source": "uniform", "bits": 8},
    "software uniform, 4 bits": {"source": "uniform", "bits": 4},
}


def main() -> None:
    """Run it."""
    options = common.arguments(__doc__.splitlines()[0], steps=3000)
    kept = common.Kept("zoqo", common.perceptron, options)
    results: dict[str, Any] = {}
    for task in options.tasks.split(",") if options.tasks else TASKS:
        results[task] = {}
        for name, method in METHODS.items():
            trial = {"task": task, "steps": options.steps, "batch": 64, "rule": "zoqo", **method}
            tuned = kept.tuned(trial, GRID)
            results[task][name] = {
                **method,
                **tuned.best,
                "tuning": tuned.tuning,
                "before": common.spread(one["before"] for one in tuned.found),
                "accuracy": common.spread(one["accuracy"] for one in tuned.found),
            }
        common.write("zoqo", {"grid": GRID, "results": results}, options)
    common.figure(options.output / "zoqo.png", lambda axes: _draw(axes, results))


def _draw(axes: Any, results: dict[str, Any]) -> None:
    width = 0.8 / len(METHODS)
    for number, name in enumerate(METHODS):
        found = [results[task][name]["accuracy"] for task in results]
        axes.bar(
            [place + number * width for place in range(len(results))],
            [one["mean"] for one in found],
            width,
            yerr=[one["std"] for one in found],
            label=name,
        )
    axes.set_xticks([place + 0.4 for place in range(len(results))], list(results))
    axes.set_ylabel("test accuracy")
    axes.legend(fontsize=7)


if __name__ == "__main__":
    main()
