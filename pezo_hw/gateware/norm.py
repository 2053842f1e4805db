"""Norm scaling: the table of exponents and the shift."""

from amaranth import Module, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from pezo_hw.golden import bank as golden_bank
from pezo_hw.golden.engine import Engine as GoldenEngine


class Codes:
    """How the exponents that occur are numbered: code c stands for the c-th smallest of them.

    Only the exponents that occur get a code, so two neighbouring ones need one bit and one
    multiplexer.

    Parameters
    ----------
    engine : golden.engine.Engine
        Whose exponents they are.

    Attributes
    ----------
    exponents : list of int
        The exponent that each code stands for.
    bits : int
        Width of a code, 0 where all groups have the same exponent.
    """

    def __init__(self, engine: GoldenEngine):
        self.exponents = sorted({int(e) for e in engine.exponent_table})
        self.bits = bits_for(len(self.exponents) - 1) if len(self.exponents) > 1 else 0
        self._engine = engine

    def by_entry(self) -> list[int]:
        """Return the code of each entry of the exponent table, in the table's order."""
        return [self.exponents.index(int(e)) for e in self._engine.exponent_table]

    def by_state(self, bank: golden_bank.Bank) -> list[int]:
        """Return the code of each state v of generator 0; 0 for the state 0, which never comes."""
        table = [0] * (bank.word_period + 1)
        for time, code in enumerate(self.by_entry()):
            state = int(bank.sequence[(bank.phases[0] + time) % bank.word_period])
            table[state] = code
        return table


class NormTable(wiring.Component):
    """Exponent codes, addressed by the state of one designated generator.

    Latency: one clock, so the code stands together with the group that the address led to.

    Parameters
    ----------
    codes : list of int
        Code of each state.
    code_bits : int
        Width of a code.

    Members
    -------
    enable : In(1)
        Read.
    state : In
        State of the designated generator in the group that comes next.
    code : Out(code_bits)
        Code of the current group.
    """

    def __init__(self, codes: list[int], *, code_bits: int):
        self._codes = codes
        super().__init__(
            {
                "enable": In(1),
                "state": In(bits_for(len(codes) - 1)),
                "code": Out(code_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=unsigned(len(self.code)), depth=len(self._codes), init=self._codes
        )
        port = memory.read_port()
        m.d.comb += [
            port.addr.eq(self.state),
            port.en.eq(self.enable),
            self.code.eq(port.data),
        ]
        return m


class Scale(wiring.Component):
    """Shift every word of a group left by the exponent that its code stands for.

    Wires if there is one exponent only.

    Latency: none (combinational), one LUT a bit for up to four exponents.

    Parameters
    ----------
    words : int
        W.
    bits : int
        b.
    exponents : list of int
        The exponent of each code.

    Members
    -------
    code : In
        Code of the group.
    words_in : In(ArrayLayout(signed(b), W))
        Words u.
    words_out : Out(ArrayLayout(signed(b + max(exponents)), W))
        Scaled words u 2^e.
    """

    def __init__(self, words: int, *, bits: int, exponents: list[int]):
        self._exponents = exponents
        code_bits = bits_for(len(exponents) - 1) if len(exponents) > 1 else 0
        super().__init__(
            {
                "code": In(code_bits),
                "words_in": In(data.ArrayLayout(signed(bits), words)),
                "words_out": Out(data.ArrayLayout(signed(bits + max(exponents)), words)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i in range(self.words_in.shape().length):
            word = self.words_in[i]
            if len(self._exponents) == 1:
                m.d.comb += self.words_out[i].eq(word << self._exponents[0])
                continue
            shifted = Signal(self.words_out.shape().elem_shape, name=f"shifted_{i}")
            with m.Switch(self.code):
                for code, exponent in enumerate(self._exponents):
                    # The last code is the default, so that unused codes cost nothing.
                    last = code == len(self._exponents) - 1
                    with m.Default() if last else m.Case(code):
                        m.d.comb += shifted.eq(word << exponent)
            m.d.comb += self.words_out[i].eq(shifted)
        return m
