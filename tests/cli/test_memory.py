"""`pezo memory`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pezo_hw.cli.main import main


def _json(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    assert main(["memory", *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_public_model(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, "--model", "gpt2-medium", "--context", "1024", "--budget", "17G")
    assert found["parameters"] == 354_823_168
    methods = found["methods"]
    assert list(methods) == ["bp", "bp-checkpoint", "mezo", "mezo-lora"]
    assert methods["mezo"]["parameters"] == 2 * 354_823_168
    assert methods["bp"]["total"] > 2 * methods["mezo"]["total"]
    assert methods["mezo"]["budget"] == {
        "bytes": 17 * 10**9,
        "fits": True,
        "largest model": "llama2-7b",
        "largest parameters": methods["mezo"]["budget"]["largest parameters"],
    }
    assert methods["mezo"]["budget"]["largest parameters"] > 6e9


def test_own_layers_a_board_and_a_plot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    shape = ["--layers", "2", "--width", "64", "--heads", "2", "--vocabulary", "256"]
    plot = tmp_path / "ratio.png"
    command = ["memory", *shape, "--context", "64", "--method", "mezo", "--board", "zcu104"]
    assert main([*command, "--plot", str(plot)]) == 0
    text = capsys.readouterr().out
    assert "mezo: BRAM of 1.4 MiB holds: step" in text
    assert text.rstrip().endswith("ratio.png")
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main([*command, "--plot", str(plot)]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "a model must be named by --model, or described by --layers, --width and --heads"),
        (["--model", "gpt2", "--layers", "3"], "--layers must not be given beside --model"),
        (["--model", "gpt9"], "the model must be gpt2"),
        (["--model", "gpt2", "--budget", "many"], "--budget must be a number of bytes"),
        (["--model", "gpt2", "--board", "x"], "--board must be zcu102, zcu104, kv260, not 'x'"),
        (["--model", "gpt2", "--method", "x"], "the method must be bp"),
        (["--model", "gpt2", "--kept", "13"], "kept must be at most the 12 layers, not 13"),
    ],
)
def test_wrong_options(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
