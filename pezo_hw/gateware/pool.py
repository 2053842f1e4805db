"""The pool in block RAM, read circularly at any length."""

from amaranth import Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from pezo_hw.golden import pool as golden


class CircularAddress(wiring.Component):
    """A counter modulo K with a snapshot; K need not be a power of two.

    The memory takes the address that the counter is about to have, so that what the memory shows
    and the counter always belong together. A flag that marks the last row is kept in a register, so
    a bit of the address is one LUT and the carry chain.

    Parameters
    ----------
    rows : int
        K.
    start : int
        Row of group 0.

    Members
    -------
    step, restore, capture, clear : In(1)
        As for the pool.
    address : Out
        Row to read at the next clock edge, always below K while `step` or `restore` is high.
    row : Out
        Row read at the last step or restore, always below K.
    """

    def __init__(self, rows: int, *, start: int):
        self._rows = rows
        self._start = start
        width = bits_for(rows - 1)
        super().__init__(
            {
                "step": In(1),
                "restore": In(1),
                "capture": In(1),
                "clear": In(1),
                "address": Out(width),
                "row": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._rows == 1:
            return m
        row = Signal(self.row.shape(), init=self._start)
        snapshot = Signal.like(row)
        following = Signal.like(row)
        enable = self.step | self.restore
        with m.If(enable):
            m.d.sync += row.eq(following)
        with m.If(self.clear):
            m.d.sync += snapshot.eq(self._start)
        with m.Elif(self.capture):
            m.d.sync += snapshot.eq(row)

        if self._rows == 1 << len(row):
            m.d.comb += following.eq(Mux(self.restore, snapshot, row) + ~self.restore)
        else:
            ends = self._start == self._rows - 1
            last = Signal(init=ends)
            snapshot_last = Signal(init=ends)
            following_last = Mux(self.restore, snapshot_last, row == self._rows - 2)
            with m.If(enable):
                m.d.sync += last.eq(following_last)
            with m.If(self.clear):
                m.d.sync += snapshot_last.eq(ends)
            with m.Elif(self.capture):
                m.d.sync += snapshot_last.eq(last)
            base = Mux(self.restore, snapshot, Mux(last, 0, row))
            m.d.comb += following.eq(base + ~(self.restore | last))
        m.d.comb += [self.address.eq(following), self.row.eq(row)]
        return m


class Pool(wiring.Component):
    """A pool of N words, W read in a clock, through the two ports of a block RAM.

    Latency: the words of a group stand one clock after the step or restore that leads to it.
    Throughput: one group a clock. There is no reset on what the memory shows, and no transparent
    port: before the first `restore` the words are undefined.

    Parameters
    ----------
    pool : golden.Pool
        Contents and layout.
    codes : list of int or None
        A number for each group, read along with the words (for the norm scaling).
    code_bits : int
        Width of `code`.

    Members
    -------
    step : In(1)
        Go to the next group.
    restore : In(1)
        Go back to the snapshot; wins over `step`.
    capture : In(1)
        Make the current group the snapshot.
    clear : In(1)
        Make group 0 the snapshot; wins over `capture`.
    words : Out(ArrayLayout(signed(b), W))
        The current group.
    code : Out(code_bits)
        The number that belongs to it.
    """

    def __init__(self, pool: golden.Pool, *, codes: list[int] | None = None, code_bits: int = 0):
        self._pool = pool
        self._codes = codes
        super().__init__(
            {
                "step": In(1),
                "restore": In(1),
                "capture": In(1),
                "clear": In(1),
                "words": Out(data.ArrayLayout(signed(pool.bits), pool.words)),
                "code": Out(code_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pool, layout = self._pool, self._pool.layout
        m.submodules.memory = memory = Memory(
            shape=unsigned(self._row_bits()), depth=pool.period, init=self._rows()
        )
        served = [("a", layout.port_a, 0)]
        if layout.port_b:
            served.append(("b", layout.port_b, layout.offset))
        for name, positions, start in served:
            counter = CircularAddress(pool.period, start=start)
            m.submodules[f"address_{name}"] = counter
            port = memory.read_port()
            m.d.comb += [
                counter.step.eq(self.step),
                counter.restore.eq(self.restore),
                counter.capture.eq(self.capture),
                counter.clear.eq(self.clear),
                port.addr.eq(counter.address),
                port.en.eq(self.step | self.restore),
            ]
            for position, column in positions:
                word = port.data.word_select(column, pool.bits).as_signed()
                m.d.comb += self.words[position].eq(word)
            if name == "a" and len(self.code):
                m.d.comb += self.code.eq(port.data[-len(self.code) :])
        return m

    def _row_bits(self) -> int:
        return len(self._pool.layout.columns) * self._pool.bits + len(self.code)

    def _rows(self) -> list[int]:
        bits = self._pool.bits
        mask = (1 << bits) - 1
        values = []
        for k, row in enumerate(self._pool.rows.tolist()):
            value = sum((word & mask) << (bits * column) for column, word in enumerate(row))
            if self._codes is not None:
                value |= self._codes[k] << (bits * len(row))
            values.append(value)
        return values
