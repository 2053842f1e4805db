"""A core that is reached through its registers and streams, wherever these are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import whole
from pezo_hw.errors import PezoError
from pezo_hw.golden.schedules import KINDS, USED
from pezo_hw.golden.tensors import Tensor
from pezo_hw.registers import RegisterMap

from . import arguments
from .sweep import Description, Outcome, Sweep

MAGIC = 0x4F5A4550

# Clocks that a simulated core may take behind its transfers: more than any latency.
_PATIENCE = 20_000
# Most clocks that pass between two looks at a simulated core.
_STRIDE = 1 << 16


class Bus(Protocol):
    """Registers and streams of one core."""

    def read(self, address: int) -> int:
        """Return a register."""

    def write(self, address: int, value: int) -> None:
        """Write a register, all bytes of it."""

    def stream(self, data: bytes, *, outputs: Sequence[str], beat: int) -> Mapping[str, bytes]:
        """Send bytes to the core, TLAST with the last, and return what it sends on each output.

        Parameters
        ----------
        data : bytes
            At least one.
        outputs : sequence of str
            "weights", "plus", "minus": where as many bytes will come.
        beat : int
            Bytes of a beat, a multiple of which everything begins at.

        Raises
        ------
        PezoError
            If the bytes cannot be transferred.
        """

    def close(self) -> None:
        """Give back what is held."""


@runtime_checkable
class Draining(Protocol):
    """A bus that can clear its streams, which the rest of a failed sweep would block."""

    def drain(self) -> None:
        """Drop what has not been sent; take and drop what the core still sends.

        Called after an abort, and never raises for want of beats.
        """


@runtime_checkable
class Clocked(Protocol):
    """A bus of a simulation, where waiting is limited in clocks, however slow the machine is."""

    @property
    def clocks(self) -> int:
        """Clocks so far."""

    def idle(self, clocks: int) -> None:
        """Let clocks pass."""


class RegisterBackend:
    """Sweeps by registers, see `Backend`.

    Parameters
    ----------
    bus : Bus
        Maybe `Draining`, maybe `Clocked`.
    registers : RegisterMap
        Of the manifest of the core's folder.
    description : Description
        Of the same manifest.
    timeout : float
        Seconds that a sweep may take behind its transfers, and a walk to a start index; no matter
        with a bus that is `Clocked`.

    Raises
    ------
    PezoError
        If what answers is not this core, or cannot be brought to rest.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        registers: RegisterMap,
        description: Description,
        timeout: float = 10.0,
    ):
        self.bus, self.registers, self.description = bus, registers, description
        self._timeout = timeout
        self._clocked = bus if isinstance(bus, Clocked) else None
        self._tensors = 0
        self._table_beats = 0
        self._identify()
        # What an earlier program may have left.
        self.write("IRQ_ENABLE")
        self._rest()
        if "TENSOR_COUNT" in registers:
            self.write("TENSOR_COUNT")

    def read(self, name: str) -> dict[str, int]:
        """Return the fields of a register."""
        register = self.registers[name]
        return register.unpack(self.bus.read(register.address()))

    def write(self, name: str, *, index: int = 0, **fields: int) -> None:
        """Write a register by its fields; those not given become 0."""
        register = self.registers[name]
        self.bus.write(register.address(index), register.pack(**fields))

    def start(self, index: int) -> None:
        """See `Backend`."""
        index = whole("a start", index, least=0) % self.description.period
        # A walk takes a clock a group, and one may be under way that another program asked for.
        longest = 0 if self.description.seeded else self._groups
        self._wait("busy", 0, clocks=longest)
        self.write("START_INDEX", group=index)
        self.write("CONTROL", start=1)
        self._wait("busy", 0, clocks=min(index, longest))
        self._check(f"a start at {index}")

    def load_table(self, table: Sequence[Tensor]) -> None:
        """See `Backend`."""
        table = arguments.table(table, description=self.description)
        self._tensors = len(table)
        self._table_beats = sum(tensor.beats for tensor in table)
        if "TENSOR_COUNT" not in self.registers:
            return
        self._wait("sweeping", 0)
        settings = self.registers["TENSOR_SETTINGS"]
        for index, tensor in enumerate(table):
            self.write("TENSOR_BEATS", index=index, beats=tensor.beats)
            # Only the fields that the core has.
            values = {field.name: int(getattr(tensor, field.name)) for field in settings.fields}
            self.write("TENSOR_SETTINGS", index=index, **values)
        self.write("TENSOR_COUNT", tensors=len(table))
        self._check("loading the table of tensors")

    def sweep(self, command: Sweep, weights: NDArray[np.integer]) -> Outcome:
        """See `Backend`."""
        description = self.description
        arguments.command(command, description=description)
        weights = arguments.weights(weights, description=description)
        beats = description.beats(len(weights))
        if self._tensors and beats != self._table_beats:
            raise PezoError(
                f"weights must take the {self._table_beats} beats of the table, not {beats}"
            )
        fields = {
            "kind": KINDS.index(command.kind),
            "k": command.k,
            "capture": command.capture,
        }
        if command.capture_b:
            fields["capture_b"] = 1
        self.write("SWEEP", **fields)
        self.write("LENGTH", beats=beats)
        self.write("COEFFICIENT", c=command.coefficient)
        if "DITHER_SEED" in self.registers:
            self.write("DITHER_SEED", seed=command.dither_seed)
        dtype = np.dtype(f"<i{description.weight_bytes}")
        data = weights.astype(dtype).tobytes()
        self.write("CONTROL", go=1)
        what = f"a sweep of kind {command.kind} over {len(weights)} weights"
        # Before the data goes: a core that has not begun would take none of it.
        try:
            self._check(what)
            given = self.bus.stream(data, outputs=USED[command.kind], beat=description.beat_bytes)
            self._wait("done", 1)
            self._check(what)
        except _Reported:
            raise
        except PezoError as error:
            raise PezoError(f"{what}: {error}{self._abandon()}") from None
        except BaseException:
            # An interrupt must not leave the core in mid-sweep either.
            self._abandon()
            raise
        outputs: dict[str, NDArray[np.int64]] = {}
        for name, answer in given.items():
            if len(answer) != len(data):
                raise PezoError(f"{what}: {name} must be {len(data)} bytes, not {len(answer)}")
            outputs[name] = np.frombuffer(answer, dtype=dtype).astype(np.int64)
        return Outcome(
            outputs,
            saturations=self.read("SATURATIONS")["weights"],
            beats=self.read("INDEX")["beats"],
        )

    def close(self) -> None:
        """See `Backend`."""
        self.bus.close()

    def _identify(self) -> None:
        given = self.description
        magic = self.read("ID")["magic"]
        if magic != MAGIC:
            raise PezoError(
                f"a pezo core must answer at this address with {MAGIC:#010x}, not {magic:#010x}; "
                "check the address and the bitstream"
            )
        version = self.registers["VERSION"]
        built = version.field("major").reset
        if (major := self.read("VERSION")["major"]) != built:
            raise PezoError(
                f"the core must have version {built} of the registers, not {major}; "
                "use the manifest of its own folder"
            )
        sizes, kind = self.read("CAPS0"), self.read("CAPS1")
        codes = self.registers["CAPS1"].field("schedule").values
        expected = {
            "lanes": given.lanes,
            "weight_bits": given.arithmetic.weight_bits,
            "schedule": codes[given.schedule.replace("-", "_").upper()],
            "update": self.registers["CAPS1"].field("update").values[given.update.upper()],
            "tensors": given.tensors,
            "coefficient_bits": given.arithmetic.coefficient_bits,
            "coefficient_shift": given.arithmetic.shift,
            # Not in a description, but in the map, whose constants are those of the core.
            "word_bits": self.registers["CAPS0"].field("word_bits").reset,
            "source": self.registers["CAPS1"].field("source").reset,
        }
        found_all = {**sizes, **kind}
        for half in ("PERIOD_LO", "PERIOD_HI"):
            expected[half] = self.registers[half].field("groups").reset
            found_all[half] = self.read(half)["groups"]
        for name, value in expected.items():
            found = found_all[name]
            if found != value:
                raise PezoError(
                    f"the core must be the one of the manifest, but its {name} is {found}, not "
                    f"{value}; use the manifest of its own folder"
                )

    @property
    def _groups(self) -> int:
        """Groups that START_INDEX can name."""
        field = self.registers["START_INDEX"].field("group")
        return min(self.description.period, 1 << field.bits)

    def _wait(self, flag: str, value: int, *, clocks: int = 0) -> None:
        """Wait until a flag of STATUS has a value.

        On a board for so many seconds; in a simulation for `clocks` and some more.
        """
        core = self._clocked
        limit = self._timeout if core is None else clocks + _PATIENCE
        began = time.monotonic() if core is None else core.clocks
        while self.read("STATUS")[flag] != value:
            passed = (time.monotonic() if core is None else core.clocks) - began
            if passed > limit:
                allowed = f"{limit:g} s" if core is None else f"{limit} clocks"
                raise PezoError(
                    f"the core must set STATUS.{flag} to {value} within {allowed}, but "
                    f"has {self.read('STATUS')} after {self.read('INDEX')['beats']} beats"
                )
            if core is not None:
                # The longer it took, the rarer the looks, which take longer than clocks.
                core.idle(min(int(passed) // 4, _STRIDE))

    def _check(self, what: str) -> None:
        """Raise for, and clear, what the core complains of."""
        found = self._complaints()
        if found:
            raise _Reported(f"{what}: the core reports {found}{self._abandon()}")

    def _complaints(self) -> str:
        """Return the names of what the core complains of, and clear it."""
        register = self.registers["ERROR"]
        word = self.bus.read(register.address())
        if word:
            self.bus.write(register.address(), word)
        return ", ".join(name for name, value in register.unpack(word).items() if value)

    def _abandon(self) -> str:
        """Bring the core to rest after a failure; say how it went, and never fail itself.

        What failed first is what a user must read.
        """
        try:
            sweeping = self.read("STATUS")["sweeping"]
            found, beats = self._complaints(), self.read("INDEX")["beats"]
            self._rest()
        # A bus may raise what it likes.
        except Exception as error:
            return f" (and the core could not be brought to rest: {error})"
        reports = f"; the core reports {found}" if found else ""
        return reports + (f" (the sweep was aborted after {beats} beats)" if sweeping else "")

    def _rest(self) -> None:
        """End a sweep and a flush, empty the streams, and forget what came of it."""
        # One write: its other fields become 0, and 0 ends a flush.
        self.write("CONTROL", abort=1)
        if isinstance(self.bus, Draining):
            self.bus.drain()
        self._wait("sweeping", 0)
        for name in ("ERROR", "IRQ_STATUS"):
            self.bus.write(self.registers[name].address(), 0xFFFFFFFF)


class _Reported(PezoError):
    """An error of which the core is told already, and after which it is at rest."""
