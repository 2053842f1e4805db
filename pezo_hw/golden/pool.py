"""The pool: N uniform words read circularly, W a clock.

Group k is ``[pool[(W k + i) mod N], i in 0 .. W-1]``, so the groups repeat after K = N / gcd(N, W).
The layout of the pool in memory, which the gateware uses, is computed here as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import cyclic, draws, norm

_SEARCH_WORK = 1 << 24
_SEARCH_ATTEMPTS = 1024


@dataclass(frozen=True)
class Layout:
    """Where the words of a pool lie in a block RAM of K rows with two read ports.

    Port A reads row k, port B reads row ``(k + offset) mod K``.

    Attributes
    ----------
    columns : tuple of int
        Row k holds ``pool[(W k + c) mod N]`` for each c of `columns`, in this order.
    port_a, port_b : tuple of (int, int)
        (position in the group, column) pairs that each port serves.
    offset : int
        Rows between the ports; 0 if port B serves no position.
    """

    columns: tuple[int, ...]
    port_a: tuple[tuple[int, int], ...]
    port_b: tuple[tuple[int, int], ...]
    offset: int


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool of signed words.

    Parameters
    ----------
    bits : int
        b.
    contents : ndarray of int16, shape (N,)
        The words u, within -(2^(b-1) - 1) .. 2^(b-1) - 1.
    words : int
        W, words read in a clock, 1 to N.
    """

    bits: int
    contents: NDArray[np.int16]
    words: int

    @property
    def size(self) -> int:
        """Words in the pool, N."""
        return len(self.contents)

    @property
    def period(self) -> int:
        """Groups after which the pool repeats, K = N / gcd(N, W)."""
        return self.size // math.gcd(self.size, self.words)

    @cached_property
    def squares(self) -> NDArray[np.int64]:
        """Sum of u^2 of every group, shape (K,)."""
        return _squares(self.contents, self.words)

    def groups(self, start: int, count: int) -> NDArray[np.int16]:
        """Return `count` groups from index `start` on (taken modulo K), shape (count, W)."""
        # Group after group, the words are those of the pool in their order.
        words = cyclic.read(self.contents, start % self.period * self.words, count * self.words)
        return words.reshape(count, self.words)

    def norm_index(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the entry of `squares` that belongs to the groups `index`."""
        return index % self.period

    @cached_property
    def layout(self) -> Layout:
        """The cheapest layout: two positions a block RAM wherever the arithmetic allows.

        Positions g = gcd(N, W) apart read the same cyclic sequence of rows, (g / W) mod K rows
        apart. So position blocks 0, 2, 4 .. of g positions go to port A and 1, 3, 5 .. to port B.
        """
        step = math.gcd(self.size, self.words)
        columns: list[int] = []
        port_a: list[tuple[int, int]] = []
        port_b: list[tuple[int, int]] = []
        for position in range(self.words):
            if position // step % 2 == 0:
                port_a.append((position, len(columns)))
                columns.append(position)
            else:
                port_b.append((position, columns.index(position - step)))
        offset = 0
        if port_b:
            offset = pow(self.words // step, -1, self.period)
        return Layout(tuple(columns), tuple(port_a), tuple(port_b), offset)

    @cached_property
    def rows(self) -> NDArray[np.int16]:
        """The memory's contents, shape (K, number of columns)."""
        first = np.arange(self.period, dtype=np.int64) * self.words
        return self.contents[(first[:, None] + np.asarray(self.layout.columns)) % self.size]


def _squares(contents: NDArray[np.int16], words: int) -> NDArray[np.int64]:
    size = len(contents)
    period = size // math.gcd(size, words)
    square = contents.astype(np.int64) ** 2
    running = np.concatenate([[0], np.cumsum(np.concatenate([square, square[:words]]))])
    first = np.arange(period, dtype=np.int64) * words % size
    return running[first + words] - running[first]


def draw(size: int, *, bits: int, words: int, seed: int, level: bool) -> NDArray[np.int16]:
    """Return the contents of a pool, shape (N,), independent uniform words.

    Parameters
    ----------
    size : int
        N, 2 to 65536.
    bits : int
        b.
    words : int
        W, which decides where the groups begin.
    seed : int
        Picks among the choices.
    level : bool
        Draw again, a bounded number of times, until every group has the same exponent; where no
        draw has it, the one whose commonest exponent covers most groups is taken. Otherwise the
        first draw is taken. A draw of zeros only is never taken.
    """
    limit = (1 << bits) - 1
    half = 1 << (bits - 1)
    attempts = max(16, min(_SEARCH_ATTEMPTS, _SEARCH_WORK // size))
    best: tuple[int, NDArray[np.int16]] | None = None
    for attempt in range(attempts):
        numbers = draws.below(limit, size, seed=seed, attempt=attempt, purpose=2)
        contents = (numbers + 1 - half).astype(np.int16)
        if not contents.any():
            continue  # a pool of zeros only, possible for the smallest ones, would train nothing
        found = norm.exponents_of_squares(_squares(contents, words), words=words, bits=bits)
        covered = int(np.bincount(found).max())
        if best is None or covered > best[0]:
            best = (covered, contents)
        if covered == len(found) or not level:
            break
    assert best is not None
    return best[1]
