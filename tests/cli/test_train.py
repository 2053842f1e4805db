"""``pezo train``: options, what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pezo_hw.cli.main import main

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


def test_an_unknown_data_set_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "digit", "--backend", "golden"]) == 2
    assert "the data set must be digits" in capsys.readouterr().err
