from __future__ import annotations

import random
from typing import Any

import pytest

from pezo_hw.gateware.norm import Codes, NormTable, Scale
from pezo_hw.golden.bank import Bank
from pezo_hw.golden.engine import Engine
from tests.gateware.benches import bank, perturbation, pool, put, run, words_of


def _live(source: dict[str, Any]) -> Engine:
    model = Engine(perturbation(source | {"phases": "seeded"}, mode="group"))
    assert model.live
    return model


def test_codes_number_the_exponents_that_occur() -> None:
    model = _live(pool(11, 3, bits=4))
    codes = Codes(model)
    assert codes.exponents == sorted(set(model.exponent_table.tolist()))
    assert [codes.exponents[code] for code in codes.by_entry()] == model.exponent_table.tolist()
    assert (1 << codes.bits) >= len(codes.exponents) > (1 << (codes.bits - 1))


def test_one_exponent_needs_no_code() -> None:
    codes = Codes(Engine(perturbation(bank(3, bits=4), mode="constant", exponent=2)))
    assert codes.exponents == [2]
    assert codes.bits == 0


@pytest.mark.parametrize("rotation", ["clock", "period"])
def test_codes_by_state_are_those_of_the_group_that_it_designates(rotation: str) -> None:
    model = _live(bank(2, bits=5, rotation=rotation))
    sequence = model.sequence
    assert isinstance(sequence, Bank)
    codes = Codes(model)
    table = codes.by_state(sequence)
    assert len(table) == 32
    for k, exponent in enumerate(model.exponents(0, model.period)):
        # Generator 0 at time k; it is at position -R(k).
        state = int(sequence.sequence[(sequence.phases[0] + k) % 31])
        assert codes.exponents[table[state]] == exponent


def test_a_table_reads_when_enabled() -> None:
    codes = [(3 * k + 2) % 4 for k in range(16)]
    component = NormTable(codes, code_bits=2)
    rng = random.Random(1)

    async def bench(ctx: Any) -> None:
        shown = None
        for _ in range(100):
            state, enable = rng.randrange(16), rng.random() < 0.7
            ctx.set(component.state, state)
            ctx.set(component.enable, enable)
            await ctx.tick()
            if enable:
                shown = codes[state]
            if shown is not None:
                assert ctx.get(component.code) == shown

    run(component, bench)


@pytest.mark.parametrize("exponents", [[0], [3], [0, 1], [1, 2], [0, 1, 2], [1, 3], [0, 1, 2, 3]])
def test_scale_shifts_without_loss(exponents: list[int]) -> None:
    component = Scale(3, bits=5, exponents=exponents)
    group = [-15, 15, -1]

    async def bench(ctx: Any) -> None:
        for u in range(-15, 16):
            group[1] = u
            put(ctx, component.words_in, group)
            for code, exponent in enumerate(exponents):
                if len(component.code):
                    ctx.set(component.code, code)
                assert words_of(ctx, component.words_out) == [w * 2**exponent for w in group]

    run(component, bench, clocked=False)
