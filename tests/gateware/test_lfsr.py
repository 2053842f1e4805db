from __future__ import annotations

import itertools
from typing import Any

import pytest
from amaranth import Module, Signal

from pezo_hw.gateware.lfsr import next_state, state_of_word, word_of_state
from pezo_hw.golden import lfsr, matrices
from tests.gateware.benches import run

MATRICES = {str(bits): matrix for bits, matrix in matrices.MATRICES.items()} | {
    "dither": matrices.DITHER_64,
    "classic": lfsr.companion(0x11D),
    "leap": lfsr.leap_matrix(0x11D, leap=7),
}


def _states(bits: int) -> list[int]:
    # A linear map that is right on a basis and on sums of pairs is right everywhere.
    basis = [1 << i for i in range(bits)]
    pairs = [a | b for a, b in itertools.pairwise(basis)]
    return list(range(1 << bits)) if bits <= 8 else [0, *basis, *pairs, (1 << bits) - 1]


@pytest.mark.parametrize("name", MATRICES)
def test_next_state_is_the_product_with_the_matrix(name: str) -> None:
    matrix = MATRICES[name]
    m, state, following = Module(), Signal(len(matrix)), Signal(len(matrix))
    m.d.comb += following.eq(next_state(matrix, state))

    async def bench(ctx: Any) -> None:
        for value in _states(len(matrix)):
            ctx.set(state, value)
            assert ctx.get(following) == lfsr.apply(matrix, value)

    run(m, bench, clocked=False)


def test_a_missing_tap_is_seen() -> None:
    matrix = matrices.MATRICES[8]
    torn = (matrix[0] & (matrix[0] - 1), *matrix[1:])
    m, state, following = Module(), Signal(8), Signal(8)
    m.d.comb += following.eq(next_state(torn, state))
    different = []

    async def bench(ctx: Any) -> None:
        for value in _states(8):
            ctx.set(state, value)
            different.append(ctx.get(following) != lfsr.apply(matrix, value))

    run(m, bench, clocked=False)
    # Each row's taps are even in half of all states.
    assert sum(different) == 128


@pytest.mark.parametrize("bits", [4, 8])
def test_words_are_states_with_the_top_bit_inverted(bits: int) -> None:
    m, state, back = Module(), Signal(bits), Signal(bits)
    word = Signal(bits + 2)
    signed_word = Signal.like(word_of_state(state))
    m.d.comb += [
        signed_word.eq(word_of_state(state)),
        word.eq(word_of_state(state)),
        back.eq(state_of_word(signed_word)),
    ]

    async def bench(ctx: Any) -> None:
        for value in range(1 << bits):
            ctx.set(state, value)
            u = lfsr.signed(value, bits)
            assert ctx.get(signed_word) == u
            # The sign is extended.
            assert ctx.get(word) == u % (1 << (bits + 2))
            assert ctx.get(back) == value

    run(m, bench, clocked=False)
