"""Warnings: what is legal but weak, and what would be better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from pydantic import ValidationError

from pezo_hw.config.models import Config, OnTheFlySource, PreGeneratedSource, SeededSource
from pezo_hw.config.rules import MAX_GENERATORS, most_lanes, nearest_multiples
from pezo_hw.config.starts import (
    config_period,
    config_starts,
    groups_per_pass,
    is_prime,
    period,
)

FEW_STARTS = 1000
"""Fewer start positions than this are few.

Training lives in the span of the directions it visits. In trials with a small classifier a pool of
4095 words trained as well as Gaussian numbers; pools of 255 and 31 words ended 40 and 60 points
lower.
"""

SMALL_SHARE = 10
"""Visiting less than one in so many of the K groups wastes the period that has been paid for .."""

MANY_STARTS = 10_000
""".. unless there are this many all the same."""


def warnings(config: Config) -> list[str]:
    """Return what is legal but weak about a configuration: one line each, with a better choice.

    The start positions are only judged if ``core.parameters`` is given; see `few_starts`.
    """
    return [line for check in CHECKS for line in check(config)]


def few_starts(config: Config) -> bool:
    """Tell whether training with this configuration visits few start positions.

    They are few if there are less than `FEW_STARTS`, or less than `MANY_STARTS` and less than one
    in `SMALL_SHARE` groups of the period. False without ``core.parameters``.
    """
    starts = config_starts(config)
    if starts is None or isinstance(config.source, SeededSource):
        return False
    wasteful = starts < MANY_STARTS and starts * SMALL_SHARE < config_period(config)
    return starts < FEW_STARTS or wasteful


def starts_warning(config: Config, *, parameters: int, spread: bool = False) -> str | None:
    """Return what is weak about training so many parameters: one line, or None.

    As in `warnings`, whatever ``core.parameters`` says.

    Parameters
    ----------
    config : Config
    parameters : int
    spread : bool
        Whether the weights are padded so that steps begin at every group: the source may still have
        too few of them.
    """
    # One beat: with it steps begin at every group, whatever the period.
    trained = variant(config, core__parameters=1 if spread else parameters)
    for line in _starts(trained) if trained is not None else ():
        return f"{parameters} weights: {line.partition(': ')[2]}"
    return None


def variant(config: Config, **keys: Any) -> Config | None:
    """Return the configuration with some keys replaced, or None if that is not legal.

    Parameters
    ----------
    config : Config
        Left as it is.
    **keys
        ``section__key=value``. A value of None removes the key.
    """
    mapping = config.model_dump(exclude_none=True)
    for name, value in keys.items():
        section, _, key = name.partition("__")
        mapping[section].pop(key, None)
        if value is not None:
            mapping[section][key] = value
    try:
        return Config.model_validate(mapping)
    except ValidationError:
        return None


def better_pool_size(config: Config) -> int | None:
    """Return the pool size nearest to the given one with which training visits all N starts.

    A prime, because it shares no factor with any words a clock or pass length but its own
    multiples. A size that needs no more address bits goes first, so that the memory does not grow.
    If the start positions are few because the pool is small, the size is at least about
    `FEW_STARTS`.
    """
    source = config.source
    if not isinstance(source, PreGeneratedSource):
        return None
    wanted = max(source.pool_size, FEW_STARTS) if few_starts(config) else source.pool_size
    most = 1 << (wanted - 1).bit_length()
    sizes = sorted(range(3, 2 * most), key=lambda size: (size > most, abs(size - wanted)))
    for size in sizes:
        if size == source.pool_size or not is_prime(size):
            continue
        other = variant(config, source__pool_size=size)
        if other is None or few_starts(other):
            continue
        if config_starts(other) in (None, size):
            return size
    return None


_Keys: TypeAlias = dict[str, int]


def _better_banks(config: Config, good: Callable[[Config], bool]) -> Iterator[_Keys]:
    """Yield the keys to change for the nearest banks that are `good`.

    One with another generator count (and, if it must be, other lanes), one with other bits.
    """
    source, lanes = config.source, config.reuse.lanes
    assert isinstance(source, OnTheFlySource)
    counts = sorted(
        (n for n in range(2, MAX_GENERATORS + 1) if n != source.generators),
        key=lambda n: abs(n - source.generators),
    )
    banks: list[_Keys] = [{"source.generators": n} for n in counts if lanes % n == 0]
    banks += [
        {"source.generators": n, "reuse.lanes": p}
        for n in counts
        for p in nearest_multiples(lanes, of=n, most=most_lanes(config))
    ]
    words = sorted(range(4, 17), key=lambda bits: abs(bits - source.bits))
    for options in (banks, [{"source.bits": bits} for bits in words]):
        for keys in options:
            other = _changed(config, keys)
            if other is not None and good(other):
                yield keys
                break


def _changed(config: Config, keys: _Keys) -> Config | None:
    changes: dict[str, Any] = {name.replace(".", "__"): value for name, value in keys.items()}
    if "source.bits" in keys:
        # A polynomial belongs to its number of bits, and the leap to the polynomial.
        changes |= {"source__polynomial": None, "source__leap": None}
    return variant(config, **changes)


def _written(keys: _Keys) -> str:
    return " with ".join(f"{name} = {value}" for name, value in keys.items())


def _starts(config: Config) -> Iterator[str]:
    starts, parameters = config_starts(config), config.core.parameters
    if starts is None or parameters is None or not few_starts(config):
        return
    assert not isinstance(config.source, SeededSource)
    better: list[_Keys] = []
    if isinstance(config.source, OnTheFlySource):
        better = list(_better_banks(config, lambda other: not few_starts(other)))
    elif size := better_pool_size(config):
        better = [{"source.pool_size": size}]
    hints = []
    for keys in better:
        other = _changed(config, keys)
        assert other is not None
        hints.append(f"{_written(keys)} (then {config_starts(other)})")
    groups = groups_per_pass(parameters, lanes=config.reuse.lanes)
    why = f"of {period(config.source)} start positions, because a pass takes {groups} groups"
    if starts == config_period(config):
        why = "start positions, because the source has no more groups"
    yield (
        f"core.parameters = {parameters}: training visits only {starts} {why}"
        f"{'; use ' + ' or '.join(hints) if hints else ''}"
    )


def _coprime(config: Config) -> Iterator[str]:
    source = config.source
    # With rotation "period" all n (2^b - 1) groups come up anyway.
    if not isinstance(source, OnTheFlySource) or source.rotation != "clock":
        return
    states = 2**source.bits - 1
    factor = math.gcd(source.generators, states)
    if factor == 1:
        return

    def good(other: Config) -> bool:
        assert isinstance(other.source, OnTheFlySource)
        return math.gcd(other.source.generators, 2**other.source.bits - 1) == 1

    hints = [_written(keys) for keys in _better_banks(config, good)]
    hints.append('source.rotation = "period"')
    n, full = source.generators, source.generators * states
    yield (
        f"source.generators = {n} is not coprime to the period 2^bits - 1 = {states}: the groups "
        f"repeat after {period(source)} instead of {full}; use {' or '.join(hints)}"
    )


def _pool(config: Config) -> Iterator[str]:
    source = config.source
    if not isinstance(source, PreGeneratedSource):
        return
    size, words = source.pool_size, source.words
    reasons = []
    if size & (size - 1) == 0:
        reasons.append("is a power of two, so that the pool re-aligns with tensors of such sizes")
    factor = math.gcd(size, words)
    if factor != 1:
        reasons.append(
            f"shares the factor {factor} with source.words = {words}, so that the groups repeat "
            f"after {period(source)} instead of {size}"
        )
    if reasons:
        better = better_pool_size(config)
        hint = f"; use a prime, e.g. {better}" if better else ""
        yield f"source.pool_size = {size} {' and '.join(reasons)}{hint}"


CHECKS: tuple[Callable[[Config], Iterator[str]], ...] = (_starts, _coprime, _pool)
"""All warnings; a new one is a function and a line here."""
