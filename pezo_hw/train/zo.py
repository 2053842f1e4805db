"""The zeroth-order step on real weights that lie anywhere: what numpy and torch paths share.

::

    theta+- = theta +- eps z          two losses
    g = (L+ - L-) / (2 eps)           rounded to float32, so that a log can hold it
    theta <- theta - eta g z

z is the source's row times its factor. It is read anew in every sweep and never kept.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pezo_hw.arguments import shown, whole
from pezo_hw.errors import PezoError, PezoWarning

from .checks import finite, is_copy, part, same
from .sources import Floats, Source
from .weights import Copy, Group, Options, Slot

# A schedule rounds the rate of each group on its own, step after step, so factors that are meant to
# be one differ in their last bits. Far below the 2^-24 to which a log rounds its scalars.
_ALIKE = 2.0**-30
# Of a base: what a schedule that ends at 0 leaves.
_NOTHING = 2.0**-40

LARGEST = float(np.finfo(np.float32).max)
"""The largest float32."""

# z times a size must be finite in float32, which leaves a z of 2^12.
_MOST_SIZE = 2.0**116

MOST_SEED = 2**32 - 1
"""Seeds of software's sources are spread 2^20 steps apart, and a log has 64 bits for a start."""


class Recorder(Protocol):
    """Takes what a step did; see `pezo_hw.train.log`."""

    def append(self, start: int, scalar: float) -> None:
        """Add a query of a step."""


@dataclass(frozen=True)
class Piece:
    """Where a part of a slot lies in a chunk: chunk[low:high] is slot[begin:]."""

    slot: int
    begin: int
    low: int
    high: int


class Stepper:
    """Does the steps.

    Parameters
    ----------
    slots : sequence of Slot
    members : sequence of int
        The group of each slot.
    groups : sequence of Group
    source : Source
    options : Options
    seed : int
        Chooses where the first step begins.

    Attributes
    ----------
    start : int
        Where the next step begins.
    steps : int
        Steps done.
    recorder : Recorder or None
        Gets each query's start and scalar.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        members: Sequence[int],
        groups: Sequence[Group],
        *,
        source: Source,
        options: Options,
        seed: int = 0,
    ):
        self.slots, self.members, self.groups = list(slots), list(members), list(groups)
        self.source, self.options = source, options
        self.factor = source.factor if options.fold else 1.0
        self.start = source.first(whole("seed", seed, least=0, most=MOST_SEED))
        self.steps = 0
        self.recorder: Recorder | None = None
        self.check(self.groups)
        self.offsets, self.length = self._place()
        self._plan = self._pieces()
        self._scratch: Floats = np.empty(min(source.chunk, self.length), dtype=np.float32)
        self._kept: list[Copy] | None = None
        if options.variant == "replay" and options.rule != "zoqo":
            self._kept = [self._copy(number) for number in range(len(self.slots))]

    def _copy(self, number: int) -> Copy:
        """Return a second copy of weights; frozen ones need none."""
        if self.groups[self.members[number]].frozen:
            return np.empty(0, dtype=np.float32)
        return self.slots[number].copy()

    def refresh(self, number: int) -> None:
        """Take over the weights of a slot that may have been changed between two steps.

        A second copy that they are the rounding of stays, as it has more bits.
        """
        if self._kept is None:
            return
        kept, now = self._kept[number], self._copy(number)
        if (
            kept.shape != now.shape
            or kept.dtype != now.dtype
            or (kept.size and not self.slots[number].holds(kept))
        ):
            self._kept[number] = now

    def check(self, groups: Sequence[Group]) -> None:
        """Refuse settings that this optimiser cannot have."""
        if not any(slot.size for slot in self.slots):
            raise PezoError(
                "an optimiser must have at least one parameter with weights, not none; give e.g. "
                "model.parameters()"
            )
        free = (
            slot.size
            for slot, m in zip(self.slots, self.members, strict=True)
            if not groups[m].frozen
        )
        if not any(free):
            raise PezoError(
                "an optimiser must have a parameter group that is not frozen, or no step does "
                "anything; leave out frozen for one"
            )
        for group in groups:
            if group.word_bits > self.source.word_bits:
                has = self.source.word_bits
                what = f"has words of {has} bits" if has else "has no words"
                raise PezoError(
                    f"word_bits must fit the source {self.source.name}, which {what}, "
                    f"not {shown(group.word_bits)}; 0 takes all bits"
                )
            size = self.options.epsilon * self.factor * 2.0**group.strength
            if self.options.rule != "zoqo" and not size <= _MOST_SIZE:
                raise PezoError(
                    "eps must be so small that perturbed weights are finite in float32, not "
                    f"{self.options.epsilon:g}; give e.g. 1e-3"
                )

    def warn(self) -> None:
        """Warn of a source that gives few directions to so many weights; for constructors."""
        if (weak := self.source.weakness(self.length)) is not None:
            warnings.warn(weak, PezoWarning, stacklevel=3)

    def _place(self) -> tuple[list[int], int]:
        offsets, place = [], 0
        for slot in self.slots:
            if self.options.layout == "tensors":
                place = -(-place // self.source.grain) * self.source.grain
            offsets.append(place)
            place += slot.size
        return offsets, place

    def _pieces(self) -> list[tuple[int, list[Piece]]]:
        """Return what lies in each chunk: (first position, pieces)."""
        size = self.source.chunk
        plan: dict[int, list[Piece]] = {}
        for number, (slot, offset) in enumerate(zip(self.slots, self.offsets, strict=True)):
            end = offset + slot.size
            for first in range(offset // size * size, end, size):
                low, high = max(offset, first), min(end, first + size)
                piece = Piece(number, low - offset, low - first, high - first)
                plan.setdefault(first, []).append(piece)
        return sorted(plan.items())

    def _chunks(
        self, start: int, scales: Sequence[float], *, sign: bool = False
    ) -> Iterator[tuple[Piece, Floats]]:
        """Yield each piece with its z times the scale of its group.

        Every row of a chunk is drawn as long as the chunk is filled, whoever reads it: a sweep that
        perturbs and one that updates group pieces in other ways, and a source need not draw the
        same numbers for another length (torch does not).
        """
        for first, pieces in self._plan:
            scratch = self._scratch[: pieces[-1].high]
            by_setting: dict[tuple[float, int], list[Piece]] = {}
            for piece in pieces:
                group = self.groups[self.members[piece.slot]]
                if not group.frozen:
                    scale = scales[self.members[piece.slot]]
                    by_setting.setdefault((scale, group.word_bits), []).append(piece)
            for (scale, bits), chosen in by_setting.items():
                self.source.fill(
                    scratch, start=start, first=first, scale=scale, bits=bits, sign=sign
                )
                for piece in chosen:
                    yield piece, scratch[piece.low : piece.high]

    def _sweep(self, start: int, scales: Sequence[float], *, sign: bool = False) -> None:
        for piece, change in self._chunks(start, scales, sign=sign):
            self.slots[piece.slot].add(piece.begin, change)

    def _perturb(self, start: int, k: int) -> None:
        self._sweep(start, self._scales(k * self.options.epsilon))

    def _scales(self, size: float) -> list[float]:
        return [size * self.factor * 2.0**group.strength for group in self.groups]

    def _write_side(self, start: int, k: int) -> None:
        """Write theta + k eps z from the copy at rest; k = 0 writes the copy itself."""
        assert self._kept is not None
        if k == 0:
            for slot, kept in zip(self.slots, self._kept, strict=True):
                if kept.size:
                    slot.write(0, kept)
            return
        for piece, change in self._chunks(start, self._scales(k * self.options.epsilon)):
            kept = self._kept[piece.slot][piece.begin : piece.begin + len(change)]
            self.slots[piece.slot].write(piece.begin, kept + change)

    def step(self, loss: Callable[[], float]) -> float:
        """Do a step and return the mean of the losses that it saw.

        Parameters
        ----------
        loss : callable
            Computes the loss of the weights as they are; the same batch each time within a step.

        Raises
        ------
        PezoError
            If a loss or the update is not finite. The weights are then as before the step: exactly
            with a second copy or on a grid, to the rounding of float32 where they are perturbed in
            place.
        """
        if self.options.rule == "zoqo":
            raise ValueError("steps on a grid are those of GridStepper")
        self._check_rates()
        factor, losses, gradients = self._factor(), [], []
        starts = [self._start_of(query) for query in range(self.options.queries)]
        for start in starts:
            plus, minus = self._sides(start, loss)
            losses += [plus, minus]
            gradients.append((plus - minus) / (2 * self.options.epsilon))
        try:
            rates = self._rates(gradients, factor)
        except BaseException:
            if self._kept is not None:
                self._write_side(starts[0], 0)
            elif self.options.queries == 1:
                self._perturb(starts[0], 1)
            raise
        self._update(starts, rates)
        self.start = self.source.after(starts[-1], self.length)
        self.steps += 1
        return math.fsum(losses) / len(losses)

    def _check_rates(self) -> None:
        # Before anything is written: they may have been changed since the last step.
        for group in self.groups:
            group.check_rate()

    def _sides(self, start: int, loss: Callable[[], float]) -> tuple[float, float]:
        """Return both losses; in place, the weights are left at theta - eps z if all went well."""
        replay, at = self._kept is not None, 0
        try:
            sides = []
            for k in (1, -1):
                if replay:
                    self._write_side(start, k)
                else:
                    self._perturb(start, k - at)
                at = k
                sides.append(finite(loss()))
        except BaseException:
            if replay:
                self._write_side(start, 0)
            elif at:
                self._perturb(start, -at)
            raise
        if not replay and self.options.queries > 1:
            self._perturb(start, 1)
        return sides[0], sides[1]

    def _factor(self) -> float | None:
        """Return by what all rates differ from their bases; None if not by the same."""
        factors = [group.rate / group.base for group in self.groups if not group.frozen] or [1.0]
        # The step is done with the first one times the bases, as in `apply`, so a replay is exact.
        if all(
            math.isclose(factor, factors[0], rel_tol=_ALIKE, abs_tol=_NOTHING) for factor in factors
        ):
            return factors[0]
        if self.recorder is not None:
            raise PezoError(
                "a training log holds one scalar a step, so all groups must follow the same "
                "schedule of learning rates; leave out the log or share the schedule"
            )
        return None

    def _rates(self, gradients: Sequence[float], factor: float | None) -> list[list[float]]:
        """Return what each query's z is multiplied with, by group; record it."""
        result, scalars = [], []
        for gradient in gradients:
            scalar = float(np.sign(gradient)) if self.options.rule == "sign" else gradient
            scalar = rounded(scalar / self.options.queries)
            if factor is None:
                result.append([scalar * group.rate for group in self.groups])
                continue
            scalar = rounded(scalar * factor)
            result.append([scalar * group.base for group in self.groups])
            scalars.append(scalar)
        self._check_update(result)
        if self.recorder is not None:
            for number, scalar in enumerate(scalars):
                self.recorder.append(self._start_of(number), scalar)
        return result

    def _check_update(self, rates: Sequence[Sequence[float]]) -> None:
        """Refuse an update after which weights may be infinite or none."""
        for by_group in rates:
            for group, rate in zip(self.groups, by_group, strict=True):
                factor = 1.0 if self.options.rule == "sign" else self.factor * 2.0**group.strength
                if not group.frozen and not abs(rate) * factor <= _MOST_SIZE:
                    raise PezoError(
                        "an update must be finite in float32, but lr times the gradient is "
                        f"{rate:g}; use a smaller learning rate, or a larger eps"
                    )

    def _start_of(self, query: int) -> int:
        start = self.start
        for _ in range(query):
            start = self.source.after(start, self.length)
        return start

    def apply(self, starts: Sequence[int], scalars: Sequence[float]) -> None:
        """Do again what a step did to the weights, from its starts and scalars.

        The sweeps are the same ones, so the result is the same to the last bit.
        """
        rates = [[scalar * group.base for group in self.groups] for scalar in scalars]
        self._check_update(rates)
        if self._kept is None:
            for start in starts:
                self._perturb(start, 1)
                self._perturb(start, -2)
                if self.options.queries > 1:
                    self._perturb(start, 1)
        self._update(starts, rates)
        self.start = self.source.after(starts[-1], self.length)
        self.steps += 1

    def _update(self, starts: Sequence[int], rates: Sequence[Sequence[float]]) -> None:
        """Subtract rate times z for each query; in place, a single one restores as well."""
        epsilon, sign = self.options.epsilon, self.options.rule == "sign"
        restore = self._kept is None and self.options.queries == 1
        if restore and sign:
            # The sign of z is another row than z, so there is nothing to share.
            self._perturb(starts[0], 1)
        for start, by_group in zip(starts, rates, strict=True):
            scales = []
            for group, rate in zip(self.groups, by_group, strict=True):
                if sign:
                    scales.append(-rate)
                else:
                    size = (epsilon if restore else 0.0) - rate
                    scales.append(size * self.factor * 2.0**group.strength)
            if self._kept is None:
                self._sweep(start, scales, sign=sign)
                continue
            for piece, change in self._chunks(start, scales, sign=sign):
                kept = self._kept[piece.slot][piece.begin : piece.begin + len(change)]
                kept += change
        if self._kept is not None:
            self._write_side(starts[0], 0)

    def state(self) -> dict[str, Any]:
        """Return what a later stepper needs to go on, beside the weights."""
        state = {"start": self.start, "steps": self.steps, **self._identity()}
        if self._kept is not None and any(slot.narrow for slot in self.slots):
            # Else the weights themselves are all there is.
            state["copies"] = [
                kept.copy() if slot.narrow and kept.size else None
                for slot, kept in zip(self.slots, self._kept, strict=True)
            ]
        return state

    def _identity(self) -> dict[str, Any]:
        """Return what must be the same in an optimiser that goes on."""
        return {
            "rule": self.options.rule,
            "source": self.source.describe(),
            "sizes": [slot.size for slot in self.slots],
        }

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Refuse a state of another optimiser; nothing is changed.

        Raises
        ------
        PezoError
            If something is missing, or belongs to another model, source or rule.
        """
        for name, own in self._identity().items():
            given = part(state, name)
            if not same(given, own):
                # A description of a core is far too long for a line.
                which = "" if isinstance(own, dict) else f": {own}, not {given}"
                raise PezoError(f"a state to load must have this optimiser's {name}{which}")
        for name in ("start", "steps"):
            value = part(state, name)
            if not isinstance(value, int) or value < 0:
                raise PezoError(f"{name} of a state to load must be 0 or more, not {value!r}")
        copies = state.get("copies", [None] * len(self.slots))
        sizes = [slot.size for slot in self.slots]
        if (
            not isinstance(copies, Sequence)
            or len(copies) != len(sizes)
            or not all(map(is_copy, copies, sizes))
        ):
            raise PezoError(f"a state to load must have copies of {sizes} weights in float32")

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken; the weights must be those of that moment."""
        self.check_state(state)
        self.start, self.steps = state["start"], state["steps"]
        if self._kept is None:
            return
        self._kept = [self._copy(number) for number in range(len(self.slots))]
        for number, copy in enumerate(state.get("copies", ())):
            if copy is not None and self.slots[number].narrow and self._kept[number].size:
                self._kept[number] = np.array(copy)


def rounded(value: float) -> float:
    """Return the nearest float32; infinity for what is too large."""
    if abs(value) > LARGEST:
        return math.copysign(math.inf, value)
    return float(np.float32(value))
