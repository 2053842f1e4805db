"""What the step core computes once per word in ZOQO: no product, no dither."""

from amaranth import Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import wiring

from pezo_hw.golden.engine import AnyEngine
from pezo_hw.golden.step import Arithmetic

from .pipeline import Pipeline
from .words import signed_bits, times, word_path_members


def times_odd(value: Value, factor: int) -> Value:
    """Return value times a constant as a sum of shifts, which no tool turns into a DSP block.

    The constant's digits are -1, 0 and +1, as few of them not 0 as there can be.
    """
    terms: list[tuple[int, int]] = []
    place = 0
    while factor:
        digit = 0
        if factor & 1:
            digit = 2 - (factor & 3)
            terms.append((place, digit))
            factor -= digit
        factor >>= 1
        place += 1
    place, _ = terms.pop()
    total: Value = value << place
    for place, digit in reversed(terms):
        total = total + (value << place) if digit > 0 else total - (value << place)
    return total


def level(word: Value, *, bits: int, levels: int) -> Value:
    """Return p = ((2m + 1) v >> b) - m for a word u, with v = u + 2^(b-1)."""
    positive = (word[:bits] ^ (1 << (bits - 1))).as_unsigned()
    return (times_odd(positive, 2 * levels + 1) >> bits) - levels


class ZoqoPath(wiring.Component):
    """The change of a weight, d - k p with d = C sign(p), for each word of a group.

    Latency: 4 clocks. Throughput: one group a clock. The output keeps valid and payload until
    ready, except that `clear` drops it.

    Parameters
    ----------
    engine : golden.engine.Engine or golden.seeded.SeededEngine
        Whose words come in; not scaled.
    arithmetic : golden.step.Arithmetic
        Of the kind "zoqo".
    tensors : bool
        Whether k and the coefficient come with each group.

    Members
    -------
    words, last, change, clear, mix, k, coefficient, dither_seed
        As of `words.WordPath`; `mix` and `dither_seed` have no effect.
    """

    def __init__(self, engine: AnyEngine, *, arithmetic: Arithmetic, tensors: bool = False):
        self._words = engine.words
        self._arithmetic = arithmetic
        self._tensors = tensors
        self.latency = 4
        # What a table of tensors gives: the coefficient as it is.
        self.factor_shape, self.fold = signed(arithmetic.coefficient_bits), 0
        most = (1 << (arithmetic.coefficient_bits - 1)) + 2 * arithmetic.levels
        self.change_shape: Shape = signed(signed_bits(-most, most))
        super().__init__(
            word_path_members(
                signed(engine.value_bits),
                words=self._words,
                change=self.change_shape,
                arithmetic=arithmetic,
            )
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = Pipeline(
            m,
            stages=self.latency,
            valid=self.words.valid,
            ready=self.change.ready,
            clear=self.clear,
        )
        m.d.comb += [
            self.words.ready.eq(row.ready),
            self.change.valid.eq(row.valid),
            self.change.payload.last.eq(
                row.delay(self.last, first=1, last=self.latency, name="last")
            ),
        ]
        k: Value = self.k
        # C and -C, once a sweep or a group.
        wide = signed(self._arithmetic.coefficient_bits + 1)
        up = Signal(wide, name="coefficient", reset_less=True)
        down = Signal(wide, name="opposite", reset_less=True)
        if self._tensors:
            k = row.delay(self.k, first=1, last=2, name="k")
            coefficient = row.delay(self.coefficient, first=1, last=1, name="given")
            row.register(2, [(up, coefficient), (down, -coefficient)])
        else:
            m.d.sync += [up.eq(self.coefficient), down.eq(-self.coefficient)]
        for i in range(self._words):
            change = self._word(m, i, row, k=k, up=up, down=down)
            m.d.comb += self.change.payload.values[i].eq(change)
        return m

    def _word(
        self, m: Module, i: int, row: Pipeline, *, k: Value, up: Signal, down: Signal
    ) -> Signal:
        levels, bits = self._arithmetic.levels, self._arithmetic.word_bits
        word = row.delay(self.words.payload[i], first=1, last=1, name=f"word_{i}")
        p = Signal(signed(signed_bits(-levels, levels)), name=f"p_{i}", reset_less=True)
        row.register(2, [(p, level(word, bits=bits, levels=levels))])
        perturbed = Signal(
            signed(signed_bits(-2 * levels, 2 * levels)), name=f"perturbed_{i}", reset_less=True
        )
        updated = Signal(up.shape(), name=f"updated_{i}", reset_less=True)
        chosen = Mux(p[-1], down, up)
        row.register(3, [(perturbed, times(k, p)), (updated, Mux(p.any(), chosen, 0))])
        change = Signal(self.change_shape, name=f"change_{i}", reset_less=True)
        row.register(4, [(change, perturbed + updated)])
        return change
