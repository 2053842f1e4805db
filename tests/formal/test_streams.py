"""The step core's streams keep valid and payload until ready, and end as they should."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth import Cat, Module, Signal
from amaranth.lib import wiring

from pezo_hw import config
from pezo_hw.gateware.step import StepCore
from pezo_hw.gateware.words import WordPath
from pezo_hw.golden import dither
from pezo_hw.golden.engine import Engine
from pezo_hw.golden.step import Arithmetic
from tests.formal.sby import Opened, Proof


def _config(*, frac: int) -> config.Config:
    """Return the smallest step core: the perturbation drops 6 - `frac` bits, or none."""
    return config.from_mapping(
        {
            "core": {"name": "step", "kind": "zo-step", "board": "zcu102"},
            "source": {"kind": "on-the-fly", "generators": 2, "bits": 4},
            "scaling": {"mode": "none"},
            "reuse": {"lanes": 2},
            "weights": {"bits": 8, "frac": frac},
            "zo": {"epsilon_log2": -3, "coefficient_bits": 8, "coefficient_shift": 4},
        }
    )


EXACT, ROUNDED = _config(frac=6), _config(frac=4)


def _add_word_path(proof: Proof, name: str, given: config.Config, *, exact: bool) -> None:
    component = WordPath(Engine(given), arithmetic=Arithmetic.of(given))
    assert component.exact == exact
    proof.free(component.words.valid, component.words.payload, component.last)
    proof.free(component.change.ready, component.clear, component.mix)
    proof.free(component.k, component.coefficient, component.dither_seed)
    proof.m.submodules[name] = component
    proof.stable(name, component.change, dropped=component.clear)


def _free_step_core(proof: Proof, core: Any) -> None:
    command = core.command
    proof.free(command.go, command.beats, command.k, command.coefficient, command.dither_seed)
    proof.free(command.capture, command.start, command.start_index)
    proof.free(core.weights_in.valid, core.weights_in.payload, core.weights_out.ready)


def _describe_step_core(proof: Proof, name: str, core: Any) -> None:
    command, weights_in, weights_out = core.command, core.weights_in, core.weights_out
    _free_step_core(proof, core)
    proof.stable(name, weights_out)
    # No weight is taken outside a sweep, and all have left when it ends.
    proof.always(f"{name}_idle", command.busy | ~weights_in.ready)
    proof.always(f"{name}_drained", ~command.done | ~(weights_out.valid | weights_in.ready))
    # A status that software reads between sweeps does not move there.
    ends = proof.past(~command.busy & ~command.go) & ~proof.was_reset
    proof.always(
        f"{name}_count_kept",
        ~ends | (command.saturations == proof.past(command.saturations)),
    )


def _add_step_core(proof: Proof, name: str, given: config.Config) -> None:
    core = StepCore(given, model=Engine(given))
    inside = Opened(core)
    proof.m.submodules[name] = inside.fragment
    _describe_step_core(proof, name, core)
    # What the induction needs to know: nothing is on its way before a sweep, and only what is on
    # its way is counted.
    before = inside["control/idle"] | inside["control/mix"]
    proof.always(f"{name}_empty", ~before | inside["empty"])
    counting = inside["counting"]
    limited = Cat(inside[f"limited_{i}"] for i in range(2))
    proof.always(f"{name}_limited", ~limited.any() | counting[0])
    proof.always(f"{name}_counted", ~inside["count_0_0"].any() | counting[1])


def test_streams_wait_for_ready() -> None:
    proof = Proof()
    _add_word_path(proof, "exact", EXACT, exact=True)
    _add_word_path(proof, "rounded", ROUNDED, exact=False)
    _add_step_core(proof, "core", EXACT)
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
        _describe_step_core(proof, name, core)
        _search(proof, core)
    proof.cover(depth=14)


@pytest.mark.usefixtures("short_warm_up")
def test_a_sweep_ends() -> None:
    proof = Proof()
    core = StepCore(EXACT, model=Engine(EXACT))
    proof.m.submodules.core = core
    _free_step_core(proof, core)
    _search(proof, core)
    command = core.command
    leaves = core.weights_out.valid & core.weights_out.ready
    beats = Signal(2)
    with proof.m.If(leaves):
        proof.m.d.sync += beats.eq(beats + 1)
    proof.reach("last_beat", leaves & core.weights_out.payload.last & (beats == 1))
    proof.reach("done", command.done & (beats == 2) & ~command.tlast_error)
    proof.reach("limited", command.done & (command.saturations == 4))
    proof.reach("tlast_early", command.done & command.tlast_error & (beats == 1))
    proof.cover(depth=18)
