"""Step cores of every schedule, with tables of tensors and with ZOQO, against the golden model."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pezo_hw import config
from pezo_hw.export.rtl import build, to_systemverilog
from pezo_hw.gateware.words import Factors
from pezo_hw.golden.schedules import OFFERED, USED
from pezo_hw.golden.step import StepCore as Model
from pezo_hw.golden.tensors import MOST, Tensor
from tests.gateware.benches import bank, pool
from tests.gateware.step_player import Player, Sweep

LANES = 6
# Of one sweep and the next, on all streams.
STALLS = (0.0, 0.4)
DSP = {"epsilon_log2": -3, "coefficient_bits": 9, "coefficient_shift": 4}
ZOQO = {"update": "zoqo", "levels": 2}

# Sources with their scaling, and what they make of the word path.
SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # Exact perturbations, folded into the coefficient.
    "exact": (bank(3, bits=4), {"mode": "constant", "exponent": 1}),
    # Rounded ones, with exponents that differ.
    "rounded": (bank(2, bits=6, phases="seeded", seed=3), {"mode": "group"}),
    "pool": (pool(31, 3, bits=5, phases="seeded"), {"mode": "group"}),
    "wide": ({"kind": "wide-uniform", "words": 3, "bits": 6}, {"mode": "none"}),
    "plain": (bank(3, bits=5), {"mode": "none"}),
}


def configured(
    schedule: str, source: str, zo: dict[str, Any], *, tensors: int = 0, bits: int = 8
) -> config.Config:
    words, scaling = SOURCES[source]
    return config.from_mapping(
        {
            "core": {"name": "step", "kind": "zo-step", "board": "zcu102"},
            "source": words,
            "scaling": {"mode": "none"} if "levels" in zo else scaling,
            "reuse": {"lanes": LANES},
            "weights": {"bits": bits, "frac": 5},
            "zo": zo | {"schedule": schedule},
            "control": {"tensors": tensors},
        }
    )


def sweeps_of(schedule: str, *, limit: int) -> list[Sweep]:
    """Return sweeps of all kinds that a schedule has, in all orders that matter."""
    kinds = OFFERED[schedule]
    found = [
        Sweep(1, 0, 31),
        Sweep(1, limit - 1, 25, capture=True, start=3),
        Sweep(0, -limit, 1),
    ]
    last = kinds[-1]
    fused = last == "fused"
    for kind in kinds[1:]:
        found += [
            Sweep(-2, 5, 20, kind=kind),
            Sweep(1, -limit, 37, kind=kind, capture=True, capture_b=fused),
            Sweep(2, 0, 1, kind=kind),
            Sweep(1, 7, 14, kind="in-place"),
        ]
    if fused:
        # A training run: both perturbations of the first step, then steps that lag by one.
        found.append(Sweep(0, 0, 40, kind="inline-both", capture_b=True, start=5))
        found += [
            Sweep(0, c, 40, kind="fused", capture=True, capture_b=True) for c in (3, -limit, 11)
        ]
    if len(USED[last]) > 1:
        found += [Sweep(1, 9, 61, kind=last, stuck=name) for name in USED[last]]
    return found


TABLE = (
    Tensor(1),
    Tensor(1, strength=3, word_bits=2),
    Tensor(2, frozen=True, strength=1),
    Tensor(1, word_bits=1, coefficient_exponent=7),
    Tensor(4, strength=2, word_bits=3, coefficient_exponent=2),
    Tensor(1, word_bits=15, strength=1),
    Tensor(1, frozen=True),
)
BEATS = sum(tensor.beats for tensor in TABLE)


def tables_of(schedule: str, *, limit: int) -> list[Sweep]:
    last = OFFERED[schedule][-1]
    return [
        Sweep(1, 0, LANES * BEATS, table=TABLE),
        Sweep(-2, limit - 1, LANES * BEATS - 3, table=TABLE, capture=True),
        Sweep(0, -limit, LANES * BEATS, table=TABLE, kind=last),
        # Another sweep without it, and of a single tensor.
        Sweep(1, -limit, 17),
        Sweep(2, 30, 5, table=TABLE[1:2], kind=last),
        Sweep(1, 30, LANES * 9 - 1, table=(TABLE[4],) * 2 + TABLE[:1], kind=last),
    ]


CASES = [
    ("inline", "exact", DSP),
    ("inline-both", "rounded", DSP),
    ("fused", "exact", DSP),
    ("fused", "pool", DSP),
    ("fused", "wide", DSP),
    ("inline", "wide", ZOQO | {"levels": 5}),
    ("fused", "plain", ZOQO),
]


@pytest.mark.parametrize(("schedule", "source", "zo"), CASES)
def test_schedules(schedule: str, source: str, zo: dict[str, Any]) -> None:
    player = Player(configured(schedule, source, zo))
    limit = 1 << (player.model.arithmetic.coefficient_bits - 1)
    player.play(sweeps_of(schedule, limit=limit), stalls=STALLS)
    assert sum(player.saturations) > 5


@pytest.mark.parametrize(
    ("schedule", "source", "zo", "bits"),
    [
        ("in-place", "exact", DSP, 8),
        ("inline-both", "rounded", DSP, 16),
        ("fused", "rounded", DSP, 8),
        ("fused", "plain", ZOQO, 8),
        ("in-place", "plain", ZOQO | {"levels": 7}, 16),
    ],
)
def test_tables(schedule: str, source: str, zo: dict[str, Any], bits: int) -> None:
    player = Player(configured(schedule, source, zo, tensors=8, bits=bits))
    limit = 1 << (player.model.arithmetic.coefficient_bits - 1)
    player.play(tables_of(schedule, limit=limit), stalls=STALLS)


def test_no_entry_holds_0_beats_before_it_is_written() -> None:
    text = to_systemverilog(build(configured("in-place", "plain", DSP, tensors=8)))
    assert re.findall(r"lengths\[\d+\] = 32'd(\d+);", text) == ["1"] * MOST


def test_the_sources_are_of_all_kinds() -> None:
    models = {name: Model(configured("in-place", name, DSP)) for name in SOURCES}
    assert {name for name, model in models.items() if model.engine.live} == {"rounded", "pool"}
    exact = {
        name
        for name, model in models.items()
        if Factors(model.engine, arithmetic=model.arithmetic, tensors=True).exact
    }
    assert exact and exact != set(SOURCES)


def test_a_table_changes_what_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes no notice of a setting is found out."""
    given = configured("in-place", "rounded", DSP, tensors=8)
    sweep = [Sweep(1, 200, LANES * BEATS, table=TABLE)]
    for name in ("strength", "word_bits", "frozen", "coefficient_exponent"):
        model = Model(given)
        plain = tuple(
            Tensor(**{**vars(tensor), name: type(getattr(tensor, name))(0)}) for tensor in TABLE
        )
        swept = model.sweep
        monkeypatch.setattr(
            model,
            "sweep",
            lambda weights, swept=swept, plain=plain, **more: swept(
                weights, **{**more, "table": plain}
            ),
        )
        with pytest.raises(AssertionError, match="weights of"):
            Player(given, model=model).play(sweep)


def test_engine_b_is_not_engine_a(monkeypatch: pytest.MonkeyPatch) -> None:
    given = configured("fused", "exact", DSP)
    model = Model(given)
    assert model.engine_b is not None
    monkeypatch.setattr(model.engine_b, "capture", lambda: None)
    with pytest.raises(AssertionError, match="plus of"):
        Player(given, model=model).play(sweeps_of("fused", limit=256))
