"""The engine of the seeded sources: never stuck at 0, a fixed expansion, a stream that waits."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring

from pezo_hw import config
from pezo_hw.gateware.seeded import SeededEngine
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.seeded import SEED_BITS
from pezo_hw.golden.seeded import SeededEngine as Model
from tests.formal.sby import Opened, Proof


def _model(kind: str, *, lanes: int, **source: Any) -> Model:
    given = {
        "core": {"name": "seeded", "kind": "perturbation", "board": "zcu102"},
        "source": {"kind": kind, "seed": 5, **source},
        "reuse": {"lanes": lanes},
    }
    model = engine_of(config.from_mapping(given))
    assert isinstance(model, Model)
    return model


MODELS: dict[str, dict[str, Any]] = {
    "uniform": {"kind": "wide-uniform", "lanes": 8, "words": 8, "bits": 8},
    "rademacher": {"kind": "rademacher", "lanes": 64},
}


def _source(name: str) -> Model:
    return _model(**MODELS[name])


class Description:
    """What a seeded engine must do, seen from its ports.

    Attributes
    ----------
    clocks : Signal
        Clocks since the last command or reset, while `busy`.
    seed : Signal
        The seed whose stream a restore begins.
    """

    def __init__(self, proof: Proof, name: str, engine: Any, model: Model):
        m, z = proof.m, engine.z
        proof.free(z.ready, engine.capture, engine.restore, engine.start, engine.start_index)
        begins = engine.start | (engine.restore & ~engine.busy)
        self.clocks = Signal(range(model.load_clocks), name=f"{name}_clocks")
        self.seed = Signal(SEED_BITS, init=model.reset_seed, name=f"{name}_seed")
        loading = Signal(init=1, name=f"{name}_loading")
        ends = self.clocks == model.load_clocks - 1
        with m.If(begins):
            m.d.sync += [self.clocks.eq(0), loading.eq(1)]
        with m.Elif(loading):
            m.d.sync += [self.clocks.eq(self.clocks + 1), loading.eq(~ends)]
        with m.If(engine.start):
            m.d.sync += self.seed.eq(engine.start_index)
        with m.Elif(z.valid & z.ready & engine.capture & ~engine.restore):
            m.d.sync += self.seed.eq(self.seed + 1)
        self.loading = loading
        proof.stable(name, z, dropped=begins)
        proof.always(f"{name}_busy", engine.busy == loading)
        proof.always(f"{name}_valid", z.valid == ~loading)
        proof.always(f"{name}_in_time", ~loading | (self.clocks < model.load_clocks))


def _add(proof: Proof, name: str, model: Model) -> None:
    engine = SeededEngine(model)
    inside = Opened(engine)
    proof.m.submodules[name] = inside.fragment
    described = Description(proof, name, engine, model)
    loading, clocks = described.loading, described.clocks
    generator = model.sequence.generator  # type: ignore[attr-defined]
    state = inside["source/state"]

    # The source is led through the same expansion each time, and moves with a transfer after it.
    proof.always(f"{name}_seed", inside["seed"] == described.seed)
    proof.always(f"{name}_clear", inside["clear"] == (loading & (clocks == 0)))
    # A clear wins over an inject.
    injects = inside["inject"] & ~inside["clear"]
    proof.always(f"{name}_inject", injects == (loading & (clocks == 1)))
    proof.always(f"{name}_expand", inside["expand"] == loading)
    proof.always(f"{name}_step", inside["step"] == (loading | engine.z.ready))
    # It counts from the clock behind the clear on, and then stays.
    count = inside["clocks"]
    proof.always(f"{name}_count", ~loading | inside["clear"] | (count == clocks - 1))
    proof.always(f"{name}_count_stays", loading | (count == model.load_clocks - 1))
    ends = loading & (clocks == model.load_clocks - 1)
    proof.always(f"{name}_last", inside["last"] == ends)
    # The first clock takes the reset state, so that the seed meets no other.
    proof.always(f"{name}_reset", ~inside["inject"] | (state == generator.reset))
    proof.always(f"{name}_nonzero", state != 0)


def test_seeded_engines_are_sound() -> None:
    proof = Proof()
    for name in MODELS:
        _add(proof, name, _source(name))
    proof.prove(depth=2)


class _Faulty(wiring.Component):
    """A seeded engine with a fault at its ports."""

    def __init__(self, model: Model):
        self.inner = SeededEngine(model)
        super().__init__(self.inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = self.inner
        wiring.connect(m, self.inner, wiring.flipped(self))
        self.spoil(m)
        return m

    def spoil(self, m: Module) -> None:
        """Change the connections."""


class _Impatient(_Faulty):
    """Goes on while the consumer stalls."""

    def spoil(self, m: Module) -> None:
        m.d.comb += self.inner.z.ready.eq(1)


class _Restless(_Faulty):
    """Begins again when a command comes while it is busy."""

    def spoil(self, m: Module) -> None:
        # As a start with the same seed, which is 5 after reset.
        again = Signal()
        m.d.comb += [
            again.eq(self.restore & self.busy),
            self.inner.start.eq(self.start | again),
            self.inner.start_index.eq(Mux(again, 5, self.start_index)),
        ]


def test_broken_seeded_engines_are_caught() -> None:
    model = _source("uniform")
    # Long expansions are not what is looked for.
    model.load_clocks = 4
    mutants = {"impatient": (_Impatient, "payload_kept"), "restless": (_Restless, "busy")}
    proof = Proof(hunt={f"{name}_{claim}" for name, (_, claim) in mutants.items()})
    for name, (mutant, _) in mutants.items():
        engine = mutant(model)
        proof.m.submodules[name] = engine
        Description(proof, name, engine, model)
    proof.cover(depth=8)
