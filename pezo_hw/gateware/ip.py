"""The step core behind AXI4-Lite registers, with an interrupt."""

from collections.abc import Mapping

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.config import Config
from pezo_hw.golden.engine import AnyEngine
from pezo_hw.registers.description import register_map

from .axi_lite import axi_lite_signature
from .step import StepCore
from .step_registers import StepRegisters


class StepIp(wiring.Component):
    """A `StepCore` that a processor commands through AXI4-Lite registers.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``.
    model : golden.engine.Engine or golden.seeded.SeededEngine
        Its model.

    Members
    -------
    s_axi : In(axi_lite_signature())
        The registers, which `registers` describes.
    irq : Out(1)
        The interrupt.
    weights_in, weights_out, ... :
        Streams, as the `StepCore` has them.
    """

    def __init__(self, config: Config, *, model: AnyEngine):
        self._core = core = StepCore(config, model=model)
        self.registers = register_map(config, model=model)
        schedule = self.registers["CAPS1"].field("schedule").reset
        tensors = self.registers["CAPS1"].field("tensors").reset
        assert schedule is not None and tensors is not None
        command = core.signature.members["command"].signature
        # What the core does not have is not offered.
        self._parts = StepRegisters(
            self.registers,
            command=command,
            kinds=schedule + 1 if "kind" in command.members else 1,
            tensors=tensors if "table_write" in command.members else 0,
        )
        super().__init__(
            {
                "s_axi": In(axi_lite_signature()),
                "irq": Out(1),
                **{
                    name: member
                    for name, member in core.signature.members.items()
                    if name != "command"
                },
            }
        )

    @property
    def sweep_overhead(self) -> int:
        """Clocks of a sweep without stalls, from the core's `go` to `done`, beside its beats."""
        return self._core.sweep_overhead

    @property
    def sweep_overheads(self) -> Mapping[str, int]:
        """The same by the kind of sweep."""
        return self._core.sweep_overheads

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = self._parts
        m.submodules.core = core = self._core
        wiring.connect(m, wiring.flipped(self.s_axi), registers.axi)
        wiring.connect(m, registers.command, core.command)
        for name, member in core.signature.members.items():
            if name != "command":
                assert isinstance(member.signature, stream.Signature)
                outer, inner = wiring.flipped(getattr(self, name)), getattr(core, name)
                if member.flow is In:
                    wiring.connect(m, outer, inner)
                else:
                    wiring.connect(m, inner, outer)
        weights_in = core.weights_in
        m.d.comb += [
            registers.flushed.eq(
                weights_in.valid
                & weights_in.ready
                & weights_in.payload.last
                & ~core.command.sweeping
            ),
            self.irq.eq(registers.irq),
        ]
        return m
