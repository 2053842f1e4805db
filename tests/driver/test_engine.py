"""Steps on the golden backend: schedules, order of calls, log and replay."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.driver import CheckedBackend, Engine, GoldenBackend, Layout, replay
from pezo_hw.driver.sweep import Outcome, Sweep
from pezo_hw.errors import PezoError
from pezo_hw.golden.step import StepCore
from tests.driver.cores import golden, small

ROOT = Path(__file__).resolve().parents[2]
COUNT = 30
SCHEDULES = ("in-place", "inline", "inline-both", "fused")
LR = 0.05


def _weights(limit: int = 9000, *, count: int = COUNT, seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).integers(-limit, limit, count)
    # With the whole range, a good part at its ends.
    return np.clip(2 * drawn, -32768, 32767) if limit == 32767 else drawn


def _loss(weights: Any) -> float:
    return float(np.abs(weights - 4000).mean()) / 8192


def _train(engine: Engine, steps: int) -> Engine:
    for _ in range(steps):
        plus, minus = (_loss(weights) for weights in engine.sides())
        engine.step(plus, minus, lr=LR)
    return engine


@pytest.mark.parametrize("source", ["on-the-fly", "pre-generated", "rademacher"])
def test_all_schedules_give_the_same_weights(source: str) -> None:
    engines = [
        _train(Engine(golden(small(s, source=source)), _weights(), start=5, seed=3), 20)
        for s in SCHEDULES
    ]
    first = engines[0]
    assert first.saturations == 0
    assert not np.array_equal(first.weights, first.initial)
    for engine in engines[1:]:
        assert np.array_equal(engine.weights, first.weights)
        assert engine.log.coefficients == first.log.coefficients
        assert engine.log.indices == first.log.indices


@pytest.mark.parametrize(
    ("schedule", "transfers"),
    [("in-place", 8), ("inline", 4), ("inline-both", 3), ("fused", 2)],
)
def test_weight_transfers_of_a_step(schedule: str, transfers: int) -> None:
    engine = _train(Engine(golden(small(schedule)), _weights()), 10)
    # The first step of the fused schedule reads the weights once more.
    assert engine.transfers == 10 * transfers + (schedule == "fused")


def test_a_step_is_what_the_core_does_with_its_coefficient() -> None:
    config = small()
    engine, core = Engine(golden(config), _weights(), start=5, seed=1), StepCore(config)
    core.start(5)
    z = core.sweep(_weights(), k=1).weights - _weights()
    plus, minus = engine.perturb(1), engine.perturb(-2)
    assert np.array_equal(plus, _weights() + z) and np.array_equal(minus, _weights() - z)
    coefficient = engine.step(0.4, 0.3, lr=LR)
    # The loss rises along z, so the update goes against it.
    assert coefficient > 0
    assert ((engine.weights - _weights()) * z).sum() < 0
    seed = next(engine.log.entries())[2]
    expected = core.sweep(_weights(), k=0, coefficient=coefficient, dither_seed=seed).weights
    assert np.array_equal(engine.weights, expected)
    # The next step begins where the passes of this one ended.
    assert engine.index == 5 + engine.beats


def test_the_losses_the_other_way_round_are_found() -> None:
    right, wrong = (Engine(golden(small()), _weights()) for _ in range(2))
    _train(right, 60)
    for _ in range(60):
        plus, minus = (_loss(weights) for weights in wrong.sides())
        wrong.step(minus, plus, lr=LR)
    assert _loss(right.weights) < _loss(right.initial) < _loss(wrong.weights)


def test_a_fused_core_may_end_a_step_without_a_fused_sweep() -> None:
    fused, inline = (Engine(golden(small(s)), _weights()) for s in ("fused", "inline"))
    for step in range(9):
        for engine in (fused, inline):
            sides = list(engine.sides())
            if step % 3 == 1:
                engine.update(50 + step)
            elif step % 3 == 2 and engine is fused:
                # Sides that were there already, and a step without looking at them.
                engine.restore_update(-70)
            elif step % 3 == 2:
                engine.update(-70)
            else:
                engine.step(_loss(sides[0]), _loss(sides[1]), lr=LR)
        assert np.array_equal(fused.weights, inline.weights)
        assert fused.index == inline.index


def test_naive_mezo_gives_the_same_as_restore_update() -> None:
    naive, fused = (Engine(golden(small()), _weights()) for _ in range(2))
    for engine in (naive, fused):
        for k in (1, -2):
            engine.perturb(k)
    naive.perturb(1)
    naive.update(321)
    fused.restore_update(321)
    assert np.array_equal(naive.weights, fused.weights)
    assert naive.index == fused.index != 0


def test_the_example_of_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "docs" / "examples" / "drive.py"))
    assert capsys.readouterr().out.splitlines() == [
        "loss 0.0850 -> 0.0022",
        "8 transfers of a weight and step, 0 limited",
        "rebuilt from 400 steps: equal",
    ]


def test_zoqo_moves_by_whole_lsbs_against_the_sign() -> None:
    config = small(update="zoqo")
    engine = Engine(golden(config), _weights(), start=2)
    z = engine.perturb(1) - _weights()
    engine.perturb(-2)
    assert engine.step(1.0, 0.5, lr=5.4 / 8192) == 5
    assert np.array_equal(engine.weights, _weights() - 5 * np.sign(z))
    assert 0 in z and abs(z).max() == 3
    # At least one LSB.
    assert engine.step(0.5, 1.0, lr=1e-9) == -1
    assert engine.step(0.5, 0.5, lr=1.0) == 0


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -float("inf")])
def test_a_loss_that_is_no_number_changes_nothing(loss: float) -> None:
    engine = Engine(golden(small()), _weights())
    list(engine.sides())
    assert engine.step(loss, 0.5, lr=LR) == 0
    assert np.array_equal(engine.weights, engine.initial)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("limit", [9000, 32767])
def test_a_log_rebuilds_the_weights(schedule: str, limit: int) -> None:
    config = small(schedule)
    engine = Engine(golden(config), _weights(limit), start=7, seed=11)
    for index in (None, 3, 3):
        if index is not None:
            engine.start(index)
        _train(engine, 8)
    # At the limit of the range weights saturate, which is a part of what is rebuilt.
    assert (engine.saturations > 0) == (limit == 32767)
    again = replay(engine.log, engine.initial, backend=golden(config))
    assert np.array_equal(again, engine.weights)
    engine.log.coefficients[4] += 40
    assert not np.array_equal(
        replay(engine.log, engine.initial, backend=golden(config)), engine.weights
    )


def test_saturation_in_place_is_replayed_and_not_undone() -> None:
    config = small()
    engine = _train(Engine(golden(config), _weights(32767)), 30)
    inline = _train(Engine(golden(small("inline")), _weights(32767)), 30)
    # Weights that were limited came back elsewhere: a replay by updates alone would differ.
    assert not np.array_equal(engine.weights, inline.weights)
    assert np.array_equal(
        replay(engine.log, engine.initial, backend=golden(config)), engine.weights
    )


OTHER_SWEEPS: dict[str, tuple[tuple[int, ...], int]] = {
    "update alone": ((), 0),
    "one side": ((1,), 7),
    "other side": ((-1,), -40),
    "there and back": ((1, -1), 5),
    "naive": ((1, -2, 1), 5),
    "far": ((2, 2, -2), -5),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", OTHER_SWEEPS)
def test_steps_with_other_sweeps_are_replayed(name: str, schedule: str) -> None:
    passes, coefficient = OTHER_SWEEPS[name]
    config = small(schedule)
    limited = set()
    for weights in (_weights(), _weights(32767), np.full(COUNT, 32767), np.full(COUNT, -32768)):
        engine = Engine(golden(config), weights, start=3)
        _train(engine, 2)
        before = engine.saturations
        for k in passes:
            engine.perturb(k)
        engine.restore_update(coefficient)
        limited.add(engine.saturations > before)
        _train(engine, 2)
        again = replay(engine.log, engine.initial, backend=golden(config))
        assert np.array_equal(again, engine.weights)
        assert engine.log.exact
        # Only what a log of the usual steps does not say.
        done = (*passes, -sum(passes))
        assert engine.log.others == ({} if done == engine.log.passes else {2: done})
    assert limited == {False, True} or name == "update alone"


def test_sweeps_that_do_not_saturate_but_would_in_a_usual_step() -> None:
    # Every weight at the end of the range that its perturbation leads away from.
    config = small()
    z = Engine(golden(config), np.zeros(COUNT, int)).perturb(1)
    weights = np.where(z >= 0, -32768, 32767)
    engine = Engine(golden(config), weights)
    engine.perturb(1)
    engine.restore_update(0)
    assert engine.saturations == 0 and np.array_equal(engine.weights, weights)
    assert np.array_equal(replay(engine.log, weights, backend=golden(config)), weights)
    # It is such a case.
    engine.log.others.clear()
    assert not np.array_equal(replay(engine.log, weights, backend=golden(config)), weights)


def test_limited_sweeps_of_another_start_cannot_be_replayed() -> None:
    for weights, exact in ((np.full(COUNT, 32767), False), (_weights(), True)):
        engine = Engine(golden(small()), weights, start=1)
        engine.perturb(1)
        engine.perturb(-1)
        engine.start(1)
        assert (engine.log.exact, engine.passes) == (True, [1, -1])
        engine.start(9)
        assert (engine.log.exact, engine.passes) == (exact, [])
        engine.update(5)
        if exact:
            again = replay(engine.log, engine.initial, backend=golden(small()))
            assert np.array_equal(again, engine.weights)
        else:
            with pytest.raises(PezoError, match=r"^a log to replay must hold all sweeps, but"):
                replay(engine.log, engine.initial, backend=golden(small()))


def test_numbers_of_numpy_become_plain() -> None:
    engine = Engine(golden(small()), _weights())
    one: Any = np.int64(1)
    five: Any = np.int32(5)
    engine.perturb(one)
    engine.restore_update(five)
    numbers = [*engine.log.others[0], *engine.log.coefficients, engine.displacement]
    assert [type(number) for number in numbers] == [int] * 4


def test_a_refused_engine_or_replay_leaves_the_backend_to_the_first() -> None:
    config = small(tensors=2)
    backend = golden(config)
    layout = Layout((20, 10), lanes=4)
    table = layout.table([{"frozen": True}, {}])
    engine, alone = (Engine(b, np.zeros(30, int), table=table) for b in (backend, golden(config)))
    start: Any = 1.5
    other = Layout((12,), lanes=4).table()
    for call in (
        lambda: Engine(backend, np.zeros(12, int), table=other, start=start),
        lambda: Engine(backend, np.zeros(30, int), table=other, start=7),
        lambda: Engine(backend, np.zeros(12, int), table=other, seed=start),
        lambda: replay(engine.log, np.zeros(30, int), backend=backend, table=other),
        lambda: replay(engine.log, np.zeros((2, 6), int), backend=backend, table=other),
    ):
        with pytest.raises(PezoError):
            call()
    for one in (engine, alone):
        _train(one, 2)
    assert engine.weights[20:].any() and np.array_equal(engine.weights, alone.weights)


def test_tensors_are_laid_out_frozen_and_weighted() -> None:
    layout = Layout((5, 8, 3), lanes=4)
    config = small("inline-both", tensors=3)
    table = layout.table([{"frozen": True}, {}, {"strength": 1, "coefficient_exponent": 2}])
    plain = _weights(count=16)
    engine = Engine(golden(config), layout.pack(plain), table=table)
    bare = Engine(golden(config), layout.pack(plain))
    ours, theirs = (next(e.sides()) - layout.pack(plain) for e in (engine, bare))
    first, second, third = (
        slice(o, o + s) for o, s in zip(layout.offsets, layout.sizes, strict=True)
    )
    assert not ours[first].any() and theirs[first].any()
    assert np.array_equal(ours[second], theirs[second])
    # Doubled before it is rounded.
    assert np.abs(ours[third] - 2 * theirs[third]).max() == 1
    engine.update(400)
    bare.update(400)
    moved = [layout.unpack(e.weights) - plain for e in (engine, bare)]
    assert not moved[0][:5].any() and np.array_equal(moved[0][5:13], moved[1][5:13])
    # Twice the word, a quarter of C.
    assert np.abs(2 * moved[0][13:] - moved[1][13:]).max() <= 2
    again = replay(engine.log, engine.initial, backend=golden(config), table=table)
    assert np.array_equal(again, engine.weights)


def _displaced(by: int = 0) -> Engine:
    engine = Engine(golden(small()), _weights())
    engine.perturb(1)
    engine.perturb(by)
    return engine


def _ragged() -> Any:
    return [[1], [1, 2]]


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "start in a step": (lambda: _displaced().start(0), r"^start needs unperturbed weights, .* 1 "),
    "update in a step": (lambda: _displaced().update(1), r"^update needs unperturbed weights"),
    "inline": (
        lambda: Engine(golden(small()), _weights()).inline(1),
        r'^a sweep of kind inline needs .* zo.schedule = "inline", but driven has "in-place"$',
    ),
    "both": (
        lambda: Engine(golden(small("inline")), _weights()).inline_both(),
        r'zo.schedule = "inline-both", but driven has "inline"$',
    ),
    "far": (
        lambda: _displaced(by=2).restore_update(1),
        r"^restore_update takes back at most twice the perturbation, but the weights carry 3",
    ),
    "float weights": (
        lambda: Engine(golden(small()), _weights() * 1.0),
        r"^weights must be integers in one dimension",
    ),
    "large weights": (
        lambda: Engine(golden(small()), np.array([0, 40000])),
        r"^weights must be within -32768 .. 32767 \(16 bits\), not 0 .. 40000$",
    ),
    "no weights": (lambda: Engine(golden(small()), np.array([], int)), r"at least one"),
    "no table": (
        lambda: Engine(golden(small()), _weights(), table=Layout((30,), 4).table()),
        r"^1 tensors need a core generated with control.tensors = 1, but driven has 0$",
    ),
    "other table": (
        lambda: Engine(golden(small(tensors=1)), _weights(), table=Layout((20,), 4).table()),
        r"^the tensors must add up to the 8 beats of the weights, not 5",
    ),
    "layout": (
        lambda: Layout((4, 0), 4),
        r"^the size of a tensor in a layout must be an integer of at least 1, not 0; use ",
    ),
    "pack": (lambda: Layout((4, 2), 4).pack(np.zeros(5)), r"the shape \(6,\), not \(5,\)$"),
    "unpack": (lambda: Layout((3, 2), 4).unpack(np.zeros(5)), r"the shape \(6,\), not \(5,\)$"),
    "settings": (
        lambda: Layout((4,), 4).table([{"strength": 9}]),
        r"^strength of a tensor must be an integer from 0 to 3, not 9; use 3$",
    ),
    "unknown setting": (
        lambda: Layout((4,), 4).table([{"streng": 1}]),
        r"^settings of a tensor: .* unexpected keyword argument 'streng'",
    ),
    "ragged": (
        lambda: Layout((4,), 4).pack(_ragged()),
        r"^weights to lay out must be numbers in one dimension, not a value of type list that",
    ),
    "ragged row": (
        lambda: Layout((4,), 4).unpack(_ragged()),
        r"^weights of this layout must be numbers in one dimension, not a value of type list that",
    ),
    "settings' number": (lambda: Layout((4,), 4).table([]), r"for 1 tensors, not 0$"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(PezoError, match=message):
        call()


class _Wrong(GoldenBackend):
    """Gives one wrong number in the third sweep."""

    sweeps = 0
    fault = "weights"

    def sweep(self, command: Sweep, weights: Any) -> Outcome:
        outcome = super().sweep(command, weights)
        self.sweeps += 1
        if self.sweeps != 3:
            return outcome
        if self.fault == "saturations":
            return Outcome(outcome.outputs, outcome.saturations + 1, outcome.beats)
        wrong = outcome.outputs["weights"].copy()
        wrong[7] += 1
        return Outcome({"weights": wrong}, outcome.saturations, outcome.beats)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("weights", r"^sweep 3: weights\[7\] is .* \(1 of 30 weights differ\)$"),
        ("saturations", r"^sweep 3: saturations are 1, in the golden model 0$"),
    ],
)
def test_a_wrong_output_is_found(fault: str, message: str) -> None:
    wrong = _Wrong(small())
    wrong.fault = fault
    backend = CheckedBackend(wrong, reference=golden(small()))
    engine = Engine(backend, _weights())
    _train(engine, 2)
    assert backend.sweeps == 6
    assert backend.difference is not None
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(backend.difference)
    right = CheckedBackend(golden(small()), reference=golden(small()))
    _train(Engine(right, _weights()), 2)
    assert right.difference is None
