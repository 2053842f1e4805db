"""A backend that compares every sweep of another one with the golden model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pezo_hw.golden.tensors import Tensor

from .sweep import Backend, Description, Outcome, Sweep


class CheckedBackend:
    """Gives what a device gives, and remembers whether a reference ever gave something else.

    Parameters
    ----------
    device : Backend
        Whose outputs count.
    reference : Backend
        Of the same configuration; gets the same sweeps of the same weights.

    Attributes
    ----------
    sweeps : int
        Sweeps so far.
    difference : str or None
        What differed first.
    """

    def __init__(self, device: Backend, *, reference: Backend):
        self.device, self.reference = device, reference
        self.sweeps = 0
        self.difference: str | None = None

    @property
    def description(self) -> Description:
        """See `Backend`."""
        return self.device.description

    def start(self, index: int) -> None:
        """See `Backend`."""
        self.device.start(index)
        self.reference.start(index)

    def load_table(self, table: Sequence[Tensor]) -> None:
        """See `Backend`."""
        self.device.load_table(table)
        self.reference.load_table(table)

    def sweep(self, command: Sweep, weights: NDArray[np.integer]) -> Outcome:
        """See `Backend`."""
        outcome = self.device.sweep(command, weights)
        expected = self.reference.sweep(command, weights)
        self.sweeps += 1
        if self.difference is None:
            self.difference = self._compare(outcome, expected)
        return outcome

    def close(self) -> None:
        """See `Backend`."""
        self.device.close()
        self.reference.close()

    def _compare(self, outcome: Outcome, expected: Outcome) -> str | None:
        where = f"sweep {self.sweeps}"
        for name, wanted in expected.outputs.items():
            given = outcome.outputs[name]
            if given.shape != wanted.shape:
                return f"{where}: {name} holds {len(given)} weights, not {len(wanted)}"
            places = np.flatnonzero(given != wanted)
            if len(places):
                first = int(places[0])
                return (
                    f"{where}: {name}[{first}] is {given[first]}, in the golden model "
                    f"{wanted[first]} ({len(places)} of {len(wanted)} weights differ)"
                )
        for name in ("saturations", "beats"):
            if getattr(outcome, name) != getattr(expected, name):
                return (
                    f"{where}: {name} are {getattr(outcome, name)}, in the golden model "
                    f"{getattr(expected, name)}"
                )
        return None
