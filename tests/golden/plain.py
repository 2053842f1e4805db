"""Sweeps of the step core in plain integers and fractions, one weight after the other."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pezo_hw.config import Config
from pezo_hw.golden import dither
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.tensors import Tensor
from tests.golden.steps import nearest

Weights = list[int]


class Plain:
    """One sweep.

    Parameters
    ----------
    config : Config
    first_a, first_b : int
        The groups that engine A and B begin with.
    table : sequence of Tensor
    """

    def __init__(
        self,
        config: Config,
        *,
        first_a: int,
        first_b: int,
        coefficient: int = 0,
        dither_seed: int = 0,
        table: tuple[Tensor, ...] = (),
    ):
        assert config.weights is not None and config.zo is not None
        self._config = config
        self._engine = engine_of(config)
        self._first = {"a": first_a, "b": first_b}
        self._coefficient = coefficient
        self._seed = dither_seed
        self._tensors = [tensor for tensor in table for _ in range(tensor.beats)]
        self.top = 2 ** (config.weights.bits - 1) - 1
        self.saturations = 0

    def sweep(self, weights: Weights, *, kind: str, k: int) -> dict[str, Weights]:
        """Return what leaves on each output."""
        found: dict[str, Weights] = {"weights": [], "plus": [], "minus": []}
        fused = self._config.zo is not None and self._config.zo.schedule == "fused"
        for i, theta in enumerate(weights):
            if kind == "inline-both":
                p = self._perturbation(i, "b" if fused else "a")
                found["plus"].append(self._limited(theta + p))
                found["minus"].append(self._limited(theta - p))
                continue
            wanted = theta + k * self._perturbation(i, "a") - self._update(i)
            result = self._limited(wanted)
            found["plus" if kind == "inline" else "weights"].append(result)
            if kind == "fused":
                p = self._perturbation(i, "b")
                found["plus"].append(self._limited(result + p))
                found["minus"].append(self._limited(result - p))
        return {name: values for name, values in found.items() if values}

    def _limited(self, wanted: int) -> int:
        limited = min(max(wanted, -self.top - 1), self.top)
        self.saturations += limited != wanted
        return limited

    def _place(self, i: int) -> tuple[int, int]:
        beat, lane = divmod(i, self._config.reuse.lanes)
        words = self._config.words
        return beat, (lane + lane // words * self._config.reuse.stride) % words

    def _tensor(self, beat: int) -> Tensor:
        return self._tensors[beat] if self._tensors else Tensor(1)

    def _word(self, i: int, engine: str) -> Fraction:
        """Return the word in units of one weight LSB at epsilon 1: u_t 2^(e + strength)."""
        beat, j = self._place(i)
        at = self._first[engine] + beat
        u = int(self._engine.groups(at, 1)[0, j])
        tensor, b = self._tensor(beat), self._engine.bits
        if self._levels:
            return Fraction(u)
        kept = tensor.word_bits if 0 < tensor.word_bits < b else b
        # The middle of the words that share their high bits.
        step = 2 ** (b - kept)
        middle = Fraction(u // step * step) + Fraction(step, 2) if step > 1 else Fraction(u)
        return middle * 2 ** (int(self._engine.exponents(at, 1)[0]) + tensor.strength)

    @property
    def _levels(self) -> int:
        assert self._config.zo is not None
        return self._config.zo.levels

    def _perturbation(self, i: int, engine: str) -> int:
        assert self._config.zo is not None and self._config.weights is not None
        if self._tensor(self._place(i)[0]).frozen:
            return 0
        word = self._word(i, engine)
        if self._levels:
            return self._level(int(word))
        assert self._config.zo.epsilon_log2 is not None
        scale = Fraction(2) ** (self._config.zo.epsilon_log2 + self._config.weights.frac)
        return nearest(word / 2**self._config.source.fraction_bits * scale)

    def _level(self, u: int) -> int:
        """Cut the range of the words into 2m + 1 equal parts."""
        b = self._engine.bits
        share = Fraction(u + 2 ** (b - 1), 2**b)
        return int(share * (2 * self._levels + 1)) - self._levels

    def _update(self, i: int) -> int:
        assert self._config.zo is not None
        beat, j = self._place(i)
        tensor = self._tensor(beat)
        if tensor.frozen or not self._coefficient:
            return 0
        coefficient = self._coefficient // 2**tensor.coefficient_exponent
        if self._levels:
            p = self._level(int(self._word(i, "a")))
            return coefficient * ((p > 0) - (p < 0))
        shift = self._config.zo.coefficient_shift
        assert shift is not None
        drawn: Any = dither.dither(self._seed, beat + 1, words=self._config.words, shift=shift)[
            beat, j
        ]
        return int((self._word(i, "a") * coefficient + int(drawn)) // 2**shift)
