"""`pezo_hw.compare`: what is measured, and what comes of it."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pezo_hw import compare
from pezo_hw.compare import Comparison, measuring, output, plots, tables
from pezo_hw.compare.page import page
from pezo_hw.compare.result import claims_of, from_document, published_rows
from pezo_hw.config import load, preset_names
from pezo_hw.errors import PezoError
from pezo_hw.golden.engine import engine_of
from pezo_hw.synth import cache, published
from pezo_hw.synth import place as placing
from tests.compare.conftest import LUTS, Tools, install

KEYS = [
    "source", "lut", "ff", "bram36", "dsp", "share", "ratio", "fmax_mhz", "logic_levels",
    "activity", "period", "directions", "rank",
]  # fmt: skip


Made = tuple[Comparison, Tools]


@pytest.fixture(scope="module")
def made() -> Made:
    with pytest.MonkeyPatch.context() as patch:
        tools = install(patch)
        return compare.measure(1024, sizes=(32, 4096)), tools


@pytest.fixture(scope="module")
def found(made: Made) -> Comparison:
    return made[0]


@pytest.fixture(scope="module")
def drawn(found: Comparison) -> dict[str, bytes]:
    return plots.draw(found)


def test_every_kind_of_source_is_compared() -> None:
    kinds = {load(preset).source.kind for preset in preset_names()}
    assert [entry.name for entry in compare.ENTRIES] == list(LUTS)
    assert set(LUTS) == kinds


def test_rows(found: Comparison) -> None:
    document = json.loads(found.to_json())
    assert [row["source"] for row in document["rows"]] == list(LUTS)
    for row in document["rows"]:
        assert list(row) == KEYS
        assert row["lut"] == LUTS[row["source"]] and row["ff"] == 2 * row["lut"]
        assert row["ratio"] == pytest.approx(row["lut"] / 130_000, abs=1e-6)
        assert row["share"] == pytest.approx(row["lut"] / 274_080, abs=1e-6)
        assert row["fmax_mhz"] == 214.55
        entry = next(entry for entry in compare.ENTRIES if entry.name == row["source"])
        assert row["period"] == engine_of(entry.config(1024)).period
    assert found.row("on-the-fly").directions == 8160 // math.gcd(3, 8160)
    assert found.row("rademacher").directions == 2**32
    # Three groups of 2,410 weights; 12 directions are few enough for all to be full.
    assert {row.rank for row in found.rows} == {12}


def test_ranks_tell_sources_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "STEPS", 128)
    chosen = [entry for entry in compare.ENTRIES if entry.name in ("on-the-fly", "rademacher")]
    for entry, rank in zip(chosen, (96, 128), strict=True):
        config = entry.config(1024)
        assert measuring._directions(config, parameters=2410)["rank"] == rank
        assert measuring._directions(config, parameters=100)["rank"] == min(rank, 100, 32) or (
            entry.name == "rademacher"
        )


def test_ranks_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pezo_hw.analysis import directions

    monkeypatch.setattr(measuring, "STEPS", 12)
    monkeypatch.setattr(cache, "directory", lambda: tmp_path)
    config = load("zcu102-onthefly", ["reuse.lanes=64", "source.seed=99"])
    first = measuring._directions(config, parameters=200)
    with monkeypatch.context() as patch:
        patch.setattr(directions, "measure", lambda *_, **__: pytest.fail("measured again"))
        assert measuring._directions(config, parameters=200) == first
        # Other streams are found out, though nothing of the configuration's text is looked at.
        other = load("zcu102-onthefly", ["reuse.lanes=64", "source.seed=98"])
        with pytest.raises(pytest.fail.Exception):
            measuring._directions(other, parameters=200)


def test_all_are_simulated_for_as_many_lane_values(made: Made) -> None:
    found, tools = made
    assert set(tools.simulated) == set(LUTS)
    for groups, lanes in tools.simulated.values():
        assert groups * lanes == found.lane_values == 1 << 18


def test_published_rows_are_those_of_the_paper() -> None:
    rows = published_rows()
    assert [row["lut"] for row in rows] == [548, 2193, 133_203]
    assert [row["share"] for row in rows] == [0.002, 0.008, 0.486]
    assert rows[-1]["ratio"] == 1 and rows[0]["power_w"] == 0.626
    assert set(KEYS[:7]) <= set(rows[0])


def test_scaling(found: Comparison) -> None:
    sizes = {(size.source, size.lanes): size for size in found.scaling}
    assert ("rademacher", 32) in sizes and ("rademacher", 4096) not in sizes
    assert len(sizes) == 11
    assert sizes["gaussian-tree", 4096].scaled and not sizes["gaussian-tree", 32].scaled
    assert "rademacher has at most 1,024 lanes and is left out at 4,096" in found.notes
    table = tables.scaling(found)
    assert table[0] == ["LUT at so many lanes", "32", "4,096"]
    assert ["rademacher", "1,066", "-"] in table


def test_notes_say_what_is_not_as_it_seems(found: Comparison) -> None:
    notes = [note for note in found.notes if note.startswith("gaussian-tree: ")]
    assert notes == [
        "gaussian-tree: LUTs and flip-flops are scaled from syntheses of 16, 32 and 64 lanes, off "
        "a line by 1.3 % at most",
        "gaussian-tree: placed with 16 lanes",
        "gaussian-tree: the activity is of 4,096 groups of 64 lanes",
    ]


def test_what_does_not_fit_has_no_fmax(tools: Tools) -> None:
    tools.too_large = {"rademacher"}
    found = compare.measure(1024)
    assert found.row("rademacher").fmax_mhz is None and found.row("rademacher").lut == 1066
    assert "rademacher has no Fmax: rademacher must fit LFE5U-85F-6" in found.notes
    assert "rademacher" not in found.paths and found.paths["on-the-fly"] == "from here to there"


def test_a_missing_tool_is_an_error(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise PezoError("nextpnr is not there")

    monkeypatch.setattr(placing, "version", missing)
    with pytest.raises(PezoError, match="nextpnr is not there"):
        compare.measure(1024)
    found = compare.measure(1024, place=False)
    assert {row.fmax_mhz for row in found.rows} == {None}
    assert not any(placed for _, _, placed in tools.asked)


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        (33, r"--lanes must be a multiple of 32, .* from 32 to 16384, not 33; use 32$"),
        (0, r"not 0; use 32$"),
        (-5, r"not -5; use 32$"),
        (10**9, r"not 1000000000; use 16384$"),
    ],
)
def test_lanes_that_not_all_can_have(tools: Tools, lanes: int, message: str) -> None:
    with pytest.raises(PezoError, match=message):
        compare.measure(lanes)
    assert tools.asked == []


def test_parameters_are_checked_first(tools: Tools) -> None:
    with pytest.raises(PezoError, match="^--parameters must be at least 1, not 0$"):
        compare.measure(1024, parameters=0)
    assert tools.asked == []


def test_claims(found: Comparison) -> None:
    assert [claim.value for claim in found.claims] == [476.2, 3.12, 1]
    assert all(claim.holds for claim in found.claims)
    rows = {row.source: row for row in found.rows}

    def broken(source: str, **figures: float) -> list[bool]:
        changed = rows | {source: replace(rows[source], **figures)}  # type: ignore[arg-type]
        return [claim.holds for claim in claims_of(list(changed.values()))]

    assert broken("on-the-fly", lut=434) == [False, True, True]
    assert broken("on-the-fly", lut=433) == [True, True, True]
    assert broken("on-the-fly", activity=1.13) == [True, False, True]
    assert broken("on-the-fly", activity=1.11) == [True, True, True]
    assert broken("gaussian-tree", fmax_mhz=214.6) == [True, True, False]
    assert len(broken("gaussian-tree", fmax_mhz=None)) == 2  # type: ignore[arg-type]
    # With fewer lanes nothing is claimed.
    fewer = replace(found, lanes=512)
    assert fewer.claims == ()
    note = "note: the published figures are of 1,024 lanes; what is claimed is judged there only"
    assert note in tables.notes(fewer) and note not in tables.notes(found)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8160, "8,160"),
        (2**32, "2^32"),
        (2**32 - 1, "2^32 - 1"),
        (2**1024 - 1, "2^1024 - 1"),
        (8160 * (2**64 - 1), "~2^77.0"),
        (10**7, "~2^23.3"),
    ],
)
def test_large_numbers_are_short(value: int, text: str) -> None:
    assert tables._large(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (273 / 133_203, "1 / 488"), (1 / 2326.6, "1 / 2,327"), (0.31, "0.31")],
)
def test_ratios(value: float, text: str) -> None:
    assert tables._times(value) == text


def test_the_table_for_a_terminal(found: Comparison) -> None:
    lines = tables.text(found).splitlines()
    assert lines[0] == (
        "1,024 lanes on xczu9eg-ffvb1156-2-e: estimate (Yosys, not Vivado); rank of 12 directions "
        "of 2,410 weights"
    )
    assert len(lines[1].split()) == 15  # "of ZCU102" and "ECP5 MHz" are two words each
    assert [line.split()[0] for line in lines[2:8]] == list(LUTS)
    assert lines[2].split()[1:9] == ["273", "546", "7.5", "0", "0.10", "%", "1", "/"]
    assert len({len(line.rstrip()) for line in lines[1:11]}) == 1
    assert lines[8].startswith("published: PeZO on the fly") and "~548" in lines[8]
    assert lines[11] == (
        "holds: fewer LUTs: on-the-fly against gaussian-tree: 476.2 times, claimed at least 300"
    )


def test_markdown(found: Comparison) -> None:
    text = tables.markdown(found)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows[:11]} == {14}
    assert "`pezo compare --lanes 1024 --parameters 2410 --scaling`" in text
    assert "| rademacher | 1,066 | - |" in text


class Page(HTMLParser):
    """Reads a page, and remembers what it loads and whether its elements are closed."""

    VOID = frozenset({"meta", "br", "link", "img", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "data", "action") or (
                name.endswith("href") and not str(value).startswith("#")
            ):
                self.loaded.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids.append(str(value))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_needs_nothing_else(found: Comparison, drawn: dict[str, bytes]) -> None:
    reader = Page()
    text = page(found, drawn)
    reader.feed(text)
    assert reader.open == [] and reader.loaded == []
    assert len(reader.ids) == len(set(reader.ids)) > 10
    assert "@import" not in text and "url(http" not in text and "<script" not in text
    for cells in tables.cells(found):
        assert all(cell in reader.text for cell in cells)
    for note in found.notes:
        assert note in reader.text
    assert reader.text.count("from here to there") == 6
    assert text.count("<svg ") == 2
    assert page(replace(found, scaling=()), drawn).count("<svg ") == 1


def test_the_page_says_when_a_claim_fails(found: Comparison, drawn: dict[str, bytes]) -> None:
    text = page(found, drawn)
    assert "<li class=no>" not in text
    rows = (replace(found.rows[0], lut=1000), *found.rows[1:])
    assert "<li class=no>" in page(replace(found, rows=rows), drawn)
    assert "fewer LUTs: pre-generated" in page(replace(found, lanes=32), drawn)


def test_names_are_escaped(found: Comparison, drawn: dict[str, bytes]) -> None:
    assert "<&>" not in page(replace(found, notes=("a <&> b",)), drawn)


def test_plots(found: Comparison, drawn: dict[str, bytes]) -> None:
    assert tuple(drawn) == plots.NAMES
    for picture in drawn.values():
        root = ElementTree.fromstring(picture)
        assert root.tag.endswith("svg")
    # Another one of the same figures is the same, byte for byte.
    assert plots.draw(replace(found, scaling=())) == {plots.COST: drawn[plots.COST]}
    rows = (replace(found.rows[0], rank=3), *found.rows[1:])
    assert plots.draw(replace(found, rows=rows, scaling=()))[plots.COST] != drawn[plots.COST]


def test_the_folder(
    found: Comparison,
    drawn: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        plots, "draw", lambda one: drawn if one.scaling else {plots.COST: drawn[plots.COST]}
    )
    names = output.write(found, tmp_path / "a" / "b")
    assert sorted(names) == sorted(output.NAMES)
    written = {path.name: path.read_bytes() for path in (tmp_path / "a" / "b").iterdir()}
    assert {name: written[name] for name in plots.NAMES} == drawn
    assert written[output.PAGE] == page(found, drawn).encode()
    document = json.loads(written[output.FIGURES])
    assert from_document(document) == found
    # Again, without the scaling: what is no longer true is gone.
    output.write(replace(found, scaling=()), tmp_path / "a" / "b")
    assert not (tmp_path / "a" / "b" / plots.SCALING).exists()
    (tmp_path / "a" / "b" / "mine.txt").write_text("")
    with pytest.raises(PezoError, match=r"it holds mine\.txt"):
        output.check_target(tmp_path / "a" / "b")


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PezoError, match=r"^plots need the package matplotlib, .* --output$"):
        output.check_target(tmp_path)


def test_lanes_of_the_claims_are_those_that_were_published() -> None:
    assert published.LANES == 1024
    assert re.fullmatch(r"gaussian-\w+", compare.BASELINE)
