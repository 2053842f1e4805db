"""A wide generator in the service of others: expanding its seed and handing out its groups."""

from amaranth import Cat, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden.wide import RademacherSequence

from .wide import Rademacher

_Members = dict[str, wiring.Member]


def bits_of(sequence: RademacherSequence, members: _Members) -> Rademacher:
    """Return the generator of a sequence, for a source with members `members`.

    The top bit of each word is a bit of its state.
    """
    words = Out(data.ArrayLayout(signed(sequence.bits), sequence.words))
    return Rademacher(sequence, members | {"words": words})


class Expansion(wiring.Component):
    """Tell when generators inside a source are through with the expansion of their seed.

    A source that has more to do until it can show its first group has a longer expansion than they.

    Parameters
    ----------
    clocks : int
        `load_clocks` of the generators.
    shown : int
        Clocks behind these for which `showing` is high.

    Members
    -------
    clear, expand : In(1)
        See `gateware.seeded.source_signature`.
    mixing : Out(1)
        What the generators need for `expand`.
    showing : Out(1)
        High in the clocks in which the generators show groups 0 to `shown` - 1, if `expand` lasts.
    """

    def __init__(self, clocks: int, *, shown: int = 0):
        self._clocks = clocks
        self._shown = shown
        super().__init__({"clear": In(1), "expand": In(1), "mixing": Out(1), "showing": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The clock behind `clear` is number 0.
        last = self._clocks - 2
        clock = Signal(range(last + self._shown + 1), reset_less=True)
        mixing = Signal(reset_less=True)
        showing = Signal(reset_less=True)
        with m.If(self.clear):
            m.d.sync += [clock.eq(0), mixing.eq(1), showing.eq(0)]
        with m.Elif(self.expand):
            m.d.sync += clock.eq(clock + 1)
            with m.If(clock == last):
                m.d.sync += [mixing.eq(0), showing.eq(self._shown > 0)]
            if self._shown:
                with m.If(clock == last + self._shown):
                    m.d.sync += showing.eq(0)
        m.d.comb += [self.mixing.eq(mixing), self.showing.eq(showing)]
        return m


class Seeder(wiring.Component):
    """A generator that shows its first groups once, during the expansion of the source's seed.

    Latency: group 0 comes `load_clocks` + 1 clocks after `clear`. Afterwards it stands still.

    Parameters
    ----------
    sequence : RademacherSequence
        Its groups.
    members : dict
        Those of the source.
    shown : int
        Groups that are shown.

    Members
    -------
    clear, inject, expand, seed : In
        See `gateware.seeded.source_signature`.
    bits : Out(k)
        The state of each group, 0 before the first one and behind the last one.
    """

    def __init__(self, sequence: RademacherSequence, members: _Members, *, shown: int):
        self._generator = bits_of(sequence, members)
        self._expansion = Expansion(sequence.load_clocks, shown=shown)
        inputs = {name: members[name] for name in ("clear", "inject", "expand", "seed")}
        super().__init__(inputs | {"bits": Out(sequence.words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.generator = generator = self._generator
        m.submodules.expansion = expansion = self._expansion
        m.d.comb += [
            expansion.clear.eq(self.clear),
            expansion.expand.eq(self.expand),
            generator.clear.eq(self.clear),
            generator.inject.eq(self.inject),
            generator.expand.eq(expansion.mixing),
            generator.step.eq(self.expand),
            generator.seed.eq(self.seed),
        ]
        bits = Signal(len(self.bits), reset_less=True)
        with m.If(self.clear | ~expansion.showing):
            m.d.sync += bits.eq(0)
        with m.Else():
            m.d.sync += bits.eq(Cat(word[-1] for word in generator.words))
        m.d.comb += self.bits.eq(bits)
        return m
