"""The pool against reading one word after the other, and its memory against two read ports."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from pezo_hw.golden import draws, norm, pool


def read_round(contents: list[int], words: int, count: int, *, wrap: int = 0) -> list[list[int]]:
    """Read word after word with one pointer; `wrap` other than 0 is a fault in its limit."""
    groups, pointer = [], 0
    for _ in range(count):
        group = []
        for _ in range(words):
            group.append(contents[pointer] if pointer < len(contents) else 0)
            pointer += 1
            if pointer == (wrap or len(contents)):
                pointer = 0
        groups.append(group)
    return groups


def through_ports(model: pool.Pool, layout: pool.Layout, count: int) -> NDArray[np.int64]:
    """Read the block RAM: port A at row k, port B at row (k + offset) mod K."""
    rows = model.rows.tolist()
    groups = np.full((count, model.words), -(2**15))
    for k in range(count):
        row_a = rows[k % len(rows)]
        row_b = rows[(k + layout.offset) % len(rows)]
        for position, column in layout.port_a:
            groups[k, position] = row_a[column]
        for position, column in layout.port_b:
            groups[k, position] = row_b[column]
    return groups


def different(size: int, words: int) -> pool.Pool:
    """A pool whose words are all different, so that nothing repeats by chance."""
    order = np.random.default_rng(size).permutation(size) - size // 2
    return pool.Pool(bits=16, contents=order.astype(np.int16), words=words)


SIZES = sorted({2, 3, 5, 61, 97, 100} | {2**n + d for n in range(2, 8) for d in (-1, 0, 1)})


@pytest.mark.parametrize("size", SIZES)
def test_groups_and_their_period(size: int) -> None:
    for words in {1, 2, 3, 8, 31, 32, 33, 64, size - 1, size}:
        if not 1 <= words <= min(size, 64):
            continue
        model = different(size, words)
        period = size // math.gcd(size, words)
        expected = read_round(model.contents.tolist(), words, 3 * period + 2)
        assert model.period == period
        assert model.size == size
        assert model.groups(0, len(expected)).tolist() == expected
        # All words differ, so that the group after the period is the first that comes again.
        assert expected.index(expected[0], 1) == period
        for start in (1, period - 1, period, 5 * period + 1, 2**70, -1):
            shift = start % period
            assert model.groups(start, period).tolist() == expected[shift : shift + period]
        assert model.groups(3, 0).shape == (0, words)


@pytest.mark.parametrize("size", [65521, 65535, 65536])
@pytest.mark.parametrize("words", [1, 7, 32, 64])
def test_large_pools(size: int, words: int) -> None:
    model = different(size, words)
    period, contents = model.period, model.contents.tolist()
    for start in (0, period // 2, period - 2, 9 * period - 1):
        expected = [
            [contents[(words * k + i) % size] for i in range(words)]
            for k in range(start, start + 6)
        ]
        assert model.groups(start, 6).tolist() == expected


@pytest.mark.parametrize("fault", [64, 62, 60])
def test_a_wrong_wrap_is_seen(fault: int) -> None:
    """At a power of two, or one word late or early."""
    model = different(61, 4)
    right = model.groups(0, 61).tolist()
    assert right == read_round(model.contents.tolist(), 4, 61)
    assert right != read_round(model.contents.tolist(), 4, 61, wrap=fault)


def ports_agree(model: pool.Pool, layout: pool.Layout) -> bool:
    count = min(model.period + 2, 300)
    return np.array_equal(through_ports(model, layout, count), model.groups(0, count))


@pytest.mark.parametrize("words", [*range(1, 18), 24, 30, 32, 33, 48, 63, 64])
def test_layout(words: int) -> None:
    for size in [*range(max(2, words), words + 14), 2 * words, 3 * words, 6 * words, 96, 128, 251]:
        if size < words:
            continue
        model = different(max(size, 2), words)
        layout = model.layout
        assert ports_agree(model, layout), size
        # Every position is served once, from rows as narrow as two ports allow.
        served = sorted(position for position, _ in layout.port_a + layout.port_b)
        assert served == list(range(words))
        blocks = words // math.gcd(model.size, words)
        assert len(layout.columns) * blocks == words * math.ceil(blocks / 2)
        assert model.rows.shape == (model.period, len(layout.columns))
        assert 0 <= layout.offset < model.period
        assert bool(layout.port_b) == (blocks > 1)


@pytest.mark.parametrize(("size", "words"), [(65521, 64), (65535, 32), (65536, 64), (4095, 32)])
def test_layout_of_large_pools(size: int, words: int) -> None:
    model = different(size, words)
    period, rows, layout = model.period, model.rows, model.layout
    for start in (0, period - 150):
        k = np.arange(start, start + 200)
        found = np.empty((200, words), dtype=np.int64)
        for position, column in layout.port_a:
            found[:, position] = rows[k % period, column]
        for position, column in layout.port_b:
            found[:, position] = rows[(k + layout.offset) % period, column]
        assert np.array_equal(found, model.groups(start, 200))


@pytest.mark.parametrize(("size", "words"), [(61, 4), (60, 8), (64, 24), (4095, 32)])
def test_a_wrong_offset_between_the_ports_is_seen(size: int, words: int) -> None:
    model = different(size, words)
    layout = model.layout
    assert layout.port_b
    for fault in (-1, 1):
        wrong = replace(layout, offset=(layout.offset + fault) % model.period)
        assert not ports_agree(model, wrong)


@pytest.mark.parametrize(
    ("size", "words"), [(2, 1), (2, 2), (7, 3), (64, 64), (67, 64), (96, 36), (4095, 32)]
)
def test_squares(size: int, words: int) -> None:
    model = different(size, words)
    expected = [sum(u * u for u in g) for g in read_round(model.contents.tolist(), words, size)]
    assert model.squares.tolist() == expected[: model.period]
    index = model.norm_index(np.arange(size))
    assert model.squares[index].tolist() == expected


@pytest.mark.parametrize("bits", range(4, 17))
def test_words_are_uniform_and_symmetric(bits: int) -> None:
    contents = pool.draw(65536, bits=bits, words=1, seed=2, level=False)
    largest = 2 ** (bits - 1) - 1
    assert contents.dtype == np.int16
    assert -largest <= contents.min() and contents.max() <= largest
    cells = 15 if bits == 4 else 31
    counts, _ = np.histogram(contents, bins=cells, range=(-largest - 0.5, largest + 0.5))
    if (2 * largest + 1) % cells == 0:
        assert chisquare(counts).pvalue > 1e-4
    # The mean of 65536 uniform words is within 5 standard deviations of 0.
    assert abs(contents.mean()) < 5 * largest / math.sqrt(3 * 65536)
    if bits < 9:
        assert set(contents.tolist()) == set(range(-largest, largest + 1))


def test_the_draw_follows_the_seed() -> None:
    def drawn(seed: int) -> list[int]:
        return pool.draw(31, bits=8, words=4, seed=seed, level=False).tolist()

    seeds = [0, 1, 2, 3, 2**32 - 1]
    assert len({tuple(drawn(seed)) for seed in seeds}) == len(seeds)
    assert drawn(1) == drawn(1)


def commonest_share(contents: NDArray[np.int16], *, bits: int, words: int) -> float:
    model = pool.Pool(bits=bits, contents=contents, words=words)
    found = norm.exponents(model.groups(0, model.period), bits=bits)
    return float(np.bincount(found).max() / len(found))


@pytest.mark.parametrize(("size", "words"), [(4095, 32), (8191, 64), (255, 16)])
def test_level_pools_have_one_exponent(size: int, words: int) -> None:
    contents = pool.draw(size, bits=8, words=words, seed=1, level=True)
    assert commonest_share(contents, bits=8, words=words) == 1


@pytest.mark.parametrize("words", [1, 2, 4])
def test_where_no_pool_is_level_the_best_draw_wins(words: int) -> None:
    first = pool.draw(251, bits=8, words=words, seed=1, level=False)
    best = pool.draw(251, bits=8, words=words, seed=1, level=True)
    assert first.tolist() != best.tolist()
    share = commonest_share(best, bits=8, words=words)
    assert commonest_share(first, bits=8, words=words) < share < 1


def test_a_pool_of_zeros_only_is_drawn_again() -> None:
    # With this seed the first draw of two 4-bit words is 0, 0.
    first = draws.below(15, 2, seed=2**32 - 1, purpose=2) + 1 - 8
    assert not first.any()
    contents = pool.draw(2, bits=4, words=1, seed=2**32 - 1, level=False)
    assert contents.any()
