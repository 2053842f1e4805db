"""Fixed random choices against Philox4x64-10 in plain integers (Salmon et al., SC 2011)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from pezo_hw.golden import draws

MASK = 2**64 - 1
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def philox(counter: int, key: tuple[int, int], *, rounds: int = 10) -> list[int]:
    """Return the four 64-bit numbers of one counter value."""
    x = [counter & MASK, counter >> 64, 0, 0]
    k = list(key)
    for _ in range(rounds):
        first, second = MULTIPLIERS[0] * x[0], MULTIPLIERS[1] * x[2]
        x = [second >> 64 ^ x[1] ^ k[0], second & MASK, first >> 64 ^ x[3] ^ k[1], first & MASK]
        k = [(a + b) & MASK for a, b in zip(k, WEYL, strict=True)]
    return x


def stream(count: int, *, seed: int, attempt: int, purpose: int, rounds: int = 10) -> list[int]:
    key = (seed, purpose * 2**32 + attempt)
    # NumPy counts before it draws: the first counter is 1.
    blocks = [philox(1 + i, key, rounds=rounds) for i in range(-(-count // 4))]
    return [number for block in blocks for number in block][:count]


def test_the_reference_is_philox() -> None:
    # Known answer of the Random123 distribution for a counter and a key of zero.
    assert philox(0, (0, 0)) == [
        0x16554D9ECA36314C,
        0xDB20FE9D672D0FDC,
        0xD7E772CEE186176B,
        0x7E68B68AEC7BA23B,
    ]


@pytest.mark.parametrize("seed", [0, 1, 77, 2**32 - 1])
@pytest.mark.parametrize(("attempt", "purpose"), [(0, 0), (0, 1), (3, 2), (1023, 3)])
def test_raw_numbers(seed: int, attempt: int, purpose: int) -> None:
    keys = {"seed": seed, "attempt": attempt, "purpose": purpose}
    expected = stream(13, **keys)
    assert draws.raw(13, **keys).tolist() == expected
    assert draws.below(4093, 13, **keys).tolist() == [number % 4093 for number in expected]
    order = sorted(range(13), key=lambda i: expected[i])
    assert draws.distinct(13, 5, **keys).tolist() == order[:5]
    assert stream(13, **keys, rounds=9) != expected


def test_choices_are_independent() -> None:
    keys = [
        {"seed": seed, "attempt": attempt, "purpose": purpose}
        for seed in (0, 1, 2)
        for attempt in (0, 1, 2)
        for purpose in (0, 1, 2, 3)
    ]
    assert len({tuple(draws.raw(4, **key).tolist()) for key in keys}) == len(keys)


@pytest.mark.parametrize("limit", [15, 255, 256, 1000])
def test_below_is_uniform(limit: int) -> None:
    numbers = draws.below(limit, 40 * limit, seed=5)
    assert numbers.min() == 0 and numbers.max() == limit - 1
    assert chisquare(np.bincount(numbers, minlength=limit)).pvalue > 1e-4
    biased = np.minimum(draws.below(limit + 1, 40 * limit, seed=5), limit - 1)
    if limit < 100:
        assert chisquare(np.bincount(biased, minlength=limit)).pvalue < 1e-4


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (15, 15), (255, 64), (65535, 64)])
def test_distinct_numbers(limit: int, count: int) -> None:
    numbers = draws.distinct(limit, count, seed=9)
    assert len(set(numbers.tolist())) == count
    assert numbers.min() >= 0 and numbers.max() < limit


def test_distinct_numbers_come_in_any_order() -> None:
    orders = {tuple(draws.distinct(3, 3, seed=seed).tolist()) for seed in range(60)}
    assert len(orders) == 6
