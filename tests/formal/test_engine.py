"""The engine gives the golden model's words, whatever stalls, commands and resets come.

For small sources of each kind the whole behaviour is proven, by induction over any length of time:
each group offered is the one that the commands call for, and the stream keeps valid and payload
until ready.
"""

from __future__ import annotations

from typing import Any

import pytest
from amaranth import Array, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring

from pezo_hw import config
from pezo_hw.gateware import engine as gateware
from pezo_hw.gateware.norm import Codes
from pezo_hw.golden.bank import Bank as GoldenBank
from pezo_hw.golden.engine import Engine as Model
from tests.formal.sby import Opened, Proof


def _model(source: dict[str, Any], **scaling: Any) -> Model:
    words = source.get("generators", source.get("words"))
    given = {
        "core": {"name": "engine", "kind": "perturbation", "board": "zcu102"},
        "source": {"bits": 4, **source},
        "scaling": scaling,
        "reuse": {"lanes": words},
    }
    return Model(config.from_mapping(given))


def _bank(generators: int, **source: Any) -> dict[str, Any]:
    return {"kind": "on-the-fly", "generators": generators, **source}


def _pool(size: int, words: int, **source: Any) -> dict[str, Any]:
    return {"kind": "pre-generated", "pool_size": size, "words": words, **source}


# Name: the source and its scaling, and whether its exponents differ.
SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "bank": (_bank(2), {"mode": "none"}, False),
    "bank_norm": (_bank(2, phases="seeded"), {"mode": "group"}, True),
    "period": (_bank(2, rotation="period"), {"mode": "constant", "exponent": 1}, False),
    "period_norm": (_bank(2, rotation="period", phases="seeded"), {"mode": "group"}, True),
    "pool": (_pool(10, 4), {"mode": "none"}, False),
    "pool_norm": (_pool(11, 3, phases="seeded"), {"mode": "group"}, True),
    "pool_power_of_two": (_pool(8, 3, phases="seeded"), {"mode": "group"}, True),
    "pool_of_one_group": (_pool(3, 3), {"mode": "none"}, False),
}
# Which are proven in one run.
RUNS = [
    ("bank", "bank_norm", "pool_of_one_group"),
    ("period", "period_norm"),
    ("pool", "pool_norm", "pool_power_of_two"),
]


def _source(name: str) -> Model:
    source, scaling, live = SOURCES[name]
    model = _model(source, **scaling)
    assert model.live == live
    return model


def _table(groups: Any, bits: int) -> Any:
    """Return groups of signed words as a table of bit patterns."""
    mask = (1 << bits) - 1
    values = [sum((int(u) & mask) << (bits * i) for i, u in enumerate(row)) for row in groups]
    return Array(Const(value, unsigned(bits * groups.shape[1])) for value in values)


class Description:
    """What an engine must do, seen from its ports.

    Attributes
    ----------
    index, captured : Signal
        The group that is to come and the start of the step, as the commands say.
    goal : Signal
        The index of the last `start`, 0 since reset.
    fresh : Signal
        There was no `start` since reset.
    """

    def __init__(self, proof: Proof, name: str, engine: Any, model: Model):
        m, z, period = proof.m, engine.z, model.period
        proof.free(z.ready, engine.capture, engine.restore, engine.start, engine.start_index)
        self.index = Signal(range(period), name=f"{name}_index")
        self.captured = Signal(range(period), name=f"{name}_captured")
        self.goal = Signal(engine.start_index.shape(), name=f"{name}_goal")
        self.fresh = Signal(init=1, name=f"{name}_fresh")
        following = Signal(range(period), name=f"{name}_following")
        transfer = z.valid & z.ready
        m.d.comb += following.eq(Mux(self.index == period - 1, 0, self.index + 1))
        with m.If(engine.start):
            m.d.sync += [
                self.goal.eq(engine.start_index),
                self.index.eq(engine.start_index % period),
                self.captured.eq(engine.start_index % period),
                self.fresh.eq(0),
            ]
        with m.Elif(engine.restore & ~engine.busy):
            m.d.sync += self.index.eq(self.captured)
        with m.Elif(transfer):
            m.d.sync += self.index.eq(following)
            with m.If(engine.capture):
                m.d.sync += self.captured.eq(following)
        proof.assume(~engine.busy | engine.start | self.fresh | (engine.start_index == self.goal))

        moves = engine.start | (engine.restore & ~engine.busy)
        proof.stable(name, z, dropped=moves)
        words = _table(model.scaled(0, period), model.value_bits)[self.index]
        proof.always(f"{name}_words", ~z.valid | (Value.cast(z.payload) == words))
        proof.always(f"{name}_idle_while_busy", ~(engine.busy & z.valid))
        # A group a clock, and never stuck.
        taken = proof.past(transfer & ~moves) & ~proof.was_reset
        waiting = proof.past(~engine.busy & ~z.valid & ~moves) & ~proof.was_reset
        proof.always(f"{name}_no_bubble", ~(taken | waiting) | z.valid)


def _add(proof: Proof, name: str, model: Model) -> None:
    """Add an engine, its description, and what an induction must know of its inside."""
    m = proof.m
    engine = gateware.Engine(model)
    inside = Opened(engine)
    m.submodules[name] = inside.fragment
    described = Description(proof, name, engine, model)
    period, sequence = model.period, model.sequence

    # The source by its own commands: the group it shows, and its snapshot.
    shown = Signal(range(period), name=f"{name}_shown")
    snapshot = Signal(range(period), name=f"{name}_snapshot")
    following = Signal(range(period), name=f"{name}_source_following")
    stepped = Mux(shown == period - 1, 0, shown + 1)
    m.d.comb += following.eq(Mux(inside["restore"], snapshot, stepped))
    with m.If(inside["step"] | inside["restore"]):
        m.d.sync += shown.eq(following)
    with m.If(engine.start):
        m.d.sync += snapshot.eq(0)
    with m.Elif(inside["capture"]):
        m.d.sync += snapshot.eq(shown if model.prefetched else following)

    loading, walking, running = (inside[name] for name in ("loading", "walking", "running"))
    groups = _table(model.groups(0, period), model.bits)
    prefix = "source/"
    words = inside[f"{prefix}words"]
    if isinstance(sequence, GoldenBank):
        snapshots = Cat(inside[f"{prefix}snapshot_{i}"] for i in range(model.words))
        proof.always(f"{name}_source", words == groups[shown])
        proof.always(f"{name}_source_snapshot", snapshots == groups[snapshot])
        if f"{prefix}tracked" in inside.signals:
            states = sequence.sequence[
                [(sequence.phases[0] + k) % sequence.word_period for k in range(period)]
            ]
            table = Array(Const(int(state), unsigned(model.bits)) for state in states)
            proof.always(f"{name}_tracked", inside[f"{prefix}tracked"] == table[shown])
            kept = inside[f"{prefix}tracked_snapshot"]
            proof.always(f"{name}_tracked_snapshot", kept == table[snapshot])
    else:
        # Before the first read the memory shows anything.
        proof.always(f"{name}_source", loading | (words == groups[shown]))
        for port, offset in (("a", 0), ("b", sequence.layout.offset)):
            path = f"{prefix}address_{port}/"
            if f"{path}snapshot" not in inside.registers:
                continue
            for register, at in (("row", shown), ("snapshot", snapshot)):
                row = (at + offset) % period
                proof.always(f"{name}_{port}_{register}", inside[f"{path}{register}"] == row)
            for register, at in (("last", shown), ("snapshot_last", snapshot)):
                if f"{path}{register}" in inside.registers:
                    ends = (at + offset) % period == period - 1
                    proof.always(f"{name}_{port}_{register}", inside[f"{path}{register}"] == ends)
    if model.live:
        exponents = model.exponents(0, period)
        codes = Codes(model).exponents
        table = Array(Const(codes.index(int(e)), unsigned(2)) for e in exponents)
        proof.always(f"{name}_code", loading | (inside["code"] == table[shown]))

    # The way to the start index.
    goal, fresh = described.goal, described.fresh
    walked = Signal(len(goal) + 1, name=f"{name}_walked")
    with m.If(loading):
        m.d.sync += walked.eq(0)
    with m.Elif(walking & ~inside["arrived"]):
        m.d.sync += walked.eq(walked + 1)
    proof.always(f"{name}_one_phase", (loading + walking + running) == 1)
    proof.always(f"{name}_busy", engine.busy == ~running)
    proof.always(f"{name}_boot", ~(loading & fresh) | inside["boot"])
    proof.always(f"{name}_booted", ~inside["boot"] | (loading & fresh))
    proof.always(f"{name}_fresh", ~fresh | (goal == 0))
    proof.always(f"{name}_loading", ~loading | ((snapshot == 0) & (inside["steps"] == 0)))
    on_the_way = (
        (walked <= goal)
        & (inside["steps"] == (walked + 1)[: len(goal)])
        & (inside["arrived"] == (walked == goal))
        & (shown == walked % period)
        & (model.prefetched | (snapshot == shown))
    )
    proof.always(f"{name}_walking", ~walking | on_the_way)
    aimed = (described.index == goal % period) & (described.captured == goal % period)
    proof.always(f"{name}_aimed", running | aimed)
    proof.always(f"{name}_captured", ~running | (snapshot == described.captured))
    ahead = Mux(described.index == period - 1, 0, described.index + 1)
    at = Mux(engine.z.valid, ahead, described.index) if model.prefetched else described.index
    proof.always(f"{name}_shown", ~running | (shown == at))
    in_range = [signal < period for signal in (shown, snapshot, described.index)]
    proof.always(f"{name}_in_range", Cat(in_range).all())


class _Faulty(wiring.Component):
    """An engine with a fault between it and its ports: which one, a class below says."""

    def __init__(self, model: Model):
        self.inner = gateware.Engine(model)
        # What a fault needs to happen now and then.
        self.now = Signal()
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
    """Goes on while the consumer stalls, so the payload changes."""

    def spoil(self, m: Module) -> None:
        m.d.comb += self.inner.z.ready.eq(1)


class _Fickle(_Faulty):
    """Takes an offer back."""

    def spoil(self, m: Module) -> None:
        m.d.comb += self.z.valid.eq(self.inner.z.valid & ~self.now)


class _LateCapture(_Faulty):
    """Captures one transfer late: a step begins with another group than the last one ended with."""

    def spoil(self, m: Module) -> None:
        last = Signal()
        with m.If(self.z.valid & self.z.ready):
            m.d.sync += last.eq(self.capture)
        m.d.comb += self.inner.capture.eq(last)


class _ForgetsStart(_Faulty):
    """Goes to the start index, but does not make it the start of the step."""

    def spoil(self, m: Module) -> None:
        given = Signal()
        with m.If(self.start):
            m.d.sync += given.eq(1)
        # A restore after a start goes to group 0.
        again = Signal()
        m.d.comb += again.eq(given & self.restore & ~self.busy)
        m.d.comb += self.inner.start.eq(self.start | again)
        m.d.comb += self.inner.start_index.eq(Mux(again | self.inner.busy, 0, self.start_index))


class _DoubleStep(_Faulty):
    """Loses a group now and then, as if a consumer had taken it."""

    def spoil(self, m: Module) -> None:
        m.d.comb += [
            self.inner.z.ready.eq(self.z.ready | self.now),
            self.z.valid.eq(self.inner.z.valid & ~self.now),
        ]


MUTANTS: dict[str, tuple[type[_Faulty], str]] = {
    "impatient": (_Impatient, "payload_kept"),
    "fickle": (_Fickle, "valid_kept"),
    "late_capture": (_LateCapture, "words"),
    "double_step": (_DoubleStep, "words"),
    "forgets_start": (_ForgetsStart, "words"),
}


@pytest.mark.parametrize("source", ["bank", "pool_norm"])
def test_broken_engines_are_caught(source: str) -> None:
    caught = {f"{name}_{claim}" for name, (_, claim) in MUTANTS.items()}
    proof = Proof(hunt=caught | {"other_words"})
    model = _source(source)
    for name, (mutant, _) in MUTANTS.items():
        broken = mutant(model)
        proof.m.submodules[name] = broken
        proof.free(broken.now)
        Description(proof, name, broken, model)
    # Steps as it should, through the groups of another source.
    other = _model(SOURCES[source][0] | {"seed": 2}, **SOURCES[source][1])
    proof.m.submodules.other = engine = gateware.Engine(other)
    Description(proof, "other", engine, model)
    proof.cover(depth=10)


def test_engines_can_do_what_they_are_for() -> None:
    proof = Proof()
    for name in ("bank", "bank_norm", "pool_norm"):
        model = _source(name)
        proof.m.submodules[name] = engine = gateware.Engine(model)
        described = Description(proof, name, engine, model)
        # A step that began at group 2, walked to group 4, and went back.
        goes_back = engine.restore & ~engine.busy & described.fresh & (described.index == 4)
        restored = proof.past(goes_back) & ~proof.was_reset
        proof.reach(f"{name}_offers", engine.z.valid & engine.z.ready)
        proof.reach(f"{name}_replays", restored & (described.index == 2))
        proof.reach(f"{name}_starts", engine.z.valid & (described.goal == 3) & engine.z.ready)
    proof.cover(depth=12)


@pytest.mark.parametrize("names", RUNS, ids="-".join)
def test_engine_is_its_model(names: tuple[str, ...]) -> None:
    proof = Proof()
    for name in names:
        _add(proof, name, _source(name))
    proof.prove(depth=2)
