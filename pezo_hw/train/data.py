"""Data sets that ship in packages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError


@dataclass(frozen=True, eq=False)
class DataSet:
    """Images or features with labels, split into training and test.

    Attributes
    ----------
    name : str
    train_x, test_x : ndarray of float32, shape (samples, features)
        Features, about -1 to 1.
    train_y, test_y : ndarray of int64, shape (samples,)
        Labels, 0 to classes - 1.
    classes : int
    """

    name: str
    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]
    classes: int


def digits(*, seed: int = 0, test: int = 360) -> DataSet:
    """Return scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, shuffled and split.

    Parameters
    ----------
    seed : int
        Of the split.
    test : int
        Images kept for the test.
    """
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise PezoError(
            "the digits data set must be installed, but the package scikit-learn is missing; "
            "pip install 'pezo-hw[train]'"
        ) from None
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    x = (images[order] / 8.0 - 1.0).astype(np.float32)
    y = labels[order].astype(np.int64)
    return DataSet("digits", x[test:], y[test:], x[:test], y[:test], classes=10)
