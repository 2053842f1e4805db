"""Signs of reused words: one for each block of W lanes and group, from a generator of their own.

Lanes that reuse a word always have the same value, so that however many lanes there are, a group
has W numbers. With a sign for each block the lanes of two blocks still have the same magnitudes,
but over groups they are uncorrelated, and training sees as many dimensions as there are lanes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import draws, lfsr, matrices
from .gaussian_tree import generator_keys
from .wide import RademacherSequence, size_of

if TYPE_CHECKING:
    from pezo_hw.config import Config

_Bits: TypeAlias = NDArray[np.float32]

FLIPS = 0x9E37_79B9
"""Bits of the seed that are inverted for the signs of a seeded source.

Else its words could come from a generator in the same state. No two seeds of one training that are
less than 2^31 apart have each other's streams.
"""

# Keeps what is drawn from a seed apart; see `draws.raw`.
_PURPOSE = 4
# Groups of signs that are made at a time.
_CHUNK = 1 << 16


class CyclicSigns:
    """The signs of a bank or pool: a generator that runs along and does not begin again with them.

    In each group, block m has the sign of state bit m: -1 for 1. The state of group 0 comes from
    the configuration's seed, and each group is one step; as the generator has a far longer period
    than the groups, the same words come back with other signs.

    Parameters
    ----------
    blocks : int
        1 to 128.
    seed : int
        Of the configuration.

    Attributes
    ----------
    matrix : tuple of int
        Row masks of a step.
    state : int
        State of group 0.
    """

    def __init__(self, blocks: int, *, seed: int):
        self.blocks = blocks
        self.matrix = matrices.DITHER_64 if blocks <= 64 else matrices.DITHER_128
        parts = draws.raw(len(self.matrix) // 64, seed=seed, purpose=_PURPOSE).tolist()
        self.state = sum(part << 64 * i for i, part in enumerate(parts)) or 1

    @property
    def state_bits(self) -> int:
        """Bits of the state."""
        return len(self.matrix)

    @property
    def period(self) -> int:
        """Groups after which the signs repeat."""
        return (1 << self.state_bits) - 1

    @cached_property
    def _step(self) -> _Bits:
        """The step as a matrix that a row of bits is multiplied with."""
        columns = lfsr.transpose(self.matrix)
        return np.array([_bits_of(column, self.state_bits) for column in columns], np.float32)

    def values(self, start: int, count: int) -> NDArray[np.int8]:
        """Return the signs of `count` groups, +1 or -1, shape (count, B)."""
        signs = np.empty((count, self.blocks), dtype=np.int8)
        state = self._jump(start % self.period)
        for begin in range(0, count, _CHUNK):
            rows = min(_CHUNK, count - begin)
            # One more than is asked for: the state that the next chunk begins with.
            states = self._run(state, rows + 1)
            signs[begin : begin + rows] = 1 - 2 * states[:-1, : self.blocks]
            state = states[-1]
        return signs

    def _run(self, state: _Bits, count: int) -> _Bits:
        states = np.empty((count, self.state_bits), dtype=np.float32)
        states[0] = state
        # Each round doubles the states that are known. Sums are at most 128, so exact.
        done, power = 1, self._step
        while done < count:
            more = min(done, count - done)
            states[done : done + more] = states[:more] @ power % 2
            done += more
            power = power @ power % 2
        return states

    def _jump(self, count: int) -> _Bits:
        state = np.array(_bits_of(self.state, self.state_bits), np.float32)
        power = self._step
        while count:
            if count & 1:
                state = state @ power % 2
            power = power @ power % 2
            count >>= 1
        return state

    def describe(self) -> dict[str, Any]:
        """Return the manifest's key ``signs``."""
        return {
            "state_bits": self.state_bits,
            "matrix": [f"{row:x}" for row in self.matrix],
            "state": f"{self.state:x}",
        }


class SeededSigns:
    """The signs of a seeded source: a second wide generator, started by the same seed.

    Block m has the sign of state bit m: -1 for 1.

    Parameters
    ----------
    blocks : int
        1 to 128.

    Attributes
    ----------
    sequence : RademacherSequence
        The generator, one word a bit.
    """

    def __init__(self, blocks: int):
        self.blocks = blocks
        self.sequence = RademacherSequence(size_of(blocks))

    @property
    def period(self) -> int:
        """Groups after which the signs repeat."""
        return self.sequence.period

    def values(self, seed: int, start: int, count: int) -> NDArray[np.integer]:
        """Return the signs of `count` groups of a seed's stream, +1 or -1, shape (count, B)."""
        return self.sequence.groups(seed ^ FLIPS, start, count)[:, : self.blocks]

    def describe(self) -> dict[str, Any]:
        """Return the manifest's key ``signs``."""
        return {"flips": FLIPS, "generator": generator_keys(self.sequence)}


def cyclic_of(config: Config) -> CyclicSigns | None:
    """Return the signs of a configuration with a bank or pool, None without ``reuse.signs``."""
    if not config.reuse.signs:
        return None
    return CyclicSigns(config.reuse.lanes // config.words, seed=config.source.seed)


def seeded_of(config: Config) -> SeededSigns | None:
    """Return the signs of a configuration with a seeded source, None without ``reuse.signs``."""
    return SeededSigns(config.reuse.lanes // config.words) if config.reuse.signs else None


def _bits_of(number: int, size: int) -> list[int]:
    return [number >> i & 1 for i in range(size)]
