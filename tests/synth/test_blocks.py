"""Counting cells, and dividing them among the blocks of the RTL."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from pezo_hw.errors import PezoError
from pezo_hw.synth.blocks import OTHER, Block, divide, inside, owners
from pezo_hw.synth.counts import COLUMNS, Counts, count
from pezo_hw.synth.families import FAMILIES
from pezo_hw.synth.netlist import Cell, Hierarchy, Module, Netlist
from pezo_hw.synth.yosys import Synthesis


def cells(**types: int) -> list[Cell]:
    return [Cell(f"{t}{i}", t, {}, {}, {}) for t, n in types.items() for i in range(n)]


def row(blocks: list[Block], name: str) -> tuple[float, ...]:
    (found,) = [block.counts for block in blocks if block.name == name]
    return tuple(getattr(found, column) for column in COLUMNS)


def sums(blocks: list[Block]) -> tuple[float, ...]:
    return tuple(sum(getattr(b.counts, c) for b in blocks) for c in COLUMNS)


@pytest.mark.parametrize(
    ("family", "types", "expected"),
    [
        ("xcup", {"LUT1": 1, "LUT6": 2, "INV": 3, "LUT6_2": 1}, {"lut": 7}),
        ("xcup", {"SRL16E": 2, "SRLC32E": 3}, {"lut": 5}),
        ("xcup", {"RAM32M": 1, "RAM64M8": 1, "RAM64X1D": 1, "RAM32M16": 2}, {"lut": 30}),
        ("xcup", {"FDRE": 1, "FDSE": 2, "FDCE": 3, "FDPE": 4, "FDRE_1": 5}, {"ff": 15}),
        ("xcup", {"RAMB36E2": 2, "RAMB18E2": 3}, {"bram36": 3.5}),
        ("xc7", {"RAMB36E1": 1, "RAMB18E1": 1, "DSP48E1": 2}, {"bram36": 1.5, "dsp": 2}),
        ("xcup", {"DSP48E2": 4, "CARRY4": 5, "CARRY8": 1, "MUXF7": 9, "BUFG": 1}, {"dsp": 4}),
        ("ecp5", {"LUT4": 3, "CCU2C": 2, "TRELLIS_DPR16X4": 1, "PFUMX": 2}, {"lut": 13}),
        (
            "ecp5",
            {"TRELLIS_FF": 3, "DP16KD": 3, "MULT18X18D": 1},
            {"ff": 3, "bram36": 1.5, "dsp": 1},
        ),
        ("ice40", {"SB_LUT4": 3, "SB_DFFESR": 2, "SB_CARRY": 9}, {"lut": 3, "ff": 2}),
        ("ice40", {"SB_RAM40_4K": 9, "SB_MAC16": 1}, {"bram36": 1.0, "dsp": 1}),
    ],
)
def test_what_cells_cost(family: str, types: dict[str, int], expected: dict[str, float]) -> None:
    found = count(cells(**types), family=FAMILIES[family])
    wanted = dict.fromkeys(COLUMNS, 0) | expected
    assert {column: getattr(found, column) for column in COLUMNS} == wanted
    assert found.other == {}


def test_nothing_is_left_out_in_silence() -> None:
    found = count(cells(LUT2=1, LDCE=2, URAM288=1), family=FAMILIES["xcup"])
    assert (found.lut, found.other) == (1, {"LDCE": 2, "URAM288": 1})
    assert found.ram == {"URAM288": 1}


def test_zoo_total_is_what_yosys_counts(zoo: Synthesis) -> None:
    types = zoo.stat["num_cells_by_type"]
    assert Counter(cell.type for cell in zoo.netlist.cells) == Counter(
        {t: n for t, n in types.items() if t != "$scopeinfo"}
    )
    found = count(zoo.netlist.cells, family=zoo.family)
    assert found.ff == sum(n for t, n in types.items() if t.startswith("FD"))
    assert found.dsp == types["DSP48E2"] == 2
    assert found.carry == types["CARRY4"] == 4
    assert set(found.ram) == {"RAM32M16", "RAMB18E2", "SRL16E"}
    assert found.other == {}


def test_zoo_blocks(zoo: Synthesis) -> None:
    blocks = divide(zoo.netlist, zoo.hierarchy, family=zoo.family)
    # LUT, FF, BRAM36, DSP: all of these can be told from the RTL by hand.
    assert row(blocks, "nest.shallow") == (4, 28, 0, 0)
    assert row(blocks, "nest.deep") == (6, 26, 0, 0)
    assert row(blocks, "lutram") == (8, 13, 0, 0)
    assert row(blocks, "late_by")[0] == 1
    assert row(blocks, "count")[1] == 16
    assert row(blocks, "words") == (0, 0, 0.5, 0)
    assert row(blocks, "lane_*") == (0, 64, 0, 2)
    assert {b.name: b.instances for b in blocks if b.instances > 1} == {"lane_*": 2}


@pytest.mark.parametrize("design", ["zoo", "zoo_ecp5"])
def test_blocks_add_up(design: str, request: pytest.FixtureRequest) -> None:
    synthesis: Synthesis = request.getfixturevalue(design)
    blocks = divide(synthesis.netlist, synthesis.hierarchy, family=synthesis.family)
    total = count(synthesis.netlist.cells, family=synthesis.family)
    assert sums(blocks) == tuple(getattr(total, column) for column in COLUMNS)
    names = [block.name for block in blocks]
    assert len(names) == len(set(names))
    assert names == sorted(names, key=lambda name: (name == OTHER, name))
    # The wrapper and its core have no logic of their own but the clock's buffer.
    assert sums([b for b in blocks if b.name == OTHER]) == (0, 0, 0, 0)
    assert sums([b for b in blocks if b.name == "nest.deep"])[1] == 26


def test_select_a_block(zoo: Synthesis) -> None:
    nest = inside(zoo.netlist, zoo.hierarchy, "nest")
    deep = inside(zoo.netlist, zoo.hierarchy, "nest.deep")
    flops = [cell for cell in zoo.netlist.cells if cell.type == "FDRE"]
    assert sum(nest(cell) for cell in flops) == 28 + 26
    assert sum(deep(cell) for cell in flops) == 26
    # A prefix of a name is not a block.
    with pytest.raises(
        PezoError, match=r'^"nest.dee" must be a block that has cells; those are co'
    ):
        inside(zoo.netlist, zoo.hierarchy, "nest.dee")


# A hierarchy by hand: the top's port "o" comes from a register in a.b, through a.


def module(**parts: object) -> Module:
    empty = Module({}, {}, frozenset(), {}, {}, stores=True)
    return dataclasses.replace(empty, **parts)  # type: ignore[arg-type]


HAND = Hierarchy(
    {
        (): module(
            nets={"o": (5,), "i": (6,), "own": (7,), "k": (-1,), "fed": (5,)},
            inputs={6: ("i", 0)},
            made=frozenset({7}),
            given={5: ("a", "o", 0)},
            instances={"a": ("A", {"o": (5,), "i": (6,), "back": (5,)})},
        ),
        ("a",): module(
            nets={"o": (2,), "i": (3,), "back": (4,), "alias": (3,)},
            inputs={3: ("i", 0), 4: ("back", 0)},
            given={2: ("b", "q", 0)},
            instances={"b": ("B", {"q": (2,), "i": (4,)})},
        ),
        ("a", "b"): module(nets={"q": (9,), "i": (8,)}, inputs={8: ("i", 0)}, made=frozenset({9})),
    }
)


@pytest.mark.parametrize(
    ("name", "driver"),
    [
        (((), "o", 0), ("a", "b")),
        ((("a",), "o", 0), ("a", "b")),
        ((("a", "b"), "q", 0), ("a", "b")),
        # Led back into the block that drives it.
        ((("a",), "back", 0), ("a", "b")),
        ((("a", "b"), "i", 0), ("a", "b")),
        (((), "own", 0), ()),
        (((), "i", 0), None),
        ((("a",), "alias", 0), None),
        (((), "k", 0), None),
        (((), "o", 1), None),
        (((), "no such signal", 0), None),
        ((("no such instance",), "o", 0), None),
    ],
)
def test_driver(name: tuple[tuple[str, ...], str, int], driver: tuple[str, ...] | None) -> None:
    assert HAND.driver(name) == driver


def test_nameless_cells_go_where_their_outputs_end() -> None:
    def lut(name: str, source: int, out: int) -> Cell:
        return Cell(name, "LUT1", {"I0": (source,)}, {"O": (out,)}, {})

    def flop(name: str, d: int, q: int) -> Cell:
        return Cell(name, "FDRE", {"D": (d,)}, {"Q": (q,)}, {})

    netlist = Netlist(
        top="hand",
        cells=(
            flop("stored", 11, 20),
            lut("near", 10, 11),
            lut("far", 6, 10),
            flop("own", 12, 30),
            lut("unread", 6, 40),
            # Read twice by the top, once by a.b.
            lut("shared", 6, 12),
            lut("more", 12, 13),
            flop("own too", 12, 31),
            flop("stored too", 12, 21),
        ),
        inputs={"i": (6,)},
        outputs={"o": (20,)},
        names={
            20: (((), "o", 0),),
            21: ((("a", "b"), "q", 0),),
            30: (((), "own", 0),),
            31: (((), "own", 0),),
        },
    )
    assert owners(netlist, HAND) == {
        "stored": ("a", "b"),
        "stored too": ("a", "b"),
        "near": ("a", "b"),
        "far": ("a", "b"),
        "own": (),
        "own too": (),
        "shared": (),
        "more": (),
        "unread": (),
    }
    blocks = divide(netlist, HAND, family=FAMILIES["xcup"])
    assert [(b.name, b.counts) for b in blocks] == [
        ("a.b", Counts(lut=2, ff=2, bram36=0, dsp=0, carry=0, ram={}, other={})),
        (OTHER, Counts(lut=3, ff=2, bram36=0, dsp=0, carry=0, ram={}, other={})),
    ]
