"""The registers that command a step core."""

from typing import Any

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.registers import RegisterMap

from .axi_lite import AxiLiteSlave, axi_lite_signature
from .registers import RegisterBlock

# Commands and where in the registers their values stand.
_COMMANDS = {
    "kind": ("SWEEP", "kind"),
    "k": ("SWEEP", "k"),
    "capture": ("SWEEP", "capture"),
    "capture_b": ("SWEEP", "capture_b"),
    "beats": ("LENGTH", "beats"),
    "start_index": ("START_INDEX", "group"),
    "coefficient": ("COEFFICIENT", "c"),
    "dither_seed": ("DITHER_SEED", "seed"),
    "flush": ("CONTROL", "flush"),
    "tensor_count": ("TENSOR_COUNT", "tensors"),
}
# Error causes that come with the end of a sweep.
_ENDS = ("tlast_early", "tlast_late", "aborted")


class StepRegisters(wiring.Component):
    """Registers that command a step core.

    A command acts 2 clocks after its write. What cannot begin changes nothing but ERROR.

    Parameters
    ----------
    registers : registers.RegisterMap
        What there is.
    command : wiring.Signature
        The core's, of `command_signature`.
    kinds : int
        Kinds of sweep that the core has: 0 to kinds - 1.
    tensors : int
        Entries of the core's tensor table.

    Members
    -------
    axi : In(axi_lite_signature())
        From the processor.
    command : In(command)
        To the core.
    flushed : In(1)
        A beat with TLAST has been dropped.
    irq : Out(1)
        High while a bit of IRQ_STATUS is set that IRQ_ENABLE lets through.
    """

    def __init__(
        self, registers: RegisterMap, *, command: wiring.Signature, kinds: int, tensors: int
    ):
        self._map, self._kinds, self._tensors = registers, kinds, tensors
        super().__init__(
            {
                "axi": In(axi_lite_signature()),
                "command": In(command),
                "flushed": In(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slave = slave = AxiLiteSlave()
        m.submodules.block = block = RegisterBlock(self._map)
        wiring.connect(m, wiring.flipped(self.axi), slave.axi)
        wiring.connect(m, slave.bus, block.bus)
        registers: Any = block
        command = self.command

        for name, (register, field) in _COMMANDS.items():
            if hasattr(command, name) and register in self._map:
                m.d.comb += getattr(command, name).eq(getattr(getattr(block, register), field))

        # Whether the sweep that the registers describe can begin, a clock late: none of them
        # changes in the clock before a command acts.
        no_length, no_kind = self._faults(m, registers)
        asked = {}
        for name in ("go", "start", "abort"):
            asked[name] = Signal(name=f"asked_{name}")
            m.d.sync += asked[name].eq(getattr(registers.CONTROL, name))
        go, start, abort = asked["go"], asked["start"], asked["abort"]
        refused = ((go | start) & (command.busy | abort)) | (go & start)
        tried = go & ~start & ~abort & ~command.busy
        m.d.comb += [
            command.go.eq(tried & ~no_length & ~no_kind),
            command.start.eq(start & ~go & ~abort & ~command.busy),
            command.abort.eq(abort),
            registers.CONTROL.flush_clear.eq(self.flushed),
            registers.START_INDEX.lock.eq(command.busy & ~command.sweeping),
        ]

        done = Signal()
        with m.If(command.go):
            m.d.sync += done.eq(0)
        with m.Elif(command.done):
            m.d.sync += done.eq(1)
        m.d.comb += [
            registers.STATUS.busy.eq(command.busy),
            registers.STATUS.done.eq(done),
            registers.STATUS.sweeping.eq(command.sweeping),
            registers.STATUS.walking.eq(command.busy & ~command.sweeping & ~command.flush),
            registers.INDEX.beats.eq(command.beats_done),
            registers.SATURATIONS.weights.eq(command.saturations),
        ]

        causes = {
            "length_zero": tried & no_length,
            "kind_unsupported": tried & no_kind,
            "start_while_busy": refused | registers.START_INDEX.refused,
            "table_while_busy": Const(0),
            **{name: command.done & getattr(command, name) for name in _ENDS},
        }
        if self._tensors:
            no_beats, causes["table_while_busy"] = self._table(m, registers)
            causes["length_zero"] |= no_beats
        for name, cause in causes.items():
            m.d.comb += getattr(registers.ERROR, name).eq(cause)
        status = registers.IRQ_STATUS
        m.d.comb += [status.done.eq(command.done), status.error.eq(_any(causes.values()))]
        enabled = registers.IRQ_ENABLE
        m.d.sync += self.irq.eq((status.held[0] & enabled.done) | (status.held[1] & enabled.error))
        return m

    def _faults(self, m: Module, registers: Any) -> tuple[Signal, Signal]:
        no_length = Signal()
        no_kind = Signal()
        empty: Value = registers.LENGTH.beats == 0
        if self._tensors:
            count = registers.TENSOR_COUNT.tensors
            empty = Mux(count == 0, empty, count > self._tensors)
        sweep = registers.SWEEP
        m.d.sync += [
            no_length.eq(empty),
            no_kind.eq((sweep.kind >= self._kinds) | (sweep.k > 2) | (sweep.k < -2)),
        ]
        return no_length, no_kind

    def _table(self, m: Module, registers: Any) -> tuple[Value, Value]:
        """Connect the table, and return whether a write to it has 0 beats or comes in a sweep.

        Either is refused.
        """
        command, beats, settings = self.command, registers.TENSOR_BEATS, registers.TENSOR_SETTINGS
        write = beats.write | settings.write
        no_beats = Signal()
        m.d.comb += [
            no_beats.eq(beats.write & ~beats.data.any()),
            command.table_write.eq(write & ~command.sweeping & ~no_beats),
            command.table_index.eq(settings.index),
            command.table_field.eq(settings.write),
            command.table_data.eq(settings.data),
        ]
        return no_beats, write & command.sweeping


def _any(conditions: Any) -> Value:
    result: Value = Const(0)
    for condition in conditions:
        result |= condition
    return result
