"""The results that the documents show are of this gateware, and texts quote them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pezo_hw import compare
from pezo_hw.compare import output, tables
from pezo_hw.compare.page import page
from pezo_hw.compare.result import from_document
from pezo_hw.config import load
from pezo_hw.export.rtl import build, fingerprint
from scripts import compare_results, signs

COMPARED = from_document(
    json.loads((compare_results.RESULTS / output.FIGURES).read_text(encoding="utf-8"))
)
PRINTS = json.loads((compare_results.RESULTS / compare_results.FINGERPRINTS).read_text())
SIGNS: dict[str, Any] = json.loads(signs.RESULTS.read_text(encoding="utf-8"))


def test_the_comparison_is_of_this_gateware() -> None:
    # If this fails: python scripts/compare_results.py
    assert compare_results.fingerprints() == PRINTS
    assert list(PRINTS) == [row.source for row in COMPARED.rows]


def test_another_gateware_is_seen() -> None:
    changed = load("zcu102-onthefly", ["reuse.lanes=64", "source.seed=2"])
    assert fingerprint(build(changed)) != PRINTS["on-the-fly"]


def test_the_comparison_is_complete_and_its_claims_hold() -> None:
    assert COMPARED.lanes == 1024 and len(COMPARED.claims) == 3
    assert all(claim.holds for claim in COMPARED.claims)
    assert sorted({size.lanes for size in COMPARED.scaling}) == list(compare.SIZES)
    for size in COMPARED.scaling:
        if size.lanes == COMPARED.lanes:
            row = COMPARED.row(size.source)
            assert (size.lut, size.ff) == (row.lut, row.ff)


def test_sources_keep_to_their_sizes() -> None:
    tree, signs_, wide = (COMPARED.row(n) for n in ("gaussian-tree", "rademacher", "wide-uniform"))
    assert 110 <= tree.lut / 1024 <= 140 and 60 <= tree.ff / 1024 <= 75
    assert signs_.lut <= 1100 and signs_.ff <= 1100 and signs_.rank == compare.STEPS
    assert wide.lut <= 300 and wide.ff <= 300 and wide.logic_levels == 1


def test_the_files_are_of_one_run() -> None:
    folder = compare_results.RESULTS
    drawn = {path.name: path.read_bytes() for path in folder.glob("*.svg")}
    assert (folder / output.PAGE).read_text(encoding="utf-8") == page(COMPARED, drawn)
    assert (folder / output.MARKDOWN).read_text(encoding="utf-8") == tables.markdown(COMPARED)
    assert {path.name for path in folder.iterdir()} == {
        *output.NAMES,
        compare_results.FINGERPRINTS,
    }


@pytest.mark.parametrize(
    "entry", SIGNS["entries"], ids=lambda entry: f"{entry['preset']}-{entry['signs']}"
)
def test_signs_are_of_this_gateware(entry: dict[str, Any]) -> None:
    # If this fails: python scripts/signs.py
    assert signs.print_of(entry["preset"], signs=entry["signs"]) == entry["fingerprint"]


def test_signs_do_and_cost_what_the_page_says() -> None:
    assert SIGNS["parameters"] == 2410 and SIGNS["steps"] == 512
    for plain, signed in zip(SIGNS["entries"][::2], SIGNS["entries"][1::2], strict=True):
        assert (plain["signs"], signed["signs"]) == (False, True)
        assert plain["preset"] == signed["preset"]
        assert plain["rank"] == 96 and signed["rank"] == 512
        # A multiplexer for each bit of a lane but the lowest; none without signs.
        bits = 9 if plain["preset"] == "zcu102-wide" else 8
        assert signed["lane_lut"] == 1024 * (bits - 1) and plain["lane_lut"] == 0
        assert signed["participation"] > 0.99 * signed["gaussian_participation"]
        assert COMPARED.row("rademacher").lut < signed["lut"]
