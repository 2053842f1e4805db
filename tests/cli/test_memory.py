"""`pezo memory`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pezo_hw import memory
from pezo_hw.cli import memory as command
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
    given = ["memory", *shape, "--context", "64", "--method", "mezo", "--board", "zcu104"]
    assert main([*given, "--plot", str(plot)]) == 0
    text = capsys.readouterr().out
    assert "mezo: BRAM of 1.4 MiB holds: step" in text
    assert text.rstrip().endswith("ratio.png")
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main([*given, "--plot", str(plot)]) == 2
    assert "ratio.png: must not exist yet; choose another name or add --force" in (
        capsys.readouterr().err
    )
    for name in ("ratio.svg", "RATIO.SVG"):
        drawing = tmp_path / name
        assert main([*given, "--plot", str(drawing)]) == 0
        assert b"<svg " in drawing.read_bytes()
    assert (tmp_path / "ratio.svg").read_bytes() == drawing.read_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "x.txt",
            r"--plot must be a file that ends in .png or .svg, not @/x.txt; use e.g. @/x.png",
        ),
        ("x", r"--plot must be a file that ends in .png or .svg, not @/x; use e.g. @/x.png"),
        (".png", r"--plot must be a file that ends in .png or .svg, not @/.png; use e.g. "),
        ("no/x.png", r"@/no/x.png: the folder @/no must exist to write there; create it first"),
        ("there.png", r"@/there.png: must not exist yet; choose another name or add --force"),
    ],
)
def test_a_plot_that_cannot_be_is_refused_before_anything_is_done(
    name: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    (tmp_path / "there.png").write_bytes(b"mine")
    monkeypatch.setattr(memory, "usage", lambda *_: pytest.fail("the work was begun"))
    assert main(["memory", "--model", "gpt2", "--plot", str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: {message.replace('@', str(tmp_path))}")
    assert [path.name for path in tmp_path.iterdir()] == ["there.png"]
    assert (tmp_path / "there.png").read_bytes() == b"mine"


def test_a_plot_needs_matplotlib_before_anything_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["memory", "--model", "gpt2", "--plot", str(tmp_path / "x.png")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "needs" not in out and "matplotlib, which is not installed" in err


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (999, "999 B"),
        (1000, "1.000 kB"),
        (74_752, "74.752 kB"),
        (999_999_499, "999.999 MB"),
        (999_999_500, "1.000 GB"),
        (13_476_831_232, "13.477 GB"),
        (5 * 10**15, "5000.000 TB"),
    ],
)
def test_bytes_have_a_unit_that_fits(size: int, text: str) -> None:
    assert command._size(size) == text


def test_small_models_have_small_units(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--layers", "1", "--width", "8", "--heads", "1", "--vocabulary", "16"]
    assert main(["memory", *shape, "--context", "8"]) == 0
    text = capsys.readouterr().out
    assert "kB" in text and "0.000" not in text and "GB" not in text.partition("\n")[2]


def test_options_that_small_models_cannot_have_leave_the_large_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for options in (["--kept", "24"], ["--method", "mezo-lora", "--rank", "900"]):
        found = _json(capsys, "--model", "gpt2-xl", "--budget", "24G", *options)
        for used in found["methods"].values():
            assert used["budget"]["largest parameters"] > 10**9
            assert used["budget"]["largest model"] != "gpt2"
        found = _json(capsys, "--model", "gpt2-xl", "--budget", "1M", *options)
        for used in found["methods"].values():
            assert used["budget"]["largest model"] is None
            assert used["budget"]["largest parameters"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "a model must be named by --model, or described by --layers, --width and --heads"),
        (["--model", "gpt2", "--layers", "3"], "--layers must not be given beside --model"),
        (["--model", "gpt9"], "the model must be gpt2"),
        (["--model", "gpt2", "--budget", "many"], "--budget must be a number of bytes"),
        (
            ["--model", "gpt2", "--budget", f"{'9' * 400}G"],
            "--budget must be at most 10^18 bytes, not '999",
        ),
        (["--model", "gpt2", "--budget", "2000P"], "--budget must be a number of bytes"),
        (["--model", "gpt2", "--budget", "2000000T"], "--budget must be at most 10^18 bytes, not "),
        (
            ["--layers", "1", "--width", f"1{'0' * 400}", "--heads", "1"],
            "width must be at most 1,000,000,000, not 1000",
        ),
        (
            ["--model", "gpt2", "--context", f"1{'0' * 400}"],
            "context must be at most 1,000,000,000, not 1000",
        ),
        (["--model", "gpt2", "--board", "x"], "--board must be zcu102, zcu104, kv260, not 'x'"),
        (["--model", "gpt2", "--method", "x"], "the method must be bp"),
        (["--model", "gpt2", "--kept", "13"], "kept must be at most the 12 layers, not 13; use 12"),
        (
            ["--model", "gpt2", "--rank", "769"],
            "rank must be at most 768, the smaller side of the layer of 768 inputs and 2304 "
            "outputs, not 769; use 768 or less",
        ),
    ],
)
def test_wrong_options(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
    assert len(error) < 250


def test_the_largest_shapes_have_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    most = str(10**9)
    options = ["--layers", most, "--width", most, "--heads", most, "--vocabulary", most]
    options += ["--context", most, "--batch", most, "--bytes", "8"]
    for more in ([], ["--budget", "1000000T"], ["--board", "zcu104"]):
        assert main(["memory", *options, *more]) == 0
        assert "TB" in capsys.readouterr().out
