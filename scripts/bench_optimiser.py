"""Time the optimiser's perturbations against torch's Gaussian noise, in one run.

Rounds alternate between the contenders, so that what else the machine does hits both; ratios are
medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pezo_hw.train.sources import source_of
from pezo_hw.train.torch import ZO

PRESETS = ("zcu102-onthefly", "zcu102-pregen")


class Decoder(nn.Module):
    """A small decoder-only transformer."""

    def __init__(self, *, vocabulary: int, width: int, heads: int, layers: int, context: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(context, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: Any) -> Any:
        """Return outputs for each token."""
        x = self.embedding(tokens) + self.position
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(x)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=4, help="sequences of 64 tokens in a step")
    parser.add_argument("--json", type=Path, help="file to write")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    result = {
        "versions": {"torch": torch.__version__, "numpy": np.__version__},
        "machine": platform.machine(),
        "threads": options.threads,
        "perturbation": perturbations(options.weights, options.rounds),
        "step": steps(options.rounds, options.batch),
    }
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def measured(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Any]:
    """Return times and the median of each one's ratio to the first."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    base = next(iter(contenders))
    result = {}
    for name, found in times.items():
        found.pop(0)  # the round that fills caches
        ratios = [a / b for a, b in zip(times[base], found, strict=True)]
        result[name] = {
            "median ms": statistics.median(found) * 1e3,
            "median ratio": statistics.median(ratios),
            "least ratio": min(ratios),
        }
        print(
            f"{name:28} {result[name]['median ms']:9.1f} ms   "
            f"{result[name]['median ratio']:6.2f} times as fast (least {min(ratios):.2f})"
        )
    return result


def perturbations(weights: int, rounds: int) -> dict[str, Any]:
    """Fill one long row of float32."""
    out = torch.empty(weights)
    row = out.numpy()
    print(f"{weights:,} perturbations of float32")

    def filled(preset: str) -> Callable[[], None]:
        source = source_of(preset)

        def run() -> None:
            for first in range(0, weights, source.chunk):
                part = row[first : first + source.chunk]
                source.fill(part, start=5, first=first, scale=1e-3)

        return run

    contenders: dict[str, Callable[[], Any]] = {
        "torch.normal": lambda: torch.normal(0.0, 1e-3, (weights,)),
        "torch.normal, in place": lambda: out.normal_(0.0, 1e-3),
    }
    contenders |= {preset: filled(preset) for preset in PRESETS}
    return {"weights": weights, **measured(contenders, rounds)}


def steps(rounds: int, batch: int) -> dict[str, Any]:
    """Do whole steps, two forward passes each, of a small transformer."""
    torch.manual_seed(0)
    model = Decoder(vocabulary=8192, width=512, heads=8, layers=6, context=64).eval()
    tokens = torch.randint(0, 8192, (batch, 65))
    count = sum(parameter.numel() for parameter in model.parameters())

    def loss() -> Any:
        outputs = model(tokens[:, :-1])
        return functional.cross_entropy(outputs.flatten(0, 1), tokens[:, 1:].flatten())

    print(f"a step of a transformer of {count:,} weights, {batch} x 64 tokens")

    def textbook() -> None:
        """Do a step as MeZO's code does it: four sweeps, a draw for each tensor."""
        parameters = list(model.parameters())

        def sweep(size: float) -> None:
            torch.manual_seed(7)
            for parameter in parameters:
                z = torch.normal(0.0, 1.0, parameter.shape)
                parameter.data += size * z

        sweep(1e-3)
        plus = float(loss())
        sweep(-2e-3)
        minus = float(loss())
        sweep(1e-3)
        sweep(-1e-9 * (plus - minus) / 2e-3)

    def ours(source: str) -> Callable[[], Any]:
        optimiser = ZO(model.parameters(), source=source, lr=1e-9, eps=1e-3)
        return lambda: optimiser.step(loss)

    with torch.no_grad():
        contenders = {
            "Gaussian, as MeZO's code": textbook,
            "Gaussian, this optimiser": ours("gaussian"),
            **{preset: ours(preset) for preset in PRESETS},
            "two forward passes alone": lambda: (loss(), loss()),
        }
        return {"weights": count, "batch": batch, **measured(contenders, rounds)}


if __name__ == "__main__":
    main()
