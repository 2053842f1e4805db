"""A core on a board under PYNQ: registers by MMIO, streams by AXI DMA in direct mode.

Nothing of ``pynq`` is imported before `open_board` is called. PYNQ 2.6 or newer is needed, whose
``transfer`` takes a number of bytes.

What the board design must give: the core's streams at the full width of the DMA's
(``c_m_axis_mm2s_tdata_width`` and ``c_s_axis_s2mm_tdata_width`` are the core's beat), and a length
register (``c_sg_length_width``) that holds the bytes of all weights. A sweep is one transfer, as
TLAST ends a sweep and each transfer ends with TLAST. No unaligned transfers are asked for, so the
data realignment engine can stay out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pezo_hw.errors import PezoError
from pezo_hw.registers import RegisterMap

from .registers import RegisterBackend
from .sweep import Description

MANIFEST = "pezo.json"
# Seconds for the beats inside a core, some dozens, to leave.
_DRAIN = 0.002


class PynqBus:
    """Registers and streams of a core on a board; see `registers.Bus`.

    Parameters
    ----------
    core : object
        With PYNQ's ``read(offset)`` and ``write(offset, value)``: an IP of an overlay, or an MMIO.
    dmas : mapping of str to object
        PYNQ's DMA of each output: "weights", whose ``sendchannel`` also feeds the core, and as the
        schedule needs them "plus" and "minus".
    allocate : callable
        ``pynq.allocate``.
    timeout : float
        Seconds that a transfer may take.
    """

    def __init__(
        self,
        core: Any,
        *,
        dmas: Mapping[str, Any],
        allocate: Callable[..., Any],
        timeout: float = 10.0,
    ):
        self._core, self._dmas, self._allocate = core, dict(dmas), allocate
        self._timeout = timeout
        self._buffers: dict[str, Any] = {}

    def read(self, address: int) -> int:
        """See `Bus`."""
        return int(self._core.read(address))

    def write(self, address: int, value: int) -> None:
        """See `Bus`."""
        self._core.write(address, value)

    def stream(self, data: bytes, *, outputs: Sequence[str], beat: int) -> dict[str, bytes]:
        """See `Bus`."""
        size = len(data)
        missing = [name for name in ("weights", *outputs) if name not in self._dmas]
        if missing:
            raise PezoError(f"a DMA must be given for the output {missing[0]}, but there is none")
        sender = self._dmas["weights"].sendchannel
        receivers = {name: self._dmas[name].recvchannel for name in outputs}
        for name in dict.fromkeys(("weights", *outputs)):
            self._check_size(name, size)
        source = self._buffer("send", size, beat=beat)
        source[:size] = np.frombuffer(data, dtype=np.uint8)
        # What the processor has written must be in memory before the DMA reads it.
        source.flush()
        places = {name: self._buffer(name, size, beat=beat) for name in outputs}
        try:
            for name, channel in receivers.items():
                # No dirty line may be written over what the DMA brings.
                places[name].flush()
                # Before the sender: the core's first beats must have somewhere to go.
                channel.transfer(places[name], 0, size)
            sender.transfer(source, 0, size)
            limit = time.monotonic() + self._timeout
            self._wait("the sender", sender, limit)
            for name, channel in receivers.items():
                self._wait(f"the receiver of {name}", channel, limit)
        except BaseException:
            for channel in (sender, *receivers.values()):
                # A transfer that is left would take the data of the next one.
                _reset(channel)
            raise
        result = {}
        for name, channel in receivers.items():
            came = getattr(channel, "transferred", size)
            if came != size:
                raise PezoError(f"the receiver of {name} must get {size} bytes, not {came}")
            # What the processor may have read ahead is old.
            places[name].invalidate()
            result[name] = places[name][:size].tobytes()
        return result

    def drain(self) -> None:
        """See `registers.Draining`."""
        if "weights" in self._dmas:
            _reset(self._dmas["weights"].sendchannel)
        armed = []
        for name, dma in self._dmas.items():
            channel, buffer = dma.recvchannel, self._buffers.get(name)
            _reset(channel)
            if buffer is not None:
                # The beats inside the core can leave only to a receiver.
                most = getattr(dma, "buffer_max_size", None) or len(buffer)
                channel.transfer(buffer, 0, min(len(buffer), most))
                armed.append(channel)
        if armed:
            time.sleep(_DRAIN)
        for channel in armed:
            _reset(channel)

    def close(self) -> None:
        """See `Bus`."""
        for buffer in self._buffers.values():
            free = getattr(buffer, "freebuffer", None)
            if free is not None:
                free()
        self._buffers.clear()

    def _buffer(self, name: str, size: int, *, beat: int) -> Any:
        """Return memory of whole beats for a DMA, the same for each sweep."""
        padded = -(-size // beat) * beat
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < padded:
            buffer = self._allocate(shape=(padded,), dtype="u1")
            if buffer.physical_address % beat:
                raise PezoError(
                    f"memory for the DMA must begin at a multiple of {beat} bytes, not at "
                    f"{buffer.physical_address:#x}"
                )
            self._buffers[name] = buffer
        return buffer

    def _check_size(self, name: str, size: int) -> None:
        most = getattr(self._dmas[name], "buffer_max_size", None)
        if most is not None and size > most:
            raise PezoError(
                f"the DMA of {name} must be able to transfer {size} bytes at once, but its length "
                f"register ends at {most}; set c_sg_length_width of the AXI DMA to "
                f"{size.bit_length()}"
            )

    @staticmethod
    def _wait(what: str, channel: Any, limit: float) -> None:
        # Not channel.wait() alone, which never gives up.
        while not channel.idle:
            if getattr(channel, "error", False):
                raise PezoError(f"{what} must transfer without an error, but reports one")
            if time.monotonic() > limit:
                raise PezoError(f"{what} must be done in time, but still waits")
        channel.wait()


def _reset(channel: Any) -> None:
    """Let a channel forget its transfer."""
    channel.stop()
    channel.start()


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PezoError(
            f"{folder} must be a folder written by `pezo generate`, but reading its {MANIFEST} "
            f"gives {type(error).__name__}"
        ) from None
    return manifest


def open_board(
    overlay: Any,
    folder: Path | str,
    *,
    core: str,
    dmas: Mapping[str, str],
    timeout: float = 10.0,
) -> RegisterBackend:
    """Return the backend of a core in an overlay.

    Parameters
    ----------
    overlay : pynq.Overlay or str
        An overlay that is loaded, or the name of a bitstream.
    folder : Path or str
        The generated folder of the core, of which only the manifest is read.
    core : str
        Name of the core's IP in the block design.
    dmas : mapping of str to str
        Names of the AXI DMAs by output: "weights", "plus", "minus".
    timeout : float
        Seconds that a sweep may take.

    Raises
    ------
    PezoError
        If PYNQ is not installed, or the overlay holds no such core.
    """
    try:
        import pynq
    except ModuleNotFoundError:
        raise PezoError(
            "the package pynq must be installed to drive a board, but is missing; run this on the "
            "board, in PYNQ's environment"
        ) from None
    if isinstance(overlay, str):
        overlay = pynq.Overlay(overlay)
    manifest = _manifest(Path(folder))
    found = {}
    for name in (core, *dmas.values()):
        try:
            found[name] = getattr(overlay, name)
        except AttributeError:
            raise PezoError(f"the overlay must hold an IP named {name}, but has none") from None
    bus = PynqBus(
        found[core],
        dmas={output: found[name] for output, name in dmas.items()},
        allocate=pynq.allocate,
        timeout=timeout,
    )
    return RegisterBackend(
        bus,
        registers=RegisterMap.from_json(manifest["registers"]),
        description=Description.from_manifest(manifest),
        timeout=timeout,
    )
