"""Measure what a training step of CCT-2 holds: back-propagation and MeZO, with and without LoRA.

Tensor by tensor, on one step of each with images of 32 x 32 pixels, in float32; what is counted is
told in `pezo_hw.memory.measured`. Writes ``docs/results/cct_memory.json`` in a few seconds.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

import pezo_hw
from pezo_hw.memory.measured import Tracker
from pezo_hw.train import cct, lora
from pezo_hw.train.torch import ZO

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "cct_memory.json"
METHODS = ("bp", "mezo")
BATCHES = (1, 8)
RANK = 8
LAYERS = "blocks.*"


def measure(method: str, *, batch: int, rank: int) -> dict[str, int]:
    """Return numbers of parameters, and the most bytes that were alive in a step.

    Parameters
    ----------
    method : str
        ``"bp"`` (SGD without momentum) or ``"mezo"`` (in place, Gaussian).
    batch : int
    rank : int
        Of adapters on the linear layers of the blocks; 0: all weights are trained.
    """
    model = cct.cct2()
    if rank:
        lora.adapt(model, LAYERS, rank=rank)
    trained = [tensor for _, tensor in lora.trainable(model)]
    images, labels = torch.zeros(batch, 3, 32, 32), torch.zeros(batch, dtype=torch.int64)
    optimiser: Any = None
    if method == "mezo":
        optimiser = ZO(trained, source="gaussian", lr=1e-6, eps=1e-3)
    tracker = Tracker()
    for parameter in model.parameters():
        tracker.add(parameter)
    weights = tracker.now

    def loss() -> Any:
        return functional.cross_entropy(model(images), labels)

    with tracker:
        if optimiser is not None:
            optimiser.step(loss)
        else:
            loss().backward()
            with torch.no_grad():
                for tensor in trained:
                    tensor.sub_(tensor.grad, alpha=1e-3)
    return {
        "parameters": cct.parameters(model),
        "trained": sum(tensor.numel() for tensor in trained),
        "peak bytes": tracker.peak,
        "beside the parameters": tracker.peak - weights,
    }


def measured() -> dict[str, Any]:
    """Return all results by name."""
    return {
        f"{method}, {f'LoRA {rank}' if rank else 'all weights'}, batch {batch}": {
            "method": method,
            "rank": rank,
            "batch": batch,
            **measure(method, batch=batch, rank=rank),
        }
        for method in METHODS
        for rank in (0, RANK)
        for batch in BATCHES
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    document = {
        "command": "python scripts/cct_memory.py",
        "versions": {
            "pezo-hw": pezo_hw.__version__,
            "torch": torch.__version__.partition("+")[0],
            "python": platform.python_version(),
        },
        "results": measured(),
    }
    options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(options.output)


if __name__ == "__main__":
    main()
