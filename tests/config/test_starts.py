"""Start positions against brute force."""

from __future__ import annotations

from typing import Any

import pytest

from pezo_hw.config import distinct_starts, from_mapping, groups_per_pass, period
from pezo_hw.config.starts import config_starts, is_prime


def walk(groups: int, length: int) -> int:
    """Count the starts that training visits, step by step."""
    visited, start = set(), 0
    while start not in visited:
        visited.add(start)
        start = (start + groups) % length
    return len(visited)


def test_distinct_starts() -> None:
    for length in range(1, 60):
        for groups in range(1, 2 * length + 2):
            assert distinct_starts(groups, period=length) == walk(groups, length)


def test_groups_per_pass() -> None:
    for lanes in range(1, 12):
        for parameters in range(1, 50):
            groups = groups_per_pass(parameters, lanes=lanes)
            assert (groups - 1) * lanes < parameters <= groups * lanes


def pool_period(size: int, words: int) -> int:
    """Return after how many groups the first word is the pool's first again."""
    k, first = 1, words % size
    while first:
        k, first = k + 1, (first + words) % size
    return k


@pytest.mark.parametrize("size", [4, 7, 12, 31, 64, 60])
def test_period_of_the_pool(pre_generated: Any, size: int) -> None:
    for words in range(1, min(size, 9)):
        pre_generated["source"] |= {"pool_size": size, "words": words}
        pre_generated["reuse"]["lanes"] = words
        assert period(from_mapping(pre_generated).source) == pool_period(size, words)


def bank_period(generators: int, bits: int, rotation: str) -> int:
    """Return after how many groups both the turn and the time are back at their start."""
    states = 2**bits - 1
    k = 1
    while k % states or (k if rotation == "clock" else k // states) % generators:
        k += 1
    return k


@pytest.mark.parametrize("rotation", ["clock", "period"])
@pytest.mark.parametrize("bits", [4, 5, 6])
def test_period_of_the_bank(on_the_fly: Any, rotation: str, bits: int) -> None:
    for generators in range(1, 16):
        on_the_fly["source"] |= {"generators": generators, "bits": bits, "rotation": rotation}
        on_the_fly["reuse"]["lanes"] = generators
        source = from_mapping(on_the_fly).source
        assert period(source) == bank_period(generators, bits, rotation)


def test_starts_of_a_config(pre_generated: Any) -> None:
    assert config_starts(from_mapping(pre_generated)) is None
    # The case that published code has: 819 directions for 2,410 weights read one word at a time.
    pre_generated["source"] |= {"pool_size": 4095, "words": 1}
    pre_generated["reuse"]["lanes"] = 1
    pre_generated["core"]["parameters"] = 2410
    assert config_starts(from_mapping(pre_generated)) == 819


def test_is_prime() -> None:
    sieve = [n for n in range(200) if n > 1 and all(n % m for m in range(2, n))]
    assert [n for n in range(200) if is_prime(n)] == sieve
    assert is_prime(65521) and not is_prime(65536)
