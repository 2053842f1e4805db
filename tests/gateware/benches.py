"""What the benches of single components share: running them, reading words, stalling streams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from amaranth import Value
from amaranth.sim import Simulator
from numpy.typing import NDArray

from pezo_hw import config

Bench = Callable[[Any], Awaitable[None]]


def run(component: Any, *benches: Bench, clocked: bool = True) -> None:
    """Simulate a component until all benches have returned."""
    simulator = Simulator(component)
    if clocked:
        simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


def get(ctx: Any, value: Any) -> int:
    """Return the bits of any signal or view."""
    return int(ctx.get(Value.cast(value)))


def split(bits: int, *, width: int, count: int) -> list[int]:
    """Return the signed numbers of `width` bits that lie side by side in `bits`."""
    half, mask = 1 << (width - 1), (1 << width) - 1
    return [((bits >> (width * i) & mask) ^ half) - half for i in range(count)]


def join(words: Sequence[int] | NDArray[np.integer], *, width: int) -> int:
    """Return the bits of signed numbers side by side."""
    mask = (1 << width) - 1
    return sum((int(word) & mask) << (width * i) for i, word in enumerate(words))


def words_of(ctx: Any, view: Any) -> list[int]:
    """Return the signed numbers in a view of an array."""
    layout = view.shape()
    return split(
        get(ctx, view) & ((1 << layout.size) - 1),
        width=layout.elem_shape.width,
        count=layout.length,
    )


def put(ctx: Any, view: Any, words: Sequence[int] | NDArray[np.integer]) -> None:
    """Set the numbers in a view of an array."""
    ctx.set(Value.cast(view), join(words, width=view.shape().elem_shape.width))


def perturbation(source: dict[str, Any], **scaling: Any) -> config.Config:
    """Return a perturbation core with as many lanes as words."""
    return config.from_mapping(
        {
            "core": {"name": "core", "kind": "perturbation", "board": "zcu102"},
            "source": source,
            "scaling": scaling,
            "reuse": {"lanes": source.get("generators", source.get("words"))},
        }
    )


def bank(generators: int, *, bits: int, **source: Any) -> dict[str, Any]:
    """Return the section of an on-the-fly source."""
    return {"kind": "on-the-fly", "generators": generators, "bits": bits, **source}


def pool(size: int, words: int, *, bits: int, **source: Any) -> dict[str, Any]:
    """Return the section of a pre-generated source."""
    return {"kind": "pre-generated", "pool_size": size, "words": words, "bits": bits, **source}
