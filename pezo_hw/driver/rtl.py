"""The exported RTL, compiled by Verilator, as a backend."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pezo_hw.arguments import number, whole
from pezo_hw.config import Config
from pezo_hw.errors import PezoError
from pezo_hw.golden.schedules import OUTPUTS
from pezo_hw.registers import RegisterMap
from pezo_hw.simulate.cache import Cache
from pezo_hw.simulate.design import MANIFEST

from . import arguments
from . import compile as compiling
from .registers import RegisterBackend
from .sweep import Description

# Clocks in which nothing moves that end a transfer: more than any latency, with stalls.
_QUIET = 20_000
# The same without stalls, and without beats to wait for.
_DRAINED = 200
_OKAY = 0


class RtlBus:
    """Registers and streams of simulated RTL; see `registers.Bus`.

    Parameters
    ----------
    library : Path
        Of `compile.library`.
    seed : int
        Of what the RTL leaves undefined, and of the stalls.
    stalls : tuple of float
        Shares of the clocks in which no beat is offered, and in which none is taken.
    """

    def __init__(self, library: Path, *, seed: int = 1, stalls: tuple[float, float] = (0.0, 0.0)):
        seed = whole("seed", seed, least=0, most=(1 << 32) - 1)
        self._library = _declared(ctypes.CDLL(str(library)))
        self._core: int | None = self._library.sim_open(seed)
        self.stall(*stalls)
        self.reset()

    @property
    def handle(self) -> int:
        """The simulated core, for other callers of the library."""
        if self._core is None:
            raise PezoError("the simulated core must be open, but it was closed")
        return self._core

    @property
    def clocks(self) -> int:
        """Clocks so far."""
        return int(self._library.sim_clocks(self.handle))

    @property
    def irq(self) -> int:
        """The interrupt line."""
        return int(self._library.sim_irq(self.handle))

    def reset(self) -> None:
        """Reset the core, at any moment."""
        self._library.sim_reset(self.handle)

    def stall(self, sender: float, receiver: float) -> None:
        """Set the shares of clocks in which no beat is offered, and in which none is taken."""
        shares = []
        for name, share in (("sender", sender), ("receiver", receiver)):
            # In the last of 256 clocks something moves, or no stream would end.
            if not 0 <= number(f"the stalls of the {name}", share) < 1:
                raise PezoError(
                    f"the stalls of the {name} must be a share of the clocks from 0 to less than "
                    f"1, not {share}"
                )
            shares.append(min(255, round(256 * share)))
        self._library.sim_stalls(self.handle, *shares)

    def idle(self, clocks: int) -> None:
        """Let clocks pass."""
        self._library.sim_idle(self.handle, whole("clocks", clocks, least=0))

    def read(self, address: int) -> int:
        """See `Bus`."""
        value = ctypes.c_uint32()
        response = self._library.sim_read(self.handle, address, ctypes.byref(value))
        self._check(response, f"a read of {address:#05x}")
        return value.value

    def write(self, address: int, value: int, *, strobe: int = 15) -> None:
        """See `Bus`."""
        response = self._library.sim_write(self.handle, address, value, strobe)
        self._check(response, f"a write of {value:#x} to {address:#05x}")

    def stream(self, data: bytes, *, outputs: Sequence[str], beat: int) -> dict[str, bytes]:
        """See `Bus`."""
        places = [
            ctypes.create_string_buffer(len(data)) if name in outputs else None for name in OUTPUTS
        ]
        pointers = (ctypes.c_void_p * len(OUTPUTS))(
            *(None if place is None else ctypes.addressof(place) for place in places)
        )
        got = (ctypes.c_uint64 * len(OUTPUTS))()
        result = self._library.sim_stream(self.handle, data, len(data), pointers, got, _QUIET)
        if result:
            reason = {
                1: f"nothing moved for {_QUIET} clocks",
                2: "an output is longer than the input",
            }[result]
            came = ", ".join(
                f"{count} bytes of {name}"
                for name, count in zip(OUTPUTS, got, strict=True)
                if name in outputs
            )
            raise PezoError(f"the streams must end, but {reason}; {came} came")
        return {
            name: place.raw[:count]
            for name, place, count in zip(OUTPUTS, places, got, strict=True)
            if place is not None
        }

    def drain(self) -> None:
        """See `registers.Draining`."""
        # Nothing is offered between two calls, so the rest of the input is dropped already.
        self._library.sim_drain(self.handle, _DRAINED)

    def close(self) -> None:
        """See `Bus`."""
        if self._core is not None:
            self._library.sim_close(self._core)
            self._core = None

    @staticmethod
    def _check(response: int, what: str) -> None:
        if response < 0:
            raise PezoError(f"{what} must be answered, but the bus hangs")
        if response != _OKAY:
            raise PezoError(f"{what} must be answered OKAY, not with {response}")


def open_folder(
    folder: Path | str,
    *,
    cache: Cache | None = None,
    seed: int = 1,
    stalls: tuple[float, float] = (0.0, 0.0),
    progress: Callable[[str], object] | None = None,
) -> RegisterBackend:
    """Return the backend of a generated folder, compiled unless it is in the cache.

    Parameters
    ----------
    folder : Path or str
        Of a step core with ``control.interface = "axi-lite"``.
    cache : Cache, optional
        Default: that of the user.
    seed, stalls
        See `RtlBus`.
    progress : callable, optional
        Called with a line of text if the core has to be compiled.

    Raises
    ------
    PezoError
        If it is no such folder, or cannot be compiled.
    """
    folder = Path(folder)
    library = compiling.library(folder, cache=cache, progress=progress)
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    bus = RtlBus(library, seed=seed, stalls=stalls)
    return RegisterBackend(
        bus,
        registers=RegisterMap.from_json(manifest["registers"]),
        description=Description.from_manifest(manifest),
    )


def driven(config: Config) -> Config:
    """Return a configuration that can be driven: its interface becomes AXI4-Lite."""
    control = arguments.step_core(config).control
    assert control is not None
    return config.model_copy(
        update={"control": control.model_copy(update={"interface": "axi-lite"})}
    )


def open_rtl(
    config: Config,
    *,
    cache: Cache | None = None,
    seed: int = 1,
    where: str = "configuration",
    progress: Callable[[str], object] | None = None,
) -> RegisterBackend:
    """Return the backend of a configuration as `driven` makes it: generate, compile, open."""
    # Here and not at the top: these bring Amaranth.
    from pezo_hw.export import folder
    from pezo_hw.export.rtl import build
    from pezo_hw.synth.boards import of

    config = driven(config)
    core = build(config, where=where)
    with folder.temporary(core, board=of(config, where=where)) as place:
        return open_folder(place, cache=cache, seed=seed, progress=progress)


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """Give each function of the harness its types."""
    handle, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    types: dict[str, tuple[Any, list[Any]]] = {
        "sim_open": (handle, [u32]),
        "sim_close": (None, [handle]),
        "sim_clocks": (u64, [handle]),
        "sim_irq": (ctypes.c_int, [handle]),
        "sim_stalls": (None, [handle, u32, u32]),
        "sim_reset": (None, [handle]),
        "sim_idle": (None, [handle, u64]),
        "sim_drain": (u64, [handle, u64]),
        "sim_write": (ctypes.c_int, [handle, u32, u32, u32]),
        "sim_read": (ctypes.c_int, [handle, u32, ctypes.POINTER(u32)]),
        "sim_stream": (
            ctypes.c_int,
            [handle, ctypes.c_char_p, u64, ctypes.c_void_p, ctypes.c_void_p, u64],
        ),
    }
    for name, (result, parameters) in types.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library
