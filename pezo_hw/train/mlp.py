"""A multilayer perceptron whose weights are one flat vector, as they lie in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True)
class Mlp:
    """Layer sizes of a perceptron with ReLU between its layers.

    Attributes
    ----------
    sizes : tuple of int
        Inputs, hidden layers, classes.
    """

    sizes: tuple[int, ...]

    @property
    def parameters(self) -> int:
        """Weights and biases, d."""
        return sum((a + 1) * b for a, b in zip(self.sizes[:-1], self.sizes[1:], strict=True))

    def initial(self, *, seed: int) -> NDArray[np.float32]:
        """Return initial weights, shape (d,): He's normal distribution, biases 0."""
        rng = np.random.default_rng(seed)
        parts: list[NDArray[np.float64]] = []
        for a, b in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            parts += [rng.normal(0.0, (2.0 / a) ** 0.5, a * b), np.zeros(b)]
        return np.concatenate(parts).astype(np.float32)

    def logits(self, weights: _Floats, x: _Floats) -> _Floats:
        """Return the outputs, shape (samples, classes), for weights of shape (d,).

        In the wider precision of weights and samples.
        """
        place = 0
        pairs = list(zip(self.sizes[:-1], self.sizes[1:], strict=True))
        for layer, (a, b) in enumerate(pairs):
            matrix = weights[place : place + a * b].reshape(a, b)
            bias = weights[place + a * b : place + a * b + b]
            place += (a + 1) * b
            x = x @ matrix + bias
            if layer < len(pairs) - 1:
                x = np.maximum(x, 0)
        return x

    def loss(self, weights: _Floats, x: _Floats, y: NDArray[np.int64]) -> float:
        """Return the mean cross entropy in nats."""
        logits = self.logits(weights, x).astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        chosen = logits[np.arange(len(y)), y]
        return float((np.log(np.exp(logits).sum(axis=1)) - chosen).mean())

    def accuracy(self, weights: _Floats, x: _Floats, y: NDArray[np.int64]) -> float:
        """Return the share of samples whose largest output is their label's."""
        return float((self.logits(weights, x).argmax(axis=1) == y).mean())
