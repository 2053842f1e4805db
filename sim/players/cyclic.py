"""The player of cores whose groups have an index: banks and pools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kit import Bench, Stalls, pack

COMMANDS = ("capture", "restore", "start", "start_index")
INPUTS: dict[str, Any] = dict.fromkeys((*COMMANDS, "m_axis_tready"), 0)


class Groups:
    """Payload of each group that the golden model was asked for, as one number."""

    _CHUNK = 64

    def __init__(self, bench: Bench):
        self.period = int(bench.manifest["source"]["period"])
        self._width = int(bench.manifest["lane_bits"])
        self._lanes = bench.arrays["lanes"]
        self._windows = list(
            zip(bench.arrays["first"].tolist(), bench.arrays["count"].tolist(), strict=True)
        )
        self._known: dict[int, int] = {}

    def __contains__(self, index: int) -> bool:
        return self._row(index) is not None

    def __getitem__(self, index: int) -> int:
        if index not in self._known:
            row = self._row(index)
            assert row is not None, f"the bench went to group {index}, which it has no data for"
            # Many at once: packing them one by one takes longer than simulating them.
            packed = pack(self._lanes[row : row + self._CHUNK], width=self._width)
            self._known |= {index + i: beat for i, beat in enumerate(packed) if index + i in self}
        return self._known[index]

    @property
    def reachable(self) -> int:
        """Groups from group 0 on without a gap."""
        return int(self._windows[0][1])

    def _row(self, index: int) -> int | None:
        base = 0
        for first, count in self._windows:
            if first <= index < first + count:
                return int(base + index - first)
            base += count
        return None


class Player:
    """Drives commands and ready, and compares the outputs of every clock with a model.

    The model is what the core's documentation says: a transfer advances, a capture acts with a
    transfer only and takes the group that follows, a restore wins over a capture and a start
    over both; the latencies are those of the manifest.

    Attributes
    ----------
    stalls : iterator of bool
        True in clocks in which ready is low.
    commands : iterator of mappings, or None
        Values of command ports for each clock; those that are not named are 0.
    index, captured : int
        The model's state.
    busy : bool
        As last seen at the device.
    counts : dict of str to int
        What has happened.
    """

    def __init__(self, bench: Bench, groups: Groups):
        self.stalls: Stalls = bench.stalls("never")
        self.commands: Iterator[Mapping[str, int]] | None = None
        self.busy = True
        self.counts = dict.fromkeys(("transfers", "captures", "restores", "starts", "resets"), 0)
        self.seen: set[int] = set()
        self._bench, self._groups = bench, groups
        latency = bench.manifest["latency"]
        self._restore_latency = int(latency["restore_to_valid"])
        self._start_latency = int(latency["start_to_valid"])
        dut = bench.dut
        self._valid, self._data, self._busy = dut.m_axis_tvalid, dut.m_axis_tdata, dut.busy
        self._handles = {n: getattr(dut, n) for n in (*COMMANDS, "m_axis_tready")}
        self._levels = dict.fromkeys(self._handles, 0)
        self._once: dict[str, int] = {}
        self._shown: str | None = None
        self._moving = False
        self._begin(0)

    def give(self, **commands: int) -> None:
        """Give commands, or a level of ``m_axis_tready``, at the next clock only."""
        self._once = commands

    def drive(self) -> None:
        """Set the inputs."""
        levels = {"capture": 0, "restore": 0, "start": 0}
        levels["m_axis_tready"] = int(not next(self.stalls))
        if self.commands is not None:
            levels |= next(self.commands)
        if self._once:
            levels |= self._once
            self._once = {}
        known = self._levels
        for name, level in levels.items():
            if known[name] != level:
                known[name] = level
                self._bench.put(self._handles[name], level)

    def sample(self) -> None:
        """Compare the outputs with the model, and move the model on."""
        valid, busy = str(self._valid.value), str(self._busy.value)
        if valid != "01"[self._wait == 0]:
            self._fail(f"tvalid is {valid}")
        # While it walks it is busy; it may be ready for commands a clock before the group stands.
        if busy != "01"[self._moving and self._wait > 0] and not (self._moving and self._wait == 1):
            self._fail(f"busy is {busy}")
        self.busy = busy == "1"
        transfer = False
        if self._wait == 0:
            self._compare()
            transfer = self._levels["m_axis_tready"] == 1
            self._moving = False
        self._step(transfer)

    def reset(self) -> None:
        """Go back to group 0."""
        self.counts["resets"] += 1
        self.busy = True
        self._begin(0)
        self._wait -= 1  # the last clock of a reset counts as that of a start
        self._shown = None

    def check_reset(self) -> None:
        """Check that nothing is offered."""
        assert str(self._valid.value) == "0", "tvalid must be 0 at the end of a reset"
        assert str(self._busy.value) == "1", "busy must be 1 at the end of a reset"

    def state(self) -> str:
        """Return what it waits for."""
        return f"group {self.index}, valid={self._valid.value} busy={self._busy.value}"

    @property
    def offered(self) -> bool:
        """Whether a group stands at the output before the next clock."""
        return self._wait == 0

    def _begin(self, index: int) -> None:
        self.index = self.captured = index % self._groups.period
        self._wait = self._start_latency + index
        self._moving = True

    def _compare(self) -> None:
        text = str(self._data.value)
        if text == self._shown:
            return
        try:
            value = int(text, 2)
        except ValueError:
            self._fail("tdata is X or Z in some bits")
        if value != self._groups[self.index]:
            self._fail(f"tdata is {value:x} and must be {self._groups[self.index]:x}")
        self.seen.add(self.index)
        # What is offered may not change until it is taken or a command comes.
        self._shown = text

    def _step(self, transfer: bool) -> None:
        levels, counts = self._levels, self.counts
        if self._wait:
            self._wait -= 1
        if transfer:
            counts["transfers"] += 1
            self._bench.moved()
            self.index = (self.index + 1) % self._groups.period
            self._shown = None
        if levels["start"]:
            counts["starts"] += 1
            self._begin(levels["start_index"])
            self._wait -= 1
            self._shown = None
        elif levels["restore"] and not self.busy:
            counts["restores"] += 1
            self.index = self.captured
            self._wait = self._restore_latency - 1
            self._moving = False
            self._shown = None
        elif levels["capture"] and transfer:
            counts["captures"] += 1
            self.captured = self.index

    def _fail(self, what: str) -> None:
        raise AssertionError(f"clock {self._bench.cycle}, group {self.index}: {what}")
