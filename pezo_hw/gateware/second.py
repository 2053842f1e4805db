"""The perturbation of the new step, which a fused sweep adds and subtracts behind the update."""

from amaranth import Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden.engine import AnyEngine
from pezo_hw.golden.step import Arithmetic
from pezo_hw.golden.tensors import MAX_STRENGTH

from .pipeline import Pipeline
from .words import round_half_away, signed_bits
from .zoqo import level


class PerturbationPath(wiring.Component):
    """p for each word of a group of engine B.

    It holds as many groups as there can be between the source and the lanes' end, and its gaps
    close on their own: so engine B can step together with engine A and never holds it up.

    Latency: `stages` clocks. Throughput: one group a clock. The output keeps valid and payload
    until ready, except that `clear` drops it.

    Parameters
    ----------
    engine : golden.engine.Engine or golden.seeded.SeededEngine
        Whose words come in.
    arithmetic : golden.step.Arithmetic
        Number formats.
    stages : int
        Groups that it holds, 4 or more.
    tensors : bool
        Whether settings come with each group.

    Members
    -------
    words : In(stream.Signature(ArrayLayout(signed(...), W)))
        Scaled words u 2^e.
    p : Out(stream.Signature(ArrayLayout(signed(...), W)))
        In weight LSBs.
    clear : In(1)
        Drop all groups under way.
    live : In(1)
        With a group: 0 makes p 0.
    strength, used, half : In, tensors only
        As of `words.WordPath`.
    """

    def __init__(
        self, engine: AnyEngine, *, arithmetic: Arithmetic, stages: int, tensors: bool = False
    ):
        self._arithmetic = arithmetic
        self._words = engine.words
        self._stages = stages
        # In ZOQO the settings act on neither words nor strength.
        self._settings = tensors and not arithmetic.levels
        strength = MAX_STRENGTH if self._settings else 0
        p_max = arithmetic.largest_perturbation(
            engine.bits, exponent=engine.max_exponent + strength
        )
        self.p_shape: Shape = signed(signed_bits(-p_max, p_max))
        word = signed(engine.value_bits)
        members = {
            "words": In(stream.Signature(data.ArrayLayout(word, self._words))),
            "p": Out(stream.Signature(data.ArrayLayout(self.p_shape, self._words))),
            "clear": In(1),
            "live": In(1),
        }
        if self._settings:
            mask = unsigned(engine.value_bits)
            members |= {"strength": In(2), "used": In(mask), "half": In(mask)}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = Pipeline(
            m,
            stages=self._stages,
            valid=self.words.valid,
            ready=self.p.ready,
            clear=self.clear,
            elastic=True,
        )
        m.d.comb += [self.words.ready.eq(row.ready), self.p.valid.eq(row.valid)]
        # Behind this stage stands p.
        done = 4 if self._settings else 2
        live = row.delay(self.live, first=1, last=done - 1, name="live")
        strength: Value = Const(0, 1)
        masks: list[Value] = []
        if self._settings:
            strength = row.delay(self.strength, first=1, last=2, name="strength")
            masks = [
                row.delay(value, first=1, last=1, name=name)
                for name, value in (("used", self.used), ("half", self.half))
            ]
        for i in range(self._words):
            word = row.delay(self.words.payload[i], first=1, last=1, name=f"raw_{i}")
            if masks:
                whole = Signal.like(word, name=f"word_{i}")
                strong = Signal(
                    signed(len(word) + MAX_STRENGTH), name=f"strong_{i}", reset_less=True
                )
                row.register(2, [(whole, word & masks[0] | masks[1])])
                row.register(3, [(strong, whole << strength)])
                word = strong
            p = Signal(self.p_shape, name=f"p_{i}", reset_less=True)
            row.register(done, [(p, Mux(live, self._value(word), 0))])
            late = row.delay(p, first=done + 1, last=self._stages, name=f"p_{i}")
            m.d.comb += self.p.payload[i].eq(late)
        return m

    def _value(self, word: Value) -> Value:
        arithmetic = self._arithmetic
        if arithmetic.levels:
            return level(word, bits=arithmetic.word_bits, levels=arithmetic.levels)
        return round_half_away(word, drop=arithmetic.drop)
