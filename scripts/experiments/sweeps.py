"""Experiments 3 and 4: what word bits, generators, pool sizes, rotation, scaling and reuse do.

For each configuration the distinct starts that training visits and the rank of their directions are
counted as well, so that accuracy can be seen against them.
"""

from __future__ import annotations

from typing import Any

import common
import numpy as np

TASK = "digits-shift"
# Around the best one of MeZO and of every source of PeZO in `finetune`, for this task.
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
ONTHEFLY = {"source": "zcu102-onthefly"}
POOL = {"source": "zcu102-pregen"}
LANES = "reuse.lanes=32"


def configurations() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the trials' keys by sweep and value."""
    sweeps: dict[str, dict[str, dict[str, Any]]] = {}
    sweeps["Gaussian"] = {"Gaussian": {"source": "gaussian"}}
    sweeps["reuse"] = {"32 lanes": ONTHEFLY | {"set": [LANES]}}
    for lanes in (128, 1024):
        sweeps["reuse"][f"{lanes} lanes"] = ONTHEFLY | {"set": [f"reuse.lanes={lanes}"]}
    for lanes in (128, 1024):
        sweeps["reuse"][f"{lanes} lanes, signs"] = ONTHEFLY | {
            "set": [f"reuse.lanes={lanes}", "reuse.signs=true"]
        }
    sweeps["pool size"] = {
        str(size): POOL
        | {
            "set": [
                f"source.pool_size={size}",
                f"source.words={min(32, size)}",
                f"reuse.lanes={min(32, size)}",
            ]
        }
        for size in (4095, 4096, 255, 256, 31)
    }
    sweeps["generators"] = {
        str(count): ONTHEFLY | {"set": [f"source.generators={count}", f"reuse.lanes={count}"]}
        for count in (4, 8, 16, 31, 64)
    }
    sweeps["word bits, on the fly"] = {
        "4 (15 generators)": ONTHEFLY
        | {"set": ["source.bits=4", "source.generators=15", "reuse.lanes=15"]}
    } | {str(bits): ONTHEFLY | {"set": [LANES, f"source.bits={bits}"]} for bits in (6, 10, 12, 14)}
    sweeps["scaling"] = {
        "exact": ONTHEFLY | {"set": [LANES], "variant": "exact scaling"},
        "constant": ONTHEFLY | {"set": [LANES, "scaling.mode=constant"]},
        "exact, 4 generators": ONTHEFLY
        | {"set": ["source.generators=4", "reuse.lanes=4"], "variant": "exact scaling"},
    }
    sweeps["rotation"] = {"period": ONTHEFLY | {"set": [LANES, "source.rotation=period"]}}
    sweeps["word bits, pool"] = {
        str(bits): POOL | {"set": [LANES, f"source.bits={bits}"]} for bits in (4, 6, 12, 14)
    }
    sweeps["more pool sizes"] = {
        str(size): POOL | {"set": [f"source.pool_size={size}", "source.words=32", LANES]}
        for size in (257, 1021, 1023, 1024, 4093, 8191, 65535)
    }
    sweeps["stride"] = {
        f"{lanes} lanes, stride {stride}": ONTHEFLY
        | {"set": [f"reuse.lanes={lanes}", f"reuse.stride={stride}"]}
        for lanes, stride in ((64, 1), (1024, 0), (1024, 5))
    }
    return sweeps


def main() -> None:
    """Run it."""
    options = common.arguments(__doc__.splitlines()[0], steps=3000)
    kept = common.Kept("sweeps", common.perceptron, options)
    ranks = common.Kept("sweeps-ranks", rank, options)
    results: dict[str, Any] = {}
    for sweep, entries in configurations().items():
        results[sweep] = {}
        for name, keys in entries.items():
            trial = {"task": TASK, "steps": options.steps, "batch": 64, **keys}
            tuned = kept.tuned(trial, [{"rate": rate} for rate in RATES])
            entry = {
                **keys,
                **tuned.best,
                "tuning": tuned.tuning,
                "accuracy": common.spread(one["accuracy"] for one in tuned.found),
            }
            if keys["source"] != "gaussian":
                entry |= ranks.all([{"steps": options.steps, **keys}])[0]
            results[sweep][name] = entry
        common.write("sweeps", {"task": TASK, "rates": RATES, "results": results}, options)
    common.figure(options.output / "sweeps.png", lambda axes: _draw(axes, results))
    common.figure(options.output / "directions.png", lambda axes: _directions(axes, results))


def rank(trial: common.Trial) -> common.Outcome:
    """Count the starts of a training and the rank of their directions."""
    source = common.source(trial["source"], tuple(trial.get("set", ())), trial.get("variant", ""))
    weights = common.task(TASK, 0)[2].parameters
    starts, start = [], source.first(0)
    for _ in range(trial["steps"]):
        starts.append(start)
        start = source.after(start, weights)
    distinct = sorted(set(starts))
    # Rank is at most the number of weights; a few more rows than that show whether it is full.
    chosen = distinct[: weights + 64]
    rows = np.empty((len(chosen), weights), dtype=np.float32)
    for row, one in zip(rows, chosen, strict=True):
        source.fill(row, start=one, first=0, scale=1.0)
    return {
        "directions": len(distinct),
        "rank": int(np.linalg.matrix_rank(rows)),
        "weights": weights,
    }


def _draw(axes: Any, results: dict[str, Any]) -> None:
    place, ticks, labels = 0, [], []
    gaussian = results["Gaussian"]["Gaussian"]["accuracy"]["mean"]
    for number, (sweep, entries) in enumerate(results.items()):
        for name, entry in entries.items():
            found = entry["accuracy"]
            axes.errorbar(place, found["mean"], found["std"], fmt="o", ms=4, color=f"C{number}")
            ticks.append(place)
            labels.append(f"{sweep}: {name}")
            place += 1
    axes.axhline(gaussian, color="grey", lw=0.8)
    axes.set_xticks(ticks, labels, rotation=90, fontsize=5)
    axes.set_ylabel("test accuracy")


def _directions(axes: Any, results: dict[str, Any]) -> None:
    for number, (sweep, entries) in enumerate(results.items()):
        chosen = [entry for entry in entries.values() if "rank" in entry]
        if chosen:
            axes.errorbar(
                [entry["rank"] for entry in chosen],
                [entry["accuracy"]["mean"] for entry in chosen],
                [entry["accuracy"]["std"] for entry in chosen],
                fmt="o",
                ms=4,
                color=f"C{number}",
                label=sweep,
            )
    axes.axhline(results["Gaussian"]["Gaussian"]["accuracy"]["mean"], color="grey", lw=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("rank of the directions that training visits")
    axes.set_ylabel("test accuracy")
    axes.legend(fontsize=7)


if __name__ == "__main__":
    main()
