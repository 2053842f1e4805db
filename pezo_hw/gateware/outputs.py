"""What a step core with several outputs needs: a fork, and one count of what was limited."""

from amaranth import Cat, Module, Shape, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.data import Layout
from amaranth.lib.wiring import In, Out


class Fork(wiring.Component):
    """Give each beat of a stream to every branch that is used.

    A branch gets its beat as soon as it comes, whether the others take theirs or not; the next beat
    comes when all have taken it. So no branch's valid waits for another's ready, and each keeps
    valid and payload until ready.

    Latency: none. Throughput: one beat a clock.

    Parameters
    ----------
    payload : Layout or Shape
        Of the stream.
    count : int
        Branches.

    Members
    -------
    beats : In(stream.Signature(payload))
        What comes in.
    used : In(count)
        The branches that take part; constant while a beat is offered.
    branch_0, branch_1, ... : Out(stream.Signature(payload))
    """

    def __init__(self, payload: Layout | Shape, *, count: int):
        self._count = count
        signature = stream.Signature(payload)
        branches = {f"branch_{i}": Out(signature) for i in range(count)}
        super().__init__({"beats": In(signature), "used": In(count)} | branches)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Branches that have taken the beat that still waits for others.
        served = Signal(self._count)
        branches = [getattr(self, f"branch_{i}") for i in range(self._count)]
        takes = Cat(branch.ready for branch in branches)
        settled = ~self.used | served | takes
        m.d.comb += self.beats.ready.eq(settled.all())
        for i, branch in enumerate(branches):
            m.d.comb += [
                branch.valid.eq(self.beats.valid & self.used[i] & ~served[i]),
                branch.payload.eq(self.beats.payload),
            ]
        with m.If(self.beats.valid):
            # What settled without being used does no harm: it is not used for the next beat either.
            m.d.sync += served.eq(settled & ~self.beats.ready.replicate(self._count))
        return m


class Tally(wiring.Component):
    """Add up what several sets of lanes count.

    Latency: 1 clock.

    Parameters
    ----------
    bits : int
        Width of each count.
    count : int
        Sets of lanes.

    Members
    -------
    counts : In(bits * count)
        Limited weights, one number beside the other.
    busy : In(1)
        Some beat is under way in some lanes.
    saturated : Out
        The sum, a clock later.
    empty : Out(1)
        No beat is under way, and all are in the sum.
    """

    def __init__(self, bits: int, *, count: int):
        self._bits = bits
        most = ((1 << bits) - 1) * count
        super().__init__(
            {
                "counts": In(bits * count),
                "busy": In(1),
                "saturated": Out(range(most + 1)),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        was_busy = Signal()
        numbers = [self.counts[i : i + self._bits] for i in range(0, len(self.counts), self._bits)]
        total = numbers[0]
        for number in numbers[1:]:
            total = total + number
        m.d.sync += [self.saturated.eq(total), was_busy.eq(self.busy)]
        m.d.comb += self.empty.eq(~(self.busy | was_busy))
        return m
