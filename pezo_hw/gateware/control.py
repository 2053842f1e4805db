"""Control of the step core: all of it, so that registers can take the place of the ports."""

from amaranth import Module, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

LENGTH_BITS = 32
COUNTER_BITS = 32


def command_signature(
    *, coefficient_bits: int, index_bits: int, schedule: str = "in-place", tensors: int = 0
) -> wiring.Signature:
    """Return the step core's command and status ports.

    Parameters
    ----------
    coefficient_bits : int
        Width of C.
    index_bits : int
        Width of a group index.
    schedule : str
        ``zo.schedule``; "in-place" has no `kind`, only "fused" has `capture_b`.
    tensors : int
        Entries of the tensor table; without any, its ports do not exist.

    Members
    -------
    go : In(1)
        Begin a sweep; ignored while `busy`. The other commands are taken with it.
    beats : In(32)
        Beats of the sweep; 0 counts as 1. Ignored where `tensor_count` is not 0.
    kind : In(2)
        What leaves on which output: a `golden.sweeps.Kind`. One that the schedule does not have
        counts as in-place.
    k : In(signed(3))
        Multiple of the perturbation, -2 to +2; the effect of other values is not defined.
    coefficient : In(signed(coefficient_bits))
        C; 0 in a plain perturb sweep.
    dither_seed : In(32)
        Seed of this sweep's stochastic rounding.
    capture, capture_b : In(1)
        Make the end of this sweep the start of the next step, of engine A and of engine B.
    start : In(1)
        Make group `start_index` the start of the next step; ignored during a sweep.
    start_index : In(index_bits)
        k of the group, to be held until `busy` falls.
    abort : In(1)
        Take in no further beat: the sweep ends when the beats under way have left. Ignored outside
        a sweep and behind its last beat.
    flush : In(1)
        Outside a sweep: take beats and drop them, up to and including the next TLAST; none more
        until it has been low for a clock.
    tensor_count : In(7)
        Entries of the table that the sweep runs over; 0: `beats` beats without the table.
    table_write : In(1)
        Write a field of an entry of the table, two clocks or more before `go`; not in a sweep.
    table_index : In(6)
        Which entry.
    table_field : In(1)
        0: its beats; 1: its settings, see `golden.tensors`.
    table_data : In(32)
        What is written; 0 beats count as 1, as every entry has before it is written.
    busy : Out(1)
        A sweep, a walk to `start_index` or a flush is under way.
    sweeping : Out(1)
        A sweep is under way.
    done : Out(1)
        High for one clock when a sweep has ended and its counts are final. They stay until `go`.
    saturations : Out(32)
        Weights of the last sweep that the limit acted on. Stops at 2^31 or the first count above,
        and never wraps.
    beats_done : Out(32)
        Beats that the sweep has taken in.
    tlast_early : Out(1)
        The last sweep ended with a TLAST before its last beat.
    tlast_late : Out(1)
        The last sweep ended without a TLAST on its last beat.
    aborted : Out(1)
        The last sweep was ended by `abort`.
    """
    members = {
        "go": In(1),
        "beats": In(LENGTH_BITS),
        "k": In(signed(3)),
        "coefficient": In(signed(coefficient_bits)),
        "dither_seed": In(32),
        "capture": In(1),
        "start": In(1),
        "start_index": In(index_bits),
        "abort": In(1),
        "flush": In(1),
        "busy": Out(1),
        "sweeping": Out(1),
        "done": Out(1),
        "saturations": Out(COUNTER_BITS),
        "beats_done": Out(LENGTH_BITS),
        "tlast_early": Out(1),
        "tlast_late": Out(1),
        "aborted": Out(1),
    }
    if schedule != "in-place":
        members["kind"] = In(2)
    if schedule == "fused":
        members["capture_b"] = In(1)
    if tensors:
        members |= {
            "tensor_count": In(7),
            "table_write": In(1),
            "table_index": In(6),
            "table_field": In(1),
            "table_data": In(32),
        }
    return wiring.Signature(members)


class Length(wiring.Component):
    """Count the groups of a sweep down and say which is the last.

    Members
    -------
    load : In(1)
        Begin with `beats`; 0 counts as 1.
    beats : In(32)
    step : In(1)
        A group has been taken.
    last : Out(1)
        The group that is taken next is the last one.
    """

    def __init__(self) -> None:
        super().__init__({"load": In(1), "beats": In(LENGTH_BITS), "step": In(1), "last": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The flag for the last one is kept, so no compare is in its way.
        remaining = Signal(LENGTH_BITS, reset_less=True)
        with m.If(self.load):
            m.d.sync += [remaining.eq(self.beats), self.last.eq(self.beats <= 1)]
        with m.Elif(self.step):
            m.d.sync += [remaining.eq(remaining - 1), self.last.eq(remaining == 2)]
        return m


class Control(wiring.Component):
    """Sequence a sweep.

    Restore the source, mix the dither's seed, issue the groups, wait for the last beat.

    Latency: `mixing` and 1 clocks from `go` until groups and beats are taken, the same for every
    sweep.

    Parameters
    ----------
    command : wiring.Signature
        Of `command_signature`.
    schedule : str
        The one that `command` is for.
    saturated_bits : int
        Width of `saturated`.
    mixing : int
        Clocks in which the dither's seed is mixed; 0: there is no dither.

    Members
    -------
    command : Out(command_signature(...))
        See there.
    source_busy : In(1)
        An engine walks to its start index.
    last : In(1)
        The group that may be taken is the last of the sweep.
    issued : In(1)
        A group has been taken from the source.
    taken : In(1)
        A beat has been taken in.
    tlast, final : In(1)
        With `taken`: the beat has a TLAST; it is the last one by the length of the sweep.
    empty : In(1)
        No beat is under way in the datapath.
    saturated : In
        Number of weights limited in the beats that were counted in this clock.
    start : Out(1)
        The engines may go to the start index: `start`, unless a sweep is under way.
    restore : Out(1)
        Restore the source and load the dither's seed (the clock in which `go` is taken).
    mix : Out(1)
        Step the dither, nothing else.
    issue : Out(1)
        Groups may be taken from the source.
    run : Out(1)
        Beats may be taken in.
    flush : Out(1)
        Beats are to be taken and dropped.
    k, coefficient, capture, capture_b : Out
        Held commands of the sweep under way, those of engine A. k and the coefficient are
        what the datapath needs for the sweep's kind.
    weights, plus, minus : Out(1)
        The sweep uses this output.
    """

    LATENCY = 1

    def __init__(
        self,
        command: wiring.Signature,
        *,
        saturated_bits: int,
        mixing: int,
        schedule: str = "in-place",
    ):
        self._schedule, self._mixing = schedule, mixing
        super().__init__(
            {
                "command": Out(command),
                "source_busy": In(1),
                "last": In(1),
                "issued": In(1),
                "taken": In(1),
                "tlast": In(1),
                "final": In(1),
                "empty": In(1),
                "saturated": In(unsigned(saturated_bits)),
                "start": Out(1),
                "restore": Out(1),
                "mix": Out(1),
                "issue": Out(1),
                "run": Out(1),
                "flush": Out(1),
                "k": Out(signed(3)),
                "coefficient": Out(command.members["coefficient"].shape),
                "capture": Out(1),
                "capture_b": Out(1),
                "weights": Out(1, init=1),
                "plus": Out(1),
                "minus": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = self.command
        idle = Signal()
        # A TLAST has been flushed; no more beats until `flush` has been low.
        flushed = Signal()
        m.d.comb += [
            command.busy.eq(~idle | self.source_busy | command.flush),
            command.sweeping.eq(~idle),
            self.flush.eq(idle & command.flush & ~flushed),
        ]
        with m.If(~command.flush):
            m.d.sync += flushed.eq(0)
        with m.Elif(self.flush & self.taken & self.tlast):
            m.d.sync += flushed.eq(1)

        accept = Signal()
        mixed = Signal(range(self._mixing))
        issuing = Signal()
        m.d.comb += [
            self.restore.eq(accept),
            self.issue.eq(issuing),
            self.start.eq(command.start & idle),
        ]
        with m.FSM(name="sweep"):
            with m.State("idle"):
                m.d.comb += idle.eq(1)
                m.d.comb += accept.eq(command.go & ~self.source_busy & ~command.flush)
                with m.If(accept):
                    self._accept(m)
                    if self._mixing:
                        m.d.sync += mixed.eq(0)
                        m.next = "mix"
                    else:
                        m.d.sync += issuing.eq(1)
                        m.next = "run"
            if self._mixing:
                with m.State("mix"):
                    m.d.comb += self.mix.eq(1)
                    m.d.sync += mixed.eq(mixed + 1)
                    with m.If(command.abort):
                        m.d.sync += command.aborted.eq(1)
                        m.next = "drain"
                    with m.Elif(mixed == self._mixing - 1):
                        m.d.sync += issuing.eq(1)
                        m.next = "run"
            with m.State("run"):
                m.d.comb += self.run.eq(1)
                with m.If(self.taken & (self.tlast | self.final)):
                    m.d.sync += [
                        issuing.eq(0),
                        command.tlast_early.eq(~self.final),
                        command.tlast_late.eq(~self.tlast),
                    ]
                    m.next = "drain"
                with m.Elif(command.abort):
                    m.d.sync += [issuing.eq(0), command.aborted.eq(1)]
                    m.next = "drain"
                with m.If(self.issued & self.last):
                    m.d.sync += issuing.eq(0)
            with m.State("drain"):
                m.d.comb += command.done.eq(self.empty)
                with m.If(self.empty):
                    m.next = "idle"

        with m.If(self.run & self.taken):
            m.d.sync += command.beats_done.eq(command.beats_done + 1)
        # The upper half is reached and kept rather than wrapped: a count of 0 must mean none.
        with m.If(self.saturated.any() & ~command.saturations[-1]):
            m.d.sync += command.saturations.eq(command.saturations + self.saturated)
        return m

    def _accept(self, m: Module) -> None:
        """Take the commands with `go`."""
        command, schedule = self.command, self._schedule
        m.d.sync += [
            self.k.eq(command.k),
            self.coefficient.eq(command.coefficient),
            self.capture.eq(command.capture),
            command.saturations.eq(0),
            command.beats_done.eq(0),
            command.tlast_early.eq(0),
            command.tlast_late.eq(0),
            command.aborted.eq(0),
        ]
        if schedule == "in-place":
            return
        kind = command.kind
        inline, both = kind == 1, kind == 2
        if schedule == "inline":
            m.d.sync += [self.weights.eq(~inline), self.plus.eq(inline)]
            return
        if schedule == "fused":
            m.d.sync += [
                self.capture_b.eq(command.capture_b),
                self.weights.eq(kind[0] == kind[1]),
                self.plus.eq(kind.any()),
                self.minus.eq(kind[1]),
            ]
        else:
            m.d.sync += [
                self.weights.eq(~(inline | both)),
                self.plus.eq(inline | both),
                self.minus.eq(both),
            ]
        # Both signs from one read: the weights as they are, with the perturbation of engine B
        # where there is one.
        with m.If(both):
            m.d.sync += [self.k.eq(0 if schedule == "fused" else 1), self.coefficient.eq(0)]
