"""The golden model as a backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import whole
from pezo_hw.errors import PezoError
from pezo_hw.golden.schedules import USED
from pezo_hw.golden.step import StepCore
from pezo_hw.golden.tensors import Tensor

from . import arguments
from .sweep import Description, Outcome, Sweep

if TYPE_CHECKING:
    from pezo_hw.config import Config


class GoldenBackend:
    """Sweeps of the golden model, `golden.step.StepCore`.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``.

    Raises
    ------
    PezoError
        For another kind of core, and one with perturbations that are wider than its weights, which
        cannot be built.
    """

    def __init__(self, config: Config):
        self.core = StepCore(arguments.step_core(config))
        # Here and not at the top: a board does without configurations.
        from pezo_hw.config import check_exponent

        check_exponent(config, self.core.engine.max_exponent, where=config.core.name)
        self.description = Description.of(config, model=self.core.engine)
        self._table: tuple[Tensor, ...] = ()

    def load_table(self, table: Sequence[Tensor]) -> None:
        """See `Backend`."""
        self._table = arguments.table(table, description=self.description)

    def start(self, index: int) -> None:
        """See `Backend`."""
        self.core.start(whole("a start", index, least=0))

    def sweep(self, command: Sweep, weights: NDArray[np.integer]) -> Outcome:
        """See `Backend`."""
        arguments.command(command, description=self.description)
        given_weights = arguments.weights(weights, description=self.description)
        beats = self.description.beats(len(given_weights))
        wanted = sum(tensor.beats for tensor in self._table)
        if self._table and beats != wanted:
            raise PezoError(f"weights must take the {wanted} beats of the table, not {beats}")
        result = self.core.sweep(
            given_weights,
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
