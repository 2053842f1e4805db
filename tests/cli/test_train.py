"""``pezo train``: options, what it prints, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from pezo_hw.cli.main import main
from pezo_hw.config import load, to_toml
from pezo_hw.train.hardware import SOURCES
from pezo_hw.train.loop import Trainer
from pezo_hw.train.numpy import ZO

GOLDEN = ["train", "digits", "--backend", "golden"]


def test_json_has_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GOLDEN, "--steps", "3", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert list(found) == [
        "backend",
        "steps",
        "test_accuracy",
        "weights_sha256",
        "saturations",
        "bit_exact",
    ]
    assert (found["backend"], found["steps"], found["bit_exact"]) == ("golden", 3, None)
    assert len(found["weights_sha256"]) == 64
    assert err == ""


def test_several_seeds_are_summed_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "runs"
    assert main([*GOLDEN, "--steps", "3", "--seeds", "0,4", "--json", "-o", str(place)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["seed"] for run in found["runs"]] == [0, 4]
    shas = {run["details"]["weights_sha256"] for run in found["runs"]}
    assert len(shas) == 2
    mean = sum(run["accuracy"] for run in found["runs"]) / 2
    assert found["mean"]["accuracy"] == pytest.approx(mean)
    assert {path.name for path in place.iterdir()} == {"seed-0", "seed-4"}


def test_text_says_what_came_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GOLDEN, "--steps", "3", "--seeds", "0,1"]) == 0
    out, err = capsys.readouterr()
    assert "accuracy" in out.splitlines()[0]
    assert out.count("weights sha256") == 2 and "over 2 seeds" in out
    assert "3/3" in err or "steps/s" in err


def test_options_choose_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    def digest(*options: str) -> str:
        assert main(["train", "digits", "--steps", "2", "--json", *options]) == 0
        sha: str = json.loads(capsys.readouterr().out)["weights_sha256"]
        return sha

    plain = digest("--source", "on-the-fly")
    assert digest("--backend", "golden") == plain
    assert digest("--backend", "golden", "--method", "on-the-fly") == plain
    assert digest("--backend", "golden", "--seed", "0", "--rate", "3e-3") == plain
    others = [
        ("--source", "pre-generated"),
        ("--update", "zoqo"),
        ("--backend", "golden", "--bits", "8"),
        ("--backend", "golden", "--seed", "1"),
        ("--backend", "golden", "--batch", "32"),
        ("--backend", "golden", "--decay", "2"),
        ("--backend", "golden", "--set", "source.seed=3"),
    ]
    shas = [digest(*options) for options in others]
    assert len({plain, *shas}) == 1 + len(others)
    assert digest("--backend", "golden", "--method", "zoqo") == shas[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--backend", "gpu"], r"the way to train must be .*, not 'gpu'"),
        (["--backend", "numpy", "--source", "on-the-fly"], r"--source and --update must come with"),
        (
            ["--backend", "golden", "--method", "zoqo", "--update", "dsp"],
            r"--method must not come with --source or --update",
        ),
        (["--backend", "golden", "--method", "bp"], r"--method in fixed point must be zoqo or one"),
        (["--backend", "numpy", "--decay", "9"], r"--decay must come with --backend golden or rtl"),
        (["--seed", "1", "--seeds", "1,2"], r"--seed must not come with --seeds"),
        (["--backend", "golden", "--seeds", "a"], r"--seeds must be numbers such as 0,1,2"),
        (["--backend", "golden", "--seeds", "1,1"], r"seeds must be different"),
        (["--backend", "golden", "--bits", "12"], r"bits must be one of 16, 8, not 12"),
        (["--backend", "golden", "--lora", "2"], r"lora must not be given for fixed point"),
        (["--backend", "golden", "--config", "tiny"], r'tiny: core.kind must be "zo-step"'),
        (["--backend", "golden", "--steps", "0"], r"--steps"),
        (["--backend", "numpy", "--set", "source.bits=9"], r"--set must come with --config"),
        (
            ["--source", "pre-generated", "--set", "source.bits=9"],
            r"--set source.bits=9 must not come with --source pre-generated, which sets source.bits"
            r" = 8; leave one of them out",
        ),
        (
            ["--backend", "golden", "--bits", "8", "--set", "zo.epsilon_log2=-6"],
            r"--set zo.epsilon_log2=-6 must not come with --bits 8, which sets zo.epsilon_log2 = -",
        ),
        (
            ["--update", "zoqo", "--set", "zo.coefficient_shift=9"],
            r"zo.coefficient_shift=9 must not come with --update zoqo, which leaves no such key; ",
        ),
        (
            ["--source", "rademacher", "--update", "zoqo"],
            r"error: --source rademacher --update zoqo with zcu102-step: source.kind must be .*; "
            r"or leave out --source, or take another --config than zcu102-step",
        ),
        (
            ["--log", "no/such/a.log"],
            r"no/such/a.log must be in a folder that exists, but no/such ",
        ),
        (
            ["--seeds", "0,4294967296"],
            r"a seed in floating point must be an integer from 0 to ",
        ),
        (["--epsilon", "1e300", "--method", "zoqo"], r"eps must be at most 2\^30 times the step"),
        (["--rate", "1e300", "--method", "zoqo"], r"lr must be at most 2\^30 times the step"),
        (["--rate", "1e308"], r"an update must be finite in float32, but lr times the gradient is"),
        (["--rate", "1e30", "--steps", "9"], r"a loss must be a finite number, not "),
        (
            ["--epsilon", "1e300"],
            r"eps must be so small that perturbed weights are finite",
        ),
        (["--rate", "1e300", "--method", "bp"], r"the rate must be finite in float32, not 1e\+300"),
        (["--lora", "0"], r"the rank of adapters must be an integer of at least 1, not 0; use 1"),
        (["--method", "wide-uniform"], r"the method must be bp, .* or zoqo, not 'wide-uniform'"),
        (
            ["--config", "zcu102-wide", "--method", "wide-uniform"],
            r"the method in floating point must be bp, .*, zoqo, not wide-uniform; choose one",
        ),
    ],
)
def test_a_bad_option_is_one_line(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "digits", *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(err)


def test_no_seed_is_trained_before_all_are_known_to_be_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ZO, "step", lambda *_: pytest.fail("a step was done"))
    log = tmp_path / "a.log"
    command = ["train", "digits", "--seeds", "0,4294967296", "--backend", "numpy"]
    assert main([*command, "--log", str(log)]) == 2
    assert "not 4294967296; use 4294967295" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_data_set_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "digit", "--backend", "golden"]) == 2
    assert "the data set must be digits" in capsys.readouterr().err


def test_the_options_are_blamed_and_not_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    config = load("zcu102-step", ["source.generators=3", "reuse.lanes=24"])
    path.write_text(to_toml(config), encoding="utf-8")
    assert main(["train", "digits", "--config", str(path), "--source", "pre-generated"]) == 2
    assert capsys.readouterr().err == (
        f"error: --source pre-generated with {path}: reuse.lanes must be a multiple of the words a "
        "clock, source.words = 32, not 24; use 32; or leave out --source, or take another --config "
        f"than {path}\n"
    )
    # A fault of the file is one of the file.
    path.write_text(to_toml(config).replace("lanes = 24", "lanes = 25"), encoding="utf-8")
    assert main(["train", "digits", "--config", str(path), "--source", "pre-generated"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}: reuse.lanes must be a multiple")


@pytest.mark.parametrize("option", ["--source", "--method"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_trains_in_fixed_point(
    source: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*GOLDEN, option, source, "--steps", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 1


def _interrupt(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, step: int) -> None:
    """Let the user press Ctrl-C in a step, counted from 1."""
    whole, calls = getattr(owner, name), []

    def interrupted(self: Any, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == step:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, *arguments)

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_interruption_says_how_far_it_came(
    options: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    command = ["train", "digits", "--steps", "9", "--seed", "3", *options]
    place, log = tmp_path / "run", tmp_path / "a.log"
    for owner, name, more, kept in (
        (Trainer, "_step", ["--backend", "golden"], "nothing is kept without -o"),
        (
            Trainer,
            "_step",
            ["--backend", "golden", "-o", str(place)],
            f"the same command goes on from there: {place}",
        ),
        (ZO, "step", [], "nothing is kept without --log"),
        (ZO, "step", ["--log", str(log)], f"they are in {log}"),
    ):
        with monkeypatch.context() as patch:
            _interrupt(patch, owner, name, step=4)
            assert main([*command, *more]) == 130
        out, err = capsys.readouterr()
        assert out == "" and err.endswith(f"interrupted: seed 3 did 4 of 9 steps; {kept}\n")
    assert main([*command, "--backend", "golden", "-o", str(place)]) == 0


def test_an_interruption_after_the_last_step_is_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, name, backend in ((Trainer, "_step", "golden"), (ZO, "step", "numpy")):
        with monkeypatch.context() as patch:
            _interrupt(patch, owner, name, step=2)
            assert main(["train", "digits", "--backend", backend, "--steps", "2"]) == 0
        assert "interrupted" not in capsys.readouterr().err


def test_compiling_is_announced_where_it_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pezo_hw.simulate.cache.default_root", lambda: tmp_path / "cache")
    small = [f"source.{key}" for key in ("generators=5", "bits=5")] + ["reuse.lanes=5"]
    command = ["train", "digits", "--backend", "rtl", "--steps", "1"]
    command += [part for key in small for part in ("--set", key)]
    said = []
    for _ in range(2):
        assert main(command) == 0
        said.append(capsys.readouterr().err)
    line = "compiling the core for simulation; it is kept for the next time\n"
    assert line in said[0] and "compiling" not in said[1]


def test_going_on_is_announced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["train", "digits", "--backend", "golden", "-o", str(tmp_path / "run")]
    assert main([*command, "--steps", "5"]) == 0
    first = capsys.readouterr()
    assert main([*command, "--steps", "8"]) == 0
    again = capsys.readouterr()
    assert "going on" not in first.err and "seed 0: going on behind step 5 of 8\n" in again.err
    # The loss before is that before all of the steps.
    before = [text.out.splitlines()[1].split()[3] for text in (first, again)]
    assert before[0] == before[1]
