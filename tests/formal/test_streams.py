"""The step core's streams keep valid and payload until ready, and end as they should."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring

from pezo_hw import config
from pezo_hw.gateware.step import StepCore
from pezo_hw.gateware.words import WordPath
from pezo_hw.golden import dither
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.step import Arithmetic
from tests.formal.sby import Proof
from tests.formal.step_streams import add, configured, describe, free

EXACT, ROUNDED = configured(frac=6), configured(frac=4)


def _add_word_path(proof: Proof, name: str, given: config.Config, *, exact: bool) -> None:
    component = WordPath(Engine(given), arithmetic=Arithmetic.of(given))
    assert component.exact == exact
    proof.free(component.words.valid, component.words.payload, component.last)
    proof.free(component.change.ready, component.clear, component.mix)
    proof.free(component.k, component.coefficient, component.dither_seed)
    proof.m.submodules[name] = component
    proof.stable(name, component.change, dropped=component.clear)


def test_streams_wait_for_ready() -> None:
    proof = Proof()
    _add_word_path(proof, "exact", EXACT, exact=True)
    _add_word_path(proof, "rounded", ROUNDED, exact=False)
    add(proof, "core", EXACT)
    proof.prove(depth=2)


class _Faulty(wiring.Component):
    """A step core with a fault at its ports."""

    def __init__(self, given: config.Config):
        self._inner = StepCore(given, model=Engine(given))
        super().__init__(self._inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        wiring.connect(m, inner, wiring.flipped(self))
        self.spoil(m, inner)
        return m

    def spoil(self, m: Module, inner: Any) -> None:
        """Change the connections."""


class _Impatient(_Faulty):
    """Shows the next beat while the last one waits."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += inner.weights_out.ready.eq(1)


class _LooseLast(_Faulty):
    """TLAST is not kept with its beat."""

    def spoil(self, m: Module, inner: Any) -> None:
        waited = Signal()
        m.d.sync += waited.eq(self.weights_out.valid & ~self.weights_out.ready)
        m.d.comb += self.weights_out.payload.last.eq(inner.weights_out.payload.last & ~waited)


class _Greedy(_Faulty):
    """Takes weights while it waits for a sweep."""

    def spoil(self, m: Module, inner: Any) -> None:
        m.d.comb += self.weights_in.ready.eq(inner.weights_in.ready | ~inner.command.busy)


class _Early(_Faulty):
    """Says that it is done with the last beat still inside."""

    def spoil(self, m: Module, inner: Any) -> None:
        payload = inner.weights_out.payload
        m.d.comb += self.command.done.eq(inner.weights_out.valid & payload.last)


@pytest.fixture
def short_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a sweep begin after a few clocks: what is searched for then is found much sooner."""
    monkeypatch.setattr(dither, "WARM_UP", 2)


def _search(proof: Proof, core: Any) -> None:
    """Leave fewer choices to a search: sweeps of two beats that perturb."""
    command = core.command
    proof.assume((command.beats == 2) & (command.coefficient == 0) & ~command.start)


@pytest.mark.usefixtures("short_warm_up")
def test_broken_streams_are_caught() -> None:
    mutants = {
        "impatient": (_Impatient, "payload_kept"),
        "loose_last": (_LooseLast, "payload_kept"),
        "greedy": (_Greedy, "idle"),
        "early": (_Early, "drained"),
    }
    proof = Proof(hunt={f"{name}_{claim}" for name, (_, claim) in mutants.items()})
    for name, (mutant, _) in mutants.items():
        core = mutant(EXACT)
        proof.m.submodules[name] = core
        describe(proof, name, core)
        _search(proof, core)
    proof.cover(depth=14)


@pytest.mark.usefixtures("short_warm_up")
def test_a_sweep_ends() -> None:
    proof = Proof()
    core = StepCore(EXACT, model=Engine(EXACT))
    proof.m.submodules.core = core
    free(proof, core)
    _search(proof, core)
    command = core.command
    leaves = core.weights_out.valid & core.weights_out.ready
    beats = Signal(2)
    with proof.m.If(leaves):
        proof.m.d.sync += beats.eq(beats + 1)
    proof.reach("last_beat", leaves & core.weights_out.payload.last & (beats == 1))
    proof.reach("done", command.done & (beats == 2) & ~command.tlast_early)
    proof.reach("limited", command.done & (command.saturations == 4))
    proof.reach("tlast_early", command.done & command.tlast_early & (beats == 1))
    proof.cover(depth=18)
