"""Fixed random choices that a configuration's seed makes: phases of generators, contents of a pool.

Philox4x64-10 in counter mode: NumPy promises its raw stream (NEP 19), so that the same
seed gives the same hardware with every version.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def raw(count: int, *, seed: int, attempt: int = 0, purpose: int = 0) -> NDArray[np.uint64]:
    """Return `count` raw 64-bit numbers.

    Parameters
    ----------
    count : int
    seed : int
        The configuration's seed, 0 to 2^32 - 1.
    attempt : int
        Which draw from this seed, when a property is searched for.
    purpose : int
        Keeps draws for different things independent (1 phases, 2 pool, 3 order).
    """
    key = np.array([seed, (purpose << 32) | attempt], dtype=np.uint64)
    return np.asarray(np.random.Philox(key=key).random_raw(count), dtype=np.uint64)


def below(
    limit: int, count: int, *, seed: int, attempt: int = 0, purpose: int = 0
) -> NDArray[np.int64]:
    """Return `count` numbers in 0 .. limit - 1 (limit up to 2^16: the bias is below 2^-48)."""
    numbers = raw(count, seed=seed, attempt=attempt, purpose=purpose) % np.uint64(limit)
    return numbers.astype(np.int64)


def distinct(
    limit: int, count: int, *, seed: int, attempt: int = 0, purpose: int = 0
) -> NDArray[np.int64]:
    """Return `count` different numbers in 0 .. limit - 1, in random order."""
    keys = raw(limit, seed=seed, attempt=attempt, purpose=purpose)
    return np.argsort(keys, kind="stable")[:count].astype(np.int64)
