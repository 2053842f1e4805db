"""How much memory training a decoder-only transformer takes, by method; standard library only."""

from __future__ import annotations

from .methods import METHODS, Options, Usage, usage
from .models import MODELS, Shape, model
from .planner import BOARDS, Fit, fits, largest, largest_model

__all__ = [
    "BOARDS",
    "METHODS",
    "MODELS",
    "Fit",
    "Options",
    "Shape",
    "Usage",
    "fits",
    "largest",
    "largest_model",
    "model",
    "usage",
]
