"""The table of tensors: a memory, and the walk over its entries ahead of the groups."""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from pezo_hw.golden.tensors import MOST

from .control import LENGTH_BITS
from .pipeline import Pipeline

INDEX_BITS = (MOST - 1).bit_length()
COUNT_BITS = MOST.bit_length()

#: The settings word's fields that are kept, as (name, first bit, bits).
_FIELDS = (("strength", 0, 2), ("word_bits", 4, 4), ("frozen", 8, 1), ("exponent", 12, 3))
_KEPT = data.StructLayout({name: unsigned(bits) for name, _, bits in _FIELDS})
_LATENCY = 3


@dataclass(frozen=True)
class Format:
    """What the settings of a core are made into.

    Attributes
    ----------
    bits : int
        b; its width limits how many bits of a word can be dropped.
    coefficient_bits : int
        Of C.
    factor : Shape
        Of the factor that goes with each group.
    fold : int
        What one perturbation adds to the coefficient; 0 where it is not folded in.
    stronger : bool
        Whether the strength is a shift of the factor.
    """

    bits: int
    coefficient_bits: int
    factor: Shape
    fold: int
    stronger: bool

    @property
    def layout(self) -> data.StructLayout:
        """Payload of the stream of settings, one for each group."""
        return data.StructLayout(
            {
                "factor": self.factor,
                "k": signed(3),
                "strength": unsigned(2),
                "dropped": unsigned(self.bits.bit_length()),
                "live": 1,
                "last": 1,
            }
        )


def masks(dropped: Value, exponent: Value, *, width: int) -> tuple[Value, Value]:
    """Return which bits of a scaled word count, and which bit stands for those that do not.

    Parameters
    ----------
    dropped : Value
        s, low bits of the word u that are not used; 0: all are.
    exponent : Value
        e of the group.
    width : int
        Bits of u 2^e.
    """
    place = dropped + exponent
    every = ~dropped.any()
    used = Cat(every | (place <= i) for i in range(width))
    half = Cat(~every & (place == i + 1) for i in range(width))
    return used, half


class TensorTable(wiring.Component):
    """Entries of the table, and the settings of each group of a sweep over them.

    Two entries are held ready, so that tensors of one beat follow each other without a gap.

    Latency: 6 clocks from `load` to the first settings. Throughput: one a clock. Valid and payload
    are kept until ready, except that `load` drops them.

    Parameters
    ----------
    format : Format
        What the settings are made into.

    Members
    -------
    write : In(1)
        Write a field of an entry, for sweeps that are loaded two clocks later or more.
    index, field, data : In
        Which entry; 0 for its beats, 1 for its settings; the value. 0 beats count as 1.
    load : In(1)
        Begin a sweep.
    count : In(7)
        With `load`: entries of the sweep; 0: `beats` beats whose settings are all 0.
    beats : In(32)
        With `load`.
    k, coefficient : In
        Commands of the sweep, constant from the clock after `load` on.
    settings : Out(stream.Signature(format.layout))
        For each group; `last` with the last one of the sweep.
    """

    LATENCY = 6

    def __init__(self, format: Format):  # noqa: A002
        self._format = format
        super().__init__(
            {
                "write": In(1),
                "index": In(INDEX_BITS),
                "field": In(1),
                "data": In(32),
                "load": In(1),
                "count": In(COUNT_BITS),
                "beats": In(LENGTH_BITS),
                "k": In(signed(3)),
                "coefficient": In(signed(format.coefficient_bits)),
                "settings": Out(stream.Signature(format.layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal()
        last = Signal()
        ready = Signal()
        settings = self._walk(m, valid=valid, last=last, ready=ready)
        self._prepare(m, settings, valid=valid, last=last, ready=ready)
        return m

    def _memories(self, m: Module, address: Value) -> tuple[Value, Value]:
        """Return beats and settings of the entry at an address."""
        kept = Cat(self.data[first : first + bits] for _, first, bits in _FIELDS)
        results = []
        for field, (name, written) in enumerate((("lengths", self.data), ("choices", kept))):
            # No entry has 0 beats, also none that was never written.
            init = [1] * MOST if name == "lengths" else []
            memory = Memory(shape=unsigned(len(written)), depth=MOST, init=init)
            m.submodules[name] = memory
            port, read = memory.write_port(), memory.read_port(domain="comb")
            m.d.comb += [
                port.addr.eq(self.index),
                port.data.eq(written),
                port.en.eq(self.write & (self.field == field)),
                read.addr.eq(address),
            ]
            results.append(read.data)
        return results[0], results[1]

    def _walk(self, m: Module, *, valid: Signal, last: Signal, ready: Signal) -> data.View:
        """Step through the entries, and through the beats of each; return the current settings."""
        address = Signal(INDEX_BITS)
        ahead = Signal(COUNT_BITS)  # entries that are still to be read
        lengths, choices = self._memories(m, address)
        next_valid, next_final = Signal(), Signal()
        next_beats = Signal(LENGTH_BITS, reset_less=True)
        next_settings = Signal(len(choices), reset_less=True)
        remaining = Signal(LENGTH_BITS, reset_less=True)
        settings = Signal(len(choices), reset_less=True)
        ends, final = Signal(), Signal()
        enters, leaves = Signal(), Signal()
        m.d.comb += [
            leaves.eq(valid & ready & ends),
            enters.eq(next_valid & (~valid | leaves)),
            last.eq(ends & final),
        ]
        with m.If(enters):
            m.d.sync += [
                valid.eq(1),
                remaining.eq(next_beats),
                settings.eq(next_settings),
                ends.eq(next_beats <= 1),
                final.eq(next_final),
            ]
        with m.Elif(valid & ready):
            m.d.sync += [remaining.eq(remaining - 1), ends.eq(remaining == 2)]
            with m.If(ends):
                m.d.sync += valid.eq(0)
        with m.If((~next_valid | enters) & ahead.any()):
            m.d.sync += [
                next_valid.eq(1),
                next_beats.eq(lengths),
                next_settings.eq(choices),
                next_final.eq(ahead == 1),
                address.eq(address + 1),
                ahead.eq(ahead - 1),
            ]
        with m.Elif(enters):
            m.d.sync += next_valid.eq(0)
        # A sweep without the table is one entry, which comes with the command. It waits a clock, as
        # one of the table does, so that all sweeps take as long.
        alone = Signal()
        m.d.sync += alone.eq(self.load & ~self.count.any())
        with m.If(alone):
            m.d.sync += next_valid.eq(1)
        with m.If(self.load):
            m.d.sync += [
                valid.eq(0),
                address.eq(0),
                ahead.eq(self.count),
                next_valid.eq(0),
                next_beats.eq(self.beats),
                next_settings.eq(0),
                next_final.eq(1),
            ]
        return data.View(_KEPT, settings)

    def _prepare(
        self,
        m: Module,
        settings: data.View,
        *,
        valid: Signal,
        last: Signal,
        ready: Signal,
    ) -> None:
        """Make what goes with a group from the settings and the commands, in three clocks."""
        form = self._format
        row = Pipeline(m, stages=_LATENCY, valid=valid, ready=self.settings.ready, clear=self.load)
        m.d.comb += [ready.eq(row.ready), self.settings.valid.eq(row.valid)]
        live = ~settings.frozen
        k = Signal(signed(3), reset_less=True)
        scaled = Signal(signed(form.coefficient_bits), reset_less=True)
        row.register(
            1,
            [
                (k, Mux(live, self.k, 0)),
                (scaled, Mux(live, self.coefficient >> settings.exponent, 0)),
            ],
        )
        folded = Signal(form.factor, reset_less=True)
        row.register(2, [(folded, scaled - k * Const(form.fold) if form.fold else scaled)])
        factor = Signal(form.factor, reset_less=True)
        strength = row.delay(settings.strength, first=1, last=2, name="strength")
        row.register(3, [(factor, folded << strength if form.stronger else folded)])
        # Words of so few bits, or all of them where there are no more.
        dropped = Mux(settings.word_bits.any(), form.bits - settings.word_bits, 0)
        some = Mux(dropped > 0, dropped, 0)[: form.bits.bit_length()]
        payload = self.settings.payload
        m.d.comb += [
            payload.factor.eq(factor),
            payload.k.eq(row.delay(k, first=2, last=3, name="k")),
            payload.strength.eq(row.delay(strength, first=3, last=3, name="strength")),
            payload.dropped.eq(row.delay(some, first=1, last=3, name="dropped")),
            payload.live.eq(row.delay(live, first=1, last=3, name="live")),
            payload.last.eq(row.delay(last, first=1, last=3, name="last")),
        ]
