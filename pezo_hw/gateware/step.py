"""The step core: weights stream through, the perturbation and the update are applied on the way."""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.config import Config
from pezo_hw.golden.engine import AnyEngine
from pezo_hw.golden.step import Arithmetic

from .control import Control, command_signature
from .lanes import Lanes, weights_layout
from .reuse import Reuse
from .sources import engine_for
from .words import WordPath


class StepCore(wiring.Component):
    """theta' = sat(theta + k p - d) on a stream of weights, `lanes` a beat.

    The changes are computed ahead of the weights, so a sweep of B beats takes B clocks plus a
    latency of about 25 clocks when neither side stalls.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``.
    model : golden.engine.Engine or golden.seeded.SeededEngine
        Its model.

    Members
    -------
    command : Out(command_signature(...))
        Commands and status, see there.
    weights_in : In(stream.Signature(weights_layout(...)))
        Weights; taken only during a sweep. TLAST ends the sweep, if it comes before the last beat.
    weights_out : Out(stream.Signature(weights_layout(...)))
        Changed weights, in order, TKEEP as it came, TLAST on the last beat of the sweep.
    """

    def __init__(self, config: Config, *, model: AnyEngine):
        self._model = model
        self._arithmetic = Arithmetic.of(config)
        bits = self._arithmetic.weight_bits
        self._layout = weights_layout(model.lane_count, bits=bits)
        self._word_path = WordPath(model, arithmetic=self._arithmetic)
        self._lane_path = Lanes(model.lane_count, bits=bits, change=self._word_path.change_shape)
        self._command = command_signature(
            coefficient_bits=self._arithmetic.coefficient_bits,
            index_bits=model.index_bits,
        )
        super().__init__(
            {
                "command": Out(self._command),
                "weights_in": In(stream.Signature(self._layout)),
                "weights_out": Out(stream.Signature(self._layout)),
            }
        )

    @property
    def sweep_overhead(self) -> int:
        """Clocks of a sweep without stalls, from `go` to `done`, that are more than its beats."""
        # A source that expands a seed may take longer than the control.
        ready = max(Control.LATENCY, self._model.restore_clocks)
        # Without the 1, the last beat would count twice: as a beat and as the one that drains.
        return ready + self._word_path.latency + self._lane_path.drain - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        model = self._model
        m.submodules.engine = engine = engine_for(model)
        m.submodules.word_path = words = self._word_path
        m.submodules.reuse = reuse = Reuse(
            model.lane_count, words=model.words, stride=model.stride, shape=words.change_shape
        )
        m.submodules.lane_path = lanes = self._lane_path
        m.submodules.control = control = Control(self._command, saturated_bits=len(lanes.saturated))
        wiring.connect(m, wiring.flipped(self.command), control.command)

        group_taken = control.issue & engine.z.valid & words.words.ready
        change = words.change
        weights_in, lanes_in = self.weights_in, lanes.weights_in
        offered = control.run & change.valid
        beat_taken = offered & weights_in.valid & lanes_in.ready
        ends = change.payload.last | weights_in.payload.last
        m.d.comb += [
            engine.restore.eq(control.restore),
            engine.start.eq(control.start),
            engine.start_index.eq(self.command.start_index),
            engine.capture.eq(control.capture & control.last),
            engine.z.ready.eq(control.issue & words.words.ready),
            words.words.valid.eq(control.issue & engine.z.valid),
            words.words.payload.eq(engine.z.payload),
            words.last.eq(control.last),
            words.clear.eq(control.restore),
            words.mix.eq(control.mix),
            words.k.eq(control.k),
            words.coefficient.eq(control.coefficient),
            words.dither_seed.eq(self.command.dither_seed),
            reuse.words.eq(change.payload.values),
            lanes.change.eq(reuse.lanes),
            # A beat is taken when its weights and its changes are there.
            change.ready.eq(beat_taken),
            weights_in.ready.eq(offered & lanes_in.ready),
            lanes_in.valid.eq(offered & weights_in.valid),
            lanes_in.payload.data.eq(weights_in.payload.data),
            lanes_in.payload.keep.eq(weights_in.payload.keep),
            lanes_in.payload.last.eq(ends),
            control.source_busy.eq(engine.busy),
            control.issued.eq(group_taken),
            control.ended.eq(beat_taken & ends),
            control.mismatch.eq(change.payload.last ^ weights_in.payload.last),
            control.empty.eq(lanes.empty),
            control.saturated.eq(lanes.saturated),
        ]
        wiring.connect(m, lanes.weights_out, wiring.flipped(self.weights_out))
        return m
