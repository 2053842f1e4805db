from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pezo_hw.golden import reuse


def lanes_of(group: list[int], *, lanes: int, stride: int) -> list[int]:
    """Lane m W + j gets word (j + m stride) mod W."""
    words = len(group)
    values = [0] * lanes
    for m in range(lanes // words):
        for j in range(words):
            values[m * words + j] = group[(j + m * stride) % words]
    return values


def agrees(found: NDArray[Any], values: NDArray[Any], *, lanes: int, stride: int) -> bool:
    expected = [lanes_of(group, lanes=lanes, stride=stride) for group in values.tolist()]
    return found.dtype == values.dtype and found.tolist() == expected


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 8, 13, 16])
def test_every_stride(words: int) -> None:
    values = np.arange(3 * words, dtype=np.int16).reshape(3, words) - words
    for stride in range(words):
        for blocks in (1, 2, 3, 7, words, words + 1, 4 * words + 1):
            lanes = blocks * words
            found = reuse.spread(values, lanes=lanes, stride=stride)
            assert agrees(found, values, lanes=lanes, stride=stride), (stride, blocks)
            sources = reuse.word_of_lane(lanes, words=words, stride=stride)
            assert np.array_equal(values[:, sources], found)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.integers(1, 64), st.integers(0, 63), st.integers(1, 40), st.integers(0, 4))
def test_any_shape(words: int, stride: int, blocks: int, count: int) -> None:
    rng = np.random.default_rng(words)
    types: list[type[np.integer]] = [np.int8, np.int16, np.int32, np.int64]
    for dtype in types:
        values = rng.integers(-128, 128, size=(count, words)).astype(dtype)
        lanes = blocks * words
        found = reuse.spread(values, lanes=lanes, stride=stride % words)
        assert found.shape == (count, lanes)
        assert agrees(found, values, lanes=lanes, stride=stride % words)


def test_most_lanes() -> None:
    values = np.arange(128, dtype=np.int16).reshape(2, 64)
    found = reuse.spread(values, lanes=16384, stride=63)
    assert agrees(found, values, lanes=16384, stride=63)


@pytest.mark.parametrize("transposed", [False, True])
def test_any_memory_order(transposed: bool) -> None:
    values = np.arange(12).reshape(3, 4)
    if transposed:
        values = np.asfortranarray(values)
    assert agrees(reuse.spread(values, lanes=4, stride=1), values, lanes=4, stride=1)
    assert agrees(reuse.spread(values, lanes=8, stride=1), values, lanes=8, stride=1)


@pytest.mark.parametrize("lanes", [4, 8])
def test_the_lanes_are_not_the_words_themselves(lanes: int) -> None:
    values = np.arange(4).reshape(1, 4)
    reuse.spread(values, lanes=lanes, stride=1)[:] = -1
    assert values.tolist() == [[0, 1, 2, 3]]


def test_a_wrong_stride_is_seen() -> None:
    values = np.arange(8).reshape(2, 4)
    for wrong in (0, 2, 3):
        found = reuse.spread(values, lanes=12, stride=wrong)
        assert not agrees(found, values, lanes=12, stride=1)
