"""The numbers in the text of ``docs/resources.rst`` are those of the results."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.test_docs import DOCS, RESULTS

TEXT = " ".join((DOCS / "resources.rst").read_text(encoding="utf-8").split())
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")

Results = dict[str, Any]


def _word(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


class Design:
    """The figures of a design by block and type of cell."""

    def __init__(self, results: Results, name: str):
        self.entry = next(entry for entry in results["designs"] if entry["name"] == name)

    def cells(self, block: str, kinds: str) -> int:
        return sum(
            cell["count"]
            for cell in self.entry["cells"]
            if cell["block"] == block and re.fullmatch(kinds, cell["type"])
        )

    def luts(self, block: str) -> int:
        return self.cells(block, "LUT.|INV|SRL.*")

    def ffs(self, block: str) -> int:
        return self.cells(block, "FD.E")

    @property
    def words(self) -> int:
        return int(self.entry["words"])

    @property
    def path(self) -> dict[str, Any]:
        return dict(self.entry["report"]["paths"]["register_to_register"])


def on_the_fly(results: Results) -> list[str]:
    design, source = Design(results, "on the fly"), "engine.source"
    bits = design.luts(source) // design.words
    more = design.luts(source) - design.words * bits
    rows = [_word(design.cells(source, kind) // design.words) for kind in ("LUT4", "LUT5")]
    state = design.ffs(source) // 2
    return [
        f"One LUT for each of the {design.words} x {bits} state bits",
        f"two in {rows[0]} rows, a LUT4; three in {rows[1]} row, a LUT5",
        f"{_word(more).capitalize()} more: the select",
        f"Flip-flops: {state} state bits and {state} snapshot bits",
        f"a counter of {design.ffs('engine') - 5} bits that is compared",
        f"The longest path of the core, {_word(design.path['levels'])} LUTs",
    ]


def live(results: Results) -> list[str]:
    plain, design = Design(results, "on the fly"), Design(results, "on the fly, live norm table")
    # And one that says whether they are valid.
    scaled = design.ffs("engine") - plain.ffs("engine") - 1
    followed = design.ffs("engine.source") + design.ffs("engine.scale")
    return [
        f"{design.words} words of {design.cells('engine', 'LUT3') // design.words} bits, one LUT3",
        f"{scaled} flip-flops hold the scaled words, {scaled // design.words} bits each",
        f"The {design.luts('engine.scale')} top bits of the state registers",
        f"The {design.ffs('engine.scale')} top bits of the state registers",
        f"{followed - plain.ffs('engine.source')} flip-flops that follow generator 0",
    ]


def pre_generated(results: Results) -> list[str]:
    plain, design = Design(results, "on the fly"), Design(results, "pre-generated")
    address = (design.ffs("engine.source.address_a") - 2) // 2
    # The walk has a bit less, and there is a flag for what is behind the memory.
    behind = design.ffs("engine") - plain.ffs("engine")
    rams = design.cells("engine.source", "RAMB36E2")
    return [
        f"so 128 bits take {rams} of them",
        f"{(design.luts('engine.source') - 4) // 2} LUTs each, which are also the sum inputs",
        f"Flip-flops: {address} address bits, {address} snapshot bits and the flag",
        f"with {address} bits, and {behind} flip-flops behind the memory",
        f"The {behind} flip-flops behind the memory of ``zcu102-pregen``",
    ]


def step(results: Results) -> list[str]:
    design = Design(results, "ZO step")
    sums = design.cells("core.word_path", "LUT2") // design.words
    dsp = design.cells("core.word_path", "DSP48E2") // design.words
    return [
        f"For each of the {design.words} words {_word(dsp)} DSP block and {sums} LUT2",
        f"``word_path`` loses its {design.words * sums} LUT2",
    ]


def fused(results: Results) -> list[str]:
    plain = Design(results, "ZO step")
    design = Design(results, "ZO step, all schedules, 64 tensors")
    sides = [f"core.{side}_path" for side in ("plus", "minus")]
    one, other = ((design.luts(side), design.ffs(side)) for side in sides)
    second = [f"core.engine_b{part}" for part in ("", ".source")]
    path, tensors, words = "core.word_path_b", "core.tensors", "core.word_path"
    rams = design.cells(tensors, "RAM64M8")
    # With the dither generator, half of which goes by the name of the dither in one of the designs.
    more = [
        sum(count(f"{words}{part}") * sign for part in ("", ".dither_source"))
        for count, sign in ((design.luts, 1), (plain.luts, -1), (design.ffs, 1), (plain.ffs, -1))
    ]
    assert one == other and not design.cells(path, "DSP48E2")
    return [
        f"two sides, {one[0]:,} LUTs and {one[1]:,} flip-flops each",
        f"{sum(map(design.luts, second)):,} LUTs and {sum(map(design.ffs, second)):,} flip-flops.",
        f"{design.luts(path):,} LUTs and {design.ffs(path):,} flip-flops, no DSP block",
        f"{design.luts(tensors) + 8 * rams} LUTs: {8 * rams} of them are LUT RAM ({rams} RAM64M8",
        f"{more[0] + more[1]} more LUTs and {more[2] + more[3]} more flip-flops",
    ]


SECTIONS: tuple[Callable[[Results], list[str]], ...] = (
    on_the_fly,
    live,
    pre_generated,
    step,
    fused,
)


@pytest.mark.parametrize("section", SECTIONS)
def test_what_the_text_says_is_measured(section: Callable[[Results], list[str]]) -> None:
    # If this fails after scripts/resources.py, the text must be changed as well.
    missing = [phrase for phrase in section(RESULTS) if phrase not in TEXT]
    assert missing == []


@pytest.mark.parametrize("section", SECTIONS)
def test_other_results_are_seen(section: Callable[[Results], list[str]]) -> None:
    changed = copy.deepcopy(RESULTS)
    for entry in changed["designs"]:
        for cell in entry["cells"]:
            cell["count"] *= 2
        entry["report"]["paths"]["register_to_register"]["levels"] += 1
    assert [phrase for phrase in section(changed) if phrase in TEXT] == []
