"""The manager's end of an AXI4-Lite, and the contract that the device must keep.

The contract, checked in every clock out of reset: a response that is valid stays valid and the
same until it is taken; it comes only when address and data have been taken, and one for each;
handshake signals are never X or Z, nor is a response that is valid. At the end of a reset no
response is valid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from kit.values import shorten

if TYPE_CHECKING:
    from kit.bench import Bench

OKAY, SLVERR = 0, 2


class _Request:
    """A channel on which the manager offers something: AW, W or AR."""

    def __init__(self, bench: Bench, prefix: str, *payload: str):
        self._bench = bench
        self.name = prefix
        self._valid = getattr(bench.dut, f"{prefix}valid")
        self._ready = getattr(bench.dut, f"{prefix}ready")
        self._payload = [getattr(bench.dut, f"{prefix}{name}") for name in payload]
        self.taken = 0
        self.cycle = 0
        self._values: tuple[int, ...] | None = None
        self._delay = 0
        self._rest()

    def offer(self, *values: int, delay: int) -> None:
        self._values, self._delay = values, delay

    def drive(self) -> None:
        if self._values is None:
            return
        if self._delay:
            self._delay -= 1
            return
        for handle, value in zip(self._payload, self._values, strict=True):
            self._bench.put(handle, value)
        self._bench.put(self._valid, 1)
        self._shown = True

    def sample(self) -> None:
        ready = str(self._ready.value)
        if ready not in "01":
            raise AssertionError(f"clock {self._bench.cycle}: {self.name}ready is {ready}")
        if self._shown and ready == "1":
            self.taken += 1
            self.cycle = self._bench.cycle
            self._values = None
            self._bench.moved()
            self._left = True

    def settle(self) -> None:
        """Take valid back after a transfer; nothing is offered then but nonsense."""
        if self._left:
            self._rest()

    def reset(self) -> None:
        self._values = None
        self._rest()
        self.taken = 0

    def _rest(self) -> None:
        self._shown = self._left = False
        self._bench.put(self._valid, 0)
        for handle in self._payload:
            self._bench.put(handle, self._bench.rng.getrandbits(len(handle)))


class _Response:
    """A channel on which the device answers: B or R."""

    def __init__(self, bench: Bench, prefix: str, *payload: str):
        self._bench = bench
        self.name = prefix
        self._valid = getattr(bench.dut, f"{prefix}valid")
        self._ready = getattr(bench.dut, f"{prefix}ready")
        self._payload = [getattr(bench.dut, f"{prefix}{name}") for name in payload]
        self.taken = 0
        self.values: tuple[int, ...] = ()
        self._waiting: tuple[str, ...] | None = None
        self._delay: int | None = None
        self._level = 0
        bench.put(self._ready, 0)

    def expect(self, *, delay: int) -> None:
        self._delay = delay

    def drive(self) -> None:
        level = int(self._delay == 0)
        if self._delay:
            self._delay -= 1
        if level != self._level:
            self._level = level
            self._bench.put(self._ready, level)

    def sample(self, *, due: bool) -> None:
        waiting, self._waiting = self._waiting, None
        valid = str(self._valid.value)
        if valid == "0":
            if waiting is not None:
                self.fail("valid fell before ready")
            return
        if valid != "1":
            self.fail(f"valid is {valid}")
        if not due:
            self.fail("valid comes before its request")
        payload = tuple([str(handle.value) for handle in self._payload])
        if any(set(text) - set("01") for text in payload):
            self.fail(f"payload is {', '.join(map(shorten, payload))}")
        if waiting is not None and payload != waiting:
            self.fail("payload changed before ready")
        if self._level:
            self.values = tuple(int(text, 2) for text in payload)
            self.taken += 1
            self._delay = None
            self._bench.moved()
        else:
            self._waiting = payload

    def reset(self) -> None:
        self._waiting, self._delay, self.taken, self._level = None, None, 0, 0
        self._bench.put(self._ready, 0)

    def check_reset(self) -> None:
        valid = str(self._valid.value)
        if valid != "0":
            self.fail(f"valid must be 0 at the end of a reset, not {valid}")

    def fail(self, what: str) -> NoReturn:
        raise AssertionError(f"clock {self._bench.cycle}: {self.name}{what}")


class AxiLite:
    """Reads and writes registers of the device, in any order of the handshakes.

    Parameters
    ----------
    bench : Bench
        Who calls it.
    prefix : str
        Ports are ``<prefix>_awvalid`` and so on.
    delays : callable, optional
        Returns clocks that a side waits, asked anew for each. Default: 0 to 3 at random.

    Attributes
    ----------
    accesses : int
        Reads and writes that have been answered.
    written : int
        `Bench.cycle` at the edge that took the later of address and data of the last write.
    """

    def __init__(
        self, bench: Bench, prefix: str = "s_axi", *, delays: Callable[[], int] | None = None
    ):
        self._bench = bench
        self._delays = delays or (lambda: bench.rng.choice((0, 0, 0, 1, 2, 3)))
        self._aw = _Request(bench, f"{prefix}_aw", "addr")
        self._w = _Request(bench, f"{prefix}_w", "data", "strb")
        self._ar = _Request(bench, f"{prefix}_ar", "addr")
        self._b = _Response(bench, f"{prefix}_b", "resp")
        self._r = _Response(bench, f"{prefix}_r", "data", "resp")
        self.accesses = 0
        self.written = 0

    async def write(
        self, address: int, data: int, *, strobe: int = 0xF, wait: int | None = None
    ) -> int:
        """Write and return the response, which is taken after `wait` clocks at the earliest."""
        self._aw.offer(address, delay=self._delays())
        self._w.offer(data, strobe, delay=self._delays())
        self._b.expect(delay=self._delays() if wait is None else wait)
        await self._answered(self._b)
        self.written = max(self._aw.cycle, self._w.cycle)
        return self._b.values[0]

    async def read(self, address: int) -> tuple[int, int]:
        """Read and return data and response."""
        self._ar.offer(address, delay=self._delays())
        self._r.expect(delay=self._delays())
        await self._answered(self._r)
        return self._r.values[0], self._r.values[1]

    async def _answered(self, channel: _Response) -> None:
        before = channel.taken
        await self._bench.run_until(lambda: channel.taken > before)
        self.accesses += 1

    def drive(self) -> None:
        """Offer requests, decide on readies."""
        for request in (self._aw, self._w, self._ar):
            request.settle()
            request.drive()
        self._b.drive()
        self._r.drive()

    def sample(self) -> None:
        """Check the contract and note transfers."""
        # Before this clock's requests: a response must not come with them.
        written = min(self._aw.taken, self._w.taken) > self._b.taken
        read = self._ar.taken > self._r.taken
        self._b.sample(due=written)
        self._r.sample(due=read)
        for request in (self._aw, self._w, self._ar):
            request.sample()

    def reset(self) -> None:
        """Forget what is under way."""
        for channel in (self._aw, self._w, self._ar, self._b, self._r):
            channel.reset()

    def check_reset(self) -> None:
        """Check that no response is valid."""
        self._b.check_reset()
        self._r.check_reset()

    def state(self) -> str:
        """Return how many transfers each channel has seen."""
        channels = (self._aw, self._w, self._b, self._ar, self._r)
        return ", ".join(f"{channel.name} {channel.taken}" for channel in channels)
