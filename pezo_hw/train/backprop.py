"""The gradient of a perceptron by back-propagation: what zeroth-order training is measured by."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from .mlp import Mlp

_Floats = NDArray[np.float32]


def gradient(
    model: Mlp, weights: _Floats, x: _Floats, y: NDArray[np.int64]
) -> tuple[float, _Floats]:
    """Return the mean cross entropy and its gradient, shape (d,)."""
    pairs = list(itertools.pairwise(model.sizes))
    layers, place = [], 0
    for a, b in pairs:
        matrix = weights[place : place + a * b].reshape(a, b)
        layers.append((matrix, weights[place + a * b : place + (a + 1) * b]))
        place += (a + 1) * b
    inputs = []
    for number, (matrix, bias) in enumerate(layers):
        inputs.append(x)
        x = x @ matrix + bias
        if number < len(layers) - 1:
            x = np.maximum(x, 0)
    x = x - x.max(axis=1, keepdims=True)
    chances = np.exp(x)
    chances /= chances.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    loss = float(-np.log(chances[rows, y]).mean())
    chances[rows, y] -= 1
    back = chances / len(y)
    parts: list[NDArray[np.floating]] = []
    for (matrix, _), given in zip(reversed(layers), reversed(inputs), strict=True):
        parts[:0] = [(given.T @ back).ravel(), back.sum(axis=0)]
        # Behind a ReLU, `given` is 0 where nothing passes.
        back = (back @ matrix.T) * (given > 0)
    return loss, np.concatenate(parts).astype(np.float32)


class Sgd:
    """Stochastic gradient descent with momentum, for flat weights that it changes in place.

    Parameters
    ----------
    weights : ndarray of float32
    lr : float
    momentum : float
    """

    def __init__(self, weights: _Floats, *, lr: float, momentum: float = 0.9):
        self.weights, self.lr, self.momentum = weights, lr, momentum
        self._velocity = np.zeros_like(weights)

    def step(self, slope: _Floats) -> None:
        """Go down a gradient."""
        self._velocity *= np.float32(self.momentum)
        self._velocity += slope
        self.weights -= np.float32(self.lr) * self._velocity
