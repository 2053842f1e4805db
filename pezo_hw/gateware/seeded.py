"""The perturbation engine of the seeded sources: a seed, its expansion and a stream of groups."""

from collections.abc import Callable

from amaranth import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden import gaussian_clt as golden_clt
from pezo_hw.golden import gaussian_tree as golden_tree
from pezo_hw.golden import wide as golden_wide
from pezo_hw.golden.seeded import SEED_BITS, SeededSequence
from pezo_hw.golden.seeded import SeededEngine as GoldenEngine

from .gaussian_clt import GaussianClt
from .gaussian_tree import GaussianTree
from .signs import SeededSigns, negative_members
from .wide import Rademacher, WideUniform


def source_signature(sequence: SeededSequence) -> dict[str, wiring.Member]:
    """Return the members of the component that gives a sequence's groups.

    All its registers move in clocks with `step` only, those of a pipeline behind it included; the
    groups are then the same whatever the stalls. It needs no reset: `clear` comes first.

    Members
    -------
    clear : In(1)
        The first clock of an expansion: go to the reset state; wins over everything. A register
        drives it, so it may use the set and reset pins of all flip-flops.
    inject : In(1)
        The clock after `clear`: take in the seed. `step` and `expand` are high as well.
    expand : In(1)
        High in every clock of the expansion, `clear` and `inject` included.
    step : In(1)
        Move on: in every clock of the expansion, and when a group is taken.
    seed : In(32)
        Constant during the expansion, except that it may change in the clock of `clear`.
    words : Out(ArrayLayout(signed(bits), W))
        Words u of the current group; group 0 from `sequence.load_clocks` after `clear` on.
    """
    return {
        "clear": In(1),
        "inject": In(1),
        "expand": In(1),
        "step": In(1),
        "seed": In(SEED_BITS),
        "words": Out(data.ArrayLayout(signed(sequence.bits), sequence.words)),
    }


# Words that are assigned one by one; with 1024 of them Amaranth takes ten times as long.
_FEW = 64

SOURCES: dict[type[SeededSequence], Callable[..., wiring.Component]] = {
    golden_wide.UniformSequence: WideUniform,
    golden_wide.RademacherSequence: Rademacher,
    golden_tree.TreeSequence: GaussianTree,
    golden_clt.HadamardSequence: GaussianClt,
}
"""The component of each sequence, made with the sequence and `source_signature` of it."""


class SeededEngine(wiring.Component):
    """A stream of groups of scaled words that a seed starts and that can be replayed.

    Latency: the stream is valid `load_clocks` + 1 clocks after `restore` or `start`, and
    `load_clocks` clocks after a reset, in which the seed is the configuration's. Throughput: one
    group a clock, whatever the stalls. The stream keeps valid and payload until ready, except when
    a command starts it again: then what was offered and not taken is dropped.

    Parameters
    ----------
    engine : golden.seeded.SeededEngine
        The model whose words this hardware gives.

    Members
    -------
    z : Out(stream.Signature(ArrayLayout(signed(bits + e), W)))
        The scaled words u 2^e of the current group. A transfer advances.
    capture : In(1)
        Sampled with a transfer: the seed becomes seed + 1 modulo 2^32, for the next `restore`; the
        stream goes on. Ignored in a clock with `restore` or `start`.
    restore : In(1)
        Begin the stream of the seed again. Taken while `busy` is low; a transfer in the same clock
        still counts.
    start : In(1)
        Take `start_index` as the seed and begin its stream. Taken at any time.
    start_index : In(32)
        The seed; any value. Sampled with `start`.
    busy : Out(1)
        The seed is being expanded: after reset, `start` and `restore`. `z` is not valid.
    negated, negative : Out
        With signs only, see `gateware.signs.negative_members`.
    """

    def __init__(self, engine: GoldenEngine):
        self._golden = engine
        words = data.ArrayLayout(signed(engine.value_bits), engine.words)
        super().__init__(
            {
                "z": Out(stream.Signature(words)),
                "capture": In(1),
                "restore": In(1),
                "start": In(1),
                "start_index": In(SEED_BITS),
                "busy": Out(1),
                **(negative_members(engine.signs, words=words) if engine.signs else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        golden = self._golden
        sequence = golden.sequence
        make_source = SOURCES[type(sequence)]
        m.submodules.source = source = make_source(sequence, source_signature(sequence))

        # After a reset as after `restore`; during a reset the source is cleared all the time.
        clear = Signal(init=1)
        inject = Signal()
        loading = Signal(init=1)
        # Counts the clocks of the expansion behind that with `clear`. The flag for the last one is
        # a register, so that no compare is in the way of the commands.
        final = golden.load_clocks - 1
        clocks = Signal(unsigned(final.bit_length()), reset_less=True)
        last = Signal()
        seed = Signal(SEED_BITS, init=golden.reset_index)

        m.d.sync += inject.eq(clear)
        with m.If(self.start):
            m.d.sync += [clear.eq(1), loading.eq(1)]
        with m.Else():
            m.d.sync += [
                clear.eq(self.restore & ~loading),
                loading.eq(Mux(loading, ~last, self.restore)),
            ]
        with m.If(clear):
            m.d.sync += [clocks.eq(0), last.eq(0)]
        with m.Else():
            m.d.sync += last.eq((clocks == final - 2) & ~self.start)
            with m.If(loading):
                m.d.sync += clocks.eq(clocks + 1)

        captured = self.z.ready & ~loading & self.capture & ~self.restore
        with m.If(self.start | captured):
            # The multiplexer is in front of the carry chain, whose LUTs hold it; behind it would be
            # a second level.
            m.d.sync += seed.eq(Mux(self.start, self.start_index, seed) + ~self.start)

        m.d.comb += [
            source.clear.eq(clear),
            source.inject.eq(inject),
            source.expand.eq(loading),
            source.step.eq(loading | self.z.ready),
            source.seed.eq(seed),
            self.z.valid.eq(~loading),
            self.busy.eq(loading),
        ]
        zeros = Const(0, golden.max_exponent)
        if golden.words <= _FEW:
            # One by one: lanes that reuse a word are then copies of it and not of one another,
            # which simulators would take for a loop.
            for word, value in zip(self.z.payload, source.words, strict=True):
                # A single word needs a shift to be a copy in what Yosys writes.
                scaled = value << golden.max_exponent if golden.words == 1 else Cat(zeros, value)
                m.d.comb += word.eq(scaled)
        else:
            words = Cat(Cat(zeros, word) for word in source.words)
            m.d.comb += self.z.payload.as_value().eq(words)
        if golden.signs is not None:
            # Words are odd, so the lowest bit stays and all others are inverted.
            assert isinstance(sequence, golden_wide.UniformSequence)
            m.submodules.signs = signs = SeededSigns(golden.signs, source_signature(sequence))
            m.d.comb += [
                signs.clear.eq(clear),
                signs.inject.eq(inject),
                signs.expand.eq(loading),
                signs.step.eq(loading | self.z.ready),
                signs.seed.eq(seed),
                self.negative.eq(signs.negative),
                self.negated.as_value().eq(
                    Cat(Cat(zeros, word[0], ~word[1:]) for word in source.words)
                ),
            ]
        return m
