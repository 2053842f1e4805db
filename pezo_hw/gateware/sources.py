"""Which engine a model's source needs."""

from pezo_hw.golden.engine import AnyEngine
from pezo_hw.golden.seeded import SeededEngine as GoldenSeededEngine

from .engine import Engine
from .seeded import SeededEngine


def engine_for(model: AnyEngine, *, shows_exponent: bool = False) -> Engine | SeededEngine:
    """Return the engine that gives a model's words. Both have the same ports.

    Only groups with different exponents, which no seeded source has, can show theirs.
    """
    if isinstance(model, GoldenSeededEngine):
        return SeededEngine(model)
    return Engine(model, shows_exponent=shows_exponent)
