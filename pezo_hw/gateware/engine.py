"""The perturbation engine: source, norm scaling and the commands that move its index."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden.bank import Bank as GoldenBank
from pezo_hw.golden.engine import Engine as GoldenEngine

from .bank import Bank
from .norm import Codes, NormTable, Scale
from .pool import Pool
from .signs import CyclicSigns, negative_members, negative_of


class Engine(wiring.Component):
    """A stream of groups of scaled words that can be replayed.

    Latency: after `restore` the stream is valid in the next clock (a bank with one exponent) or one
    clock later (otherwise); after `start` it takes `start_index` + 3 clocks more. Throughput: one
    group a clock, whatever the stalls. The stream keeps valid and payload until ready, except when
    a command moves the index: then what was offered and not taken is dropped.

    The registers that hold a group drive the lanes directly where a group needs no further work;
    else one register follows, which is the output register of the block RAM or of the shifters.

    Parameters
    ----------
    engine : golden.engine.Engine
        The model whose words this hardware gives.
    shows_exponent : bool
        Whether there is the port `exponent`; only where ``engine.live``.

    Members
    -------
    z : Out(stream.Signature(ArrayLayout(signed(b + max e), W)))
        The scaled words u 2^e of the current group. A transfer advances.
    exponent : Out(2), optional
        e of the current group, of a source whose groups differ in it.
    capture : In(1)
        Sampled with a transfer: the group that follows the transferred one becomes the start of the
        step. Ignored in a clock with `restore`.
    restore : In(1)
        Go back to the start of the step. Taken in one clock while `busy` is low; a transfer in
        the same clock still counts.
    start : In(1)
        Go to group `start_index` and make it the start of the step. Taken at any time.
    start_index : In
        k, to be held until `busy` falls; taken modulo K.
    busy : Out(1)
        High after reset and from `start` until the index is reached.
    negated, negative : Out
        With signs only, see `gateware.signs.negative_members`. With them `start_index` is as many
        bits as without, and not taken modulo K: words that come up again have other signs.
    """

    def __init__(self, engine: GoldenEngine, *, shows_exponent: bool = False):
        self._golden = engine
        self._shows_exponent = shows_exponent
        words = data.ArrayLayout(signed(engine.value_bits), engine.words)
        super().__init__(
            {
                "z": Out(stream.Signature(words)),
                "capture": In(1),
                "restore": In(1),
                "start": In(1),
                "start_index": In(engine.index_bits),
                "busy": Out(1),
                **(negative_members(engine.signs, words=words) if engine.signs else {}),
                **({"exponent": Out(2)} if shows_exponent else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        golden, codes = self._golden, Codes(self._golden)
        m.submodules.scale = scale = Scale(
            golden.words, bits=golden.bits, exponents=codes.exponents
        )
        step = Signal()
        restore = Signal()
        capture = Signal()

        if isinstance(golden.sequence, GoldenBank):
            bank = golden.sequence
            m.submodules.source = source = Bank(
                bank, prefetched=golden.prefetched, tracked=golden.live
            )
            if golden.live:
                m.submodules.norm = norm = NormTable(codes.by_state(bank), code_bits=codes.bits)
                m.d.comb += [
                    norm.enable.eq(step | restore),
                    norm.state.eq(source.tracked_next),
                    scale.code.eq(norm.code),
                ]
        else:
            entries = codes.by_entry() if golden.live else None
            m.submodules.source = source = Pool(
                golden.sequence, codes=entries, code_bits=codes.bits
            )
            m.d.comb += scale.code.eq(source.code)

        m.d.comb += [
            source.step.eq(step),
            source.restore.eq(restore),
            source.capture.eq(capture),
            source.clear.eq(self.start),
            scale.words_in.eq(source.words),
        ]
        loading, walking, arrived, running = self._commands(m)
        transfer = self.z.valid & self.z.ready
        m.d.comb += self.busy.eq(~running)
        if golden.prefetched:
            load = Signal()
            m.d.comb += [
                load.eq(running & (~self.z.valid | self.z.ready)),
                step.eq(load | (walking & ~arrived)),
                # The capture takes the group that the source shows: while walking at every clock,
                # so that the last one is right.
                capture.eq(Mux(running, transfer & self.capture & ~self.restore, 1)),
            ]
            with m.If(self.start | self.restore):
                m.d.sync += self.z.valid.eq(0)
            with m.Elif(load):
                m.d.sync += self.z.valid.eq(1)
            output = Signal(self.z.payload.shape(), reset_less=True)
            with m.If(load):
                m.d.sync += output.eq(scale.words_out)
            m.d.comb += self.z.payload.eq(output)
            if self._shows_exponent:
                code = Signal.like(scale.code, reset_less=True)
                with m.If(load):
                    m.d.sync += code.eq(scale.code)
                with m.Switch(code):
                    for number, exponent in enumerate(codes.exponents):
                        with m.Case(number):
                            m.d.comb += self.exponent.eq(exponent)
            if golden.signs is not None:
                m.submodules.signs = signs = CyclicSigns(golden.signs)
                negated = Signal(self.z.payload.shape(), reset_less=True)
                with m.If(load):
                    m.d.sync += negated.as_value().eq(
                        Cat(
                            negative_of(scale.words_out[i], zeros=golden.min_exponent)
                            for i in range(golden.words)
                        )
                    )
                # Not a group ahead, as the source is.
                walk = walking & ~arrived
                m.d.comb += [
                    signs.step.eq(transfer | walk),
                    signs.restore.eq(running & self.restore),
                    signs.capture.eq(Mux(running, transfer & self.capture & ~self.restore, walk)),
                    signs.clear.eq(self.start),
                    self.negated.eq(negated),
                    self.negative.eq(signs.negative),
                ]
        else:
            m.d.comb += [
                self.z.valid.eq(running),
                self.z.payload.eq(scale.words_out),
                step.eq(transfer | (walking & ~arrived)),
                # The capture takes the group that the source steps to.
                capture.eq(Mux(running, transfer & self.capture, walking & ~arrived)),
            ]
        m.d.comb += restore.eq(loading | (running & self.restore))
        return m

    def _commands(self, m: Module) -> tuple[Signal, Signal, Signal, Signal]:
        """Build the way from reset or `start` to the first group.

        Returns
        -------
        loading : Signal
            The source goes to its snapshot: group 0. After reset as well, because what a memory
            shows is undefined until it has been read.
        walking : Signal
            The source steps to `start_index`, unless it has `arrived`.
        arrived : Signal
            `start_index` is reached. A register, so that no compare stands before the source's
            enable.
        running : Signal
            Groups are offered.
        """
        boot = Signal(init=1)
        loading = Signal(init=1)
        walking = Signal()
        arrived = Signal()
        running = Signal()
        # One more than the index while walking.
        steps = Signal(self.start_index.shape())
        m.d.sync += [
            boot.eq(0),
            loading.eq(self.start),
            walking.eq(~self.start & (loading | (walking & ~arrived))),
            arrived.eq(boot | (steps == self.start_index)),
            running.eq(~self.start & (running | (walking & arrived))),
        ]
        with m.If(self.start):
            m.d.sync += steps.eq(0)
        with m.Elif(~running):
            m.d.sync += steps.eq(steps + 1)
        return loading, walking, arrived, running
