"""The device under test with its clock, its agents and what the simulation was given."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from cocotb.handle import Immediate
from cocotb.triggers import Timer
from numpy.typing import NDArray

from kit.stalls import Stalls, make_stalls
from kit.streams import StreamSink, StreamSource
from kit.values import shorten

_PERIOD_NS = 10


class Agent(Protocol):
    """What takes part in every clock."""

    def drive(self) -> None:
        """Set inputs; called at the falling edge."""

    def sample(self) -> None:
        """Look at ports; called just before the rising edge, out of reset only."""

    def reset(self) -> None:
        """Go back to the state after a reset; called when reset is asserted."""

    def check_reset(self) -> None:
        """Look at outputs; called at the end of a reset."""

    def state(self) -> str:
        """Return in a few words what it waits for."""
        ...


A = TypeVar("A", bound=Agent)


class Bench:
    """The device, its clock and reset, and what the caller of the simulation passed in.

    Parameters
    ----------
    dut : handle
        What cocotb gives to a test.
    clock, reset : str
        Ports. A reset whose name ends in "n" is active low.
    patience : int
        Clocks without any transfer that `run_until` takes for a hang.
    limit : int
        Clocks after which any test is stopped as a hang.
    **inputs : int
        Values of further inputs from time 0. An input that nobody drives is X on Icarus.

    Attributes
    ----------
    manifest : dict
        The generated folder's manifest.
    folder : Path
        The generated folder.
    parameters : dict
        `parameters` of `pezo_hw.simulate.run`.
    arrays : dict of str to ndarray
        `arrays` of `pezo_hw.simulate.run`.
    rng : random.Random
        Random numbers that follow from the run's seed and the test's name alone.
    cycle : int
        Rising edges so far.
    """

    def __init__(
        self,
        dut: Any,
        *,
        clock: str = "aclk",
        reset: str = "aresetn",
        patience: int = 1000,
        limit: int = 10_000_000,
        **inputs: int,
    ):
        self.dut = dut
        self.folder = Path(os.environ["PEZO_FOLDER"])
        text = (self.folder / "pezo.json").read_text(encoding="utf-8")
        self.manifest: dict[str, Any] = json.loads(text)
        self.parameters: dict[str, Any] = json.loads(os.environ.get("PEZO_PARAMETERS") or "{}")
        self.arrays = _load(os.environ.get("PEZO_ARRAYS", ""))
        # cocotb seeds `random` from the run's seed and the test's name.
        self.rng = random.Random(random.getrandbits(64))
        self.cycle = 0
        self._clock = getattr(dut, clock)
        self._reset = getattr(dut, reset)
        self._asserted = 0 if reset.endswith("n") else 1
        self._patience = patience
        self._limit = limit
        self._last_transfer = 0
        self._agents: list[Agent] = []
        self._live = False
        self._half = Timer(_PERIOD_NS // 2, "ns")
        self._started = False
        self.put(self._clock, 0)
        self.put(self._reset, self._asserted)
        self.write(**inputs)

    def source(self, prefix: str = "s_axis", *, stalls: Stalls | None = None) -> StreamSource:
        """Add a driver for a stream input of the device; see `StreamSource`."""
        return self.add(StreamSource(self, prefix, stalls=stalls))

    def sink(
        self, prefix: str = "m_axis", *, stalls: Stalls | None = None, after_valid: bool = False
    ) -> StreamSink:
        """Add a receiver for a stream output of the device; see `StreamSink`."""
        return self.add(StreamSink(self, prefix, stalls=stalls, after_valid=after_valid))

    def add(self, agent: A) -> A:
        """Let an agent take part in every clock from now on."""
        self._agents.append(agent)
        return agent

    def stalls(self, name: str) -> Stalls:
        """Return the stall pattern of a name in `STALLS`, seeded by this bench."""
        return make_stalls(name, random.Random(self.rng.getrandbits(64)))

    def write(self, **values: int) -> None:
        """Set inputs by name; they hold at the next rising edge."""
        for name, value in values.items():
            self.put(getattr(self.dut, name), value)

    def put(self, handle: Any, value: int | str) -> None:
        """Set an input by handle; for agents."""
        # Icarus loses what is written at once before time has begun. Later on, writing at once is
        # the cheapest way and the same on every simulator.
        handle.value = Immediate(value) if self._started else value

    def read(self, name: str) -> int:
        """Return a port as an unsigned number; X or Z in it fails the test."""
        text = str(getattr(self.dut, name).value)
        try:
            return int(text, 2)
        except ValueError:
            raise AssertionError(f"clock {self.cycle}: {name} is {shorten(text)}") from None

    async def clock(self, count: int = 1) -> None:
        """Let a number of clocks pass."""
        clock, half, agents = self._clock, self._half, self._agents
        for _ in range(count):
            for agent in agents:
                agent.drive()
            self.put(clock, 0)
            await half
            self._started = True
            if self._live:
                for agent in agents:
                    agent.sample()
            self.put(clock, 1)
            await half
            self.cycle += 1
            if self.cycle > self._limit:
                raise AssertionError(f"hang: {self._limit} clocks are over; {self._states()}")

    async def pulse(self, *names: str) -> None:
        """Set inputs to 1 for one clock."""
        self.write(**dict.fromkeys(names, 1))
        await self.clock()
        self.write(**dict.fromkeys(names, 0))

    async def reset(self, clocks: int = 4) -> None:
        """Reset the device for some clocks and check its stream outputs at the end."""
        self._live = False
        self.put(self._reset, self._asserted)
        for agent in self._agents:
            agent.reset()
        await self.clock(clocks)
        for agent in self._agents:
            agent.check_reset()
        self.put(self._reset, 1 - self._asserted)
        self._live = True

    async def run_until(
        self, condition: Callable[[], bool], *, patience: int | None = None
    ) -> None:
        """Let clocks pass until a condition holds; fail when nothing has moved for too long.

        Parameters
        ----------
        condition : callable
            Looked at once a clock, between clocks.
        patience : int, optional
            Clocks without any transfer that are too long. Default: the bench's.
        """
        patience = self._patience if patience is None else patience
        self._last_transfer = self.cycle
        while not condition():
            await self.clock()
            if self.cycle - self._last_transfer > patience:
                raise AssertionError(f"hang: no transfer for {patience} clocks; {self._states()}")

    def moved(self) -> None:
        """Note that something was transferred; for agents."""
        self._last_transfer = self.cycle

    @staticmethod
    def report(**values: Any) -> None:
        """Hand figures to the caller of the simulation, who finds them in `Result.data`."""
        path = Path(os.environ["PEZO_REPORT"])
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        path.write_text(json.dumps(known | values), encoding="utf-8")

    @staticmethod
    def save(**arrays: NDArray[Any]) -> None:
        """Hand arrays to the caller of the simulation, who finds them in `Result.arrays`."""
        path = os.environ["PEZO_SAVED"]
        np.savez(path, allow_pickle=False, **(_load(path) | arrays))

    def _states(self) -> str:
        return "; ".join(agent.state() for agent in self._agents) or "no streams"


def _load(path: str) -> dict[str, NDArray[Any]]:
    if not path or not Path(path).is_file():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)
