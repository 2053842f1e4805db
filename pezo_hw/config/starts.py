"""How many different starts, and so directions, training can visit.

A source repeats after K groups, and one pass over the weights takes T of them.  Each step starts
where the last one ended, so that step j starts at group j T mod K: the starts are the multiples of
gcd(T, K), and there are K / gcd(T, K) of them.  A seeded source starts each step from a seed
instead, the one after the last step's.
"""

from __future__ import annotations

import math

from pezo_hw.config.models import Config, OnTheFlySource, SeededSource, Source

SEEDS = 1 << 32
"""Starts of a source that a 32-bit seed starts."""


def period(source: Source) -> int:
    """Return the period K, in groups.

    lcm(n, 2^b - 1) or n (2^b - 1) for the bank, depending on the rotation; N / gcd(N, W) for the
    pool.

    Raises
    ------
    ValueError
        For a seeded source, whose streams are too long to repeat; ask its model.
    """
    if isinstance(source, SeededSource):
        raise ValueError(f"a {source.kind} source has no short period; ask its model")
    if isinstance(source, OnTheFlySource):
        states = (1 << source.bits) - 1
        if source.rotation == "clock":
            return math.lcm(source.generators, states)
        return source.generators * states
    return source.pool_size // math.gcd(source.pool_size, source.words)


def config_period(config: Config) -> int:
    """Return the groups after which lane values repeat: as `period`, with ``reuse.signs`` more.

    Raises
    ------
    ValueError
        As `period`.
    """
    found = period(config.source)
    if not config.reuse.signs:
        return found
    blocks = config.reuse.lanes // config.words
    return math.lcm(found, (1 << (64 if blocks <= 64 else 128)) - 1)


def groups_per_pass(parameters: int, *, lanes: int) -> int:
    """Return T, the groups that one pass over `parameters` weights takes: ceil(d / P)."""
    return -(-parameters // lanes)


def distinct_starts(groups: int, *, period: int) -> int:
    """Return how many start positions training visits when a pass takes `groups` groups."""
    return period // math.gcd(groups, period)


def config_starts(config: Config) -> int | None:
    """Return the start positions that training visits, or None without ``core.parameters``.

    With a seeded source each step has the next seed, so all seeds come up.
    """
    if config.core.parameters is None:
        return None
    if isinstance(config.source, SeededSource):
        return SEEDS
    groups = groups_per_pass(config.core.parameters, lanes=config.reuse.lanes)
    return distinct_starts(groups, period=config_period(config))


def is_prime(number: int) -> bool:
    """Tell whether a number is prime, by trial division; for numbers up to some millions."""
    if number < 2:
        return False
    return all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
