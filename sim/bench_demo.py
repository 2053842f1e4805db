"""Bench of the demonstration: whole training steps through the RTL, losses on real data.

Arrays: ``weights`` (d,) in LSBs, ``x``, ``y`` of one batch a step, shapes (steps, batch, features)
and (steps, batch). Parameters: ``sizes`` of the model, ``rate``, ``start`` index, ``stalls``.
Saved: the weights after every sweep.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from kit import Bench, pack, unpack
from players.registers import RegisterBus

from pezo_hw.config import from_mapping
from pezo_hw.golden.step import Arithmetic
from pezo_hw.train import host
from pezo_hw.train.mlp import Mlp


@cocotb.test()
async def steps(dut: Any) -> None:
    """Every step: perturb +1, forward, perturb -2, forward, restore and update in one sweep."""
    bench = Bench(dut)
    bus = RegisterBus(bench)
    config = from_mapping(bench.manifest["config"], where="manifest")
    assert config.weights is not None and config.zo is not None
    arithmetic = Arithmetic.of(config)
    bits, lanes = config.weights.bits, config.reuse.lanes
    stalls = bench.parameters["stalls"]
    source = bench.source(stalls=bench.stalls(stalls))
    sink = bench.sink(stalls=bench.stalls(stalls))
    await bench.reset()
    await bus.wait_idle()
    await bus.write("START_INDEX", group=bench.parameters["start"])
    await bus.write("CONTROL", start=1)
    await bus.wait_idle()

    async def sweep(
        weights: Any, *, k: int, coefficient: int = 0, dither_seed: int = 0, capture: int = 0
    ) -> Any:
        beats = -(-len(weights) // lanes)
        padded = np.zeros(beats * lanes, dtype=np.int64)
        padded[: len(weights)] = weights
        kept = (len(weights) - (beats - 1) * lanes) * bits // 8
        sink.clear()
        source.send(pack(padded.reshape(beats, lanes), width=bits), last_keep=(1 << kept) - 1)
        await bus.write("LENGTH", beats=beats)
        await bus.write("SWEEP", k=k, capture=capture)
        await bus.write("COEFFICIENT", c=coefficient)
        await bus.write("DITHER_SEED", seed=dither_seed)
        await bus.write("CONTROL", go=1)
        await bench.run_until(lambda: sink.packets == 1)
        await bus.wait_idle()
        await bus.expect("ERROR")
        result = unpack(sink.data, width=bits, lanes=lanes).reshape(-1)[: len(weights)]
        return result, await bus.get("SATURATIONS", "weights")

    model = Mlp(tuple(bench.parameters["sizes"]))
    weights = bench.arrays["weights"]
    epsilon = config.zo.epsilon
    saved, story, began = [], [], bench.cycle
    for step, (x, y) in enumerate(zip(bench.arrays["x"], bench.arrays["y"], strict=True)):
        plus, saturated_plus = await sweep(weights, k=1)
        loss_plus = model.loss(host.to_float(plus, arithmetic=arithmetic), x, y)
        minus, saturated_minus = await sweep(plus, k=-2)
        loss_minus = model.loss(host.to_float(minus, arithmetic=arithmetic), x, y)
        gradient = host.projected_gradient(loss_plus, loss_minus, epsilon=epsilon)
        coefficient = host.coefficient(
            gradient,
            rate=bench.parameters["rate"],
            bits=config.source.fraction_bits + 1,
            leftover=bench.manifest["leftover_scale"],
            arithmetic=arithmetic,
        )
        weights, saturated = await sweep(
            minus, k=1, coefficient=coefficient, dither_seed=step, capture=1
        )
        saved.append([plus, minus, weights])
        story.append(
            {
                "loss_plus": loss_plus,
                "loss_minus": loss_minus,
                "gradient": gradient,
                "coefficient": coefficient,
                "saturations": saturated_plus + saturated_minus + saturated,
            }
        )
    bench.save(sweeps=np.array(saved))
    bench.report(steps=story, clocks=bench.cycle - began)
