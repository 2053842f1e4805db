"""Experiment 1: fine-tuning after domain shift and from few samples, by kind of perturbation.

Every method gets the same number of trials to find its learning rate.
"""

from __future__ import annotations

from typing import Any

import common

TASKS = ("digits-shift", "reviews-16", "reviews-256", "mnist-shift")

# Lanes of the published size share words; as many lanes as words do not.
METHODS: dict[str, dict[str, Any]] = {
    "back-propagation": {"source": "bp"},
    "MeZO Gaussian": {"source": "gaussian"},
    "Rademacher": {"source": "rademacher"},
    "pre-generated, 1024 lanes": {"source": "zcu102-pregen"},
    "pre-generated, no reuse": {"source": "zcu102-pregen", "set": ["reuse.lanes=32"]},
    "on the fly, 1024 lanes": {"source": "zcu102-onthefly"},
    "on the fly, no reuse": {"source": "zcu102-onthefly", "set": ["reuse.lanes=32"]},
    "on the fly, 1024 lanes, signs": {"source": "zcu102-onthefly", "set": ["reuse.signs=true"]},
}
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
BP_RATES = (3e-3, 1e-2, 3e-2, 1e-1, 3e-1)


def main() -> None:
    """Run it."""
    options = common.arguments(__doc__.splitlines()[0], steps=3000)
    kept = common.Kept("finetune", common.perceptron, options)
    results: dict[str, Any] = {}
    for task in options.tasks.split(",") if options.tasks else TASKS:
        results[task] = {}
        for name, method in METHODS.items():
            trial = {"task": task, "steps": options.steps, "batch": 64, **method}
            rates = BP_RATES if method["source"] == "bp" else RATES
            if method["source"] == "bp":
                # Back-propagation converges in far fewer steps.
                trial["steps"] = min(600, options.steps)
            tuned = kept.tuned(trial, [{"rate": rate} for rate in rates])
            results[task][name] = {
                **method,
                **tuned.best,
                "tuning": tuned.tuning,
                "steps": trial["steps"],
                "before": common.spread(one["before"] for one in tuned.found),
                "accuracy": common.spread(one["accuracy"] for one in tuned.found),
                "seconds": common.spread(one["seconds"] for one in tuned.found),
            }
        common.write("finetune", {"rates": RATES, "results": results}, options)
    common.figure(options.output / "finetune.png", lambda axes: _draw(axes, results))


def _draw(axes: Any, results: dict[str, Any]) -> None:
    width = 0.8 / len(METHODS)
    for number, name in enumerate(METHODS):
        places = [place + number * width for place in range(len(results))]
        found = [results[task][name]["accuracy"] for task in results]
        axes.bar(
            places,
            [one["mean"] for one in found],
            width,
            yerr=[one["std"] for one in found],
            label=name,
        )
    axes.set_xticks([place + 0.4 for place in range(len(results))], list(results))
    axes.set_ylabel("test accuracy")
    axes.set_ylim(0.4, 1)
    axes.legend(fontsize=7, ncols=2)


if __name__ == "__main__":
    main()
