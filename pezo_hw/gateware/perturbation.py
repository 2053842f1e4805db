"""The perturbation core: the engine and the reuse across lanes, as one stream of lane values."""

from amaranth import Module, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.config import Config
from pezo_hw.golden.engine import AnyEngine

from .reuse import Reuse
from .signs import SignedReuse
from .sources import engine_for


class PerturbationCore(wiring.Component):
    """z for P lanes.

    Latency and throughput are the engine's: the lanes are wires, with signs one multiplexer.

    Parameters
    ----------
    config : Config
        A checked configuration.
    model : golden.engine.Engine or golden.seeded.SeededEngine
        Its model.

    Members
    -------
    z : Out(stream.Signature(ArrayLayout(signed(b + max e), P)))
        Scaled lane values of a group. A transfer advances.
    capture, restore, start, start_index, busy
        See `Engine`, or `SeededEngine` for a seeded source.
    """

    def __init__(self, config: Config, *, model: AnyEngine):
        self._model = model
        self._word = signed(model.value_bits)
        super().__init__(
            {
                "z": Out(stream.Signature(data.ArrayLayout(self._word, model.lane_count))),
                "capture": In(1),
                "restore": In(1),
                "start": In(1),
                "start_index": In(model.index_bits),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        model = self._model
        m.submodules.engine = engine = engine_for(model)
        make_reuse = Reuse if model.signs is None else SignedReuse
        m.submodules.reuse = reuse = make_reuse(
            model.lane_count, words=model.words, stride=model.stride, shape=self._word
        )
        if model.signs is not None:
            m.d.comb += [reuse.negated.eq(engine.negated), reuse.negative.eq(engine.negative)]
        m.d.comb += [
            engine.capture.eq(self.capture),
            engine.restore.eq(self.restore),
            engine.start.eq(self.start),
            engine.start_index.eq(self.start_index),
            self.busy.eq(engine.busy),
            reuse.words.eq(engine.z.payload),
            self.z.payload.eq(reuse.lanes),
            self.z.valid.eq(engine.z.valid),
            engine.z.ready.eq(self.z.ready),
        ]
        return m
