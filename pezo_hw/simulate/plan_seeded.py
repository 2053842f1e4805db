"""What a simulation of a perturbation core with a seeded source is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.golden.seeded import SEEDS, SeededEngine

#: Successive seeds that are prepared around each seed of interest, and groups of each.
_SEEDS, _GROUPS = 12, 40


def arrays(engine: SeededEngine, *, groups: int) -> dict[str, NDArray[Any]]:
    """Return what the model gives for some seeds.

    Parameters
    ----------
    engine : SeededEngine
    groups : int
        Groups of the seed after a reset; other seeds have few.

    Returns
    -------
    dict of ndarray
        ``seeds`` and ``counts`` (S,): the seeds, and the groups of each; ``lanes``: the lane values
        of all of them, one row a group. The seed after a reset comes first. Those that follow the
        seeds of interest are there as well, because a capture leads to them.
    """
    firsts = (engine.reset_index, 0, SEEDS - _SEEDS // 2, 0x5EED5EED)
    seeds = dict.fromkeys((first + i) % SEEDS for first in firsts for i in range(_SEEDS))
    counts = [max(groups, _GROUPS) if seed == engine.reset_index else _GROUPS for seed in seeds]
    lanes = []
    for seed, count in zip(seeds, counts, strict=True):
        engine.start(seed)
        lanes.append(engine.lanes(0, count))
    return {
        "seeds": np.array(list(seeds), dtype=np.int64),
        "counts": np.array(counts),
        "lanes": np.concatenate(lanes),
    }
