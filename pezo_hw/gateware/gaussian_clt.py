"""Gaussian numbers, one for each lane: tables of fair bits and a Hadamard transform."""

from amaranth import Cat, Module, Signal, Value, signed
from amaranth.lib import data, wiring

from pezo_hw.golden import gaussian_clt as golden

from .bitwise import table
from .seeder import Expansion, bits_of

_Members = dict[str, wiring.Member]


class GaussianClt(wiring.Component):
    """Sums and differences of a block's table entries; see `gateware.seeded.source_signature`.

    Latency: that of the generators, and one clock for the tables and for each stage of adders.
    Throughput: one group a clock. One LUT or one adder stands between registers.

    The tables hold w of t = 2 w + 1. Signals in front of the adders have one bit for each lane.
    """

    def __init__(self, sequence: golden.HadamardSequence, members: _Members):
        self._sequence = sequence
        self._members = members
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sequence = self._sequence
        # It goes on for some clocks after the generators have done theirs.
        m.submodules.expansion = expansion = Expansion(sequence.planes[0][0].generator.load_clocks)
        m.d.comb += [expansion.clear.eq(self.clear), expansion.expand.eq(self.expand)]
        parts = [
            self._addresses(m, planes, mixing=expansion.mixing, name=f"plane_{number}")
            for number, planes in enumerate(sequence.planes)
        ]
        address = []
        for i in range(golden.ADDRESS_BITS):
            column = Signal(sequence.words, name=f"address_{i}")
            m.d.comb += column.eq(Cat(part[i] for part in parts))
            address.append(column)

        largest = int(sequence.table.max())
        width = (largest // 2).bit_length() + 1
        halves = ((sequence.table - 1) // 2).tolist()
        columns = []
        for i in range(width):
            column = Signal(sequence.words, name=f"entry_{i}", reset_less=True)
            with m.If(self.step):
                m.d.sync += column.eq(
                    table([w >> i & 1 for w in halves], address, lanes=sequence.words)
                )
            columns.append(column)
        numbers: list[Value] = [
            Cat(column[lane] for column in columns).as_signed() for lane in range(sequence.words)
        ]

        for stage in range(sequence.stages):
            # The first stage gives (t + t') / 2 = w + w' + 1 and (t - t') / 2 = w - w'.
            width = (largest << stage).bit_length() + 1
            layout = data.ArrayLayout(signed(width), sequence.words)
            register = Signal(layout, name=f"sums_{stage}", reset_less=True)
            results = []
            for lane, number in enumerate(numbers):
                other = numbers[lane ^ 1 << stage]
                if lane >> stage & 1:
                    results.append((other - number)[:width])
                elif stage == 0:
                    # One subtraction: no carry input is needed for the 1.
                    results.append((number - ~other)[:width])
                else:
                    results.append((number + other)[:width])
            with m.If(self.step):
                # In one assignment, which is ten times as fast as one for each of 1024 lanes.
                m.d.sync += register.as_value().eq(Cat(results))
            numbers = [register[lane] for lane in range(sequence.words)]
        m.d.comb += self.words.as_value().eq(register.as_value())
        return m

    def _addresses(
        self, m: Module, planes: list[golden.Plane], *, mixing: Value, name: str
    ) -> list[Value]:
        """Build a set of generators; return the address bits of its lanes."""
        bits: list[Value] = []
        for i, plane in enumerate(planes):
            source = bits_of(plane.generator, self._members)
            m.submodules[f"{name}_{i}"] = source
            m.d.comb += [
                source.clear.eq(self.clear),
                source.inject.eq(self.inject),
                source.expand.eq(mixing),
                source.step.eq(self.step),
                source.seed.eq(self.seed ^ plane.flips),
            ]
            bits.append(Cat(source.words[place][-1] for place in plane.places.tolist()))
        return bits
