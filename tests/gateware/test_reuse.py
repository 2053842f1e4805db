from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth import signed

from pezo_hw.gateware.reuse import Reuse
from pezo_hw.golden import reuse as golden
from tests.gateware.benches import put, run, words_of

# P, W, stride.
SIZES = [
    (1, 1, 0), (4, 1, 0), (6, 3, 0), (6, 3, 1), (6, 3, 2), (35, 7, 3), (64, 16, 15), (64, 64, 1),
]  # fmt: skip


@pytest.mark.parametrize(("lanes", "words", "stride"), SIZES)
def test_lanes_get_their_words(lanes: int, words: int, stride: int) -> None:
    component = Reuse(lanes, words=words, stride=stride, shape=signed(9))
    values = np.arange(words) * 7 % 511 - 255

    async def bench(ctx: Any) -> None:
        put(ctx, component.words, values)
        got = words_of(ctx, component.lanes)
        expected = golden.spread(values[None, :], lanes=lanes, stride=stride)[0]
        assert got == expected.tolist()
        # Spelled out once more: lane m W + j gets word (j + m stride) mod W.
        for lane, value in enumerate(got):
            m, j = divmod(lane, words)
            assert value == values[(j + m * stride) % words]

    run(component, bench, clocked=False)
