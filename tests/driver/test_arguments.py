"""What no backend can take is refused by each with the same line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import load
from pezo_hw.driver import Backend, Engine, GoldenBackend, Layout, Log, Sweep, replay, save
from pezo_hw.driver.registers import RegisterBackend
from pezo_hw.driver.rtl import open_folder, open_rtl
from pezo_hw.driver.sweep import Description
from pezo_hw.errors import PezoError
from pezo_hw.golden.tensors import Tensor
from tests.driver.cores import golden, small

WEIGHTS = np.arange(9)
CONFIG = small("fused", tensors=4)
# Callers without a type checker.
sweep: Any = Sweep
layout: Any = Layout
golden_backend: Any = GoldenBackend
halves: Any = WEIGHTS / 2
no_log: Any = "run.log"
# Only the computed exponents show that its perturbation is wider than a weight.
WIDE = load(
    "zcu102-step",
    [
        *("source.bits=4", "source.generators=1", "reuse.lanes=1", "reuse.stride=0"),
        *("weights.bits=8", "weights.frac=6", "zo.epsilon_log2=-2"),
    ],
)


@pytest.fixture(params=["golden", "rtl"])
def backend(request: pytest.FixtureRequest, rtl_of: Callable[..., RegisterBackend]) -> Backend:
    """Each of the backends, of a core that other tests compile too."""
    return golden(CONFIG) if request.param == "golden" else rtl_of(CONFIG)


SWEEPS: dict[str, tuple[Sweep, Any, str]] = {
    "kind": (Sweep("both"), WEIGHTS, r'^a sweep of kind both needs .*, but driven has "fused"$'),
    "k": (Sweep(k=3), WEIGHTS, r"^k must be an integer from -2 to 2, not 3; use "),
    "half k": (sweep(k=1.5), WEIGHTS, r"^k must be an integer from -2 to 2, not 1.5; use "),
    "true k": (Sweep(k=True), WEIGHTS, r"^k must be an integer from -2 to 2, not True; use "),
    "coefficient": (
        Sweep(coefficient=1 << 17),
        WEIGHTS,
        r"^the coefficient must be an integer from -131072 to 131071, not 131072; use ",
    ),
    "seed": (Sweep(dither_seed=-1), WEIGHTS, r"^dither_seed must be an integer from 0 to 42949"),
    "none": (Sweep(), WEIGHTS[:0], r"^weights must be integers in one .*, at least one, not"),
    "floats": (Sweep(), WEIGHTS * 1.0, r"^weights must be integers in one dimension"),
    "range": (Sweep(), WEIGHTS + 32760, r"^weights must be within -32768 .. 32767 \(16 bits\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_is_refused_by_every_backend(backend: Any, name: str) -> None:
    command, weights, message = SWEEPS[name]
    before = backend.sweep(Sweep(k=1), WEIGHTS).outputs["weights"]
    with pytest.raises(PezoError, match=message):
        backend.sweep(command, weights)
    # And leaves the core as it was.
    after = backend.sweep(Sweep(k=1), WEIGHTS).outputs["weights"]
    assert np.array_equal(before, after)


def test_a_table_is_refused_by_every_backend(backend: Any) -> None:
    with pytest.raises(PezoError, match=r"^5 tensors need a core generated with control.tensors ="):
        backend.load_table((Tensor(1),) * 5)
    with pytest.raises(PezoError, match=r"^a table must hold golden.tensors.Tensor, not 3; use"):
        backend.load_table([3])
    backend.load_table((Tensor(2), Tensor(1)))
    backend.sweep(Sweep(), WEIGHTS)
    with pytest.raises(PezoError, match=r"^weights must take the 3 beats of the table, not 1$"):
        backend.sweep(Sweep(), WEIGHTS[:4])


def test_a_start_is_refused_by_every_backend(backend: Any) -> None:
    for index in (-1, 0.5, True):
        with pytest.raises(PezoError, match=r"^a start must be an integer of at least 0, not"):
            backend.start(index)
    # Beyond the sequence it begins again.
    given = []
    for index in (7, 7 + backend.description.period):
        backend.start(index)
        given.append(backend.sweep(Sweep(k=1), WEIGHTS).outputs["weights"])
    assert np.array_equal(*given)


def _engine(**more: Any) -> Any:
    return Engine(golden(CONFIG), more.pop("weights", WEIGHTS), **more)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "seed": (lambda: _engine(seed=1.5), r"^seed must be an integer, not 1.5; use "),
    "no seed": (lambda: _engine(seed=None), r"^seed must be an integer, not None; use "),
    "start": (lambda: _engine(start=1.5), r"^start must be an integer, not 1.5; use "),
    "true": (lambda: _engine(start=True), r"^start must be an integer, not True; use "),
    "weights": (lambda: _engine(weights=None), r"^weights must be integers in one dimension"),
    "ragged": (
        lambda: _engine(weights=[[1], [1, 2]]),
        r"^weights must be numbers in one dimension, not a value of type list that NumPy makes no ",
    ),
    "booleans": (lambda: _engine(weights=WEIGHTS > 3), r"^weights must be integers in one"),
    "table": (lambda: _engine(table=[(3, 0)]), r"^a table must hold .* not \(3, 0\); use"),
    "no table": (lambda: _engine(table=None), r"^a table must be a sequence of tensors, not None$"),
    "k": (lambda: _engine().perturb(1.5), r"^k must be an integer from -2 to 2, not 1.5; use "),
    "inline": (lambda: _engine().inline(-3), r"^k must be an integer from -2 to 2, not -3; use "),
    "coefficient": (
        lambda: _engine().update(0.5),
        r"^the coefficient must be an integer from -131072 to 131071, not 0.5; use ",
    ),
    "loss": (
        lambda: _engine().step("1", 2.0, lr=0.1),
        r"^loss_plus must be a number, not '1'; give one$",
    ),
    "other loss": (
        lambda: _engine().step(1.0, None, lr=0.1),
        r"^loss_minus must be a number, not None; give one$",
    ),
    "rate": (
        lambda: _engine().step(1.0, 2.0, lr=[0.1]),
        r"^lr must be a finite number, 0 or more, not a value of type list; give e.g. 3e-3$",
    ),
    "negative rate": (
        lambda: _engine().step(1.0, 2.0, lr=-1.0),
        r"^lr must be a finite number, 0 or more, not -1.0; give e.g. 3e-3$",
    ),
    "infinite rate": (
        lambda: _engine().step(1.0, 2.0, lr=float("inf")),
        r"^lr must be a finite number, 0 or more, not inf; give e.g. 3e-3$",
    ),
    "sizes": (lambda: layout((4, 1.5), 4), r"^the size of a tensor .* must be an integer"),
    "negative": (lambda: Layout((-4,), 4), r"of at least 1, not -4; use "),
    "one size": (lambda: layout(4, 4), r"^a layout must have a tuple of sizes, not 4$"),
    "lanes": (lambda: Layout((4,), True), r"^lanes must be an integer of at least 1, not True"),
    "beats": (
        lambda: golden(CONFIG).description.beats(-3),
        r"^a number of weights must be an integer of at least 1, not -3; use ",
    ),
    "spread": (
        lambda: golden(CONFIG).description.spread_beats(0),
        r"^a number of weights must be an integer of at least 1, not 0; use ",
    ),
    "perturbation": (
        lambda: GoldenBackend(load("tiny")),
        r'^core.kind of a core to drive must be "zo-step", but tiny has "perturbation"; use',
    ),
    "perturbation's rtl": (
        lambda: open_rtl(load("tiny")),
        r'^core.kind of a core to drive must be "zo-step", but tiny has "perturbation"; use',
    ),
    "a name": (
        lambda: golden_backend("zcu102-step"),
        r"^config must be a pezo_hw.config.Config, not 'zcu102-step'; use pezo_hw.config.load$",
    ),
    "manifest": (
        lambda: Description.from_manifest(
            {"config": load("tiny").model_dump(), "leftover_scale": 1, "source": {"period": 1}}
        ),
        r'^core.kind of a core to drive must be "zo-step"',
    ),
    "replay": (
        lambda: replay(Log(seed=0), halves, backend=golden(CONFIG)),
        r"^weights must be integers in one dimension",
    ),
    "no log": (
        lambda: replay(no_log, WEIGHTS, backend=golden(CONFIG)),
        r"^a log to replay must be a Log, not 'run.log'; use Engine.log$",
    ),
    "log": (
        lambda: replay(Log(0, (0,), [3, 4], [5]), WEIGHTS, backend=golden(CONFIG)),
        r"^a log to replay must have an index and a coefficient for each step, not 2 and 1; use ",
    ),
    "no passes": (
        lambda: replay(Log(0, ()), WEIGHTS, backend=golden(CONFIG)),
        r"^passes of a log to replay must be at least one, .* there is a step with none; use ",
    ),
    "no other passes": (
        lambda: replay(Log(0, (0,), [3], [4], others={0: ()}), WEIGHTS, backend=golden(CONFIG)),
        r"^passes of a log to replay must be at least one, .* there is a step with none; use ",
    ),
    "wide": (
        lambda: GoldenBackend(WIDE),
        r"^zcu102_step: zo.epsilon_log2 must be at most -3, not -2: the perturbation is wider than",
    ),
    "folder": (lambda: open_folder("no/such/folder"), r"^no/such/folder must be a folder written"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(PezoError, match=message):
        call()


def test_a_refused_call_changes_nothing() -> None:
    engine = _engine()
    for call, value in ((engine.perturb, 9), (engine.update, 0.5), (_falling(engine), -1e-3)):
        with pytest.raises(PezoError):
            call(value)
    assert engine.displacement == 0 and not len(engine.log) and engine.transfers == 0


def _falling(engine: Engine) -> Callable[[float], int]:
    return lambda rate: engine.step(1.0, 2.0, lr=rate)


@pytest.mark.parametrize("rate", [0, -0.0])
def test_a_rate_of_0_is_a_step_that_moves_nothing(rate: float) -> None:
    engine = _engine()
    list(engine.sides())
    assert engine.step(2.0, 1.0, lr=rate) == 0
    assert len(engine.log) == 1 and np.array_equal(engine.weights, WEIGHTS)


def test_a_folder_may_be_text(
    folder_of: Callable[..., Path], rtl_of: Callable[..., RegisterBackend]
) -> None:
    rtl_of(CONFIG)
    open_folder(str(folder_of(CONFIG))).close()


def test_arguments_of_a_simulation(rtl_of: Callable[..., RegisterBackend]) -> None:
    bus: Any = rtl_of(CONFIG).bus
    with pytest.raises(PezoError, match=r"^the stalls of the sender must be a share .* not 1.0$"):
        bus.stall(1.0, 0.0)
    with pytest.raises(
        PezoError, match=r"^the stalls of the receiver must be a number, not None; give one$"
    ):
        bus.stall(0.0, None)
    with pytest.raises(PezoError, match=r"^clocks must be an integer of at least 0, not -1; use "):
        bus.idle(-1)


def test_a_state_that_cannot_be_written(tmp_path: Path) -> None:
    engine = _engine()
    with pytest.raises(
        PezoError, match=r"none/a.npz: the folder .*none must exist to write there;"
    ):
        save(engine, tmp_path / "none" / "a.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(PezoError, match=r"folder must be writable, but: is a directory; choose"):
        save(engine, tmp_path / "folder")
    with pytest.raises(PezoError, match=r"^extra of a state must be what JSON can hold, but: "):
        save(engine, tmp_path / "a.npz", extra={"x": {1}})
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
