"""Reuse across lanes: wires only."""

from amaranth import Cat, Module, Shape, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden.reuse import word_of_lane


class Reuse(wiring.Component):
    """Give each of P lanes its word: lane m W + j gets word (j + m stride) mod W.

    Latency: none (wires).

    Parameters
    ----------
    lanes : int
        P, a multiple of `words`.
    words : int
        W.
    stride : int
        0 to W - 1.
    shape : Shape
        Shape of a word.

    Members
    -------
    words : In(ArrayLayout(shape, W))
    lanes : Out(ArrayLayout(shape, P))
    """

    def __init__(self, lanes: int, *, words: int, stride: int, shape: Shape):
        self._words = [int(w) for w in word_of_lane(lanes, words=words, stride=stride)]
        super().__init__(
            {
                "words": In(data.ArrayLayout(shape, words)),
                "lanes": Out(data.ArrayLayout(shape, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # In one assignment: with one for each of 1024 lanes, Amaranth takes ten times as long.
        m.d.comb += self.lanes.as_value().eq(
            Cat(Value.cast(self.words[word]) for word in self._words)
        )
        return m
