"""Data sets by name, and by the formats that lie on a user's disk."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

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
    shape : tuple of int
        Channels, height and width of an image, which lies in a row of features in this order; empty
        for features that are none.
    """

    name: str
    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]
    classes: int
    shape: tuple[int, ...] = ()

    @property
    def features(self) -> int:
        """Features of a sample."""
        return self.train_x.shape[1]


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
    return DataSet("digits", x[test:], y[test:], x[:test], y[:test], classes=10, shape=(1, 8, 8))


DATA_SETS: Mapping[str, str] = MappingProxyType(
    {
        "digits": "pezo_hw.train.data:digits",
        "mnist": "pezo_hw.train.packaged:mnist",
        "reviews": "pezo_hw.train.packaged:reviews",
    }
)
"""Who loads a data set, by name; a new one is a line here."""

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "idx": "pezo_hw.train.formats:idx",
        "images": "pezo_hw.train.formats:images",
        "text": "pezo_hw.train.formats:text",
    }
)
"""Who loads what lies at a path, by the kind that is written before it: ``images:DIR``."""


def load(name: str, *, seed: int = 0) -> DataSet:
    """Return a data set.

    Parameters
    ----------
    name : str
        A name of `DATA_SETS`, or ``KIND:PATH`` with a kind of `FORMATS`.
    seed : int
        Of the split.

    Raises
    ------
    PezoError
        If there is none of this name, or it is not on this machine; says what to do.
    """
    if name in DATA_SETS:
        made: DataSet = _function(DATA_SETS[name])(seed=seed)
        return made
    kind, colon, path = name.partition(":")
    if colon and kind in FORMATS:
        read: DataSet = _function(FORMATS[kind])(Path(path).expanduser(), seed=seed)
        return read
    raise PezoError(
        f"the data set must be {', '.join(DATA_SETS)}, or "
        f"{', '.join(f'{kind}:PATH' for kind in FORMATS)}, not {name!r}"
    )


def _function(where: str) -> Callable[..., DataSet]:
    module, _, name = where.partition(":")
    found: Callable[..., DataSet] = getattr(importlib.import_module(module), name)
    return found


def folder() -> Path:
    """Return where packaged data sets are looked for: ``$PEZO_DATA``, by default ``data``."""
    return Path(os.environ.get("PEZO_DATA") or "data")


def split(
    name: str,
    x: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    test: int,
    seed: int,
    classes: int,
    shape: tuple[int, ...] = (),
) -> DataSet:
    """Shuffle samples and keep the first `test` of them for the test."""
    if len(y) <= test:
        raise PezoError(f"{name}: must have more than {test} samples to train with, not {len(y)}")
    order = np.random.default_rng(seed).permutation(len(y))
    x, y = x[order], y[order]
    return DataSet(name, x[test:], y[test:], x[:test], y[:test], classes=classes, shape=shape)


def few(data: DataSet, shots: int, *, seed: int) -> DataSet:
    """Return a data set whose training part has `shots` samples of each class."""
    rng = np.random.default_rng([seed, shots])
    chosen = []
    for label in range(data.classes):
        places = np.flatnonzero(data.train_y == label)
        if len(places) < shots:
            raise PezoError(
                f"the data set {data.name} must have {shots} training samples of each class, "
                f"not {len(places)} of class {label}; use fewer shots"
            )
        chosen.append(rng.choice(places, shots, replace=False))
    kept = np.concatenate(chosen)
    return replace(data, train_x=data.train_x[kept], train_y=data.train_y[kept])


def shifted(data: DataSet, *, seed: int) -> DataSet:
    """Return the data set after a shift of domain: turned, darker, noisy images.

    Each image is turned by 20 to 40 degrees, its contrast is cut by 40 %, and noise is added.
    """
    rng = np.random.default_rng([seed, 77])
    train_x, test_x = (_turned(x, data.shape, rng) for x in (data.train_x, data.test_x))
    return replace(data, name=f"{data.name}-shifted", train_x=train_x, test_x=test_x)


def _turned(
    x: NDArray[np.float32], shape: tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.float32]:
    channels, height, width = shape
    images = x.reshape(len(x), channels, height, width)
    angles = np.deg2rad(rng.uniform(20, 40, len(x)))
    down, right = np.mgrid[:height, :width].astype(np.float64)
    down, right = down - (height - 1) / 2, right - (width - 1) / 2
    cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    rows = np.rint(cos * down + sin * right + (height - 1) / 2).astype(int)
    columns = np.rint(cos * right - sin * down + (width - 1) / 2).astype(int)
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    sample = np.arange(len(x))[:, None, None]
    picked = images[
        sample, :, np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
    ]  # samples, height, width, channels
    background = images.min()
    picked = np.where(inside[..., None], picked, background)
    noisy = 0.6 * picked + 0.15 * rng.normal(size=picked.shape)
    return np.ascontiguousarray(noisy.transpose(0, 3, 1, 2)).reshape(x.shape).astype(np.float32)
