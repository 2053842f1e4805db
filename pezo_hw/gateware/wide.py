"""Wide F2-linear generators: one LUT and one flip-flop a bit."""

from functools import reduce
from operator import xor

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring

from pezo_hw.golden.wide import Generator, RademacherSequence, UniformSequence

_Members = dict[str, wiring.Member]


class _Wide(wiring.Component):
    """A generator whose bits are wired to words; see `gateware.seeded.source_signature`.

    Latency: a command acts at the next clock edge. Throughput: one group a clock. A bit of the
    state is one LUT6 deep: at most 4 taps and, where the row has one, the product of two bits
    while the seed is expanded, or a bit of the seed.
    """

    def __init__(self, sequence: UniformSequence | RademacherSequence, members: _Members):
        self._sequence = sequence
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        generator = self._sequence.generator
        # It has no other reset than `clear`, which takes the set and reset pins.
        state = Signal(generator.size, init=generator.reset, reset_less=True)
        with m.If(self.clear):
            m.d.sync += state.eq(generator.reset)
        with m.Elif(self.step):
            m.d.sync += state.eq(self._next_state(generator, state))
        for word, places in enumerate(self._sequence.places):
            m.d.comb += self.words[word].eq(self._word([state[place] for place in places]))
        return m

    def _next_state(self, generator: Generator, state: Value) -> Value:
        products, seeded = generator.products, generator.seed_bits
        bits = []
        for row, mask in enumerate(generator.matrix):
            terms = [state[i] for i in range(generator.size) if mask >> i & 1]
            if row in products:
                one, other = products[row]
                terms.append(self.expand & state[one] & state[other])
            if row in seeded:
                terms.append(self.inject & self.seed[seeded[row]])
            bits.append(reduce(xor, terms))
        return Cat(bits)

    def _word(self, bits: list[Value]) -> Value:
        raise NotImplementedError


class WideUniform(_Wide):
    """Words u = 2 w + 1, w the state bits of the word as a two's complement number."""

    def _word(self, bits: list[Value]) -> Value:
        return Cat(Const(1, 1), bits).as_signed()


class Rademacher(_Wide):
    """Words +1 (state bit 0) or -1 (state bit 1)."""

    def _word(self, bits: list[Value]) -> Value:
        return Cat(Const(1, 1), bits).as_signed()
