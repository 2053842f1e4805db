"""When a side of a stream does not take part: patterns of stalls by name."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

Stalls: TypeAlias = Iterator[bool]
"""One item a clock: True where the side stalls. It must not end."""


def _chance(probability: float) -> Callable[[random.Random], Stalls]:
    def pattern(rng: random.Random) -> Stalls:
        draw = rng.random
        while True:
            yield draw() < probability

    return pattern


def _bursts(rng: random.Random) -> Stalls:
    """Stall and run for 1 to 16 clocks in turn, so that buffers fill up and run dry."""
    while True:
        yield from itertools.repeat(False, rng.randint(1, 16))
        yield from itertools.repeat(True, rng.randint(1, 16))


def _alternate(rng: random.Random) -> Stalls:
    first = rng.random() < 0.5  # so that two sides may be in step or out of step
    return itertools.cycle((first, not first))


def _never(rng: random.Random) -> Stalls:
    del rng
    return itertools.repeat(False)


#: Pattern by name; each takes a random generator. Benches cross them: source times sink.
STALLS: Mapping[str, Callable[[random.Random], Stalls]] = MappingProxyType(
    {
        "never": _never,
        "rare": _chance(0.05),
        "half": _chance(0.5),
        "heavy": _chance(0.9),
        "bursts": _bursts,
        "alternate": _alternate,
    }
)


def make_stalls(name: str, rng: random.Random) -> Stalls:
    """Return the stall pattern of a name in `STALLS`."""
    if name not in STALLS:
        raise ValueError(f"stalls must be one of {', '.join(STALLS)}, not {name!r}")
    return STALLS[name](rng)
