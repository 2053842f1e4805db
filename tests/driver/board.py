"""A board without a board: what PYNQ gives, over a model of the registers.

The fakes are stricter than PYNQ: memory and cache are two things, a channel refuses what an AXI DMA
in direct mode cannot do, and the core takes data only during a sweep.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pezo_hw.config import Config
from pezo_hw.driver.sweep import Sweep
from pezo_hw.golden.schedules import KINDS, OUTPUTS, USED
from pezo_hw.golden.tensors import Tensor
from pezo_hw.registers import Access, RegisterMap
from pezo_hw.registers.description import register_map
from tests.driver.cores import golden

PAGE = 4096


class Buffer:
    """Memory for a DMA, with the processor's cache in front of it."""

    def __init__(self, size: int, address: int):
        self.memory = np.random.default_rng(address).integers(0, 256, size, dtype=np.uint8)
        self.cache = np.random.default_rng(address + 1).integers(0, 256, size, dtype=np.uint8)
        self.physical_address = address
        # Nobody knows what the kernel's zeros have left in the cache.
        self.dirty = True
        self.freed = False

    def __len__(self) -> int:
        return len(self.cache)

    def __getitem__(self, where: slice) -> NDArray[np.uint8]:
        return self.cache[where]

    def __setitem__(self, where: slice, values: NDArray[np.uint8]) -> None:
        self.cache[where] = values
        self.dirty = True

    def flush(self) -> None:
        """Write what the processor changed to memory."""
        if self.dirty:
            self.memory[:] = self.cache
        self.dirty = False

    def invalidate(self) -> None:
        """Read memory anew."""
        self.cache[:] = self.memory
        self.dirty = False

    def freebuffer(self) -> None:
        """Give the memory back."""
        self.freed = True


class Channel:
    """A direction of a DMA in direct mode."""

    def __init__(self, dma: Dma, *, sends: bool):
        self._dma, self._sends = dma, sends
        self.pending: tuple[Buffer, int] | None = None
        self.idle, self.error, self.running = True, False, True
        self.transferred = 0

    def transfer(self, buffer: Buffer, start: int = 0, nbytes: int = 0) -> None:
        """Begin a transfer."""
        assert self.running and self.idle and start == 0
        dma = self._dma
        assert 0 < nbytes <= dma.buffer_max_size, "the length register would cut this off"
        assert buffer.physical_address % dma.beat == 0, "there is no realignment engine"
        assert nbytes <= len(buffer) and len(buffer) % dma.beat == 0
        self.idle, self.pending = False, (buffer, nbytes)
        dma.board.log.append(f"{'send' if self._sends else 'receive'} {dma.name}")
        if self._sends:
            dma.board.core.feed(bytes(buffer.memory[:nbytes]))
        elif dma.board.core.sweep is None:
            dma.board.core.rest()

    def accept(self, data: bytes) -> None:
        """Take what the core sends."""
        assert self.pending is not None, "the core has nowhere to send to"
        buffer, size = self.pending
        assert len(data) <= size
        # A dirty line would be written over this at any time.
        assert not buffer.dirty
        buffer.memory[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.transferred = len(data)
        self.finish()

    def finish(self) -> None:
        """End the transfer."""
        self.idle, self.pending = True, None

    def wait(self) -> None:
        """Clean up behind a transfer; PYNQ's would wait for ever if it has not ended."""
        assert self.idle

    def stop(self) -> None:
        """Stop the channel, and forget its transfer."""
        self.running, self.pending = False, None

    def start(self) -> None:
        """Start it again."""
        self.running = self.idle = True


class Dma:
    """An AXI DMA."""

    def __init__(self, board: Board, name: str, *, beat: int, length_bits: int):
        self.board, self.name, self.beat = board, name, beat
        self.buffer_max_size = (1 << length_bits) - 1
        self.sendchannel = Channel(self, sends=True)
        self.recvchannel = Channel(self, sends=False)


class Core:
    """The registers of a core, with the golden model behind them."""

    def __init__(self, board: Board, config: Config):
        self.board, self.golden = board, golden(config)
        self.registers: RegisterMap = register_map(config, model=self.golden.core.engine)
        self.values = {
            address: register.reset or 0
            for register in self.registers
            for address in register.addresses()
        }
        self.names = {
            address: (register.name, index)
            for register in self.registers
            for index, address in enumerate(register.addresses())
        }
        self.sweep: Sweep | None = None
        self.hangs = False
        # Beats inside, which an aborted sweep must get rid of.
        self.holds = False
        self.ending = (0, 0, 0)

    def read(self, offset: int) -> int:
        """Read a register."""
        name, _ = self.names[offset]
        assert self.registers[name].readable, name
        if name == "STATUS":
            self._end()
        return int(self.values[offset])

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        assert 0 <= value < 1 << 32
        name, _ = self.names[offset]
        register = self.registers[name]
        assert register.writable, name
        if name == "CONTROL":
            self._command(register.unpack(value))
        elif any(field.access is Access.CLEAR for field in register.fields):
            self.values[offset] &= ~value
        else:
            self.values[offset] = value

    def field(self, name: str, field: str, value: int | None = None) -> int:
        """Return a field, after setting it if there is a value."""
        register = self.registers[name]
        word = self.values[register.address()]
        part = register.field(field)
        if value is not None:
            word = word & ~part.mask | part.put(value)
            self.values[register.address()] = word
        return part.get(word)

    def _command(self, command: dict[str, int]) -> None:
        if command["start"]:
            self.golden.start(self.field("START_INDEX", "group"))
        if command["abort"]:
            self.board.log.append("abort")
            self.sweep = None
            if not self.holds:
                self.rest()
        if command["go"]:
            self.board.log.append("go")
            fields = {f.name: self.field("SWEEP", f.name) for f in self.registers["SWEEP"].fields}
            seed = "DITHER_SEED" in self.registers
            self.sweep = Sweep(
                kind=KINDS[fields["kind"]],
                k=fields["k"],
                coefficient=self.field("COEFFICIENT", "c"),
                dither_seed=self.field("DITHER_SEED", "seed") if seed else 0,
                capture=bool(fields["capture"]),
                capture_b=bool(fields.get("capture_b", 0)),
            )
            for name, value in (("sweeping", 1), ("busy", 1), ("done", 0)):
                self.field("STATUS", name, value)

    def rest(self) -> None:
        """End an aborted sweep."""
        self.field("STATUS", "sweeping", 0)
        self.field("STATUS", "busy", 0)

    def feed(self, data: bytes) -> None:
        """Take a packet from a DMA, and send what comes of it."""
        sender = self.board.dmas["weights"].sendchannel
        if self.hangs or self.sweep is None:
            return
        description = self.golden.description
        dtype = f"<i{description.weight_bytes}"
        weights: NDArray[np.int64] = np.frombuffer(data, dtype).astype(np.int64)
        sender.finish()
        beats = description.beats(len(weights))
        count = self.field("TENSOR_COUNT", "tensors") if "TENSOR_COUNT" in self.registers else 0
        self.golden.load_table([self._tensor(index) for index in range(count)])
        assert count or self.field("LENGTH", "beats") == beats
        outcome = self.golden.sweep(self.sweep, weights)
        for name in USED[self.sweep.kind]:
            answer = outcome.outputs[name].astype(dtype).tobytes()
            self.board.dmas[name].recvchannel.accept(answer)
        self.sweep = None
        self.ending = (3, outcome.saturations, beats)

    def _end(self) -> None:
        """Let the counts of a sweep become final, some reads after its last beat has left."""
        left, saturations, beats = self.ending
        self.ending = (left - 1, saturations, beats)
        if left != 1:
            return
        self.field("SATURATIONS", "weights", saturations)
        self.field("INDEX", "beats", beats)
        for name, value in (("sweeping", 0), ("busy", 0), ("done", 1)):
            self.field("STATUS", name, value)

    def _tensor(self, index: int) -> Tensor:
        values = [
            self.values[self.registers[f"TENSOR_{name}"].address(index)]
            for name in ("BEATS", "SETTINGS")
        ]
        return Tensor.of(*values)


class Board:
    """An overlay with a core and its DMAs, and PYNQ's `allocate`."""

    def __init__(self, config: Config, *, length_bits: int = 26):
        self.log: list[str] = []
        self.core = Core(self, config)
        beat = self.core.golden.description.beat_bytes
        self.dmas = {name: Dma(self, name, beat=beat, length_bits=length_bits) for name in OUTPUTS}
        self.buffers: list[Buffer] = []
        self.offset = 0

    def allocate(self, shape: tuple[int, ...], dtype: str) -> Buffer:
        """Return memory at the begin of a page."""
        assert dtype == "u1"
        address = (len(self.buffers) + 1) * 16 * PAGE + self.offset
        self.buffers.append(Buffer(shape[0], address))
        return self.buffers[-1]
