"""The step core: weights stream through, the perturbation and the update are applied on the way."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.config import Config
from pezo_hw.golden import dither, schedules
from pezo_hw.golden.engine import AnyEngine
from pezo_hw.golden.step import Arithmetic

from .control import Control, Length, command_signature
from .lanes import Lanes, weights_layout
from .outputs import Fork, Tally
from .reuse import Reuse
from .second import PerturbationPath
from .sources import engine_for
from .tensors import Format, TensorTable, masks
from .words import WordPath
from .zoqo import ZoqoPath


@dataclass(frozen=True)
class _Sequence:
    """Where the settings of the next group come from: the table, or nothing but the length."""

    valid: Value
    last: Value
    payload: Any = None


class StepCore(wiring.Component):
    """theta' = sat(theta + k p - d) on a stream of weights, `lanes` a beat.

    The changes are computed ahead of the weights, so a sweep of B beats takes B clocks plus a
    latency of about 25 clocks when no side stalls, of about 10 without a dither.

    Parameters
    ----------
    config : Config
        A checked configuration of kind ``zo-step``. Its schedule says which outputs there are, and
        whether there is an engine B.
    model : golden.engine.Engine or golden.seeded.SeededEngine
        Its model.

    Members
    -------
    command : Out(command_signature(...))
        Commands and status, see there.
    weights_in : In(stream.Signature(weights_layout(...)))
        Weights; taken only during a sweep, or dropped by a flush. TLAST ends the sweep, if it comes
        before the last beat.
    weights_out : Out(stream.Signature(weights_layout(...)))
        Changed weights, in order, TKEEP as it came, TLAST on the last beat of the sweep.
    plus_out, minus_out : Out(stream.Signature(weights_layout(...)))
        Perturbed weights, likewise. An output that the kind of sweep does not use stays silent.
    """

    def __init__(self, config: Config, *, model: AnyEngine):
        assert config.zo is not None and config.control is not None
        self._model = model
        self._arithmetic = arithmetic = Arithmetic.of(config)
        self._schedule = config.zo.schedule
        self._tensors = config.control.tensors > 0
        self._outputs = schedules.outputs_of(self._schedule)
        path = ZoqoPath if arithmetic.levels else WordPath
        self._word_path = path(model, arithmetic=arithmetic, tensors=self._tensors)
        bits, lanes = arithmetic.weight_bits, model.lane_count
        self._layout = weights_layout(lanes, bits=bits)
        change = self._word_path.change_shape
        self._lane_path = Lanes(lanes, bits=bits, change=change)
        if self._schedule == "inline-both":
            # The change is -p: added, it gives the other sign.
            self._minus_path = Lanes(lanes, bits=bits, change=change, adds=True)
        if self._schedule == "fused":
            self._second = PerturbationPath(
                model,
                arithmetic=arithmetic,
                stages=self._word_path.latency + Lanes.LATENCY,
                tensors=self._tensors,
            )
            shape = self._second.p_shape
            self._plus_path = Lanes(lanes, bits=bits, change=shape, adds=True)
            self._minus_path = Lanes(lanes, bits=bits, change=shape)
        # Only a rounding by chance has a seed to mix.
        self._mixing = 0 if arithmetic.levels else dither.WARM_UP
        self._command = command_signature(
            coefficient_bits=arithmetic.coefficient_bits,
            index_bits=model.index_bits,
            schedule=self._schedule,
            tensors=config.control.tensors,
        )
        weights = stream.Signature(self._layout)
        outputs = {f"{name}_out": Out(weights) for name in self._outputs}
        super().__init__({"command": Out(self._command), "weights_in": In(weights)} | outputs)

    @property
    def sweep_overheads(self) -> Mapping[str, int]:
        """Clocks of a sweep without stalls, from `go` to `done`, that are more than its beats.

        By the kind of sweep.
        """
        # A source that expands a seed may take longer than the control, and without a dither to mix
        # all others and the table do.
        settings = TensorTable.LATENCY if self._tensors else 0
        ready = max(Control.LATENCY + self._mixing, self._model.restore_clocks, settings)
        # Without the 1, the last beat would count twice: as a beat and as the one that drains.
        common = ready + self._word_path.latency + self._lane_path.drain - 1
        tally = int("minus" in self._outputs)
        behind = Lanes.LATENCY if self._schedule == "fused" else 0
        return {
            kind: common + tally + (0 if kind == "in-place" else behind)
            for kind in schedules.OFFERED[self._schedule]
        }

    @property
    def sweep_overhead(self) -> int:
        """The overhead of a sweep in place."""
        return self.sweep_overheads["in-place"]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lane_path = self._lane_path
        sets = [self._lane_path]
        if self._schedule == "fused":
            m.submodules.plus_path = self._plus_path
            sets.append(self._plus_path)
        if "minus" in self._outputs:
            m.submodules.minus_path = self._minus_path
            sets.append(self._minus_path)
        empty, saturated = self._count(m, sets)
        m.submodules.control = control = Control(
            self._command,
            saturated_bits=len(saturated),
            mixing=self._mixing,
            schedule=self._schedule,
        )
        wiring.connect(m, wiring.flipped(self.command), control.command)
        m.d.comb += [control.empty.eq(empty), control.saturated.eq(saturated)]
        self._issue_groups(m, control)
        self._take_beats(m, control)
        if self._schedule == "fused":
            self._fork(m, control)
        else:
            self._route(m, control)
        return m

    def _count(self, m: Module, sets: list[Lanes]) -> tuple[Value, Value]:
        """Return whether nothing is under way in the lanes, and what they limited."""
        if len(sets) == 1:
            return sets[0].empty, sets[0].saturated
        m.submodules.tally = tally = Tally(len(sets[0].saturated), count=len(sets))
        m.d.comb += [
            tally.counts.eq(Cat(lanes.saturated for lanes in sets)),
            tally.busy.eq(~Cat(lanes.empty for lanes in sets).all()),
        ]
        return tally.empty, tally.saturated

    def _issue_groups(self, m: Module, control: Control) -> None:
        """Build the engines and all that is computed once per word."""
        words = self._word_path
        taken = Signal()
        sequence = self._sequence(m, control, taken=taken)
        ways: list[tuple[Any, Any, Value]] = [
            (self._engine(m, "engine", control), words, control.capture)
        ]
        m.submodules.word_path = words
        if self._schedule == "fused":
            engine_b = self._engine(m, "engine_b", control)
            m.submodules.word_path_b = self._second
            ways.append((engine_b, self._second, control.capture_b))
        # All engines step together.
        given = [control.issue, sequence.valid, *(engine.z.valid for engine, _, _ in ways)]
        m.d.comb += taken.eq(Cat(*given, *(path.words.ready for _, path, _ in ways)).all())
        for number, (engine, path, capture) in enumerate(ways):
            others = [way for at, way in enumerate(ways) if at != number]
            ready = [way.words.ready for _, way, _ in others]
            valid = [other.z.valid for other, _, _ in others]
            m.d.comb += [
                path.words.valid.eq(Cat(*given, *ready).all()),
                path.words.payload.eq(engine.z.payload),
                path.clear.eq(control.restore),
                engine.capture.eq(capture & sequence.last),
                engine.z.ready.eq(
                    Cat(control.issue, sequence.valid, path.words.ready, *ready, *valid).all()
                ),
            ]
            if self._tensors and not self._arithmetic.levels:
                self._set_words(m, path, sequence.payload, engine)
        m.d.comb += [
            words.last.eq(sequence.last),
            words.mix.eq(control.mix),
            words.dither_seed.eq(self.command.dither_seed),
            control.source_busy.eq(Cat(engine.busy for engine, _, _ in ways).any()),
            control.issued.eq(taken),
            control.last.eq(sequence.last),
        ]
        live: Value = Const(1)
        if sequence.payload is None:
            m.d.comb += [words.k.eq(control.k), words.coefficient.eq(control.coefficient)]
        else:
            live = sequence.payload.live
            factor = words.coefficient if self._arithmetic.levels else words.factor
            m.d.comb += [words.k.eq(sequence.payload.k), factor.eq(sequence.payload.factor)]
        if self._schedule == "fused":
            # In an inline sweep engine A perturbs alone.
            m.d.comb += self._second.live.eq(live & control.minus)

    def _engine(self, m: Module, name: str, control: Control) -> Any:
        exponents = self._tensors and self._model.live
        engine = engine_for(self._model, shows_exponent=exponents)
        m.submodules[name] = engine
        m.d.comb += [
            engine.restore.eq(control.restore),
            engine.start.eq(control.start),
            engine.start_index.eq(self.command.start_index),
        ]
        return engine

    def _sequence(self, m: Module, control: Control, *, taken: Value) -> _Sequence:
        """Build the table, or what counts the groups without one."""
        command = self.command
        if not self._tensors:
            m.submodules.length = length = Length()
            m.d.comb += [
                length.load.eq(control.restore),
                length.beats.eq(command.beats),
                length.step.eq(taken),
            ]
            return _Sequence(Const(1), length.last)
        arithmetic = self._arithmetic
        form = Format(
            bits=self._model.bits,
            coefficient_bits=arithmetic.coefficient_bits,
            factor=self._word_path.factor_shape,
            fold=self._word_path.fold,
            stronger=not arithmetic.levels,
        )
        m.submodules.tensors = table = TensorTable(form)
        m.d.comb += [
            table.write.eq(command.table_write),
            table.index.eq(command.table_index),
            table.field.eq(command.table_field),
            table.data.eq(command.table_data),
            table.load.eq(control.restore),
            table.count.eq(command.tensor_count),
            table.beats.eq(command.beats),
            table.k.eq(control.k),
            table.coefficient.eq(control.coefficient),
            table.settings.ready.eq(taken),
        ]
        settings = table.settings
        return _Sequence(settings.valid, settings.payload.last, settings.payload)

    def _set_words(self, m: Module, path: Any, settings: Any, engine: Any) -> None:
        """Give a path what a tensor does to its words."""
        model = self._model
        exponent = engine.exponent if model.live else Const(model.max_exponent, 2)
        used, half = masks(settings.dropped, exponent, width=model.value_bits)
        m.d.comb += [
            path.used.eq(used),
            path.half.eq(half),
            path.strength.eq(settings.strength),
        ]

    def _take_beats(self, m: Module, control: Control) -> None:
        """Bring the weights and their changes together."""
        change, weights_in = self._word_path.change, self.weights_in
        m.submodules.reuse = reuse = self._reuse(self._word_path.change_shape)
        # The lanes that take part, and in which sweeps they do.
        front: list[tuple[Lanes, Value]] = [(self._lane_path, Const(1))]
        if self._schedule == "inline-both":
            front.append((self._minus_path, control.minus))
        free = [lanes.weights_in.ready | ~used for lanes, used in front]
        offered = control.run & change.valid
        final, tlast = change.payload.last, weights_in.payload.last
        ready = offered & Cat(free).all()
        m.d.comb += [
            reuse.words.eq(change.payload.values),
            # A beat is taken when its weights and its changes are there.
            change.ready.eq(ready & weights_in.valid),
            weights_in.ready.eq(ready | control.flush),
            control.taken.eq(weights_in.valid & weights_in.ready),
            control.tlast.eq(tlast),
            control.final.eq(final),
        ]
        for number, (lanes, used) in enumerate(front):
            others = [value for at, value in enumerate(free) if at != number]
            m.d.comb += [
                lanes.change.eq(reuse.lanes),
                lanes.weights_in.valid.eq(Cat(offered, weights_in.valid, used, *others).all()),
                lanes.weights_in.payload.data.eq(weights_in.payload.data),
                lanes.weights_in.payload.keep.eq(weights_in.payload.keep),
                lanes.weights_in.payload.last.eq(final | tlast),
            ]

    def _reuse(self, shape: Any) -> Reuse:
        model = self._model
        return Reuse(model.lane_count, words=model.words, stride=model.stride, shape=shape)

    def _route(self, m: Module, control: Control) -> None:
        """Let the lanes answer on the output that the kind of sweep uses."""
        given = self._lane_path.weights_out
        if self._schedule == "in-place":
            wiring.connect(m, given, wiring.flipped(self.weights_out))
            return
        m.d.comb += given.ready.eq(Mux(control.plus, self.plus_out.ready, self.weights_out.ready))
        for output, used in ((self.weights_out, ~control.plus), (self.plus_out, control.plus)):
            m.d.comb += [
                output.valid.eq(given.valid & used),
                output.payload.eq(given.payload),
            ]
        if self._schedule == "inline-both":
            wiring.connect(m, self._minus_path.weights_out, wiring.flipped(self.minus_out))

    def _fork(self, m: Module, control: Control) -> None:
        """Give the new weights back, and perturb them once more in both directions."""
        m.submodules.fork = fork = Fork(self._layout, count=3)
        m.submodules.reuse_b = reuse = self._reuse(self._second.p_shape)
        given, p = self._lane_path.weights_out, self._second.p
        wiring.connect(m, fork.branch_0, wiring.flipped(self.weights_out))
        m.d.comb += [
            reuse.words.eq(p.payload),
            # Every beat uses up a group of engine B, whatever the kind of sweep.
            fork.beats.valid.eq(given.valid & p.valid),
            fork.beats.payload.eq(given.payload),
            fork.used.eq(Cat(control.weights, control.plus, control.minus)),
            given.ready.eq(fork.beats.ready & p.valid),
            p.ready.eq(fork.beats.ready & given.valid),
        ]
        for lanes, branch, output in (
            (self._plus_path, fork.branch_1, self.plus_out),
            (self._minus_path, fork.branch_2, self.minus_out),
        ):
            wiring.connect(m, branch, lanes.weights_in)
            wiring.connect(m, lanes.weights_out, wiring.flipped(output))
            m.d.comb += lanes.change.eq(reuse.lanes)
