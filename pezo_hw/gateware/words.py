"""What the step core computes once per word, before the fan-out to the lanes."""

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.config.zo_rules import MULTIPLIER_BITS, STRENGTH_BITS
from pezo_hw.golden.engine import AnyEngine
from pezo_hw.golden.step import Arithmetic
from pezo_hw.golden.tensors import MAX_STRENGTH

from .dither import Dither
from .pipeline import Pipeline


def signed_bits(low: int, high: int) -> int:
    """Return the bits that a signed number needs to hold low .. high."""
    return max(max(high, 0).bit_length(), max(-low - 1, 0).bit_length()) + 1


def largest_word(engine: AnyEngine) -> int:
    """Return the largest scaled word u 2^e."""
    return ((1 << (engine.bits - 1)) - 1) << engine.max_exponent


def round_half_away(word: Value, *, drop: int) -> Value:
    """Return word / 2^drop, rounded to the nearest integer, halves away from zero."""
    if drop <= 0:
        return word << -drop
    # Half is added, and one less for a negative word.
    return (word + ((1 << (drop - 1)) - 1) + ~word[-1]) >> drop


def times(k: Value, value: Value) -> Value:
    """Return -k value for k of -2 to 2: a choice, a shift and a sign."""
    single = Mux(k[0], value, 0)
    size = Mux((k == 2) | (k == -2), value << 1, single)
    negative = k > 0
    return Mux(negative, ~size, size) + negative


class Factors:
    """How the coefficient of the product is made; shared with the table of tensors.

    Where every perturbation is exact (the rounding drops no bits), k p is a multiple of the word,
    and folds into the coefficient: C' = C - k 2^(S - drop).

    Parameters
    ----------
    engine : golden.engine.Engine or golden.seeded.SeededEngine
    arithmetic : golden.step.Arithmetic
        Of the kind "dsp".
    tensors : bool
        Whether tensors may be stronger, which is a shift of the coefficient.

    Attributes
    ----------
    exact : bool
        Whether the perturbation is folded in.
    fold : int
        What one perturbation adds: p = u 2^e 2^-drop = u 2^e fold / 2^S; 0 if it is not folded in.
    low, high : int
        Range of C'.
    shape : Shape
        Of C'.
    """

    def __init__(self, engine: AnyEngine, *, arithmetic: Arithmetic, tensors: bool = False):
        c_max = (1 << (arithmetic.coefficient_bits - 1)) - 1
        c_min = -c_max - 1
        strength = STRENGTH_BITS if tensors else 0
        self.exact = arithmetic.drop <= min(engine.min_exponent, arithmetic.shift)
        self.fold = 0
        if self.exact:
            fold = 1 << (arithmetic.shift - arithmetic.drop)
            # The folded coefficient must still fit the multiplier's wider port.
            self.exact = signed_bits(c_min - 2 * fold, c_max + 2 * fold) + strength <= (
                MULTIPLIER_BITS
            )
            self.fold = fold if self.exact else 0
        self.low = (c_min - 2 * self.fold) << strength
        self.high = (c_max + 2 * self.fold) << strength
        self.shape = signed(signed_bits(self.low, self.high))


class WordPath(wiring.Component):
    """The change of a weight, d - k p, for each word of a group.

    One multiplication a word: x = u 2^e C', and d - k p = floor((x + dither) / 2^S) + (-k p).

    Where k p folds into the coefficient, see `Factors`, this is all. Else p is rounded first and
    k p takes the upper part of the adder's second operand, beside the dither.

    Latency: 3 clocks from a group to its change, 4 with rounding; with a table 1 more, with both 2.
    Throughput: one group a clock. The output keeps valid and payload until ready, except that
    `clear` drops it.

    Parameters
    ----------
    engine : golden.engine.Engine or golden.seeded.SeededEngine
        Whose words come in.
    arithmetic : golden.step.Arithmetic
        Number formats.
    tensors : bool
        Whether settings come with each group.

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
        With tensors k comes with each group.
    factor : In(factors.shape), tensors only
        With a group: C', in place of the coefficient.
    strength : In(2), tensors only
        With a group.
    used, half : In(b + max e), tensors only
        With a group: bits of the words that count, and the bit that stands for the others.
    """

    def __init__(self, engine: AnyEngine, *, arithmetic: Arithmetic, tensors: bool = False):
        self._words = engine.words
        self._arithmetic = arithmetic
        self._tensors = tensors
        self._word_shape = signed(engine.value_bits)
        self.factors = factors = Factors(engine, arithmetic=arithmetic, tensors=tensors)
        self.exact = factors.exact
        self.factor_shape, self.fold = factors.shape, factors.fold
        self.latency = (3 if self.exact else 4) + ((1 if self.exact else 2) if tensors else 0)
        strength = MAX_STRENGTH if tensors else 0
        self._p_max = arithmetic.largest_perturbation(
            engine.bits, exponent=engine.max_exponent + strength
        )
        product = largest_word(engine) * max(-factors.low, factors.high)
        self._product_shape = signed(signed_bits(-product, product))
        spread = 0 if self.exact else 2 * self._p_max
        # floor((x + dither) / 2^S) lies between -ceil(product / 2^S) and product / 2^S + 1.
        bound = (product >> arithmetic.shift) + 1 + spread
        self.change_shape: Shape = signed(signed_bits(-bound, bound))
        members = word_path_members(
            self._word_shape, words=self._words, change=self.change_shape, arithmetic=arithmetic
        )
        if tensors:
            mask = unsigned(engine.value_bits)
            members |= {
                "factor": In(factors.shape),
                "strength": In(2),
                "used": In(mask),
                "half": In(mask),
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = self._arithmetic.shift
        m.submodules.dither_source = dither = Dither(self._words, shift=shift)
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
            dither.load.eq(self.clear),
            dither.seed.eq(self.dither_seed),
            # Used in the stage before the last: one dither for each group that passes it.
            dither.step.eq(self.mix | row.loads(self.latency)),
        ]
        if self._tensors:
            factor: Value = row.delay(self.factor, first=1, last=2, name="factor")
            strength, k = Const(0, 1), Const(0, 1)
            if not self.exact:
                strength = row.delay(self.strength, first=1, last=2, name="strength")
                k = row.delay(self.k, first=1, last=4, name="k")
            masks = [
                row.delay(value, first=1, last=1, name=name)
                for name, value in (("used", self.used), ("half", self.half))
            ]
        else:
            factor = Signal(self.factors.shape, name="coefficient", reset_less=True)
            folded = self.k * Const(self.factors.fold) if self.exact else 0
            m.d.sync += factor.eq(self.coefficient - folded)
            strength, k, masks = Const(0, 1), self.k, []
        for i in range(self._words):
            word = Signal(self._word_shape, name=f"word_{i}", reset_less=True)
            product = Signal(self._product_shape, name=f"product_{i}", reset_less=True)
            change = Signal(self.change_shape, name=f"change_{i}", reset_less=True)
            if masks:
                raw = row.delay(self.words.payload[i], first=1, last=1, name=f"raw_{i}")
                row.register(2, [(word, raw & masks[0] | masks[1])])
            else:
                row.register(1, [(word, self.words.payload[i])])
            at = 3 if masks else 2
            row.register(at, [(product, word * factor)])
            if self.exact:
                total = product + dither.dither[i]
            else:
                perturbed = self._perturbed(m, i, row, word=word, strength=strength, k=k, at=at)
                late = row.delay(product, first=at + 1, last=self.latency - 1, name=f"product_{i}")
                total = late + Cat(dither.dither[i], perturbed).as_signed()
            row.register(self.latency, [(change, total >> shift)])
            m.d.comb += self.change.payload.values[i].eq(change)
        return m

    def _perturbed(
        self, m: Module, i: int, row: Pipeline, *, word: Value, strength: Value, k: Value, at: int
    ) -> Signal:
        """Return -k p in a register: rounded in one clock, multiplied in the next."""
        p_max = self._p_max
        rounded = Signal(signed(signed_bits(-p_max, p_max)), name=f"rounded_{i}", reset_less=True)
        if self._tensors:
            strong = Signal(signed(len(word) + MAX_STRENGTH), name=f"strong_{i}", reset_less=True)
            row.register(at, [(strong, word << strength)])
            word, at = strong, at + 1
        row.register(at, [(rounded, round_half_away(word, drop=self._arithmetic.drop))])
        perturbed = Signal(
            signed(signed_bits(-2 * p_max, 2 * p_max)), name=f"perturbed_{i}", reset_less=True
        )
        row.register(at + 1, [(perturbed, times(k, rounded))])
        return perturbed


def word_path_members(
    word: Shape, *, words: int, change: Shape, arithmetic: Arithmetic
) -> dict[str, wiring.Member]:
    """Return the ports that every kind of word path has; see `WordPath`."""
    values = data.ArrayLayout(change, words)
    return {
        "words": In(stream.Signature(data.ArrayLayout(word, words))),
        "last": In(1),
        "change": Out(stream.Signature(data.StructLayout({"values": values, "last": 1}))),
        "clear": In(1),
        "mix": In(1),
        "k": In(signed(3)),
        "coefficient": In(signed(arithmetic.coefficient_bits)),
        "dither_seed": In(32),
    }
