"""The story of `make demo`: a core is generated, trains a classifier, and is measured.

1. Generate the ZCU102 step core from its preset. 2. Train a digit classifier for a while on the
golden model, on scikit-learn's handwritten digits. 3. Stream its weights through the core's RTL in
Verilator for a few whole steps, the losses computed on real images. 4. Compare every weight of
every sweep with the golden model. 5. Synthesise the ZCU102 presets and set them beside the
published figures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from pezo_hw.config import load_preset
from pezo_hw.errors import CheckFailed, PezoError
from pezo_hw.export import folder
from pezo_hw.golden.step import StepCore
from pezo_hw.simulate import run
from pezo_hw.synth.cores import report
from pezo_hw.synth.published import BASELINE, PEZO
from pezo_hw.train import data, host
from pezo_hw.train.mlp import Mlp

SIZES = (64, 32, 10)
RATE = 3e-3
BATCH = 64
PRESET = "zcu102-step"


def main() -> int:
    """Tell the story; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warm-up", type=int, default=1500, help="steps on the golden model first")
    parser.add_argument("--steps", type=int, default=3, help="steps through the RTL")
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="where files go")
    arguments = parser.parse_args()
    console = Console()
    if not console.is_terminal:
        console.width = 110
    try:
        _train(console, arguments)
        _resources(console)
    except (PezoError, CheckFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, CheckFailed) else 2
    return 0


def _train(console: Console, arguments: argparse.Namespace) -> None:
    config = load_preset(PRESET)
    place = arguments.output / config.core.name
    console.rule("1  Generate")
    manifest = folder.generate(config, place)
    console.print(f"preset {PRESET} -> {place}: {', '.join(manifest['files']['rtl'])}")

    console.rule("2  A real classifier, trained with zeroth-order steps on the golden model")
    digits, model, core = data.digits(), Mlp(SIZES), StepCore(config)
    weights = host.to_fixed(model.initial(seed=0), arithmetic=core.arithmetic)
    rng = np.random.default_rng(0)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for step in progress.track(range(arguments.warm_up), description="steps"):
            batch = rng.integers(0, len(digits.train_y), BATCH)
            weights = _golden_step(
                core, model, weights, digits.train_x[batch], digits.train_y[batch], seed=step
            )[0][-1]
    accuracy = model.accuracy(
        host.to_float(weights, arithmetic=core.arithmetic), digits.test_x, digits.test_y
    )
    console.print(
        f"{'-'.join(map(str, SIZES))} perceptron, {model.parameters} weights of "
        f"{core.arithmetic.weight_bits} bits: {accuracy:.1%} of {len(digits.test_y)} test images "
        f"after {arguments.warm_up} steps"
    )

    console.rule("3  The same steps through the RTL, in Verilator, under random stalls")
    batches = rng.integers(0, len(digits.train_y), (arguments.steps, BATCH))
    result = run(
        place,
        bench="bench_demo",
        parameters={"sizes": SIZES, "rate": RATE, "start": core.engine.index, "stalls": "half"},
        arrays={"weights": weights, "x": digits.train_x[batches], "y": digits.train_y[batches]},
    )
    table = Table(
        "step",
        "loss +eps",
        "loss -eps",
        "projected gradient",
        "coefficient C",
        "limited",
        "RTL = golden",
    )
    core.start(core.engine.index)
    for number, (batch, told) in enumerate(zip(batches, result.data["steps"], strict=True)):
        sweeps, losses, gradient, coefficient = _golden_step(
            core, model, weights, digits.train_x[batch], digits.train_y[batch], seed=number
        )
        weights = sweeps[-1]
        equal = (
            np.array_equal(sweeps, result.arrays["sweeps"][number])
            and [told["loss_plus"], told["loss_minus"]] == losses
            and told["gradient"] == gradient
            and told["coefficient"] == coefficient
        )
        table.add_row(
            str(number + 1),
            f"{told['loss_plus']:.6f}",
            f"{told['loss_minus']:.6f}",
            f"{told['gradient']:+.6f}",
            str(told["coefficient"]),
            str(told["saturations"]),
            "yes" if equal else "NO",
        )
        if not equal:
            console.print(table)
            raise CheckFailed(f"step {number + 1}: the RTL differs from the golden model")
    console.print(table)
    console.print(
        f"{3 * arguments.steps} sweeps of "
        f"{-(-model.parameters // core.engine.lane_count)} beats in {result.data['clocks']} "
        "clocks: every weight equal"
    )


def _golden_step(
    core: StepCore,
    model: Mlp,
    weights: NDArray[np.int64],
    x: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    seed: int,
) -> tuple[list[NDArray[np.int64]], list[float], float, int]:
    """Do one step; return the weights after each sweep, the two losses, the gradient and C."""
    arithmetic, engine = core.arithmetic, core.engine
    config = load_preset(PRESET)
    assert config.zo is not None
    plus = core.sweep(weights, k=1).weights
    minus = core.sweep(plus, k=-2).weights
    losses = [
        model.loss(host.to_float(side, arithmetic=arithmetic), x, y) for side in (plus, minus)
    ]
    gradient = host.projected_gradient(*losses, epsilon=config.zo.epsilon)
    coefficient = host.coefficient(
        gradient, rate=RATE, bits=engine.bits, leftover=engine.leftover, arithmetic=arithmetic
    )
    after = core.sweep(minus, k=1, coefficient=coefficient, dither_seed=seed, capture=True).weights
    return [plus, minus, after], losses, gradient, coefficient


def _resources(console: Console) -> None:
    console.rule("4  What it takes on a ZCU102 (estimates: Yosys, not Vivado)")
    table = Table("design", "lanes", "LUT", "FF", "BRAM36", "DSP", "LUT share")
    tool = ""
    for preset in ("zcu102-onthefly", "zcu102-pregen", "zcu102-step"):
        config = load_preset(preset)
        result = report(config, where=preset, progress=console.print)
        tool, used = result["tool"], result["resources"]
        table.add_row(
            preset,
            str(config.reuse.lanes),
            *(f"{used[key]:,}" for key in ("lut", "ff", "bram36", "dsp")),
            f"{result['share']['lut']:.2%}",
        )
    for published in (BASELINE, *PEZO.values()):
        table.add_row(
            f"{published.design}, published",
            "1024",
            f"~{published.lut:,}",
            f"~{published.ff:,}",
            "-",
            "-",
            f"{published.lut_percent:g}%",
        )
    console.print(table)
    console.print(
        f"{tool}; published: PeZO, arXiv 2504.20314, as quoted; shares of the ZCU102's 274,080 LUTs"
    )


if __name__ == "__main__":
    raise SystemExit(main())
