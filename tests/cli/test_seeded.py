"""The commands with seeded sources: what they say, and the figures that the presets must keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.cli.main import main
from pezo_hw.config import load
from pezo_hw.golden.engine import engine_of
from pezo_hw.synth import published

PRESETS = ["zcu102-wide", "zcu102-rademacher"]


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["report", "--json", *arguments]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize(
    ("preset", "bits", "lut", "ff"),
    [("zcu102-wide", 256, 300, 300), ("zcu102-rademacher", 1024, 1100, 1100)],
)
def test_one_lut_and_one_flip_flop_a_bit(
    capsys: pytest.CaptureFixture[str], preset: str, bits: int, lut: int, ff: int
) -> None:
    found = report(capsys, preset)
    resources = found["resources"]
    assert resources["lut"] <= lut
    assert resources["ff"] <= ff
    assert (resources["bram36"], resources["dsp"]) == (0, 0)
    (source,) = [block for block in found["blocks"] if block["name"] == "engine.source"]
    assert source["ff"] == bits
    # One LUT may count as the control's or the generator's.
    assert bits - 1 <= source["lut"] <= bits + 1
    # One LUT between registers, everywhere; the longest path is the seed's counter.
    assert found["logic_levels"] == 1
    # There are no published figures but those of the baseline.
    assert "lut" not in found["published"]
    assert found["published"]["baseline"]["lut"] == 133_203
    assert found["published"]["differs"] == []


def test_a_report_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--set", "source.words=2", "--set", "source.bits=4", "--set", "reuse.lanes=2"]
    assert main(["report", "zcu102-wide", *small]) == 0
    text = capsys.readouterr().out
    assert "Gaussian generators" in text
    assert "published for 1024 lanes, not 2" in text


def test_an_unknown_kind_has_the_baseline_alone() -> None:
    found = published.beside("rademacher", part=published.DEVICE, lanes=1024)
    assert "design" not in found
    assert found["baseline"] == published.BASELINE.as_dict()


@pytest.mark.parametrize("preset", PRESETS)
def test_check(capsys: pytest.CaptureFixture[str], preset: str) -> None:
    assert main(["check", preset, "--parameters", "5000"]) == 0
    text = capsys.readouterr().out
    size = {"zcu102-wide": 256, "zcu102-rademacher": 1024}[preset]
    assert f"2^{size} - 1 groups a seed" in text
    assert "4294967296 visited" in text
    assert "5 for 5000 parameters" in text
    assert "warning" not in text


@pytest.mark.parametrize("preset", PRESETS)
def test_vectors_start_with_a_seed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, preset: str
) -> None:
    lanes = ["--set", "reuse.lanes=64"]
    engine = engine_of(load(preset, ["reuse.lanes=64"]))
    for name, more, seed in (
        ("default.npz", ["--set", "source.seed=77"], 77),
        ("given.npz", ["--start", "4294967295"], 2**32 - 1),
    ):
        file = tmp_path / name
        assert main(["vectors", preset, *lanes, *more, "--groups", "5", "-o", str(file)]) == 0
        assert f"5 groups of seed {seed}" in capsys.readouterr().out
        engine.start(seed)
        with np.load(file) as found:
            assert np.array_equal(found["words"], engine.groups(0, 5))
            assert np.array_equal(found["lanes"], engine.lanes(0, 5))
    file = tmp_path / "bad.npz"
    bad = [*lanes, "--start", "4294967296", "--groups", "1"]
    assert main(["vectors", preset, *bad, "-o", str(file)]) == 2
    assert "seeds have 32 bits, so use 0" in capsys.readouterr().err
    assert not file.exists()
