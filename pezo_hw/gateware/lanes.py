"""What the step core does for each lane: subtract the change, saturate, count."""

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .pipeline import Pipeline

# Flags that one LUT level counts.
_FLAGS = 6


def weights_layout(lanes: int, *, bits: int) -> data.StructLayout:
    """Return the payload of a stream of weights: `lanes` weights, TKEEP by byte, TLAST."""
    return data.StructLayout(
        {
            "data": data.ArrayLayout(signed(bits), lanes),
            "keep": unsigned(lanes * bits // 8),
            "last": 1,
        }
    )


class Lanes(wiring.Component):
    """Weights in, changed weights out.

    Three registers: the difference, then two that saturate through their set and reset inputs,
    which saves a multiplexer for every bit.

    Latency: 3 clocks. Throughput: one beat a clock. Valid and payload are kept until ready. Without
    beats no register of the data toggles, whatever the inputs do.

    Parameters
    ----------
    lanes : int
        P.
    bits : int
        Bits of a weight.
    change : Shape
        Shape of the change of a lane.
    adds : bool
        Add the change instead.

    Members
    -------
    weights_in : In(stream.Signature(weights_layout(...)))
        Weights in LSBs. TKEEP and TLAST pass through.
    change : In(ArrayLayout(change, P))
        What to subtract, taken together with the weights.
    weights_out : Out(stream.Signature(weights_layout(...)))
        Changed weights.
    saturated : Out
        Number of kept lanes that were limited in a beat, 0 in clocks without a newly counted beat.
    empty : Out(1)
        No beat is under way and all are counted.
    """

    LATENCY = 3

    def __init__(self, lanes: int, *, bits: int, change: Shape, adds: bool = False):
        self._lanes = lanes
        self._adds = adds
        self._bits = bits
        layout = weights_layout(lanes, bits=bits)
        super().__init__(
            {
                "weights_in": In(stream.Signature(layout)),
                "change": In(data.ArrayLayout(change, lanes)),
                "weights_out": Out(stream.Signature(layout)),
                "saturated": Out(range(lanes + 1)),
                "empty": Out(1),
            }
        )

    @property
    def drain(self) -> int:
        """Clocks from the last beat that is taken in until `empty` is high."""
        levels = 1 + (-(-self._lanes // _FLAGS) - 1).bit_length()
        return max(4, 3 + levels)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = Pipeline(
            m, stages=3, valid=self.weights_in.valid, ready=self.weights_out.ready, name="valid"
        )
        taken_in, given = self.weights_in.payload, self.weights_out.payload
        keep = row.delay(taken_in.keep, first=1, last=1, name="keep")
        m.d.comb += [
            self.weights_in.ready.eq(row.ready),
            self.weights_out.valid.eq(row.valid),
            given.keep.eq(row.delay(keep, first=2, last=3, name="keep")),
            given.last.eq(row.delay(taken_in.last, first=1, last=3, name="last")),
        ]
        taken = Signal()
        m.d.comb += taken.eq(row.loads(2))
        flags = []
        for lane in range(self._lanes):
            limited = self._lane(m, lane, row)
            # High for one clock for each beat, whatever the stalls.
            flag = Signal(name=f"limited_{lane}")
            m.d.sync += flag.eq(0)
            with m.If(taken):
                m.d.sync += flag.eq(limited & keep[lane * self._bits // 8])
            flags.append(flag)
        counting = self._count(m, flags, taken=taken)
        m.d.comb += self.empty.eq(row.empty & ~counting.any())
        return m

    def _lane(self, m: Module, lane: int, row: Pipeline) -> Value:
        """Build one lane; return whether the difference in its first register will be limited."""
        bits = self._bits
        change = self.change[lane]
        shape = signed(max(bits, len(change)) + 1)
        difference = Signal(shape, name=f"difference_{lane}", reset_less=True)
        overflow = difference[bits - 1 :]
        sign = difference[-1]
        too_low = Signal(name=f"too_low_{lane}")
        too_high = Signal(name=f"too_high_{lane}")
        m.d.comb += [too_low.eq(sign & ~overflow.all()), too_high.eq(~sign & overflow.any())]

        lower = Signal(unsigned(bits - 1), name=f"lower_{lane}", reset_less=True)
        lower_sign = Signal(name=f"lower_sign_{lane}", reset_less=True)
        was_high = Signal(name=f"was_high_{lane}", reset_less=True)
        both = Signal(unsigned(bits - 1), name=f"both_{lane}", reset_less=True)
        both_sign = Signal(name=f"both_sign_{lane}", reset_less=True)
        weight = self.weights_in.payload.data[lane]
        row.register(1, [(difference, weight + change if self._adds else weight - change)])
        row.register(
            2,
            [(lower, Mux(too_low, 0, difference)), (lower_sign, sign), (was_high, too_high)],
        )
        row.register(3, [(both, Mux(was_high, -1, lower)), (both_sign, lower_sign)])
        m.d.comb += self.weights_out.payload.data[lane].eq(Cat(both, both_sign))
        return too_low | too_high

    def _count(self, m: Module, flags: list[Signal], *, taken: Signal) -> Value:
        """Sum the flags in a tree of registers; return whether any beat is still being counted.

        The first level counts six flags in one LUT level, each further one adds pairs.
        """
        level = [sum(flags[i : i + _FLAGS], start=Const(0)) for i in range(0, len(flags), _FLAGS)]
        stage = 0
        while True:
            registers = []
            for i, value in enumerate(level):
                register = Signal(value.shape(), name=f"count_{stage}_{i}")
                m.d.sync += register.eq(value)
                registers.append(register)
            stage += 1
            if len(registers) == 1:
                break
            level = [sum(registers[i : i + 2], start=Const(0)) for i in range(0, len(registers), 2)]
        m.d.comb += self.saturated.eq(registers[0])
        # One flag for the flags themselves, one for each level.
        counting = Signal(stage + 1)
        m.d.sync += counting.eq(Cat(taken, counting[:-1]))
        return counting
