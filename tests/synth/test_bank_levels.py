"""Between registers of the bank there is one LUT, whatever the bits a word."""

from __future__ import annotations

import pytest

from pezo_hw.config import load
from pezo_hw.export import folder
from pezo_hw.export.rtl import build
from pezo_hw.synth.blocks import inside
from pezo_hw.synth.boards import resolve
from pezo_hw.synth.levels import measure
from pezo_hw.synth.yosys import synthesise


def _levels(*overrides: str) -> int:
    config = load("zcu102-onthefly", ["reuse.lanes=32", *overrides])
    board = resolve(config.board_reference)
    with folder.temporary(build(config), board=board) as place:
        manifest = folder.read(place)
        synthesis = synthesise(
            [place / path for path in manifest["files"]["rtl"]], top=manifest["top"], board=board
        )
    bank = inside(synthesis.netlist, synthesis.hierarchy, "engine.source")
    path = measure(
        synthesis.netlist, family=synthesis.family, start=bank, end=bank
    ).register_to_register
    assert path is not None
    return path.levels


@pytest.mark.parametrize("bits", [11])
def test_one_lut_between_registers_of_the_bank(bits: int) -> None:
    assert _levels(f"source.bits={bits}") == 1


def test_a_matrix_with_too_many_taps_is_found() -> None:
    # A leap of 8 steps at once: rows of M^8 have more taps than a LUT has inputs.
    assert _levels("source.polynomial=0x11d", "source.leap=8") > 1
