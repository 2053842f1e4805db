"""The pool's counters stay below their number of rows, whatever it is, and count as they should."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring

from pezo_hw.gateware.pool import CircularAddress
from tests.formal.sby import Opened, Proof

# Rows, and the row of group 0: the first port's and one that the second may have.
COUNTERS = [
    (rows, start)
    for rows in (2, 3, 5, 8, 255, 256, 257, 4095, 4096)
    for start in sorted({0, rows // 2, rows - 1})
]


def _add(proof: Proof, name: str, counter: Any, *, rows: int, start: int) -> None:
    """Describe a counter modulo `rows` that begins at `start`, and claim that `counter` is one."""
    m = proof.m
    proof.free(counter.step, counter.restore, counter.capture, counter.clear)
    opened = Opened(counter)
    m.submodules[name] = opened.fragment
    enable = counter.step | counter.restore
    proof.always(f"{name}_row_in_range", counter.row < rows)
    proof.always(f"{name}_address_in_range", ~enable | (counter.address < rows))

    row = Signal(range(rows), init=start, name=f"{name}_row")
    snapshot = Signal(range(rows), init=start, name=f"{name}_snapshot")
    following = Signal(range(rows), name=f"{name}_following")
    m.d.comb += following.eq(Mux(counter.restore, snapshot, Mux(row == rows - 1, 0, row + 1)))
    with m.If(enable):
        m.d.sync += row.eq(following)
    with m.If(counter.clear):
        m.d.sync += snapshot.eq(start)
    with m.Elif(counter.capture):
        m.d.sync += snapshot.eq(row)
    proof.always(f"{name}_row_counts", counter.row == row)
    proof.always(f"{name}_address_is_next", ~enable | (counter.address == following))
    # What the induction needs besides, of the description and of the inside.
    proof.always(f"{name}_snapshot_in_range", snapshot < rows)
    if "snapshot" in opened.registers:
        proof.always(f"{name}_snapshot", opened["snapshot"] == snapshot)
    if "last" in opened.registers:
        proof.always(f"{name}_last", opened["last"] == (row == rows - 1))
        ends = opened["snapshot_last"] == (snapshot == rows - 1)
        proof.always(f"{name}_snapshot_last", ends)


def test_counters_of_any_length_wrap_and_replay() -> None:
    proof = Proof()
    for rows, start in COUNTERS:
        name = f"rows_{rows}_{start}"
        _add(proof, name, CircularAddress(rows, start=start), rows=rows, start=start)
    proof.prove(depth=1)


class _Lagging(wiring.Component):
    """A counter whose snapshot is the row that the port shows next, as for a consumer in step."""

    def __init__(self, rows: int):
        self._counter = CircularAddress(rows, start=0)
        super().__init__(self._counter.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.counter = counter = self._counter
        late = Signal()
        m.d.sync += late.eq(self.capture)
        m.d.comb += [
            counter.step.eq(self.step),
            counter.restore.eq(self.restore),
            counter.capture.eq(late),
            counter.clear.eq(self.clear),
            self.row.eq(counter.row),
            self.address.eq(counter.address),
        ]
        return m


def test_broken_counters_are_caught() -> None:
    mutants = {
        # Wraps where its bits do, one row late, and one row early.
        "no_wrap": (CircularAddress(8, start=0), 0, "row_in_range"),
        "no_wrap_address": (CircularAddress(8, start=0), 0, "address_in_range"),
        "late": (CircularAddress(6, start=0), 0, "address_in_range"),
        "early": (CircularAddress(4, start=0), 0, "row_counts"),
        # Clears to row 0 where the second port begins elsewhere.
        "start": (CircularAddress(5, start=0), 2, "row_counts"),
        "lagging": (_Lagging(5), 0, "row_counts"),
    }
    proof = Proof(hunt={f"{name}_{claim}" for name, (_, _, claim) in mutants.items()})
    for name, (counter, start, _) in mutants.items():
        _add(proof, name, counter, rows=5, start=start)
    proof.cover(depth=8)
