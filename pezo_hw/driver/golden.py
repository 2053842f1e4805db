"""The golden model as a backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pezo_hw.golden.schedules import USED
from pezo_hw.golden.step import StepCore
from pezo_hw.golden.tensors import Tensor

from .sweep import Description, Outcome, Sweep

if TYPE_CHECKING:
    from pezo_hw.config import Config


class GoldenBackend:
    """Sweeps of the golden model, `golden.step.StepCore`.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``.
    """

    def __init__(self, config: Config):
        self.core = StepCore(config)
        self.description = Description.of(config, model=self.core.engine)
        self._table: tuple[Tensor, ...] = ()

    def load_table(self, table: Sequence[Tensor]) -> None:
        """See `Backend`."""
        self._table = tuple(table)

    def start(self, index: int) -> None:
        """See `Backend`."""
        self.core.start(index)

    def sweep(self, command: Sweep, weights: NDArray[np.integer]) -> Outcome:
        """See `Backend`."""
        result = self.core.sweep(
            weights,
            kind=command.kind,
            k=command.k,
            coefficient=command.coefficient,
            dither_seed=command.dither_seed,
            capture=command.capture,
            capture_b=command.capture_b,
            table=self._table,
        )
        given = {"weights": result.weights, "plus": result.plus, "minus": result.minus}
        outputs = {name: value for name in USED[command.kind] if (value := given[name]) is not None}
        return Outcome(outputs, saturations=result.saturations, beats=result.beats)

    def close(self) -> None:
        """See `Backend`."""
