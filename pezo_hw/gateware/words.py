"""What the step core computes once per word, before the fan-out to the lanes."""

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden.engine import AnyEngine
from pezo_hw.golden.step import Arithmetic

from .dither import Dither

# The wider input of a DSP block's multiplier: 25 bits in series 7, 27 in UltraScale.
MULTIPLIER_BITS = 25


def signed_bits(low: int, high: int) -> int:
    """Return the bits that a signed number needs to hold low .. high."""
    return max(max(high, 0).bit_length(), max(-low - 1, 0).bit_length()) + 1


class WordPath(wiring.Component):
    """The change of a weight, d - k p, for each word of a group.

    One multiplication a word: x = u 2^e C', and d - k p = floor((x + dither) / 2^S) + (-k p).

    Where every perturbation is exact (the rounding drops no bits), k p is a multiple of the word,
    and folds into the coefficient: C' = C - k 2^(S - drop). Else p is rounded first and k p takes
    the upper part of the adder's second operand, beside the dither.

    Latency: 3 clocks from a group to its change, 4 with rounding. Throughput: one group a clock.
    The output keeps valid and payload until ready, except that `clear` drops it.

    Parameters
    ----------
    engine : golden.engine.Engine or golden.seeded.SeededEngine
        Whose words come in.
    arithmetic : golden.step.Arithmetic
        Number formats.

    Members
    -------
    words : In(stream.Signature(ArrayLayout(signed(...), W)))
        Scaled words u 2^e.
    last : In(1)
        With a group: it is the last of the sweep.
    change : Out(stream.Signature(StructLayout({"values": ArrayLayout(signed(...), W), "last": 1})))
        d - k p in weight LSBs, to be subtracted from the weights.
    clear : In(1)
        Drop all groups under way and load the dither's seed.
    mix : In(1)
        Step the dither (before the first group).
    k, coefficient, dither_seed : In
        Commands of the sweep, constant from the clock after `clear` on (the seed: with `clear`).
    """

    def __init__(self, engine: AnyEngine, *, arithmetic: Arithmetic):
        self._words = engine.words
        self._arithmetic = arithmetic
        self._word_shape = signed(engine.value_bits)
        word_max = ((1 << (engine.bits - 1)) - 1) << engine.max_exponent
        c_max = (1 << (arithmetic.coefficient_bits - 1)) - 1
        c_min = -c_max - 1
        self.exact = arithmetic.drop <= min(engine.min_exponent, arithmetic.shift)
        if self.exact:
            # The folded coefficient must still fit the multiplier's wider port.
            folded = signed_bits(c_min - 2 * self._fold, c_max + 2 * self._fold)
            self.exact = folded <= MULTIPLIER_BITS
        self.latency = 3 if self.exact else 4
        self._p_max = arithmetic.largest_perturbation(engine.bits, exponent=engine.max_exponent)
        if self.exact:
            fold = self._fold
            c_min, c_max = c_min - 2 * fold, c_max + 2 * fold
        self._coefficient_shape = signed(signed_bits(c_min, c_max))
        product = word_max * max(-c_min, c_max)
        self._product_shape = signed(signed_bits(-product, product))
        spread = 0 if self.exact else 2 * self._p_max
        # floor((x + dither) / 2^S) lies between -ceil(product / 2^S) and product / 2^S + 1.
        bound = (product >> arithmetic.shift) + 1 + spread
        self.change_shape: Shape = signed(signed_bits(-bound, bound))
        super().__init__(
            {
                "words": In(stream.Signature(data.ArrayLayout(self._word_shape, self._words))),
                "last": In(1),
                "change": Out(
                    stream.Signature(
                        data.StructLayout(
                            {
                                "values": data.ArrayLayout(self.change_shape, self._words),
                                "last": 1,
                            }
                        )
                    )
                ),
                "clear": In(1),
                "mix": In(1),
                "k": In(signed(3)),
                "coefficient": In(signed(arithmetic.coefficient_bits)),
                "dither_seed": In(32),
            }
        )

    @property
    def _fold(self) -> int:
        """Coefficient of one perturbation: p = u 2^e 2^-drop = u 2^e fold / 2^S."""
        return 1 << (self._arithmetic.shift - self._arithmetic.drop)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dither_source = dither = Dither(self._words, shift=self._arithmetic.shift)
        stages = self.latency
        valid = [Signal(name=f"valid_{i}") for i in range(1, stages + 1)]
        last = [Signal(name=f"last_{i}", reset_less=True) for i in range(1, stages + 1)]
        enable = Signal()
        m.d.comb += [
            enable.eq(~valid[-1] | self.change.ready),
            self.words.ready.eq(enable),
            self.change.valid.eq(valid[-1]),
            self.change.payload.last.eq(last[-1]),
            dither.load.eq(self.clear),
            dither.seed.eq(self.dither_seed),
            # Used in the stage before the last: one dither for each group that passes it.
            dither.step.eq(self.mix | (enable & valid[-2])),
        ]
        with m.If(self.clear):
            m.d.sync += [flag.eq(0) for flag in valid]
        with m.Elif(enable):
            m.d.sync += Cat(valid).eq(Cat(self.words.valid, valid[:-1]))
        with m.If(enable):
            m.d.sync += Cat(last).eq(Cat(self.last, last[:-1]))

        coefficient = Signal(self._coefficient_shape, reset_less=True)
        folded = self.k * Const(self._fold) if self.exact else 0
        m.d.sync += coefficient.eq(self.coefficient - folded)
        for i in range(self._words):
            change = self._word(m, i, enable, coefficient=coefficient, dither=dither.dither[i])
            m.d.comb += self.change.payload.values[i].eq(change)
        return m

    def _word(
        self, m: Module, i: int, enable: Signal, *, coefficient: Signal, dither: Value
    ) -> Signal:
        shift = self._arithmetic.shift
        word = Signal(self._word_shape, name=f"word_{i}", reset_less=True)
        product = Signal(self._product_shape, name=f"product_{i}", reset_less=True)
        change = Signal(self.change_shape, name=f"change_{i}", reset_less=True)
        with m.If(enable):
            m.d.sync += [
                word.eq(self.words.payload[i]),
                product.eq(word * coefficient),
            ]
        if self.exact:
            total = product + dither
        else:
            perturbed = self._perturbed(m, i, enable, word)
            product_2 = Signal.like(product, name=f"product_2_{i}")
            with m.If(enable):
                m.d.sync += product_2.eq(product)
            total = product_2 + Cat(dither, perturbed).as_signed()
        with m.If(enable):
            m.d.sync += change.eq(total >> shift)
        return change

    def _perturbed(self, m: Module, i: int, enable: Signal, word: Signal) -> Signal:
        """Return -k p in a register: rounded in one clock, multiplied in the next."""
        drop = self._arithmetic.drop
        shape = signed(signed_bits(-self._p_max, self._p_max))
        rounded = Signal(shape, name=f"rounded_{i}", reset_less=True)
        # Halves go away from zero: half is added, and one less for a negative word.
        half = (1 << (drop - 1)) - 1 if drop > 0 else 0
        value = (word + half + ~word[-1]) >> drop if drop > 0 else word << -drop
        with m.If(enable):
            m.d.sync += rounded.eq(value)
        perturbed = Signal(
            signed(signed_bits(-2 * self._p_max, 2 * self._p_max)),
            name=f"perturbed_{i}",
            reset_less=True,
        )
        k = self.k
        single = Mux(k[0], rounded, 0)
        size = Mux((k == 2) | (k == -2), rounded << 1, single)
        negative = k > 0
        with m.If(enable):
            m.d.sync += perturbed.eq(Mux(negative, ~size, size) + negative)
        return perturbed
