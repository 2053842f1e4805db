"""A source that the hardware does not have, to ask what it would gain from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pezo_hw.golden.norm import expected_norm_squared
from pezo_hw.train.sources import PezoSource


class ExactScaling(PezoSource):
    """Every group is scaled to the exact mean norm of a Gaussian, instead of by a power of two."""

    def __init__(self, config: Any):
        super().__init__(config)
        self.factor = 1.0
        self._norm = float(expected_norm_squared(self.engine.words)) ** 0.5

    def _groups(self, start: int, first: int, count: int, *, bits: int) -> Any:
        words = super()._groups(start, first, count, bits=bits).astype(np.float64)
        norms = np.sqrt((words**2).sum(axis=1, keepdims=True))
        norms[norms == 0] = 1
        return words * (self._norm / self.engine.scale / norms)


VARIANTS: dict[str, type[PezoSource]] = {"exact scaling": ExactScaling}
"""By the name that a trial's key ``variant`` has."""
