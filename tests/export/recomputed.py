"""A source's stream, worked out anew from nothing but the manifest's ``"source"``.

This is what a reader of ``pezo.json`` would write: plain integers, one bit after the other. It
shares no code with the model.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import ROUND_FLOOR, Decimal, localcontext
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from pezo_hw.golden.engine import AnyEngine

DIGITS = 60
# 70 digits, from a table; the model has its own.
PI = Decimal("3.141592653589793238462643383279502884197169399375105820974944592307816")

Source: TypeAlias = dict[str, Any]


def following(matrix: tuple[int, ...], state: int) -> int:
    """Next bit j is the parity of the state bits that row j taps."""
    result = 0
    for j, row in enumerate(matrix):
        tapped = 0
        for i in range(len(matrix)):
            if row >> i & 1:
                tapped += state >> i & 1
        result += (tapped % 2) << j
    return result


@cache
def walk(matrix: tuple[int, ...]) -> list[int]:
    """All states of one generator, from state 1 until it comes back."""
    # The step is linear: the next of a state is the sum of the nexts of its two halves.
    low = [following(matrix, v) for v in range(256)]
    high = [following(matrix, v << 8) for v in range(1 << max(0, len(matrix) - 8))]
    states = [1]
    while True:
        state = low[states[-1] & 255] ^ high[states[-1] >> 8]
        if state == 1:
            return states
        if len(states) == 1 << len(matrix):
            raise AssertionError("state 1 never comes back")
        states.append(state)


@cache
def mean_norm(words: int) -> Decimal:
    """E_W = sqrt(2) Gamma((W+1)/2) / Gamma(W/2)."""

    def gamma_of_half(twice: int) -> Decimal:
        m = twice // 2
        if twice % 2 == 0:
            return Decimal(math.factorial(m - 1))
        return Decimal(math.factorial(2 * m)) / (4**m * math.factorial(m)) * PI.sqrt()

    with localcontext(prec=DIGITS):
        return Decimal(2).sqrt() * gamma_of_half(words + 1) / gamma_of_half(words)


@cache
def exponent_of(square: int, *, words: int, bits: int) -> int:
    """floor(log2(E_W / ||r||) + 1/2), limited to 0 .. 3."""
    if square == 0:
        return 3
    with localcontext(prec=DIGITS):
        length = Decimal(square).sqrt() / 2 ** (bits - 1)
        place = (mean_norm(words) / length).ln() / Decimal(2).ln() + Decimal("0.5")
        return min(max(int(place.to_integral_value(rounding=ROUND_FLOOR)), 0), 3)


@cache
def edges(words: int, bits: int) -> tuple[int, int, int]:
    """The largest sums of squares with exponents of 1, 2 and 3, found by bisection."""

    def edge(exponent: int) -> int:
        low, high = 0, words * 4 ** (bits - 1)
        while high - low > 1:
            middle = (low + high) // 2
            if exponent_of(middle, words=words, bits=bits) >= exponent:
                low = middle
            else:
                high = middle
        return low

    return edge(1), edge(2), edge(3)


class Recomputed:
    """The stream that a manifest's source describes."""

    def __init__(self, source: Source):
        self.words: int = source["words"]
        self.period: int = source["period"]
        self.bits: int = source["bits"]
        self.lanes: int = source["lanes"]
        self.stride: int = source["stride"]
        self.exponents: list[int] = source["exponents"]
        self.rotation: str | None = source["rotation"]
        if source["kind"] == "pre-generated":
            self.pool: list[int] | None = source["pool"]
        else:
            self.pool = None
            self.sequence = walk(tuple(source["matrix"]))
            self.phases = [self.sequence.index(state) for state in source["states"]]

    def group(self, k: int) -> list[int]:
        if self.pool is not None:
            return [self.pool[(self.words * k + i) % len(self.pool)] for i in range(self.words)]
        period = len(self.sequence)
        turn = k if self.rotation == "clock" else k // period
        generators = [(i + turn) % self.words for i in range(self.words)]
        half = 2 ** (self.bits - 1)
        return [self.sequence[(self.phases[g] + k) % period] - half for g in generators]

    def exponent(self, k: int) -> int:
        return self.exponents[k % self.period] if len(self.exponents) > 1 else self.exponents[0]

    def lane_values(self, k: int) -> list[int]:
        group, exponent = self.group(k), self.exponent(k)
        values = []
        for lane in range(self.lanes):
            m, j = divmod(lane, self.words)
            values.append(group[(j + m * self.stride) % self.words] * 2**exponent)
        return values


def mismatch(source: Source, model: AnyEngine, *, start: int, count: int) -> str:
    """Say what differs between a manifest and a model, "" if nothing does."""
    try:
        again = Recomputed(source)
    except (AssertionError, ValueError) as error:
        return str(error) or "broken"
    steps = range(start, start + count)
    checks: dict[str, tuple[Any, list[Any], tuple[int, ...]]] = {
        "groups": (model.groups(start, count), [again.group(k) for k in steps], (again.words,)),
        "exponents": (model.exponents(start, count), [again.exponent(k) for k in steps], ()),
        "lanes": (model.lanes(start, count), [again.lane_values(k) for k in steps], (again.lanes,)),
    }
    for name, (found, expected, shape) in checks.items():
        if found.shape != (count, *shape) or not np.array_equal(found, np.array(expected)):
            return name
    return ""


def wrong_exponents(source: Source, *, mode: str, ks: range) -> str:
    """Say what is wrong about the exponents of the groups `ks`, by their definition."""
    again = Recomputed(source)
    squares = [sum(u * u for u in again.group(k)) for k in ks]
    limits = edges(again.words, again.bits)
    expected = [sum(square <= limit for limit in limits) for square in squares]
    found = [again.exponent(k) for k in ks]
    if mode == "none":
        return "" if source["exponents"] == [0] else "not [0]"
    if mode == "constant":
        counts = Counter(expected)
        commonest = counts[found[0]] == max(counts.values())
        return "" if commonest and len(source["exponents"]) == 1 else "not the commonest"
    if len(source["exponents"]) not in (1, again.period):
        return "neither 1 nor K exponents"
    if len(source["exponents"]) > 1 and len(set(source["exponents"])) == 1:
        return "a list of equal exponents"
    return "" if found == expected else "not by the definition"
