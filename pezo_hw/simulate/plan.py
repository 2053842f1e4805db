"""What a simulation does, and what the golden model says must come out: the benches' data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.config import Config
from pezo_hw.golden.engine import Engine, engine_of
from pezo_hw.golden.seeded import SeededEngine
from pezo_hw.golden.step import StepCore
from pezo_hw.simulate import plan_seeded

#: Lane values that are prepared for a bench at most.
_MOST_VALUES = 1 << 24


@dataclass(frozen=True)
class Effort:
    """How much is simulated.

    Attributes
    ----------
    groups : int
        Most groups of the period of a perturbation core that are compared one after the other.
    wraps : int
        Times that a pool is gone through; a bank is gone through once.
    commands : int
        Clocks of random commands.
    reach : int
        Longest walk to a start index, in clocks.
    beats : int
        Beats of the step core's long sweep.
    steps : int
        Training steps of random length, each some sweeps.
    """

    groups: int = 70_000
    wraps: int = 3
    commands: int = 8_000
    reach: int = 70_000
    beats: int = 10_000
    steps: int = 6


#: Short enough for a wave file that can be read.
SHORT = Effort(groups=100, commands=400, reach=100, beats=50, steps=2)


@dataclass(frozen=True)
class Plan:
    """What one run of a bench is given.

    Attributes
    ----------
    bench : str
    tests : tuple of str
        Tests of the bench, in order.
    parameters : dict
    arrays : dict of str to ndarray
    period : int
        K of the source, groups.
    """

    bench: str
    tests: tuple[str, ...]
    parameters: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    period: int


def make_plan(config: Config, *, seed: int, effort: Effort) -> Plan:
    """Return what to simulate for a configuration, with the golden model's results."""
    if config.core.kind == "perturbation":
        engine = engine_of(config)
        if isinstance(engine, SeededEngine):
            return _seeded(engine, effort)
        return _perturbation(config, engine, effort)
    return _step(config, seed=seed, effort=effort)


def _seeded(engine: SeededEngine, effort: Effort) -> Plan:
    groups = max(64, min(effort.groups, _MOST_VALUES // 4 // engine.lane_count))
    return Plan(
        bench="bench_seeded",
        tests=("latencies", "period", "starts", "restores", "commands"),
        parameters={"commands": effort.commands},
        arrays=plan_seeded.arrays(engine, groups=groups),
        period=engine.period,
    )


def _perturbation(config: Config, engine: Engine, effort: Effort) -> Plan:
    period = engine.period
    most = max(512, min(effort.groups, _MOST_VALUES // engine.lane_count))
    windows = [(0, min(most, period))]
    tail = 64
    if windows[0][1] + tail < period <= effort.reach:
        windows.append((period - tail, tail))
    elif windows[0][1] < period <= effort.reach:
        windows = [(0, period)]
    return Plan(
        bench="bench_perturbation",
        tests=("latencies", "period", "starts", "restores", "commands"),
        parameters={
            "wraps": effort.wraps if config.source.kind == "pre-generated" else 1,
            "commands": effort.commands,
            "reach": effort.reach,
        },
        arrays={
            "first": np.array([first for first, _ in windows]),
            "count": np.array([count for _, count in windows]),
            "lanes": np.concatenate([engine.lanes(first, count) for first, count in windows]),
        },
        period=period,
    )


class Sweeps:
    """Collects sweeps and the golden model's results of them.

    Parameters
    ----------
    config : Config
        Of kind ``zo-step``.
    seed : int
        Of the random weights and commands.
    """

    def __init__(self, config: Config, *, seed: int):
        self.core = StepCore(config)
        self.rng = np.random.default_rng(seed)
        self.lanes = self.core.engine.lane_count
        self._sweeps: list[dict[str, Any]] = []
        self._weights: list[NDArray[np.int64]] = []
        self._results: list[NDArray[np.int64]] = []

    def add(
        self,
        weights: NDArray[np.int64],
        *,
        k: int = 0,
        coefficient: int = 0,
        capture: bool = False,
        dither_seed: int | None = None,
        start: int | None = None,
        stalls: tuple[str, str] = ("never", "never"),
        **special: Any,
    ) -> NDArray[np.int64]:
        """Add a sweep and return the weights that must come out.

        Parameters
        ----------
        weights : ndarray of int64, shape (d,)
            In LSBs.
        k, coefficient, capture, dither_seed
            As for `golden.step.StepCore.sweep`; the seed is random by default.
        start : int, optional
            Group to go to first.
        stalls : (str, str)
            Stall patterns of the weights that go in and of those that come out.
        **special
            For the bench: ``early``, beats that are missing behind an early TLAST; ``late``, no
            TLAST at all; ``reset``, beats after which the core is reset.
        """
        if dither_seed is None:
            dither_seed = int(self.rng.integers(1 << 32))
        if start is not None:
            self.core.start(start)
        before = self.core.engine.captured
        result = self.core.sweep(
            weights, k=k, coefficient=coefficient, dither_seed=dither_seed, capture=capture
        )
        if "reset" in special:
            self.core.start(self.core.engine.reset_index)
        self._sweeps.append(
            {
                "length": len(weights),
                "k": k,
                "coefficient": coefficient,
                "capture": int(capture),
                "dither_seed": dither_seed,
                "start": start,
                "first_group": before,
                "stalls": stalls,
                "saturations": result.saturations,
                **special,
            }
        )
        self._weights.append(weights)
        self._results.append(result.weights)
        return result.weights

    def random_weights(self, count: int, *, margin: int = 0) -> NDArray[np.int64]:
        """Return weights of the whole range less a margin, one in eight at its very ends."""
        top = self.core.arithmetic.weight_max - margin
        weights = self.rng.integers(-top - 1, top, count, endpoint=True)
        ends = self.rng.random(count) < 1 / 8
        weights[ends] = self.rng.choice((-top - 1, -top, top - 1, top), int(ends.sum()))
        return weights

    def random_coefficient(self) -> int:
        """Return a coefficient of any size, either sign, the extremes among them."""
        bits = self.core.arithmetic.coefficient_bits
        limit = 1 << (bits - 1)
        size = 1 << int(self.rng.integers(bits))
        chosen = int(self.rng.integers(-size, size, endpoint=True))
        return int(np.clip(self.rng.choice((chosen, chosen, -limit, limit - 1)), -limit, limit - 1))

    def plan(self) -> Plan:
        """Return what the bench needs."""
        kind = np.int16 if self.core.arithmetic.weight_bits == 16 else np.int8
        return Plan(
            bench="bench_step",
            tests=("sweeps", "patient_sink"),
            parameters={"sweeps": self._sweeps},
            arrays={
                "weights": np.concatenate(self._weights).astype(kind),
                "results": np.concatenate(self._results).astype(kind),
            },
            period=self.core.engine.period,
        )


# Sides of a sweep that stall: crossed, as each fault needs its own combination.
_STALLS = (
    ("never", "half"),
    ("half", "never"),
    ("bursts", "bursts"),
    ("alternate", "alternate"),
    ("rare", "heavy"),
    ("heavy", "rare"),
    ("half", "half"),
    ("never", "bursts"),
)


def _step(config: Config, *, seed: int, effort: Effort) -> Plan:
    sweeps = Sweeps(config, seed=seed)
    lanes, rng, arithmetic = sweeps.lanes, sweeps.rng, sweeps.core.arithmetic
    limit = 1 << (arithmetic.coefficient_bits - 1)
    period = sweeps.core.engine.period

    # Lengths around the size of a beat, and a prime; every k; stalls crossed.
    lengths = [1, lanes - 1 or 1, lanes, lanes + 1, 7 * lanes - 1, _prime(11 * lanes)]
    for number, length in enumerate(lengths * 2):
        k = (1, -2, 2, -1, 0)[number % 5]
        coefficient = sweeps.random_coefficient() if number % 5 == 4 or number % 3 == 2 else 0
        stalls = _STALLS[number % len(_STALLS)]
        sweeps.add(sweeps.random_weights(length), k=k, coefficient=coefficient, stalls=stalls)

    # The largest products, on weights at the ends of the range: what is wider wraps here.
    for number, (k, coefficient) in enumerate(((2, -limit), (-2, limit - 1), (0, -limit), (2, 0))):
        top = arithmetic.weight_max
        weights = rng.choice((-top - 1, top), 5 * lanes)
        sweeps.add(weights, k=k, coefficient=coefficient, stalls=_STALLS[-1 - number])

    # A sweep of 0 beats counts as one of 1.
    sweeps.add(sweeps.random_weights(lanes), k=-1, beats=0)

    # Extreme dither seeds; the same seed gives the same.
    for dither_seed in (0, (1 << 32) - 1, 0):
        weights = sweeps.random_weights(4 * lanes + 1)
        sweeps.add(weights, coefficient=limit // 3, dither_seed=dither_seed)

    # Training steps: both probes, restored exactly, the update with the restore or on its own.
    margin = 2 * arithmetic.largest_perturbation(
        sweeps.core.engine.bits, exponent=sweeps.core.engine.max_exponent
    )
    for number in range(effort.steps):
        length = int(rng.integers(1, 9 * lanes))
        stalls = _STALLS[number % len(_STALLS)]
        start = int(rng.integers(min(period, 200))) if number % 3 == 0 else None
        first = sweeps.random_weights(length, margin=margin)
        plus = sweeps.add(first, k=1, start=start, stalls=stalls)
        minus = sweeps.add(plus, k=-2, stalls=stalls[::-1])
        update = sweeps.random_coefficient()
        if number % 2:
            sweeps.add(minus, k=1, coefficient=update, capture=True, stalls=stalls)
            continue
        restored = sweeps.add(minus, k=1, restores=2, stalls=stalls)
        assert np.array_equal(restored, first), "golden model: weights are not restored"
        sweeps.add(restored, coefficient=update, capture=True)

    # Faults of the stream and resets, each followed by a sweep that must be sound.
    count = 6 * lanes
    for special in ({"early": 3}, {"late": True}, {"early": 20}, {"reset": 2}, {"reset": 0}):
        stalls = ("half", "half") if "reset" in special else ("rare", "never")
        # A reset must come before the sweep's end.
        weights = sweeps.random_weights(64 * lanes if "reset" in special else count)
        sweeps.add(weights, k=1, coefficient=limit // 2, **special)
        sweeps.add(sweeps.random_weights(count + 1), k=-1, coefficient=3, stalls=stalls)

    # Speed: nothing but the fixed overhead is added to a clock a beat.
    for beats in (1, effort.beats):
        weights = sweeps.random_weights(beats * lanes)
        sweeps.add(weights, k=1, coefficient=sweeps.random_coefficient(), measured=True)
    return sweeps.plan()


def _prime(least: int) -> int:
    value = max(least, 2)
    while any(value % factor == 0 for factor in range(2, int(value**0.5) + 1)):
        value += 1
    return value
