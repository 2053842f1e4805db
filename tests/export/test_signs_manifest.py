"""Lanes with signs, worked out anew from nothing but the manifest's ``"source"``."""

from __future__ import annotations

import json

import numpy as np

from pezo_hw.config import load
from pezo_hw.export import manifest
from pezo_hw.export.rtl import build
from pezo_hw.golden.seeded import SeededEngine
from tests.export.test_seeded_manifest import Recomputed


def test_a_seeded_source() -> None:
    overrides = ["source.words=5", "source.bits=6", "reuse.lanes=20", "reuse.signs=true"]
    core = build(load("zcu102-wide", overrides))
    assert isinstance(core.model, SeededEngine)
    source = json.loads(json.dumps(manifest.source(core)))
    generator = Recomputed(source["signs"]["generator"] | {"kind": "rademacher"})
    for seed in (1, 0x9ABC_DEF0):
        state, negative = generator.expanded(seed ^ source["signs"]["flips"]), []
        for _ in range(6):
            negative.append([1 - 2 * state[lane // 5] for lane in range(20)])
            state = generator.clock(state)
        core.model.start(seed)
        expected = np.array(Recomputed(source).lanes(seed, 6)) * negative
        assert np.array_equal(core.model.lanes(0, 6), expected)


def test_without_signs_there_is_nothing_to_say() -> None:
    for preset in ("tiny", "zcu102-rademacher"):
        config = load(preset, ["reuse.lanes=6"])
        assert manifest.source(build(config))["signs"] is None


def test_a_bank_says_all_that_the_example_reads() -> None:
    source = json.loads(json.dumps(manifest.source(build(load("tiny", ["reuse.signs=true"])))))
    assert set(source["signs"]) == {"state_bits", "matrix", "state"}
    assert len(source["exponents"]) == 15 and source["period"] == 2**64 - 1
