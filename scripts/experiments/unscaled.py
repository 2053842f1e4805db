"""Experiment 2: uniform perturbations without scaling, at the Gaussian's rate and at their own.

Is the published collapse an effect of the learning rate?
"""

from __future__ import annotations

from typing import Any

import common
from finetune import RATES

TASKS = ("digits-shift", "reviews-16", "reviews-256")
NO_SCALING = {
    "source": "zcu102-onthefly",
    "set": ["reuse.lanes=32", "scaling.mode=none"],
    "fold": False,
}
METHODS: dict[str, dict[str, Any]] = {
    "MeZO Gaussian": {"source": "gaussian"},
    "uniform, scaled": {"source": "zcu102-onthefly", "set": ["reuse.lanes=32"]},
    "uniform, not scaled": NO_SCALING,
    "software uniform, not scaled": {"source": "uniform", "fold": False},
}


def main() -> None:
    """Run it."""
    options = common.arguments(__doc__.splitlines()[0], steps=3000)
    kept = common.Kept("unscaled", common.perceptron, options)
    results: dict[str, Any] = {}
    for task in options.tasks.split(",") if options.tasks else TASKS:
        results[task] = {}
        gaussian: dict[str, Any] = {}
        for name, method in METHODS.items():
            trial = {"task": task, "steps": options.steps, "batch": 64, **method}
            tuned = kept.tuned(trial, [{"rate": rate} for rate in RATES])
            gaussian = gaussian or tuned.best
            same = kept.all({**trial, **gaussian, "seed": seed} for seed in common.SEEDS)
            results[task][name] = {
                "own rate": tuned.best["rate"],
                "tuning": tuned.tuning,
                "accuracy at own rate": common.spread(one["accuracy"] for one in tuned.found),
                "Gaussian's rate": gaussian["rate"],
                "accuracy at Gaussian's rate": common.spread(one["accuracy"] for one in same),
            }
        # The same without any tuning: the published rate is smaller than the best one.
        third = {"rate": gaussian["rate"] / 3}
        results[task]["at a third of that rate"] = {
            name: common.spread(
                one["accuracy"]
                for one in kept.all(
                    {
                        "task": task,
                        "steps": options.steps,
                        "batch": 64,
                        **METHODS[name],
                        **third,
                        "seed": seed,
                    }
                    for seed in common.SEEDS
                )
            )
            for name in ("MeZO Gaussian", "uniform, not scaled")
        }
        common.write("unscaled", {"rates": RATES, "results": results}, options)
    common.figure(options.output / "unscaled.png", lambda axes: _draw(axes, results))


def _draw(axes: Any, results: dict[str, Any]) -> None:
    width = 0.8 / (2 * len(METHODS))
    for number, name in enumerate(METHODS):
        for part, key in enumerate(("accuracy at Gaussian's rate", "accuracy at own rate")):
            found = [results[task][name][key] for task in results]
            places = [place + (2 * number + part) * width for place in range(len(results))]
            axes.bar(
                places,
                [one["mean"] for one in found],
                width,
                yerr=[one["std"] for one in found],
                color=f"C{number}",
                alpha=(0.5, 1)[part],
                label=name if part else None,
            )
    axes.set_xticks([place + 0.4 for place in range(len(results))], list(results))
    axes.set_ylabel("accuracy; pale: at the Gaussian's rate")
    axes.legend(fontsize=7)


if __name__ == "__main__":
    main()
