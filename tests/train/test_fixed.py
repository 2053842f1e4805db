"""Training in fixed point: the loop, interruption and resume, and through the RTL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.cli import train
from pezo_hw.cli.main import main
from pezo_hw.config import Config, from_mapping, to_toml
from pezo_hw.driver import CheckedBackend, GoldenBackend, State, replay
from pezo_hw.driver.rtl import open_folder
from pezo_hw.errors import PezoError
from pezo_hw.export.folder import generate
from pezo_hw.train import curve, data, hardware, host, path_fixed
from pezo_hw.train.interruption import until_interrupted
from pezo_hw.train.loop import CHECKPOINT, Plan, Trainer, batch_of
from pezo_hw.train.paths import Request, run
from tests.driver.cores import golden, small

SIZES = (64, 8, 10)


def _plan(**more: Any) -> Plan:
    given = {"data": "digits", "sizes": SIZES, "batch": 32, "rate": 5e-3, "seed": 1}
    return Plan(**{**given, "backend": "golden", **more})


def _trainer(place: Path | None = None, config: Config | None = None, **more: Any) -> Trainer:
    config = config or hardware.configuration()
    return Trainer(_plan(**more), golden(config), data.digits(), place=place)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"source": "pre-generated"},
        {"update": "zoqo"},
        {"source": "rademacher"},
        {"bits": 8},
    ],
    ids=str,
)
def test_training_learns_real_digits(options: dict[str, Any]) -> None:
    config = hardware.configuration(**options)
    rate = 2 * hardware.rate_of(config)
    trainer = _trainer(config=config, sizes=(64, 16, 10), batch=64, rate=rate)
    before = trainer.test_loss
    assert trainer.run(400)
    assert trainer.test_accuracy > 0.33
    assert trainer.test_loss < 0.55 * before
    assert len(trainer.losses) == 400
    # Otherwise another S would be needed.
    assert trainer.engine.limited < 10


def test_a_coefficient_at_its_limit_is_counted() -> None:
    trainer = _trainer(rate=1.0)
    trainer.run(10)
    assert trainer.engine.limited > 5


def test_steps_begin_at_every_group() -> None:
    trainer = _trainer(sizes=(64, 32, 10))
    description = trainer.engine.description
    # 2,410 weights in beats of 32 are 76 beats, and K = lcm(32, 255) = 8,160.
    assert (description.beats(2410), trainer.engine.beats) == (76, 77)
    starts = {77 * step % description.period for step in range(description.period)}
    assert len(starts) == description.period
    trainer.run(3)
    assert trainer.weights.shape == (2410,)
    assert len(trainer.engine.weights) == 77 * 32
    pool = _trainer(sizes=(64, 32, 10), config=hardware.configuration(source="pre-generated"))
    assert len(pool.engine.weights) == 2410


def test_a_step_of_the_wrong_sign_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = _trainer()
    step = trainer.engine.step
    monkeypatch.setattr(trainer.engine, "step", lambda plus, minus, lr: step(minus, plus, lr=lr))
    before = trainer.test_loss
    trainer.run(60)
    assert trainer.test_loss > before


def test_a_rate_falls_on_a_straight_line() -> None:
    plan = _plan(rate=0.5, decay=10)
    assert [plan.rate_at(step) for step in (0, 5, 10, 11)] == [0.5, 0.25, 0.0, 0.0]
    assert _plan(rate=0.5).rate_at(10**6) == 0.5
    falling, steady = _trainer(decay=10), _trainer()
    falling.run(10)
    steady.run(10)
    ratios = [
        abs(a) / abs(b)
        for a, b in zip(
            falling.engine.log.coefficients[:2], steady.engine.log.coefficients[:2], strict=True
        )
    ]
    assert ratios == pytest.approx([1.0, 0.9], rel=0.02)


def test_seeds_differ_in_all_that_is_drawn() -> None:
    one, other = _trainer(), _trainer(seed=2)
    assert not np.array_equal(one.engine.weights, other.engine.weights)
    assert one.engine.index != other.engine.index
    assert one.engine.log.seed != other.engine.log.seed
    digits = data.digits()
    batches = [batch_of(digits, step, seed=s, size=9)[1].tolist() for s, step in [(1, 0), (2, 0)]]
    again = batch_of(digits, 1, seed=1, size=9)[1].tolist()
    assert batches[0] != batches[1] and batches[0] != again
    assert batches[0] == batch_of(digits, 0, seed=1, size=9)[1].tolist()


def _has_done(trainer: Trainer, steps: int) -> bool:
    return trainer.done == steps


def test_an_interrupted_run_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = _trainer()
    whole.run(40)
    for stop in (7, 8, 23):
        trainer = _trainer(tmp_path)
        assert not trainer.run(40, stopped=partial(_has_done, trainer, stop))
        assert trainer.done == stop
    last = _trainer(tmp_path)
    assert last.run(40)
    assert last.sha256 == whole.sha256
    assert last.losses == whole.losses
    state = State.read(tmp_path / CHECKPOINT)
    again = replay(
        state.log,
        state.arrays["initial"],
        backend=golden(hardware.configuration()),
    )
    assert np.array_equal(again, whole.engine.weights)


def test_an_error_in_a_step_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = _trainer(tmp_path)
    trainer.run(5)
    calls = 0

    def fail(*_: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return 1.0

    monkeypatch.setattr("pezo_hw.train.mlp.Mlp.loss", fail)
    with pytest.raises(KeyboardInterrupt):
        trainer.run(20)
    assert trainer.engine.displacement == -1
    monkeypatch.undo()
    whole = _trainer()
    whole.run(20)
    again = _trainer(tmp_path)
    assert again.done == 5
    again.run(20)
    assert again.sha256 == whole.sha256


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"seed": 2}, r"checkpoint.npz holds a run with seed = 1, not 2; choose another folder$"),
        ({"rate": 1e-3}, r"with rate = 0.005, not 0.001"),
        ({"decay": 9}, r"with decay = 0, not 9"),
        ({"backend": "rtl"}, r"with backend = golden, not rtl"),
        ({"sizes": (64, 9, 10)}, r"with sizes = \[64, 8, 10\], not \[64, 9, 10\]"),
    ],
)
def test_a_run_of_another_plan_is_refused(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    _trainer(tmp_path).run(1)
    with pytest.raises(PezoError, match=message):
        _trainer(tmp_path, **more)


def test_fewer_steps_than_were_done_are_refused(tmp_path: Path) -> None:
    _trainer(tmp_path).run(3)
    with pytest.raises(PezoError, match=r"holds a run of 3 steps, but only 2 are asked for"):
        _trainer(tmp_path).run(2)


def test_the_first_interruption_is_only_noted() -> None:
    # What runs in the background starts with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _interrupt_twice()
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt_twice() -> None:
    with until_interrupted() as stopped:
        assert not stopped()
        os.kill(os.getpid(), signal.SIGINT)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


_INTERRUPTED = """
import os, signal, sys
from pezo_hw.cli.main import main
from pezo_hw.train.loop import Trainer
step = Trainer._step
def interrupt(self):
    step(self)
    if self.done == int(sys.argv[1]):
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
Trainer._step = interrupt
sys.exit(main(sys.argv[3:]))
"""


def _arguments(place: Path) -> list[str]:
    arguments = ["train", "digits", "--backend", "golden", "--steps", "30", "--json"]
    return [*arguments, "-o", str(place)]


def _interrupted(place: Path, *, step: int, by: str) -> Any:
    command = [sys.executable, "-c", _INTERRUPTED, str(step), by, *_arguments(place)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_stops_cleanly_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_arguments(tmp_path / "whole")) == 0
    whole = capsys.readouterr().out
    part = _interrupted(tmp_path / "part", step=11, by="SIGINT")
    assert (part.returncode, part.stdout) == (130, "")
    assert "Traceback" not in part.stderr
    assert len(State.read(tmp_path / "part" / CHECKPOINT).log) == 11
    # Killed without notice: the checkpoint of before is what there is.
    killed = _interrupted(tmp_path / "part", step=20, by="SIGKILL")
    assert killed.returncode == -signal.SIGKILL
    assert len(State.read(tmp_path / "part" / CHECKPOINT).log) == 11
    assert main(_arguments(tmp_path / "part")) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(whole)
    names = {CHECKPOINT, "result.json", "curve.json", "curve.png", "config.toml"}
    for place in ("whole", "part"):
        assert {path.name for path in (tmp_path / place).iterdir()} == names
    for name in ("result.json", "curve.json", "curve.png"):
        assert (tmp_path / "part" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


_KILLED = """
import os, signal, sys
from pezo_hw.cli.main import main
left = int(sys.argv[1])
def die(_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = die
sys.exit(main(sys.argv[2:]))
"""


def test_a_run_that_is_killed_while_it_writes_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run"
    names = ("config.toml", CHECKPOINT, "curve.json", "curve.png", "result.json")
    for count, name in enumerate(names, start=1):
        command = [sys.executable, "-c", _KILLED, str(count), *_arguments(place)]
        killed = subprocess.run(command, capture_output=True, check=False)
        assert killed.returncode == -signal.SIGKILL
        left = {path.name for path in place.iterdir()} - set(names)
        assert [part.rpartition(".")[0] for part in left] == [f".{name}"]
    assert main(_arguments(place)) == 0
    assert {path.name for path in place.iterdir()} == set(names)
    # Nobody else's file is one of these.
    for foreign in (".config.toml.12345678.txt", ".config.toml.short", ".notes.txt.12345678"):
        (place / foreign).write_text("x")
        capsys.readouterr()
        assert main(_arguments(place)) == 2
        assert f"but it holds {foreign};" in capsys.readouterr().err
        (place / foreign).unlink()


_WIDE = [
    *("source.bits=4", "source.generators=1", "reuse.lanes=1", "reuse.stride=0"),
    *("weights.bits=8", "weights.frac=6", "zo.epsilon_log2=-2"),
]


@pytest.mark.parametrize(
    ("backend", "more", "message"),
    [
        ("golden", _WIDE, "zo.epsilon_log2 must be at most -3, not -2: the perturbation is wider"),
        ("golden", ["core.board=nope"], 'core.board must be a known board, not "nope"'),
        ("rtl", ["core.board=nope"], 'core.board must be a known board, not "nope"'),
    ],
)
def test_a_core_that_cannot_be_built_is_not_trained(
    backend: str,
    more: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [part for given in more for part in ("--set", given)]
    arguments = ["train", "digits", "--backend", backend, "--steps", "2", *options]
    assert main([*arguments, "-o", str(tmp_path / "run")]) == 2
    assert f"error: zcu102_step: {message}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_backend_that_does_not_open_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: Config, **__: Any) -> None:
        raise PezoError("verilator must be installed, but is missing")

    monkeypatch.setattr("pezo_hw.driver.rtl.open_rtl", fail)
    with pytest.raises(PezoError, match="^verilator must be installed"):
        run("rtl", Request(steps=1, output=tmp_path / "run"), say=lambda _: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "most"), [("--batch", train.MOST_BATCH), ("--steps", train.MOST_STEPS)]
)
def test_slips_of_the_keyboard_are_refused(
    option: str, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A board that is none ends what a slip does not.
    arguments = ["train", "digits", "--backend", "golden", "--set", "core.board=nope"]
    arguments += ["-o", str(tmp_path / "run")]
    assert main([*arguments, option, str(most)]) == 2
    assert "core.board must be a known board" in capsys.readouterr().err
    for value in (most + 1, 10**12, 10**30):
        assert main([*arguments, option, str(value)]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"error: Invalid value for '{option}'") and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_another_configuration_in_the_folder_is_refused(tmp_path: Path) -> None:
    config = hardware.configuration()
    request = Request(config=config, steps=2, output=tmp_path / "run")
    run("golden", request, say=lambda _: None)
    other = Request(
        config=hardware.configuration(overrides=("source.seed=5",)),
        steps=2,
        output=tmp_path / "run",
    )
    with pytest.raises(PezoError, match=r"holds a run of another configuration, see config.toml"):
        run("golden", other, say=lambda _: None)


def test_files_of_others_are_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(PezoError, match="but it holds thesis.tex"):
        run("golden", Request(steps=1, output=tmp_path), say=lambda _: None)


def test_a_curve_has_the_means_of_its_steps() -> None:
    losses = [float(i) for i in range(1001)]
    found = curve.points(losses)
    assert len(found["loss"]) <= curve.POINTS
    assert found["steps"][-1] == 1001
    assert found["loss"][0] == pytest.approx(np.mean(losses[: found["steps"][0]]))
    weights = np.diff([0, *found["steps"]])
    assert np.average(found["loss"], weights=weights) == pytest.approx(500)
    assert curve.points([]) == {"steps": [], "loss": []}
    assert curve.png(losses, title="a") == curve.png(losses, title="a")


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(small(), id="dsp, 16 bits"),
        pytest.param(small("inline-both", update="zoqo", bits=8), id="zoqo, 8 bits, inline"),
    ],
)
def test_training_through_the_rtl_gives_the_golden_weights(config: Config, tmp_path: Path) -> None:
    """Under stalls and with another schedule; the cases of the documents are in test_kept.py."""
    generate(config, tmp_path / "core")
    rtl = open_folder(tmp_path / "core", stalls=(0.1, 0.1))
    checked = CheckedBackend(rtl, reference=golden(config))
    plan = _plan(sizes=(64, 32, 10), rate=0.03)
    trainer = Trainer(plan, checked, data.digits())
    alone = Trainer(plan, golden(config), data.digits())
    trainer.run(25)
    alone.run(25)
    rtl.close()
    assert checked.difference is None and checked.sweeps >= 50
    assert trainer.sha256 == alone.sha256
    assert trainer.engine.saturations == alone.engine.saturations
    assert not np.array_equal(trainer.engine.weights, trainer.engine.initial)


class _Wrong(GoldenBackend):
    def sweep(self, command: Any, weights: Any) -> Any:
        outcome = super().sweep(command, weights)
        outcome.outputs["weights"][0] ^= 1
        return outcome


def test_a_difference_is_reported_and_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("pezo_hw.driver.rtl.open_rtl", lambda config, **_: _Wrong(config))
    arguments = ["train", "digits", "--backend", "rtl", "--steps", "3", "--json"]
    assert main([*arguments, "-o", str(tmp_path / "run")]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["bit_exact"] is False
    assert err.startswith("error: seed 0: sweep 1: weights[0] is")
    # A part without a difference does not make up for it.
    monkeypatch.setattr("pezo_hw.driver.rtl.open_rtl", lambda config, **_: GoldenBackend(config))
    arguments[5] = "5"
    assert main([*arguments, "-o", str(tmp_path / "run")]) == 1
    assert json.loads(capsys.readouterr().out)["bit_exact"] is False
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["bit_exact"] is True


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(lora=4), r"^lora must not be given for fixed point"),
        (Request(epsilon=0.1), r"^epsilon must not be given for fixed point"),
        (Request(model="cct-2"), r"^the model in fixed point must be mlp, not 'cct-2'$"),
        (Request(method="bp"), r"^the method in fixed point must be one of .*, not bp$"),
    ],
)
def test_what_fixed_point_cannot_do(request_: Request, message: str) -> None:
    with pytest.raises(PezoError, match=message):
        path_fixed.config_of(request_)


def test_configurations_to_train_with() -> None:
    kinds = {
        source: hardware.configuration(source=source).source.kind for source in hardware.SOURCES
    }
    assert all(kind == source for source, kind in kinds.items())
    for bits in hardware.FORMATS:
        for update in hardware.UPDATES:
            for source in ("on-the-fly", "pre-generated"):
                config = hardware.configuration(source=source, update=update, bits=bits)
                assert config.weights is not None and config.weights.bits == bits
                assert config.zo is not None and config.zo.update == update
                assert config.source.kind == source
                assert hardware.rate_of(config) > 0
                back = hardware.configuration(source=source, update="dsp", bits=bits)
                assert back.zo is not None and back.zo.levels == 0
    for wrong, message in (
        ({"source": "dice"}, r"^source must be one of on-the-fly, .*, not dice$"),
        ({"bits": 12}, r"^bits must be one of 16, 8, not 12$"),
        ({"base": "tiny"}, r'^tiny: core.kind must be "zo-step" to train with'),
    ):
        with pytest.raises(PezoError, match=message):
            hardware.configuration(**wrong)
    mapping = hardware.configuration(source="pre-generated").model_dump(exclude_unset=True)
    assert from_mapping(mapping).source.kind == "pre-generated"


@pytest.mark.parametrize("update", ["dsp", "zoqo"])
def test_a_rate_of_any_size_gives_a_coefficient_in_its_limit(update: str) -> None:
    description = GoldenBackend(small(update=update)).description
    limit = (1 << (description.arithmetic.coefficient_bits - 1)) - 1
    for rate in (1e308, 1e300):
        found = host.coefficient_of(2.0, 1.0, rate=rate, description=description)
        assert found == limit
        assert host.coefficient_of(1.0, 2.0, rate=rate, description=description) == -limit
        assert host.coefficient_of(1.0, 1.0, rate=rate, description=description) == 0
    with pytest.raises(PezoError, match=r"^the learning rate must be a finite number, not inf$"):
        host.coefficient_of(2.0, 1.0, rate=float("inf"), description=description)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("extra", r"checkpoint.npz: must be a whole checkpoint, but reading it gives KeyError"),
        ("losses", r"checkpoint.npz: must be a whole checkpoint, but reading it gives KeyError"),
        ("short", r"checkpoint.npz: losses of a checkpoint must have shape \(2,\), not \(1,\)"),
        ("weights", r"checkpoint.npz: weights of a checkpoint must have shape "),
        ("meta", r"checkpoint.npz: must be a whole checkpoint, but reading it gives "),
    ],
)
def test_a_damaged_checkpoint_is_one_line(tmp_path: Path, name: str, message: str) -> None:
    _trainer(tmp_path).run(2)
    state = State.read(tmp_path / CHECKPOINT)
    meta: Any = state.meta
    arrays: Any = state.arrays
    if name == "extra":
        meta["extra"].pop("extra")
    elif name == "meta":
        meta["extra"] = []
    elif name == "losses":
        arrays.pop("extra_losses")
    else:
        key = {"short": "extra_losses", "weights": "weights"}[name]
        arrays[key] = arrays[key][:1]
    np.savez(tmp_path / CHECKPOINT, meta=np.array(json.dumps(meta)), **arrays)
    with pytest.raises(PezoError, match=message):
        _trainer(tmp_path)


def test_a_damaged_configuration_in_the_folder_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_arguments(tmp_path)) == 0
    (tmp_path / "config.toml").write_bytes(b"\xff")
    capsys.readouterr()
    assert main(_arguments(tmp_path)) == 2
    assert "holds a run of another configuration" in capsys.readouterr().err


def test_bits_of_a_zoqo_configuration_change_its_levels(tmp_path: Path) -> None:
    path = tmp_path / "zoqo.toml"
    path.write_text(to_toml(hardware.configuration(update="zoqo")))
    config = hardware.configuration(base=str(path), bits=8)
    assert config.zo is not None and config.weights is not None
    assert (config.zo.update, config.zo.levels, config.weights.bits) == ("zoqo", 3, 8)


@pytest.mark.parametrize("options", [{}, {"source": "pre-generated"}, {"bits": 8}])
def test_a_relative_board_counts_from_the_file_of_a_configuration(
    options: dict[str, Any], tmp_path: Path
) -> None:
    text = to_toml(hardware.configuration()).replace('board = "zcu102"', 'board = "mine.py"')
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    config = hardware.configuration(base=str(tmp_path / "x.toml"), **options)
    assert config.core.board == "mine.py"
    assert config.board_reference == str(tmp_path / "mine.py")
    assert to_toml(from_mapping(config.model_dump(exclude_none=True))) == to_toml(config)
