"""Compare the speed of the golden model with NumPy's normal numbers.

Both make the same number of values: lane values of the two ZCU102 sources on one side,
`numpy.random.Generator.standard_normal` in double and in single precision on the other. They take
turns in one process, in chunks of the same size, so that a busy machine slows all of them. The
ratio of each turn is taken first, then the median over the turns.

The model's tables are built before the first turn; that time is reported by itself, with the
memory that they take.

The exit code is 1 if the model is not as much faster as `--minimum` says.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pezo_hw.config import load_preset
from pezo_hw.golden.engine import Engine

PRESETS = ("zcu102-onthefly", "zcu102-pregen")
VALUES = 1 << 24
CHUNK = 1 << 20
REPEATS = 7
MINIMUM = 10.0


@dataclass(frozen=True)
class Contestant:
    """Something that makes numbers.

    Attributes
    ----------
    name : str
    chunk : callable
        Makes chunk number i, of `CHUNK` values.
    """

    name: str
    chunk: Callable[[int], object]


def lane_values(engine: Engine) -> Callable[[int], object]:
    """Return what makes the chunks of a model's lane values."""
    groups = CHUNK // engine.lane_count
    return lambda i: engine.lanes(i * groups, groups)


def normal_values(dtype: type[np.floating]) -> Callable[[int], object]:
    """Return what makes the chunks of normal numbers."""
    generator = np.random.default_rng(1)
    return lambda _: generator.standard_normal(CHUNK, dtype=dtype)


def seconds(contestant: Contestant, *, values: int) -> float:
    """Return the processor time that `values` values take; all of it is one thread's."""
    begin = time.process_time()
    for i in range(values // CHUNK):
        contestant.chunk(i)
    return time.process_time() - begin


def cold_start(preset: str) -> tuple[Contestant, str]:
    """Build a model and its first chunk; return it and a line about what that cost."""
    begin = time.process_time()
    engine = Engine(load_preset(preset))
    built = time.process_time()
    contestant = Contestant(preset, lane_values(engine))
    contestant.chunk(0)
    first = time.process_time()
    # Again, because tracing slows everything.
    tracemalloc.start()
    traced = lane_values(Engine(load_preset(preset)))
    traced(0)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    line = (
        f"{preset}: model {1e3 * (built - begin):.0f} ms, first chunk {1e3 * (first - built):.0f} "
        f"ms, keeps {kept / 2**20:.1f} MiB, peak {peak / 2**20:.1f} MiB"
    )
    return contestant, line


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--values", type=int, default=VALUES, help="values a turn")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="turns")
    parser.add_argument("--minimum", type=float, default=MINIMUM, help="ratio that must be reached")
    options = parser.parse_args()
    if options.values < CHUNK or options.repeats < 1:
        parser.error(f"--values must be at least {CHUNK}, --repeats at least 1")
    values = options.values // CHUNK * CHUNK

    models = []
    print("cold start (not in the ratios)")
    for preset in PRESETS:
        contestant, line = cold_start(preset)
        models.append(contestant)
        print(f"  {line}")
    normals = [
        Contestant(f"standard_normal {dtype.__name__}", normal_values(dtype))
        for dtype in (np.float64, np.float32)
    ]
    everyone = models + normals
    for contestant in everyone:
        contestant.chunk(0)
    turns = [
        {contestant.name: seconds(contestant, values=values) for contestant in everyone}
        for _ in range(options.repeats)
    ]

    print(f"{values} values, median of {options.repeats} turns, numpy {np.__version__}")
    for contestant in everyone:
        median = statistics.median(turn[contestant.name] for turn in turns)
        print(f"  {contestant.name:24} {1e9 * median / values:6.2f} ns a value")
    reached = True
    for model in models:
        for normal in normals:
            ratio = statistics.median(turn[normal.name] / turn[model.name] for turn in turns)
            reached &= ratio >= options.minimum
            print(f"  {model.name} is {ratio:.1f} times as fast as {normal.name}")
    if not reached:
        print(f"error: each ratio must be at least {options.minimum:g}", file=sys.stderr)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
