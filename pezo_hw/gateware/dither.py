"""The dither of stochastic rounding."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden import dither as golden
from pezo_hw.golden import matrices

from .lfsr import next_state


class Dither(wiring.Component):
    """A 64-bit F2-linear generator whose bits are dealt out to the words.

    Latency: a command acts at the next clock edge. Throughput: one dither for each word a clock.

    Parameters
    ----------
    words : int
        W, at most 64.
    shift : int
        S, bits of a dither.

    Members
    -------
    load : In(1)
        Load the seed; wins over `step`. `golden.dither.WARM_UP` steps must follow before use.
    seed : In(32)
        Any value: the state is the seed and its complement, never 0.
    step : In(1)
        Go to the next state.
    dither : Out(ArrayLayout(S, W))
        Uniform in [0, 2^S), the same dithers as the golden model's.
    """

    def __init__(self, words: int, *, shift: int):
        self._order = golden.bit_order(words, shift=shift).tolist()
        super().__init__(
            {
                "load": In(1),
                "seed": In(golden.SEED_BITS),
                "step": In(1),
                "dither": Out(data.ArrayLayout(unsigned(shift), words)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = Signal(golden.STATE_BITS, init=golden.load(0))
        with m.If(self.load | self.step):
            loaded = Cat(self.seed, ~self.seed)
            m.d.sync += state.eq(Mux(self.load, loaded, next_state(matrices.DITHER_64, state)))
        for word, order in enumerate(self._order):
            m.d.comb += self.dither[word].eq(Cat(state[i] for i in order))
        return m
