"""Arithmetic and sweeps of the zeroth-order step, on signed fixed-point weights.

::

    p = round_half_away(u 2^e 2^(frac - E - (b-1)))     perturbation in weight LSBs
    d = floor((u 2^e C + dither) / 2^S)                 update, stochastic rounding
    theta' = sat(theta + k p - d)                       k in {-2, -1, 0, +1, +2}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import dither, reuse
from .engine import engine_of

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
    """

    weight_bits: int
    frac: int
    drop: int
    coefficient_bits: int
    shift: int

    @classmethod
    def of(cls, config: Config) -> Arithmetic:
        """Take the formats from a checked configuration."""
        if config.weights is None or config.zo is None:
            raise ValueError("a zo-step configuration has weights and zo sections")
        return cls(
            weight_bits=config.weights.bits,
            frac=config.weights.frac,
            drop=config.source.fraction_bits - config.zo.epsilon_log2 - config.weights.frac,
            coefficient_bits=config.zo.coefficient_bits,
            shift=config.zo.coefficient_shift,
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
        return round_half_away(scaled, drop=self.drop)

    def largest_perturbation(self, bits: int, *, exponent: int) -> int:
        """Return the largest |p| of b-bit words scaled by 2^exponent, in weight LSBs."""
        largest = np.array([((1 << (bits - 1)) - 1) << exponent])
        return int(self.perturbation(largest)[0])

    def update(
        self, scaled: NDArray[np.integer], *, coefficient: int, dithers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return d for scaled words u 2^e and dithers in [0, 2^S), in weight LSBs, same shape."""
        self.check_coefficient(coefficient)
        return (scaled.astype(np.int64) * coefficient + dithers) >> self.shift

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
    saturations : int
        Weights that the limit acted on.
    beats : int
        Beats, and so groups of the source.
    """

    weights: NDArray[np.int64]
    saturations: int
    beats: int


class StepCore:
    """Bit-exact model of the step core.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``.
    """

    def __init__(self, config: Config):
        self.engine = engine_of(config)
        self.arithmetic = Arithmetic.of(config)

    def start(self, index: int) -> None:
        """Choose the group, or seed, that the sweeps of the next step begin with."""
        self.engine.start(index)

    def sweep(
        self,
        weights: NDArray[np.integer],
        *,
        k: int,
        coefficient: int = 0,
        dither_seed: int = 0,
        capture: bool = False,
    ) -> SweepResult:
        """Stream the weights through the core once.

        Parameters
        ----------
        weights : ndarray of int, shape (d,)
            d at least 1, in LSBs.
        k : int
            Multiple of the perturbation that is added, -2 to +2; 0 in a plain update.
        coefficient : int
            C; 0 in a plain perturb sweep.
        dither_seed : int
            32 bits, seed of this sweep's stochastic rounding.
        capture : bool
            Remember where this sweep ends as the start of the next step.

        Returns
        -------
        SweepResult
        """
        if not -2 <= k <= 2:
            raise ValueError(f"k must be within -2 .. 2, not {k}")
        engine, arithmetic = self.engine, self.arithmetic
        lanes, stride = engine.lane_count, engine.stride
        beats = -(-len(weights) // lanes)
        engine.restore()
        scaled = engine.advance(beats)
        if capture:
            engine.capture()
        change = k * arithmetic.perturbation(scaled)
        if coefficient:
            dithers = dither.dither(dither_seed, beats, words=engine.words, shift=arithmetic.shift)
            change = change - arithmetic.update(scaled, coefficient=coefficient, dithers=dithers)
        change = reuse.spread(change, lanes=lanes, stride=stride).ravel()[: len(weights)]
        result, saturated = arithmetic.saturate(weights.astype(np.int64) + change)
        return SweepResult(result, int(saturated.sum()), beats)
