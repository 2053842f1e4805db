"""The streams of the step core's other schedules, of its fork and of its tensor table."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.gateware.outputs import Fork
from pezo_hw.gateware.second import PerturbationPath
from pezo_hw.gateware.step import StepCore
from pezo_hw.gateware.tensors import Format, TensorTable
from pezo_hw.gateware.words import WordPath
from pezo_hw.golden import dither
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.step import Arithmetic
from tests.formal.sby import Opened, Proof
from tests.formal.step_streams import add, configured, describe, free

BRANCHES = 3


def _describe_fork(proof: Proof, name: str, fork: Any) -> list[Signal]:
    """Claim that each branch in use gets every beat once, in order, and none waits for another.

    Return for each branch whether it has had its copy of the beat that is offered.
    """
    copies = []
    beats, used = fork.beats, fork.used
    branches = [getattr(fork, f"branch_{i}") for i in range(BRANCHES)]
    proof.free(beats.valid, beats.payload, used, *(branch.ready for branch in branches))
    waits = proof.past(beats.valid & ~beats.ready) & ~proof.was_reset
    proof.assume(~waits | (beats.valid & (beats.payload == proof.past(beats.payload))))
    proof.assume(~waits | (used == proof.past(used)))
    for i, branch in enumerate(branches):
        proof.stable(f"{name}_{i}", branch)
        taken = branch.valid & branch.ready
        had = Signal(name=f"{name}_had_{i}")
        with proof.m.If(beats.valid):
            proof.m.d.sync += had.eq((had | taken) & ~beats.ready)
        proof.always(f"{name}_{i}_once", ~(had & branch.valid))
        proof.always(f"{name}_{i}_all", ~beats.valid | ~beats.ready | ~used[i] | had | taken)
        proof.always(f"{name}_{i}_silent", ~branch.valid | (beats.valid & used[i]))
        proof.always(f"{name}_{i}_payload", ~branch.valid | (branch.payload == beats.payload))
        # Offered at once, whatever the others do.
        proof.always(f"{name}_{i}_offered", ~(beats.valid & used[i] & ~had) | branch.valid)
        proof.always(f"{name}_{i}_before", beats.valid | ~had)
        copies.append(had)
    return copies


def test_the_fork_gives_every_beat_once() -> None:
    proof = Proof()
    fork = Fork(4, count=BRANCHES)
    inside = Opened(fork)
    proof.m.submodules.fork = inside.fragment
    copies = _describe_fork(proof, "fork", fork)
    # What the induction needs: a branch in use is served when it has had its copy.
    proof.always("served", fork.beats.valid | ~inside["served"].any())
    for i, had in enumerate(copies):
        served = inside["served"][i] & fork.used[i]
        proof.always(f"served_{i}", ~fork.beats.valid | (served == (had & fork.used[i])))
        proof.always(f"unused_{i}", fork.used[i] | ~had | ~fork.beats.valid)
    proof.prove(depth=2)


class _Lockstep(wiring.Component):
    """Offers a beat to a branch only while all others would take it."""

    def __init__(self) -> None:
        beats = stream.Signature(4)
        branches = {f"branch_{i}": Out(beats) for i in range(BRANCHES)}
        super().__init__({"beats": In(beats), "used": In(BRANCHES)} | branches)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        branches = [getattr(self, f"branch_{i}") for i in range(BRANCHES)]
        free = [branch.ready | ~self.used[i] for i, branch in enumerate(branches)]
        m.d.comb += self.beats.ready.eq(_all(free))
        for i, branch in enumerate(branches):
            others = [value for at, value in enumerate(free) if at != i]
            m.d.comb += [
                branch.valid.eq(self.beats.valid & self.used[i] & _all(others)),
                branch.payload.eq(self.beats.payload),
            ]
        return m


class _Twice(_Lockstep):
    """Gives a branch its beat again while another has not taken it."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        branches = [getattr(self, f"branch_{i}") for i in range(BRANCHES)]
        m.d.comb += self.beats.ready.eq(
            _all([branch.ready | ~self.used[i] for i, branch in enumerate(branches)])
        )
        for i, branch in enumerate(branches):
            m.d.comb += [
                branch.valid.eq(self.beats.valid & self.used[i]),
                branch.payload.eq(self.beats.payload),
            ]
        return m


def _all(values: list[Value]) -> Value:
    result = values[0]
    for value in values[1:]:
        result = result & value
    return result


def test_broken_forks_are_caught() -> None:
    mutants = {
        "lockstep": (_Lockstep, ("0_valid_kept", "1_offered")),
        "twice": (_Twice, ("0_once",)),
    }
    hunt = {f"{name}_{claim}" for name, (_, claims) in mutants.items() for claim in claims}
    proof = Proof(hunt=hunt)
    for name, (mutant, _) in mutants.items():
        fork = mutant()
        proof.m.submodules[name] = fork
        _describe_fork(proof, name, fork)
    proof.cover(depth=4)


def _settings(proof: Proof, path: Any) -> None:
    proof.free(path.strength, path.used, path.half)


def test_the_paths_with_settings_wait_for_ready() -> None:
    proof = Proof()
    given = configured(frac=4, tensors=4)
    model, arithmetic = Engine(given), Arithmetic.of(given)
    words = WordPath(model, arithmetic=arithmetic, tensors=True)
    proof.free(words.words.valid, words.words.payload, words.last, words.change.ready)
    proof.free(words.clear, words.mix, words.k, words.factor, words.dither_seed)
    _settings(proof, words)
    proof.m.submodules.words = words
    proof.stable("words", words.change, dropped=words.clear)

    second = PerturbationPath(model, arithmetic=arithmetic, stages=6, tensors=True)
    proof.free(second.words.valid, second.words.payload, second.p.ready, second.clear, second.live)
    _settings(proof, second)
    proof.m.submodules.second = second
    proof.stable("second", second.p, dropped=second.clear)

    table = TensorTable(
        Format(
            bits=model.bits,
            coefficient_bits=arithmetic.coefficient_bits,
            factor=words.factor_shape,
            fold=words.fold,
            stronger=True,
        )
    )
    proof.free(table.write, table.index, table.field, table.data, table.load, table.count)
    proof.free(table.beats, table.k, table.coefficient, table.settings.ready)
    proof.m.submodules.table = table
    proof.stable("table", table.settings, dropped=table.load)
    proof.prove(depth=2)


@pytest.mark.parametrize("schedule", ["inline", "inline-both", "fused"])
def test_outputs_wait_for_ready(schedule: str) -> None:
    proof = Proof()
    add(proof, "core", configured(frac=4, schedule=schedule))
    proof.prove(depth=2)


class _Mixed(wiring.Component):
    """A fused core whose outputs wait for each other."""

    def __init__(self) -> None:
        given = configured(frac=6, schedule="fused")
        self._inner = StepCore(given, model=Engine(given))
        super().__init__(self._inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        wiring.connect(m, inner, wiring.flipped(self))
        m.d.comb += [
            self.plus_out.valid.eq(inner.plus_out.valid & self.minus_out.ready),
            inner.plus_out.ready.eq(self.plus_out.ready & self.minus_out.ready),
        ]
        return m


def test_outputs_that_wait_for_each_other_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dither, "WARM_UP", 2)
    proof = Proof(hunt={"mixed_plus_out_valid_kept"})
    core: Any = _Mixed()
    proof.m.submodules.mixed = core
    describe(proof, "mixed", core)
    command = core.command
    proof.assume((command.beats == 2) & (command.coefficient == 0) & ~command.start)
    proof.assume((command.kind == 3) & ~command.abort & ~command.flush)
    proof.cover(depth=18)


def test_a_fused_sweep_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dither, "WARM_UP", 2)
    proof = Proof()
    given = configured(frac=6, schedule="fused")
    core: Any = StepCore(given, model=Engine(given))
    proof.m.submodules.core = core
    free(proof, core)
    command = core.command
    proof.assume((command.beats == 1) & (command.coefficient == 0) & ~command.start)
    proof.assume(~command.flush)
    outputs = (core.weights_out, core.plus_out, core.minus_out)
    came = [Signal(name=f"came_{i}") for i in range(len(outputs))]
    for flag, output in zip(came, outputs, strict=True):
        with proof.m.If(output.valid & output.ready & output.payload.last):
            proof.m.d.sync += flag.eq(1)
    proof.reach("all", command.done & _all(list(came)) & ~command.aborted)
    proof.reach("inline", command.done & came[1] & ~came[0] & ~came[2] & ~command.aborted)
    proof.reach("aborted", command.done & command.aborted & (command.beats_done == 0))
    proof.cover(depth=20)
