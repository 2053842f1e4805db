"""Saving and loading the state of a training."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.driver import Engine, Layout, State, replay, save
from pezo_hw.errors import PezoError
from pezo_hw.files import write_atomically
from tests.driver.cores import golden, small


def _train(engine: Engine, steps: int) -> Engine:
    for _ in range(steps):
        plus, minus = (float(np.abs(side - 999).mean()) / 8192 for side in engine.sides())
        engine.step(plus, minus, lr=0.05)
    return engine


def _engine(schedule: str = "in-place", **more: Any) -> Engine:
    weights = np.random.default_rng(1).integers(-32768, 32767, 30)
    return Engine(golden(small(schedule, **more)), weights, start=9, seed=4)


@pytest.mark.parametrize("schedule", ["in-place", "inline", "inline-both", "fused"])
def test_a_loaded_training_goes_on_to_the_same_weights(schedule: str, tmp_path: Path) -> None:
    whole = _train(_engine(schedule), 30)
    part = _train(_engine(schedule), 13)
    save(part, tmp_path / "state.npz", extra={"note": "x"}, arrays={"curve": np.arange(3)})
    state = State.read(tmp_path / "state.npz")
    backend = golden(small(schedule))
    # What the device did in the meantime does not matter.
    _train(Engine(backend, part.weights), 3)
    again = _train(state.engine(backend), 17)
    assert np.array_equal(again.weights, whole.weights)
    assert np.array_equal(again.initial, whole.initial)
    assert again.log == whole.log
    assert again.index == whole.index
    if schedule != "fused":
        # There the first sweep after loading gives sides that were counted before.
        assert (again.saturations, again.transfers) == (whole.saturations, whole.transfers)
    assert state.extra == {"note": "x"} and state.extra_arrays["curve"].tolist() == [0, 1, 2]
    assert np.array_equal(
        replay(again.log, again.initial, backend=golden(small(schedule))), whole.weights
    )


def test_a_table_is_kept(tmp_path: Path) -> None:
    config = small(tensors=2)
    table = Layout((20, 10), lanes=4).table([{"frozen": True}, {}])
    engine = Engine(golden(config), np.arange(30), table=table)
    save(engine, tmp_path / "state.npz")
    again = _train(State.read(tmp_path / "state.npz").engine(golden(config)), 3)
    assert again.table == table
    assert np.array_equal(again.weights[:20], np.arange(20))
    assert not np.array_equal(again.weights[20:], np.arange(20, 30))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"beats": 0}, r"beats of a tensor must be an integer"), ({"beat": 1}, r".* argument 'beat'")],
)
def test_a_table_of_other_things_is_refused(
    change: dict[str, int], message: str, tmp_path: Path
) -> None:
    config = small(tensors=2)
    engine = Engine(golden(config), np.arange(30), table=Layout((20, 10), lanes=4).table())
    save(engine, tmp_path / "state.npz")
    state = State.read(tmp_path / "state.npz")
    state.meta["table"][0] |= change
    wanted = rf"^the table of a state must hold tensors, but: {message}"
    with pytest.raises(PezoError, match=wanted):
        state.engine(golden(config))


def test_the_middle_of_a_step_is_refused(tmp_path: Path) -> None:
    engine = _engine()
    engine.perturb(1)
    with pytest.raises(PezoError, match=r"^a state must be saved between two steps"):
        save(engine, tmp_path / "state.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("passes", [(), (1, -2)])
def test_sweeps_that_took_each_other_back_are_kept(passes: tuple[int, ...], tmp_path: Path) -> None:
    engine = Engine(golden(small()), np.full(30, 32767), start=9, seed=4)
    engine.perturb(1)
    engine.perturb(-1)
    assert engine.pass_limited
    save(engine, tmp_path / "state.npz")
    again = State.read(tmp_path / "state.npz").engine(golden(small()))
    for one in (engine, again):
        for k in passes:
            one.perturb(k)
        one.restore_update(3)
    assert engine.log.others == {0: (1, -1, *passes, -sum(passes))}
    assert again.log == engine.log
    assert np.array_equal(again.weights, engine.weights)
    rebuilt = replay(again.log, again.initial, backend=golden(small()))
    assert np.array_equal(rebuilt, engine.weights)
    assert not np.array_equal(rebuilt, engine.initial)


def test_sweeps_of_single_steps_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    engine = _train(_engine(), 2)
    save(engine, path)
    # An earlier version can read it.
    assert State.read(path).meta["format"] == 1
    k: Any = np.int64(-1)
    engine.perturb(k)
    engine.perturb(1)
    engine.update(3)
    _train(engine, 2)
    engine.update(-4)
    save(engine, path)
    # It would replay them as the usual ones.
    assert State.read(path).meta["format"] == 2
    log = State.read(path).log
    assert log == engine.log and log.others == {2: (-1, 1, 0), 5: (0,)}
    again = replay(log, engine.initial, backend=golden(small()))
    assert np.array_equal(again, engine.weights)


UNKEPT: dict[str, tuple[dict[str, Any], str]] = {
    "extra": ({"extra": [1]}, r"^extra of a state must be a dict, not a value of type list; "),
    "arrays": ({"arrays": [1]}, r"^arrays of a state must be a dict, not a value of type list; "),
    "objects": (
        {"arrays": {"a": np.array([{}], dtype=object)}},
        r"^arrays of a state must hold numbers or text, but 'a' holds objects; ",
    ),
    "ragged": (
        {"arrays": {"a": [[1], [1, 2]]}},
        r"^arrays of a state: 'a' must be numbers in one dimension, not a value of type list ",
    ),
}


@pytest.mark.parametrize("name", UNKEPT)
def test_what_a_file_cannot_hold_is_refused(name: str, tmp_path: Path) -> None:
    given, message = UNKEPT[name]
    with pytest.raises(PezoError, match=message):
        save(_engine(), tmp_path / "state.npz", **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "section", "change"),
    [("on-the-fly", "reuse", {"stride": 3}), ("rademacher", "source", {"seed": 77})],
)
def test_a_state_of_another_stream_is_refused(
    source: str, section: str, change: dict[str, int], tmp_path: Path
) -> None:
    save(_engine(source=source), tmp_path / "state.npz")
    state = State.read(tmp_path / "state.npz")
    config = small(source=source)
    part = getattr(config, section)
    other = config.model_copy(update={section: part.model_copy(update=change)})
    with pytest.raises(PezoError, match=r"was made with another source, scaling or reuse;"):
        state.engine(golden(other))
    # A backend that does not know is given the benefit of the doubt.
    backend = golden(config)
    backend.description = dataclasses.replace(backend.description, stream="")
    assert state.engine(backend).index == 9


@pytest.mark.parametrize(
    ("other", "key"),
    [
        (small(bits=8), "arithmetic"),
        (small("inline"), "schedule"),
        (small(source="pre-generated"), "leftover"),
        (small(update="zoqo"), "arithmetic"),
    ],
)
def test_a_state_of_another_core_is_refused(other: Any, key: str, tmp_path: Path) -> None:
    save(_engine(), tmp_path / "state.npz")
    state = State.read(tmp_path / "state.npz")
    with pytest.raises(PezoError, match=rf"^the state must come from this core, but its {key} is"):
        state.engine(golden(other))


def test_a_failed_write_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.npz"
    engine = _engine()
    save(engine, path)
    before = path.read_bytes()
    _train(engine, 2)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    message = r"state.npz must be writable, but: no space left on device; choose another place$"
    with pytest.raises(PezoError, match=message):
        save(engine, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"not a file of numpy", b"PK\x03\x04 broken"])
def test_a_file_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    path.write_bytes(content)
    with pytest.raises(PezoError, match=r"state.npz: must be a saved state, but reading it gives"):
        State.read(path)


def test_a_missing_file_and_another_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PezoError, match="but there is no such file"):
        State.read(tmp_path / "none.npz")
    np.savez(tmp_path / "new.npz", meta=np.array(json.dumps({"format": 3})))
    with pytest.raises(PezoError, match="the format must be 1 or 2, not 3"):
        State.read(tmp_path / "new.npz")
    np.savez(tmp_path / "foreign.npz", weights=np.zeros(3))
    with pytest.raises(PezoError, match="reading it gives KeyError"):
        State.read(tmp_path / "foreign.npz")


def test_a_file_has_the_permissions_of_any_new_one(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    write_atomically(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == plain.stat().st_mode
