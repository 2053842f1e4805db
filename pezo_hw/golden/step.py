"""Arithmetic and sweeps of the zeroth-order step, on signed fixed-point weights.

::

    p = round_half_away(u 2^e 2^(frac - E - (b-1)))     perturbation in weight LSBs
    d = floor((u 2^e C + dither) / 2^S)                 update, stochastic rounding
    theta' = sat(theta + k p - d)                       k in {-2, -1, 0, +1, +2}

What a sweep does with them depends on its kind (`golden.schedules`), and on the table of tensors
(`golden.tensors`) if there is one. With ``zo.update = "zoqo"`` p and d are those of `golden.zoqo`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import dither, reuse, schedules, zoqo
from .engine import AnyEngine, engine_of
from .tensors import Settings, Tensor

if TYPE_CHECKING:
    from pezo_hw.config import Config


def round_half_away(value: NDArray[np.integer], *, drop: int) -> NDArray[np.int64]:
    """Return value / 2^drop rounded to the nearest integer, halves away from zero.

    A negative `drop` is an exact left shift. Odd: the result for -value is the negative.
    """
    value = value.astype(np.int64)
    if drop <= 0:
        return value << -drop
    return np.sign(value) * ((np.abs(value) + (1 << (drop - 1))) >> drop)


@dataclass(frozen=True)
class Arithmetic:
    """Number formats of the step core and the operations on them.

    Attributes
    ----------
    weight_bits, frac : int
        Signed fixed-point format of the weights.
    drop : int
        Bits that the perturbation loses from a scaled word to weight LSBs, F + E - frac (F = b - 1
        fraction bits of a word, unless its source says otherwise); negative: gains.
    coefficient_bits, shift : int
        Signed width of the coefficient C, and S.
    levels : int
        m of ZOQO; 0: the update is a product with a dither. With levels `drop` and `shift` are 0.
    word_bits : int
        b of ZOQO's words: they are b-bit signed numbers.
    """

    weight_bits: int
    frac: int
    drop: int
    coefficient_bits: int
    shift: int
    levels: int = 0
    word_bits: int = 0

    @classmethod
    def of(cls, config: Config) -> Arithmetic:
        """Take the formats from a checked configuration."""
        weights, zo = config.weights, config.zo
        if weights is None or zo is None:
            raise ValueError("a zo-step configuration has weights and zo sections")
        drop = 0
        if zo.epsilon_log2 is not None:
            drop = config.source.fraction_bits - zo.epsilon_log2 - weights.frac
        return cls(
            weight_bits=weights.bits,
            frac=weights.frac,
            drop=drop,
            coefficient_bits=zo.coefficient_bits,
            shift=zo.coefficient_shift or 0,
            levels=zo.levels or 0,
            # Of the signed word, which some sources make one bit wider than ``source.bits``.
            word_bits=config.source.largest_word.bit_length() + 1 if zo.levels else 0,
        )

    @property
    def weight_max(self) -> int:
        """Largest weight, in LSBs; the smallest is -weight_max - 1."""
        return (1 << (self.weight_bits - 1)) - 1

    def check_coefficient(self, coefficient: int) -> None:
        """Raise ValueError for a coefficient that the hardware's port cannot hold."""
        limit = 1 << (self.coefficient_bits - 1)
        if not -limit <= coefficient < limit:
            raise ValueError(
                f"coefficient must be within {-limit} .. {limit - 1} "
                f"({self.coefficient_bits} bits), not {coefficient}"
            )

    def perturbation(self, scaled: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return p for scaled words u 2^e, in weight LSBs, same shape."""
        if self.levels:
            return zoqo.perturbation(scaled, bits=self.word_bits, levels=self.levels)
        return round_half_away(scaled, drop=self.drop)

    def largest_perturbation(self, bits: int, *, exponent: int) -> int:
        """Return the largest |p| of b-bit words scaled by 2^exponent, in weight LSBs."""
        if self.levels:
            return self.levels
        largest = np.array([((1 << (bits - 1)) - 1) << exponent])
        return int(self.perturbation(largest)[0])

    def update(
        self, scaled: NDArray[np.integer], *, coefficient: int, dithers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return d for scaled words u 2^e and dithers in [0, 2^S), in weight LSBs, same shape.

        ZOQO takes no notice of the dithers.
        """
        self.check_coefficient(coefficient)
        return self._update(scaled, coefficient, dithers)

    def _update(
        self,
        scaled: NDArray[np.integer],
        coefficient: int | NDArray[np.int64],
        dithers: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        if self.levels:
            return zoqo.update(self.perturbation(scaled), coefficient=coefficient)
        return (scaled.astype(np.int64) * coefficient + dithers) >> self.shift

    def change(
        self,
        scaled: NDArray[np.integer],
        *,
        k: int,
        coefficient: int,
        dithers: NDArray[np.int64],
        settings: Settings | None = None,
    ) -> NDArray[np.int64]:
        """Return k p - d for words (with a table: x_t, see `golden.tensors`), same shape."""
        self.check_coefficient(coefficient)
        perturbation = k * self.perturbation(scaled)
        if settings is None:
            return perturbation - self._update(scaled, coefficient, dithers)
        each = (coefficient >> settings.coefficient_exponent) * settings.live
        return perturbation * settings.live - self._update(scaled, each, dithers)

    def saturate(self, value: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the value limited to a weight's range, and where the limit acted."""
        limited = np.clip(value, -self.weight_max - 1, self.weight_max)
        return limited, limited != value


@dataclass(frozen=True)
class SweepResult:
    """What one sweep gives.

    Attributes
    ----------
    weights : ndarray of int64, shape (d,)
        The stored weights after the sweep: those that come back, or, where none do, those that were
        read.
    saturations : int
        Weights that the limit acted on, in all outputs.
    beats : int
        Beats, and so groups of the source.
    plus, minus : ndarray of int64, shape (d,), or None
        Perturbed weights for the consumer, if the kind of sweep has them.
    """

    weights: NDArray[np.int64]
    saturations: int
    beats: int
    plus: NDArray[np.int64] | None = None
    minus: NDArray[np.int64] | None = None


class StepCore:
    """Bit-exact model of the step core.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``.

    Attributes
    ----------
    engine, engine_b : golden.engine.Engine or golden.seeded.SeededEngine
        Engine A, and the copy that gives the next step's perturbations in a fused core; None in
        the others.
    arithmetic : Arithmetic
    schedule : str
        ``zo.schedule``.
    tensors : int
        Entries of the table.
    """

    def __init__(self, config: Config):
        self.engine = engine_of(config)
        self.arithmetic = Arithmetic.of(config)
        assert config.zo is not None and config.control is not None
        self.schedule: str = config.zo.schedule
        self.tensors = config.control.tensors
        self.engine_b: AnyEngine | None = None
        if self.schedule == "fused":
            self.engine_b = copy.copy(self.engine)

    def start(self, index: int) -> None:
        """Choose the group, or seed, that the sweeps of the next step begin with."""
        self.engine.start(index)
        if self.engine_b is not None:
            self.engine_b.start(index)

    def sweep(
        self,
        weights: NDArray[np.integer],
        *,
        k: int = 0,
        coefficient: int = 0,
        dither_seed: int = 0,
        capture: bool = False,
        kind: str = "in-place",
        capture_b: bool = False,
        table: Sequence[Tensor] = (),
    ) -> SweepResult:
        """Stream the weights through the core once.

        Parameters
        ----------
        weights : ndarray of int, shape (d,)
            d at least 1, in LSBs.
        k : int
            Multiple of the perturbation that is added, -2 to +2; 0 in a plain update. With kind
            "inline-both" it is ignored, and so is the coefficient.
        coefficient : int
            C; 0 in a plain perturb sweep.
        dither_seed : int
            32 bits, seed of this sweep's stochastic rounding.
        capture, capture_b : bool
            Remember where this sweep ends as the start of the next step, for engine A and B.
        kind : str
            One of `golden.schedules.KINDS` that the schedule has.
        table : sequence of Tensor
            The tensors that the sweep runs over; none: all weights alike.

        Returns
        -------
        SweepResult
        """
        self._check(kind, k=k, capture_b=capture_b, table=table)
        lanes = self.engine.lane_count
        beats = -(-len(weights) // lanes)
        settings = Settings.of(table, beats=beats) if table else None
        both = kind == "inline-both"
        shared = both and self.engine_b is None
        first = self._words(self.engine, beats, settings, capture=capture, used=shared or not both)
        second = first
        if self.engine_b is not None:
            apart = kind in ("inline-both", "fused")
            second = self._words(self.engine_b, beats, settings, capture=capture_b, used=apart)
        stored = weights.astype(np.int64)
        sums = _Sums(self.arithmetic)
        if both:
            z = self._spread(self._perturbation(second, settings), len(stored))
            plus, minus = sums.add(stored, z), sums.add(stored, -z)
            return SweepResult(stored, sums.saturations, beats, plus, minus)

        assert first is not None
        dithers = np.int64(0) if not coefficient else self._dithers(dither_seed, beats)
        change = self.arithmetic.change(
            first, k=k, coefficient=coefficient, dithers=np.asarray(dithers), settings=settings
        )
        result = sums.add(stored, self._spread(change, len(stored)))
        if kind == "in-place":
            return SweepResult(result, sums.saturations, beats)
        if kind == "inline":
            return SweepResult(stored, sums.saturations, beats, plus=result)
        z = self._spread(self._perturbation(second, settings), len(stored))
        plus, minus = sums.add(result, z), sums.add(result, -z)
        return SweepResult(result, sums.saturations, beats, plus, minus)

    def _check(self, kind: str, *, k: int, capture_b: bool, table: Sequence[Tensor]) -> None:
        offered = schedules.OFFERED[self.schedule]
        if kind not in offered:
            raise ValueError(
                f"kind must be one of {', '.join(offered)} for the schedule {self.schedule}, "
                f"not {kind}"
            )
        if not -2 <= k <= 2:
            raise ValueError(f"k must be within -2 .. 2, not {k}")
        if capture_b and self.engine_b is None:
            raise ValueError(f"capture_b needs the schedule fused, not {self.schedule}")
        if len(table) > self.tensors:
            raise ValueError(f"the table holds {self.tensors} tensors, not {len(table)}")

    def _words(
        self,
        engine: AnyEngine,
        beats: int,
        settings: Settings | None,
        *,
        capture: bool,
        used: bool,
    ) -> NDArray[np.integer] | None:
        """Replay an engine for a sweep and return its words; None if it gives nothing that counts.

        Every sweep restores first, so an index that is neither used nor captured is no state.
        """
        engine.restore()
        if not used and not capture:
            return None
        at = engine.index
        scaled = engine.advance(beats)
        if capture:
            engine.capture()
        if settings is None or self.arithmetic.levels:
            return scaled
        return settings.words(scaled, bits=engine.bits, exponents=engine.exponents(at, beats))

    def _perturbation(
        self, words: NDArray[np.integer] | None, settings: Settings | None
    ) -> NDArray[np.int64]:
        assert words is not None
        result = self.arithmetic.perturbation(words)
        return result if settings is None else result * settings.live

    def _dithers(self, seed: int, beats: int) -> NDArray[np.int64]:
        return dither.dither(seed, beats, words=self.engine.words, shift=self.arithmetic.shift)

    def _spread(self, values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        lanes, stride = self.engine.lane_count, self.engine.stride
        return reuse.spread(values, lanes=lanes, stride=stride).ravel()[:count]


class _Sums:
    """Saturating sums, and how often the limit acted."""

    def __init__(self, arithmetic: Arithmetic):
        self.saturations = 0
        self._arithmetic = arithmetic

    def add(self, weights: NDArray[np.int64], change: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the limited sum."""
        result, saturated = self._arithmetic.saturate(weights + change)
        self.saturations += int(saturated.sum())
        return result
