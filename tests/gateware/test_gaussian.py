"""The Gaussian sources' components: logic of many lanes, the seeder, and the words under stalls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.gateware import bitwise
from pezo_hw.gateware.gaussian_clt import GaussianClt
from pezo_hw.gateware.gaussian_tree import GaussianTree
from pezo_hw.gateware.seeded import SOURCES, source_signature
from pezo_hw.gateware.seeder import Seeder
from pezo_hw.golden import gaussian_clt, gaussian_tree
from pezo_hw.golden.gaussian_clt import HadamardSequence
from pezo_hw.golden.gaussian_tree import TreeSequence
from pezo_hw.golden.seeded import SeededSequence
from pezo_hw.golden.wide import RademacherSequence
from tests.gateware.benches import get, run, words_of


class Tables(wiring.Component):
    """A table for 8 lanes, whose addresses are side by side."""

    def __init__(self, entries: Sequence[int], bits: int):
        self._entries, self._bits = entries, bits
        super().__init__({"address": In(8 * bits), "entry": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        columns = [self.address[8 * i : 8 * i + 8] for i in range(self._bits)]
        m.d.comb += self.entry.eq(bitwise.table(self._entries, columns, lanes=8))
        return m


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 6])
def test_tables(bits: int) -> None:
    rng = random.Random(bits)
    tables = [[rng.randrange(2) for _ in range(1 << bits)] for _ in range(6)]
    tables += [[0] * (1 << bits), [1] * (1 << bits), [0, 1] * (1 << bits >> 1) or [1]]
    for entries in tables:
        component = Tables(entries, bits)

        async def bench(
            ctx: Any, component: Tables = component, entries: list[int] = entries
        ) -> None:
            for _ in range(20):
                addresses = [rng.randrange(1 << bits) for _ in range(8)]
                given = sum(
                    (address >> i & 1) << (8 * i + lane)
                    for lane, address in enumerate(addresses)
                    for i in range(bits)
                )
                if bits:
                    ctx.set(component.address, given)
                expected = sum(entries[address] << lane for lane, address in enumerate(addresses))
                assert get(ctx, component.entry) & 255 == expected

        run(component, bench, clocked=False)


def test_a_table_must_have_all_entries() -> None:
    with pytest.raises(ValueError, match=r"^entries must be 2\^2 for 2 address bits, not 3$"):
        bitwise.table([0, 1, 0], [Signal(4), Signal(4)], lanes=4)


class AtMost(wiring.Component):
    """Comparators for 256 lanes: all pairs of numbers of 4 bits."""

    def __init__(self) -> None:
        super().__init__({"result": Out(256)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        columns: list[list[Signal]] = []
        for name, shift in (("word", 0), ("limit", 4)):
            columns.append([Signal(256, name=f"{name}_{i}") for i in range(4)])
            for i, column in enumerate(columns[-1]):
                value = sum((lane >> (shift + i) & 1) << lane for lane in range(256))
                m.d.comb += column.eq(value)
        m.d.comb += self.result.eq(bitwise.at_most(m, *columns, name="below", lanes=256))
        return m


def test_comparators() -> None:
    component = AtMost()

    async def bench(ctx: Any) -> None:
        expected = sum(((lane & 15) <= lane >> 4) << lane for lane in range(256))
        assert get(ctx, component.result) & (1 << 256) - 1 == expected

    run(component, bench, clocked=False)


def drive(ctx: Any, component: Any, **levels: int) -> None:
    for name, level in levels.items():
        ctx.set(getattr(component, name), level)


async def load(ctx: Any, component: Any, sequence: SeededSequence, seed: int) -> None:
    """Do what the engine does to load a seed."""
    drive(ctx, component, clear=1, inject=0, expand=1, step=1)
    await ctx.tick()
    drive(ctx, component, clear=0, inject=1, seed=seed)
    await ctx.tick()
    drive(ctx, component, inject=0)
    await ctx.tick().repeat(sequence.load_clocks - 2)
    drive(ctx, component, expand=0, step=0, seed=seed ^ 0xFFFF_FFFF)


def test_the_seeder_shows_its_groups_once() -> None:
    sequence = RademacherSequence(64)
    owner = TreeSequence(2)
    component = Seeder(sequence, source_signature(owner), shown=5)

    async def bench(ctx: Any) -> None:
        for seed in (3, 0xFEDC_BA98):
            states = sequence.state_bits(seed, 0, 5)
            expected = [sum(int(bit) << i for i, bit in enumerate(row)) for row in states]
            drive(ctx, component, clear=1, expand=1)
            await ctx.tick()
            drive(ctx, component, clear=0, inject=1, seed=seed)
            shown = []
            for _ in range(sequence.load_clocks + 12):
                await ctx.tick()
                drive(ctx, component, inject=0)
                shown.append(get(ctx, component.bits) & (1 << 64) - 1)
            # The first tick here is the second clock behind `clear`.
            first = sequence.load_clocks - 1
            assert shown[first : first + 5] == expected
            assert not any(shown[:first]) and not any(shown[first + 5 :])
            drive(ctx, component, expand=0)
            await ctx.tick().repeat(3)

    run(component, bench)


SEQUENCES: dict[str, SeededSequence] = {
    "tree": TreeSequence(3),
    "clt": HadamardSequence(8, terms=4),
    "clt-8": HadamardSequence(16, terms=8),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_words_under_stalls(name: str) -> None:
    sequence = SEQUENCES[name]
    component: Any = SOURCES[type(sequence)](sequence, source_signature(sequence))
    rng = random.Random(1)

    async def bench(ctx: Any) -> None:
        # The second time from whatever state the first one left.
        for seed in (12345, 0, 0xFFFF_FFFF):
            await load(ctx, component, sequence, seed)
            expected = sequence.groups(seed, 0, 60).tolist()
            for group in expected:
                while rng.random() < 0.4:
                    assert words_of(ctx, component.words) == group
                    await ctx.tick()
                assert words_of(ctx, component.words) == group
                ctx.set(component.step, 1)
                await ctx.tick()
                ctx.set(component.step, 0)

    run(component, bench)


def test_sets_of_generators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian_clt, "MOST_LANES", 8)
    sequence = HadamardSequence(20, terms=4)
    assert [len(planes[0].places) for planes in sequence.planes] == [8, 8, 4]
    component: Any = GaussianClt(sequence, source_signature(sequence))

    async def bench(ctx: Any) -> None:
        await load(ctx, component, sequence, 99)
        ctx.set(component.step, 1)
        for group in sequence.groups(99, 0, 20).tolist():
            assert words_of(ctx, component.words) == group
            await ctx.tick()

    run(component, bench)


@pytest.mark.parametrize("what", ["thresholds", "feeds", "resets"])
def test_a_wrong_component_is_seen(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sequence = TreeSequence(3)
    expected = sequence.groups(7, 0, 200).tolist()
    if what == "thresholds":
        levels = list(gaussian_tree.LEVELS)
        levels[2] = replace(levels[2], thresholds=levels[2].thresholds[::-1])
        monkeypatch.setattr(gaussian_tree, "LEVELS", tuple(levels))
    else:
        right = getattr(TreeSequence, what)
        monkeypatch.setattr(TreeSequence, what, lambda self, level: right(self, level)[::-1])
    component: Any = GaussianTree(sequence, source_signature(sequence))

    async def bench(ctx: Any) -> None:
        await load(ctx, component, sequence, 7)
        ctx.set(component.step, 1)
        for group in expected:
            assert words_of(ctx, component.words) == group, "another group"
            await ctx.tick()

    with pytest.raises(AssertionError, match="another group"):
        run(component, bench)
