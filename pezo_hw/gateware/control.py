"""Control of the step core: all of it, so that registers can take the place of the ports."""

from amaranth import Module, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden import dither

LENGTH_BITS = 32
COUNTER_BITS = 32


def command_signature(*, coefficient_bits: int, index_bits: int) -> wiring.Signature:
    """Return the step core's command and status ports.

    Parameters
    ----------
    coefficient_bits : int
        Width of C.
    index_bits : int
        Width of a group index.

    Members
    -------
    go : In(1)
        Begin a sweep; ignored while `busy`. The other commands are taken with it.
    beats : In(32)
        Beats of the sweep; 0 counts as 1.
    k : In(signed(3))
        Multiple of the perturbation, -2 to +2; the effect of other values is not defined.
    coefficient : In(signed(coefficient_bits))
        C; 0 in a plain perturb sweep.
    dither_seed : In(32)
        Seed of this sweep's stochastic rounding.
    capture : In(1)
        Make the end of this sweep the start of the next step.
    start : In(1)
        Make group `start_index` the start of the next step; ignored during a sweep.
    start_index : In(index_bits)
        k of the group, to be held until `busy` falls.
    busy : Out(1)
        A sweep or a walk to `start_index` is under way.
    done : Out(1)
        High for one clock when a sweep has ended and its counts are final.
    saturations : Out(32)
        Weights of the last sweep that the limit acted on; cleared by `go`. Stops at 2^31 or the
        first count above, and never wraps.
    tlast_error : Out(1)
        The last sweep's TLAST came before or not with its last beat; cleared by `go`.
    """
    return wiring.Signature(
        {
            "go": In(1),
            "beats": In(LENGTH_BITS),
            "k": In(signed(3)),
            "coefficient": In(signed(coefficient_bits)),
            "dither_seed": In(32),
            "capture": In(1),
            "start": In(1),
            "start_index": In(index_bits),
            "busy": Out(1),
            "done": Out(1),
            "saturations": Out(COUNTER_BITS),
            "tlast_error": Out(1),
        }
    )


class Control(wiring.Component):
    """Sequence a sweep.

    Restore the source, mix the dither's seed, issue the groups, wait for the last beat.

    Latency: 17 clocks from `go` until groups and beats are taken, the same for every sweep.

    Parameters
    ----------
    command : wiring.Signature
        Of `command_signature`.
    saturated_bits : int
        Width of `saturated`.

    Members
    -------
    command : Out(command_signature(...))
        See there.
    source_busy : In(1)
        The engine walks to its start index.
    issued : In(1)
        A group has been taken from the source.
    ended : In(1)
        The last beat of the sweep has been taken in.
    mismatch : In(1)
        With `ended`: TLAST and the number of beats disagree.
    empty : In(1)
        No beat is under way in the datapath.
    saturated : In
        Number of weights limited in the beat that left the datapath in this clock.
    start : Out(1)
        The engine may go to the start index: `start`, unless a sweep is under way.
    restore : Out(1)
        Restore the source and load the dither's seed (the clock in which `go` is taken).
    mix : Out(1)
        Step the dither, nothing else.
    issue : Out(1)
        Groups may be taken from the source.
    last : Out(1)
        The group that may be taken is the last of the sweep.
    run : Out(1)
        Beats may be taken in.
    k, coefficient, capture : Out
        Held commands of the sweep under way.
    """

    LATENCY = 1 + dither.WARM_UP

    def __init__(self, command: wiring.Signature, *, saturated_bits: int):
        self._coefficient = command.members["coefficient"].shape
        super().__init__(
            {
                "command": Out(command),
                "source_busy": In(1),
                "issued": In(1),
                "ended": In(1),
                "mismatch": In(1),
                "empty": In(1),
                "saturated": In(unsigned(saturated_bits)),
                "start": Out(1),
                "restore": Out(1),
                "mix": Out(1),
                "issue": Out(1),
                "last": Out(1),
                "run": Out(1),
                "k": Out(signed(3)),
                "coefficient": Out(self._coefficient),
                "capture": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = self.command
        idle = Signal()
        m.d.comb += command.busy.eq(~idle | self.source_busy)

        accept = Signal()
        mixed = Signal(range(dither.WARM_UP))
        issuing = Signal()
        # Counts down the beats; the flag for the last one is kept, so no compare is in its way.
        remaining = Signal(LENGTH_BITS, reset_less=True)
        m.d.comb += [
            self.restore.eq(accept),
            self.issue.eq(issuing),
            self.start.eq(command.start & idle),
        ]

        with m.FSM(name="sweep"):
            with m.State("idle"):
                m.d.comb += [idle.eq(1), accept.eq(command.go & ~self.source_busy)]
                with m.If(accept):
                    m.d.sync += [
                        self.k.eq(command.k),
                        self.coefficient.eq(command.coefficient),
                        self.capture.eq(command.capture),
                        remaining.eq(command.beats),
                        self.last.eq(command.beats <= 1),
                        mixed.eq(0),
                        command.saturations.eq(0),
                        command.tlast_error.eq(0),
                    ]
                    m.next = "mix"
            with m.State("mix"):
                m.d.comb += self.mix.eq(1)
                m.d.sync += mixed.eq(mixed + 1)
                with m.If(mixed == dither.WARM_UP - 1):
                    m.d.sync += issuing.eq(1)
                    m.next = "run"
            with m.State("run"):
                m.d.comb += self.run.eq(1)
                with m.If(self.ended):
                    m.d.sync += [issuing.eq(0), command.tlast_error.eq(self.mismatch)]
                    m.next = "drain"
            with m.State("drain"):
                m.d.comb += command.done.eq(self.empty)
                with m.If(self.empty):
                    m.next = "idle"

        with m.If(self.issued):
            m.d.sync += [remaining.eq(remaining - 1), self.last.eq(remaining == 2)]
            with m.If(self.last):
                m.d.sync += issuing.eq(0)

        # The upper half is reached and kept rather than wrapped: a count of 0 must mean none.
        with m.If(self.saturated.any() & ~command.saturations[-1]):
            m.d.sync += command.saturations.eq(command.saturations + self.saturated)
        return m
