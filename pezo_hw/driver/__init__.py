"""A driver of the step core: the same calls on a model, on simulated RTL and on a board."""

from __future__ import annotations

from .checked import CheckedBackend
from .engine import Engine
from .golden import GoldenBackend
from .layout import Layout
from .log import Log, dither_seed, replay
from .state import State, save
from .sweep import Backend, Description, Outcome, Sweep

__all__ = [
    "Backend",
    "CheckedBackend",
    "Description",
    "Engine",
    "GoldenBackend",
    "Layout",
    "Log",
    "Outcome",
    "State",
    "Sweep",
    "dither_seed",
    "replay",
    "save",
]
