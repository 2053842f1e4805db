"""Both ends of an AXI4-Stream, and the contract that the device must keep.

The contract, checked in every clock out of reset: once valid, a beat stays valid and its payload
stays the same until it is taken; valid and ready are never X or Z, nor is any bit of a payload
that is valid.  At the end of a reset valid is low.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import cocotb

from kit.values import shorten

if TYPE_CHECKING:
    from kit.bench import Bench
    from kit.stalls import Stalls


class _Stream:
    """The ports of one stream: ``<prefix>_tvalid``, ``_tready`` and those of the payload."""

    def __init__(self, bench: Bench, prefix: str):
        self.prefix = prefix
        self._bench = bench
        self._valid = getattr(bench.dut, f"{prefix}_tvalid")
        self._ready = getattr(bench.dut, f"{prefix}_tready")
        names = [name for name in ("tdata", "tkeep", "tlast") if _has(bench.dut, prefix, name)]
        # Handles by name, in the order of a beat's values.
        self._payload: dict[str, Any] = {n: getattr(bench.dut, f"{prefix}_{n}") for n in names}

    def fail(self, what: str) -> NoReturn:
        """Fail the test at this clock and stream."""
        raise AssertionError(f"clock {self._bench.cycle}: {self.prefix}_{what}")

    def state(self) -> str:
        """Return the levels of valid and ready, for the watchdog's message."""
        valid, ready = str(self._valid.value), str(self._ready.value)
        return f"{self.prefix} valid={valid} ready={ready}"


class StreamSource(_Stream):
    """Drives a stream input of the device.

    A beat that is offered stays until it is taken. While nothing is offered the payload is
    nonsense (X on Icarus, the last beat with all bits inverted on Verilator), so that a device
    that looks at it is found out.

    Parameters
    ----------
    bench : Bench
        Who calls it.
    prefix : str
        Ports are ``<prefix>_tvalid``, ``_tready`` and, where they exist, ``_tdata``, ``_tkeep``
        and ``_tlast``.
    stalls : iterator of bool, optional
        True in clocks in which no new beat is offered. Default: never.

    Attributes
    ----------
    cycles : list of int
        For each beat that was taken, `Bench.cycle` at the rising edge that took it.
    held : int
        Clocks in which a beat was offered and not taken.
    """

    def __init__(self, bench: Bench, prefix: str, *, stalls: Stalls | None = None):
        super().__init__(bench, prefix)
        self.stalls = stalls
        self.cycles: list[int] = []
        self.held = 0
        self._queue: deque[tuple[int, ...]] = deque()
        self._offered: tuple[int, ...] | None = None
        self._widths = [len(handle) for handle in self._payload.values()]
        self._last: tuple[int, ...] = (0,) * len(self._widths)
        self._shown = False
        self._idle()

    @property
    def pending(self) -> int:
        """Number of beats that the device has not taken yet."""
        return len(self._queue) + (self._offered is not None)

    def send(
        self, beats: Iterable[int], *, last_keep: int | None = None, last: bool = True
    ) -> None:
        """Queue beats.

        Parameters
        ----------
        beats : iterable of int
            TDATA of each.
        last_keep : int, optional
            TKEEP of the last one. Default, and in all others: all ones.
        last : bool
            Whether the last one carries TLAST.
        """
        full = (1 << len(self._payload["tkeep"])) - 1 if "tkeep" in self._payload else 0
        rows = [{"tdata": beat, "tkeep": full, "tlast": 0} for beat in beats]
        if rows:
            rows[-1] |= {"tkeep": full if last_keep is None else last_keep, "tlast": int(last)}
        self._queue.extend(tuple(row[name] for name in self._payload) for row in rows)

    def drive(self) -> None:
        """Offer a beat, or nothing."""
        if self._offered is not None:
            return
        if self._queue and not (self.stalls is not None and next(self.stalls)):
            self._offered = self._queue.popleft()
            before = self._last if self._shown else (None,) * len(self._widths)
            self._last = self._offered
            for handle, value, old in zip(
                self._payload.values(), self._offered, before, strict=True
            ):
                if value != old:  # a write costs ten times a comparison
                    self._bench.put(handle, value)
            if not self._shown:
                self._shown = True
                self._bench.put(self._valid, 1)
        elif self._shown:
            self._idle()

    def sample(self) -> None:
        """Note whether the beat was taken."""
        ready = str(self._ready.value)
        if ready not in "01":
            self.fail(f"tready is {ready}")
        if self._offered is not None:
            if ready == "1":
                self._offered = None
                self.cycles.append(self._bench.cycle)
                self._bench.moved()
            else:
                self.held += 1

    def reset(self) -> None:
        """Forget all beats."""
        self._queue.clear()
        self._offered = None
        self._idle()

    def check_reset(self) -> None:
        """Accept ready high or low in reset."""

    def _idle(self) -> None:
        self._shown = False
        self._bench.put(self._valid, 0)
        four_states = "Icarus" in cocotb.SIM_NAME
        for handle, width, last in zip(
            self._payload.values(), self._widths, self._last, strict=True
        ):
            self._bench.put(handle, "X" * width if four_states else last ^ ((1 << width) - 1))


class StreamMonitor(_Stream):
    """Watches a stream output of the device, whoever drives its ready, and checks the contract.

    Parameters
    ----------
    bench : Bench
        Who calls it.
    prefix : str
        Ports, as for `StreamSource`.

    Attributes
    ----------
    data, keep : list of int
        TDATA and TKEEP of the beats that were taken; empty without the port.
    last : list of bool
        TLAST of the beats that were taken; empty without the port.
    cycles : list of int
        `Bench.cycle` at the rising edges that took them.
    held : int
        Clocks in which a beat was valid and not taken.
    """

    def __init__(self, bench: Bench, prefix: str):
        super().__init__(bench, prefix)
        self.data: list[int] = []
        self.keep: list[int] = []
        self.last: list[bool] = []
        self.cycles: list[int] = []
        self.held = 0
        self._waiting: tuple[str, ...] | None = None  # the payload that must not change
        self._lenient = 0

    @property
    def packets(self) -> int:
        """Number of beats with TLAST that were taken."""
        return sum(self.last)

    def clear(self) -> None:
        """Forget the beats that were taken."""
        for record in (self.data, self.keep, self.last, self.cycles):
            record.clear()

    def forgive(self) -> None:
        """Let the device withdraw its beat now: a command was given that moves its stream.

        To be called between clocks, with the write of the command.
        """
        # Valid may fall with the command itself or at the edge that takes it.
        self._lenient = 2

    def sample(self) -> None:
        """Check the contract and record what is taken."""
        waiting, self._waiting = self._waiting, None
        if self._lenient:
            self._lenient -= 1
            waiting = None
        valid = str(self._valid.value)
        if valid == "0":
            if waiting is not None:
                self.fail("tvalid fell before ready")
            return
        if valid != "1":
            self.fail(f"tvalid is {valid}")
        payload = tuple([str(handle.value) for handle in self._payload.values()])
        if waiting is not None and payload != waiting:
            self._fail_change(waiting, payload)
        if self._is_ready():
            self._record(payload)
        else:
            self.held += 1
            self._waiting = payload
            if waiting is None:
                self._numbers(payload)  # X is an error before the beat is taken as well

    def drive(self) -> None:
        """Drive nothing."""

    def reset(self) -> None:
        """Forget the beat that waits."""
        self._waiting = None
        self._lenient = 0

    def check_reset(self) -> None:
        """Check that valid is low."""
        valid = str(self._valid.value)
        if valid != "0":
            self.fail(f"tvalid must be 0 at the end of a reset, not {valid}")

    def _is_ready(self) -> bool:
        ready = str(self._ready.value)
        if ready not in "01":
            self.fail(f"tready is {ready}")
        return ready == "1"

    def _record(self, payload: tuple[str, ...]) -> None:
        beat = self._numbers(payload)
        if "tdata" in beat:
            self.data.append(beat["tdata"])
        if "tkeep" in beat:
            self.keep.append(beat["tkeep"])
        if "tlast" in beat:
            self.last.append(bool(beat["tlast"]))
        self.cycles.append(self._bench.cycle)
        self._bench.moved()

    def _numbers(self, payload: tuple[str, ...]) -> dict[str, int]:
        try:
            return {name: int(text, 2) for name, text in zip(self._payload, payload, strict=True)}
        except ValueError:
            for name, text in zip(self._payload, payload, strict=True):
                if set(text) - set("01"):
                    self.fail(f"{name} is {shorten(text)} while valid")
            raise

    def _fail_change(self, before: tuple[str, ...], after: tuple[str, ...]) -> NoReturn:
        for name, old, new in zip(self._payload, before, after, strict=True):
            if old != new:
                self.fail(f"{name} changed before ready: {shorten(old)}, then {shorten(new)}")
        raise AssertionError("unreachable")


class StreamSink(StreamMonitor):
    """Takes the beats of a stream output of the device and checks the contract.

    Parameters
    ----------
    bench : Bench
        Who calls it.
    prefix : str
        Ports, as for `StreamSource`.
    stalls : iterator of bool, optional
        True in clocks in which ready is low. Default: never.
    after_valid : bool
        Whether ready also waits until valid was seen. It may, so a device whose valid waits for
        ready hangs.
    """

    def __init__(
        self,
        bench: Bench,
        prefix: str,
        *,
        stalls: Stalls | None = None,
        after_valid: bool = False,
    ):
        super().__init__(bench, prefix)
        self.stalls = stalls
        self._after_valid = after_valid
        self._level = False
        self._bench.put(self._ready, 0)

    def drive(self) -> None:
        """Decide on ready for the next rising edge."""
        stalled = self.stalls is not None and next(self.stalls)
        level = not stalled and not (self._after_valid and self._waiting is None)
        if level != self._level:
            self._level = level
            self._bench.put(self._ready, int(level))

    def _is_ready(self) -> bool:
        return self._level


def _has(dut: Any, prefix: str, name: str) -> bool:
    return hasattr(dut, f"{prefix}_{name}")
