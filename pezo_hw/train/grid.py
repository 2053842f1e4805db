"""Steps of ZOQO: weights that never leave a grid of few bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import real
from pezo_hw.errors import PezoError

from .checks import finite
from .sources import Source
from .weights import Group, Options, Slot
from .zo import LARGEST, Piece, Stepper

# The smallest normal float32.
_LEAST = 2.0**-126
# Whole LSBs of a step: with them all sums of a grid stay below 2^31.
_MOST_WHOLE = 1 << 30


class GridStepper(Stepper):
    """Steps of ZOQO: weights q s on a grid of `bits` bits, moved by whole LSBs.

    Every tensor has its own s, at first 2 max |theta| / (2^bits - 1), and q is within
    -2^(bits-1) .. 2^(bits-1) - 1. u is uniform on -m .. m with m = max(floor(eps / s), 1), both
    sides are limited to the grid, and q <- limit(q - max(floor(eta / s), 1) sign(L+ - L-) sign(u)).
    """

    def __init__(self, *arguments: Any, scales: Sequence[float] | None = None, **keywords: Any):
        super().__init__(*arguments, **keywords)
        if self.options.queries != 1:
            raise PezoError(
                f"queries must be 1 with zoqo, not {self.options.queries}; use 1 or another rule"
            )
        if any(group.strength or group.word_bits for group in self.groups):
            raise PezoError("strength and word_bits must be 0 with zoqo; use eps and lr")
        self.source.check_levels()
        top = 1 << (self.options.bits - 1)
        self._low, self._high = -top, top - 1
        # All of it is checked before the first weight moves to its grid.
        self.scales: list[float] = list(scales or map(self._scale_of, range(len(self.slots))))
        self._check_sizes()
        self.grid: list[NDArray[np.int32]] = []
        for number, (slot, scale) in enumerate(zip(self.slots, self.scales, strict=True)):
            values = slot.read()
            if self._frozen(number):
                values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
            self.grid.append(
                np.clip(np.rint(values / scale), self._low, self._high).astype(np.int32)
            )
            self._write(number)
        self._levels = np.empty(len(self._scratch), dtype=np.int32)

    def _frozen(self, number: int) -> bool:
        return self.groups[self.members[number]].frozen

    def _scale_of(self, number: int) -> float:
        """Return the s of a tensor, or refuse weights that no grid can hold."""
        largest = float(np.abs(self.slots[number].read()).max(initial=0.0))
        scale = 2 * (largest or 1.0) / (self._high - self._low)
        # In float32, in which they are written.
        if scale >= _LEAST and -self._low * scale <= LARGEST:
            return scale
        if self._frozen(number):
            return 1.0
        raise PezoError(
            "weights for zoqo must be finite and fit a grid of float32, but the largest of "
            f"parameter {number} is {largest:g}; mend it, or freeze its group"
        )

    def _check_sizes(self) -> None:
        for number in range(len(self.slots)):
            if not self._frozen(number):
                self._whole(number, self.options.epsilon, name="eps")
                self._whole(number, self.groups[self.members[number]].rate, name="lr")

    def refresh(self, number: int) -> None:
        """Refuse weights that were changed from outside: they would leave the grid.

        Raises
        ------
        PezoError
            If they are not those of the grid.
        """
        if not self._frozen(number) and not self.slots[number].holds(self._values(number)):
            raise PezoError(
                "weights on a grid must change by steps alone, but others were put into parameter "
                f"{number}; make the optimiser after that"
            )

    def _values(self, number: int) -> NDArray[np.float32]:
        values: NDArray[np.float32] = self.grid[number] * np.float32(self.scales[number])
        return values.astype(np.float32)

    def _write(self, number: int) -> None:
        if not self._frozen(number):
            self.slots[number].write(0, self._values(number))

    def _whole(self, number: int, size: float, *, name: str) -> int:
        """Return eps or lr in whole LSBs, at least 1."""
        whole = size / self.scales[number]
        if whole > _MOST_WHOLE:
            raise PezoError(
                f"{name} must be at most 2^30 times the step {self.scales[number]:g} of the grid "
                f"of parameter {number}, not {size:g}; use a smaller one"
            )
        return max(1, math.floor(whole))

    def _moves(self, start: int) -> Iterator[tuple[Piece, NDArray[np.int32]]]:
        for first, pieces in self._plan:
            by_most: dict[int, list[Piece]] = {}
            for piece in pieces:
                if not self._frozen(piece.slot):
                    most = self._whole(piece.slot, self.options.epsilon, name="eps")
                    by_most.setdefault(most, []).append(piece)
            for most, chosen in by_most.items():
                levels = self._levels[: chosen[-1].high]
                self.source.levels(levels, start=start, first=first, most=most)
                for piece in chosen:
                    yield piece, levels[piece.low : piece.high]

    def _write_side(self, start: int, k: int) -> None:
        if k == 0:
            for number in range(len(self.slots)):
                self._write(number)
            return
        for piece, level in self._moves(start):
            grid = self.grid[piece.slot][piece.begin : piece.begin + len(level)]
            moved = np.clip(grid + k * level, self._low, self._high)
            values = (moved * np.float32(self.scales[piece.slot])).astype(np.float32)
            self.slots[piece.slot].write(piece.begin, values)

    def step(self, loss: Callable[[], float]) -> float:
        """Do a step and return the mean of its two losses."""
        self._check_rates()
        self._check_sizes()
        # Before anything is written, as the weights must stay as they are.
        if self.recorder is not None and any(
            group.rate != group.base for group in self.groups if not group.frozen
        ):
            raise PezoError("a training log of zoqo must have a constant learning rate")
        try:
            sides = []
            for k in (1, -1):
                self._write_side(self.start, k)
                sides.append(finite(loss()))
        except BaseException:
            self._write_side(self.start, 0)
            raise
        direction = float(np.sign(sides[0] - sides[1]))
        if self.recorder is not None:
            self.recorder.append(self.start, direction)
        self.apply([self.start], [direction])
        return (sides[0] + sides[1]) / 2

    def apply(self, starts: Sequence[int], scalars: Sequence[float]) -> None:
        """Move the grid as a step did; integers, so exactly."""
        start, direction = starts[0], int(scalars[0])
        if direction:
            for piece, level in self._moves(start):
                size = self.groups[self.members[piece.slot]].rate
                rate = self._whole(piece.slot, size, name="lr")
                grid = self.grid[piece.slot][piece.begin : piece.begin + len(level)]
                np.clip(grid - rate * direction * np.sign(level), self._low, self._high, out=grid)
        self._write_side(start, 0)
        self.start = self.source.after(start, self.length)
        self.steps += 1

    def state(self) -> dict[str, Any]:
        """Return what a later stepper needs: the grids belong to it, as weights give no s."""
        return super().state() | {
            "scales": list(self.scales),
            "grid": [q.copy() for q in self.grid],
        }

    def _identity(self) -> dict[str, Any]:
        return super()._identity() | {"bits": self.options.bits}

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Refuse a state of another optimiser; nothing is changed."""
        super().check_state(state)
        scales, grid = state.get("scales"), state.get("grid")
        check_scales(scales, count=len(self.slots))
        sizes = [slot.size for slot in self.slots]
        if not isinstance(grid, Sequence) or [_size(q) for q in grid] != sizes:
            raise PezoError(f"a state to load must have grids of {sizes} weights")
        parts = [np.asarray(q) for q in grid]
        if any(q.min() < self._low or q.max() > self._high for q in parts if q.size):
            raise PezoError(f"a grid of a state to load must be in {self._low} to {self._high}")

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
        super().load(state)
        self.scales = list(state["scales"])
        self.grid = [np.array(q, dtype=np.int32) for q in state["grid"]]
        self._write_side(self.start, 0)


def check_scales(scales: Any, *, count: int) -> None:
    """Refuse what are not the scales of so many grids."""
    if not isinstance(scales, Sequence) or len(scales) != count:
        raise PezoError("a state to load must have a positive scale for each tensor's grid")
    for scale in scales:
        real("the scale of a grid", scale, positive=True, example="0.01")


def _size(grid: Any) -> int:
    """Return the number of weights of a grid, -1 for what is none."""
    try:
        return np.asarray(grid).astype(np.int32).size
    except (OverflowError, TypeError, ValueError):
        return -1


def stepper_of(
    slots: Sequence[Slot],
    members: Sequence[int],
    groups: Sequence[Group],
    *,
    source: Source,
    options: Options,
    seed: int = 0,
    scales: Sequence[float] | None = None,
) -> Stepper:
    """Return the stepper of a rule; `scales` are those of a grid that there was before."""
    if options.rule == "zoqo":
        return GridStepper(
            slots, members, groups, source=source, options=options, seed=seed, scales=scales
        )
    return Stepper(slots, members, groups, source=source, options=options, seed=seed)
