"""What a simulation does, and what the golden model says must come out: the benches' data."""

from __future__ import annotations

import numpy as np

from pezo_hw.config import Config
from pezo_hw.golden.engine import Engine, engine_of
from pezo_hw.golden.seeded import SeededEngine
from pezo_hw.simulate import plan_seeded, plan_step
from pezo_hw.simulate.effort import SHORT, Effort, Plan

__all__ = ["SHORT", "Effort", "Plan", "make_plan"]

#: Lane values that are prepared for a bench at most.
_MOST_VALUES = 1 << 24


def make_plan(config: Config, *, seed: int, effort: Effort) -> Plan:
    """Return what to simulate for a configuration, with the golden model's results."""
    if config.core.kind == "perturbation":
        engine = engine_of(config)
        if isinstance(engine, SeededEngine):
            return _seeded(engine, effort)
        return _perturbation(config, engine, effort)
    return plan_step.make(config, seed=seed, effort=effort)


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
