from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from kit.stalls import STALLS, make_stalls
from kit.values import pack, shorten, unpack

from pezo_hw.simulate import run

# What the kit must say of each fault of tests/simulate/skid.v.
_FAULTS = {
    1: r"clock \d+: m_axis_tdata changed before ready: [01.]+ \(72 bits\), then [01.]+ \(72 bits\)",
    2: r"clock \d+: m_axis_tvalid fell before ready",
    3: r"TLAST is not where it was put",
    6: r"hang: no transfer for 100 clocks; s_axis valid=1 ready=0; m_axis valid=0 ready=0",
    7: r"clock 4: m_axis_tvalid must be 0 at the end of a reset, not 1",
    8: r"TKEEP differs",
    9: r"hang: no transfer for 100 clocks; s_axis valid=[01] ready=[01]; m_axis valid=0 ready=[01]",
    10: r"hang: .*|TDATA differs|TLAST is not where it was put",
}
# Verilator knows no X: there these faults give any value.
_UNKNOWN = {
    4: r"clock \d+: m_axis_tvalid is X",
    5: r"clock \d+: m_axis_tdata is 0+\.\.\.0+X \(72 bits, 1 of them not 0 or 1, the lowest bit 0\)"
    r" while valid",
}


def test_streams(
    make_folder: Callable[..., Path], skid_bench: Path, simulator: str, tmp_path: Path
) -> None:
    result = run(
        make_folder(),
        bench=skid_bench,
        simulator=simulator,
        parameters={"text": "a b"},
        arrays={"numbers": np.arange(3)},
        tests=["sound", "faults", "full_speed", "commands", "exchange"],
        seed=7,
        build_dir=tmp_path / "run here",
    )
    assert result.tests == 5
    messages = {int(fault): text for fault, text in result.data["messages"].items()}
    for fault, pattern in (_FAULTS | (_UNKNOWN if simulator == "icarus" else {})).items():
        assert re.fullmatch(pattern, messages[fault]), f"fault {fault}: {messages[fault]}"
    assert result.data["clocks"] == 100 and result.data["held"] == 0
    # The stalls took place, and were the same on both simulators.
    assert (result.data["held_in"], result.data["held_out"]) == (2368, 3422)
    assert result.data["random"] == 958001048
    assert result.data["top"] == "skid" and result.data["more"] == [1, 2]
    assert result.arrays["twice"].tolist() == [0, 2, 4]
    assert result.arrays["text"].tolist() == ["a b"]
    assert result.log is not None and "sound" in result.log.read_text()


@pytest.mark.parametrize("width", [1, 4, 8, 9, 16, 25, 32, 48, 49, 63, 64])
@pytest.mark.parametrize(("beats", "lanes"), [(1, 1), (3, 7), (2, 32)])
def test_pack_and_unpack(width: int, beats: int, lanes: int) -> None:
    rng = np.random.default_rng(width)
    low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    values = rng.integers(low, high, (beats, lanes), endpoint=True)
    values[0, 0], values[-1, -1] = low, high
    packed = pack(values, width=width)
    for beat, row in zip(packed, values.tolist(), strict=True):
        assert beat == sum((value % 2**width) << (width * lane) for lane, value in enumerate(row))
    assert np.array_equal(unpack(packed, width=width, lanes=lanes), values)
    unsigned = unpack(packed, width=width, lanes=lanes, signed=False)
    assert unsigned.tolist() == [[value % 2**width for value in row] for row in values.tolist()]


def test_pack_refuses_other_shapes() -> None:
    with pytest.raises(ValueError, match=r"^values must have the shape \(beats, lanes\), not \(3,"):
        pack(np.arange(3), width=8)


def test_shorten() -> None:
    assert shorten("10x") == "10x"
    text = "1" * 20 + "XZ" + "0" * 30
    assert shorten(text) == (
        "1111111111111111...0000000000000000 (52 bits, 2 of them not 0 or 1, the lowest bit 30)"
    )


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("never", 0.0, 0.0),
        ("rare", 0.01, 0.1),
        ("half", 0.4, 0.6),
        ("heavy", 0.85, 0.95),
        ("bursts", 0.4, 0.6),
        ("alternate", 0.5, 0.5),
    ],
)
def test_stalls(name: str, least: float, most: float) -> None:
    drawn = list(islice(make_stalls(name, random.Random(3)), 2000))
    assert least <= np.mean(drawn) <= most
    assert drawn == list(islice(make_stalls(name, random.Random(3)), 2000))


def test_stalls_names() -> None:
    with pytest.raises(ValueError, match=r"^stalls must be one of never, .*, not 'often'$"):
        make_stalls("often", random.Random())
    assert "never" in STALLS
