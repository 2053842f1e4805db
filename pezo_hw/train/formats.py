"""Data sets in formats that lie on a user's disk: idx files, image folders, labelled text."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError

from .data import DataSet, split

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
# Images are made square, of this many pixels a side.
SIDE = 32
# Part of the samples that is kept for the test where the files do not say.
_TEST = 0.2


def idx(place: Path, *, seed: int) -> DataSet:
    """Return a data set in the format of MNIST.

    Parameters
    ----------
    place : Path
        Folder with ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and the same with
        ``t10k``, each as it is or with ``.gz``; Fashion-MNIST and EMNIST come like that.
    seed : int
        Shuffles the training part.
    """
    parts, shapes = {}, []
    for part in ("train", "t10k"):
        images = _idx(_found(place, f"{part}-images-idx3-ubyte"), dimensions=3)
        labels = _idx(_found(place, f"{part}-labels-idx1-ubyte"), dimensions=1)
        if len(images) != len(labels):
            raise PezoError(
                f"{place}: {part} must have as many labels as images, "
                f"not {len(labels)} and {len(images)}"
            )
        flat = images.reshape(len(images), -1).astype(np.float32) / 127.5 - 1
        parts[part] = (flat, labels.astype(np.int64))
        shapes.append((1, *images.shape[1:]))
    (x, y), (test_x, test_y) = parts["train"], parts["t10k"]
    if shapes[0] != shapes[1]:
        raise PezoError(
            f"{place}: images of train and t10k must have the same size, "
            f"not {shapes[0][1:]} and {shapes[1][1:]}"
        )
    order = np.random.default_rng(seed).permutation(len(y))
    classes = int(max(y.max(), test_y.max())) + 1
    return DataSet(place.name, x[order], y[order], test_x, test_y, classes=classes, shape=shapes[0])


def _found(place: Path, name: str) -> Path:
    for candidate in (place / name, place / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise PezoError(
        f"{place}: must hold {name} or {name}.gz, but does not; "
        "name the folder with the four idx files"
    )


def _idx(path: Path, *, dimensions: int) -> NDArray[np.uint8]:
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise PezoError(f"{path}: must be readable, but: {error}; get it again") from None
    # Two zero bytes, 8 for unsigned bytes, the number of dimensions; each size; then the bytes.
    head = 4 + 4 * dimensions
    if content[:4] != bytes([0, 0, 8, dimensions]) or len(content) < head:
        raise PezoError(f"{path}: must be an idx file of unsigned bytes in {dimensions} dimensions")
    sizes = [int.from_bytes(content[4 + 4 * d : 8 + 4 * d], "big") for d in range(dimensions)]
    values = np.frombuffer(content, dtype=np.uint8, offset=head)
    if len(values) != int(np.prod(sizes)):
        raise PezoError(
            f"{path}: must hold {int(np.prod(sizes))} bytes of data, not {len(values)}; "
            "get it again"
        )
    if not values.size:
        raise PezoError(f"{path}: must hold data, but its sizes are {sizes}; get it again")
    return values.reshape(sizes)


def images(place: Path, *, seed: int) -> DataSet:
    """Return a data set from a folder that has a folder of images for each class.

    Every image becomes one of 32 x 32 pixels in three colours. EuroSAT comes like that.

    Parameters
    ----------
    place : Path
        If it has folders ``train`` and ``test``, these; else a fifth is kept for the test.
    seed : int
        Of the split.
    """
    parts = [place / part for part in ("train", "test")]
    if all(part.is_dir() for part in parts):
        names = _classes(parts[0])
        (x, y), (test_x, test_y) = (_images(part, names) for part in parts)
        return DataSet(place.name, x, y, test_x, test_y, classes=len(names), shape=(3, SIDE, SIDE))
    names = _classes(place)
    x, y = _images(place, names)
    return split(
        place.name,
        x,
        y,
        test=max(1, int(len(y) * _TEST)),
        seed=seed,
        classes=len(names),
        shape=(3, SIDE, SIDE),
    )


def _classes(place: Path) -> list[str]:
    names = (
        sorted(entry.name for entry in place.iterdir() if entry.is_dir()) if place.is_dir() else []
    )
    if len(names) < 2:
        raise PezoError(
            f"{place}: must be a folder with a folder of images for each of two classes or more, "
            f"but has {len(names)}"
        )
    return names


def _images(place: Path, names: list[str]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError:
        raise PezoError(
            "reading images needs the package pillow, which is not installed; "
            "pip install 'pezo-hw[train]'"
        ) from None
    rows, labels = [], []
    for label, name in enumerate(names):
        for path in sorted((place / name).glob("*")):
            if path.suffix.lower() not in IMAGES:
                continue
            try:
                with Image.open(path) as image:
                    pixels = np.asarray(image.convert("RGB").resize((SIDE, SIDE)))
            except (UnidentifiedImageError, OSError):
                raise PezoError(f"{path}: must be an image, but cannot be read as one") from None
            rows.append(pixels.transpose(2, 0, 1).reshape(-1).astype(np.float32) / 127.5 - 1)
            labels.append(label)
    if not rows:
        raise PezoError(f"{place}: must hold images ({', '.join(IMAGES)}), but has none")
    return np.stack(rows), np.array(labels, dtype=np.int64)


def text(path: Path, *, seed: int) -> DataSet:
    """Return sentence features of a text file with a label, a tab and a sentence in each line.

    Labels may be any words. SST-2's files, which have the label last, are read as well. Features
    are those of `pezo_hw.train.minilm`.

    Parameters
    ----------
    path : Path
    seed : int
        Of the split; a fifth is kept for the test.
    """
    if not path.is_file():
        raise PezoError(f"{path}: must be a text file with a label, a tab and a sentence in a line")
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PezoError(
            f"{path}: must be text in UTF-8, but byte {error.start} is not; convert it"
        ) from None
    pairs = []
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        label, tab, sentence = line.partition("\t")
        if not tab:
            raise PezoError(f"{path}, line {number}: must have a label, a tab and a sentence")
        pairs.append((label.strip(), sentence.strip()))
    if pairs and pairs[0] == ("sentence", "label"):
        pairs = [(label, sentence) for sentence, label in pairs[1:]]
    names = sorted({label for label, _ in pairs})
    if len(names) < 2:
        raise PezoError(f"{path}: must have two labels or more, not {len(names)}")
    from . import minilm
    from .packaged import standardised

    features = minilm.features([sentence for _, sentence in pairs])
    labels = np.array([names.index(label) for label, _ in pairs], dtype=np.int64)
    made = split(
        path.stem,
        features,
        labels,
        test=max(1, int(len(labels) * _TEST)),
        seed=seed,
        classes=len(names),
    )
    return standardised(made)
