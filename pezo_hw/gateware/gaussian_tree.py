"""Gaussian generators, one for each lane: trees of constant comparators fed by small LFSRs."""

from functools import reduce
from operator import xor

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring

from pezo_hw.golden import gaussian_tree as golden

from .bitwise import at_most, at_most_constant, select, table
from .seeder import Seeder

_Members = dict[str, wiring.Member]

# With up to so many thresholds a level has a comparator for each, and the decided bits select one
# of the results, which is faster. With more it has one comparator, and they select its threshold.
_COMPARATORS = 8


class GaussianTree(wiring.Component):
    """A tree for each lane; see `gateware.seeded.source_signature`.

    Latency: `load_clocks`, in which one generator for all lanes expands the seed and then fills the
    LFSRs. Throughput: one group a clock. The words come from logic behind registers.

    Signals of the lanes have one bit for each lane: ``m5_3`` is bit 3 of the LFSR of level m5 in
    every lane.
    """

    def __init__(self, sequence: golden.TreeSequence, members: _Members):
        self._sequence = sequence
        self._seeder = Seeder(sequence.seeder, members, shown=golden.FILL)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sequence = self._sequence
        lanes = sequence.words
        m.submodules.seeder = seeder = self._seeder
        m.d.comb += [
            seeder.clear.eq(self.clear),
            seeder.inject.eq(self.inject),
            seeder.expand.eq(self.expand),
            seeder.seed.eq(self.seed),
        ]
        states = [self._lfsrs(m, level, seeder.bits) for level in golden.LEVELS]

        parity = [
            state[0] for state, level in zip(states, golden.LEVELS, strict=True) if level.signs
        ]
        sign = Signal(lanes)
        m.d.comb += sign.eq(reduce(xor, parity))
        decided: list[Value] = []
        for state, level in zip(states, golden.LEVELS, strict=True):
            if level.thresholds:
                bit = Signal(lanes, name=f"{level.name}_bit")
                m.d.comb += bit.eq(self._decide(m, level, state, decided[::-1]))
                decided.append(bit)

        bits = [bit ^ sign for bit in reversed(decided)] + [sign]
        columns = []
        for i, value in enumerate(bits):
            column = Signal(lanes, name=f"word_{i}")
            m.d.comb += column.eq(value)
            columns.append(column)
        # In one assignment: with one for each of 1024 lanes, Amaranth takes ten times as long.
        m.d.comb += self.words.as_value().eq(
            Cat(Cat(Const(1, 1), [column[lane] for column in columns]) for lane in range(lanes))
        )
        return m

    def _decide(
        self, m: Module, level: golden.Level, state: list[Signal], decided: list[Value]
    ) -> Value:
        """Return the next bit of the magnitude, from a level's LFSRs and the bits decided."""
        lanes = self._sequence.words
        if len(level.thresholds) <= _COMPARATORS:
            results = []
            for threshold in level.thresholds:
                result = Signal(lanes, name=f"{level.name}_at_most_{threshold}")
                m.d.comb += result.eq(at_most_constant(state, threshold, lanes=lanes))
                results.append(result)
            return select(results, decided)
        limit = []
        for i in range(level.bits):
            column = Signal(lanes, name=f"{level.name}_limit_{i}")
            entries = [threshold >> i & 1 for threshold in level.thresholds]
            m.d.comb += column.eq(table(entries, decided, lanes=lanes))
            limit.append(column)
        return at_most(m, state, limit, name=f"{level.name}_below", lanes=lanes)

    def _lfsrs(self, m: Module, level: golden.Level, seeded: Value) -> list[Signal]:
        """Build a level's LFSRs of all lanes; return their states by bit."""
        sequence = self._sequence
        resets, feeds = sequence.resets(level).tolist(), sequence.feeds(level).T.tolist()
        state = [
            Signal(
                sequence.words,
                name=f"{level.name}_{i}",
                init=sum((reset >> i & 1) << lane for lane, reset in enumerate(resets)),
                reset_less=True,
            )
            for i in range(level.bits)
        ]
        plain = [
            reduce(xor, [state[i] for i in range(level.bits) if mask >> i & 1])
            for mask in level.matrix
        ]
        following = list(plain)
        for (row, other), feed in zip(level.choices, feeds, strict=True):
            following[row] = plain[row] ^ (plain[other] & Cat(seeded[bit] for bit in feed))
        with m.If(self.clear):
            m.d.sync += [bit.eq(bit.init) for bit in state]
        with m.Elif(self.step):
            m.d.sync += [bit.eq(value) for bit, value in zip(state, following, strict=True)]
        return state
