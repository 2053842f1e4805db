"""`pezo vectors`: the arrays, their order, their bytes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pezo_hw.cli.main import main
from pezo_hw.config import load
from pezo_hw.golden.engine import Engine


def test_vectors_are_the_model_s(tmp_path: Path) -> None:
    file = tmp_path / "v.npz"
    assert main(["vectors", "tiny", "--start", "3", "--groups", "40", "-o", str(file)]) == 0
    with np.load(file) as arrays:
        words, exponents, lanes = (arrays[name] for name in ("words", "exponents", "lanes"))
    assert words.shape == (40, 3)
    assert exponents.shape == (40,)
    assert lanes.shape == (40, 6)
    # Lane m W + j gets word (j + m stride) mod W, scaled.
    stride = load("tiny").reuse.stride
    for lane in range(6):
        word = (lane % 3 + lane // 3 * stride) % 3
        assert np.array_equal(lanes[:, lane], words[:, word] * 2**exponents)
    assert np.array_equal(words[1:], Engine(load("tiny")).groups(4, 39))


def test_the_same_call_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert main(["vectors", "tiny", "--groups", "5", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "0"], "--groups"),
        (["--groups", "1", "--start", "15"], "0 to 14, not 15; .* so 0 is the same group"),
        (["--groups", "100000000"], "--groups must give at most 268435456 lane values"),
        (["--groups", "x"], "--groups"),
    ],
)
def test_bad_numbers_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert main(["vectors", "tiny", "-o", str(tmp_path / "v.npz"), *arguments]) == 2
    captured = capsys.readouterr()

    assert re.search(message, captured.err)
    assert len(captured.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "v.npz"
    file.write_text("precious")
    assert main(["vectors", "tiny", "--groups", "1", "-o", str(file)]) == 2
    assert "--force" in capsys.readouterr().err
    assert file.read_text() == "precious"
