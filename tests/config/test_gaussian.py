"""The keys of the Gaussian sources."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pezo_hw.config import (
    Config,
    GaussianCltSource,
    GaussianTreeSource,
    check_exponent,
    from_mapping,
    load_preset,
    reach,
)
from pezo_hw.errors import PezoError
from pezo_hw.golden.engine import engine_of


def mapping(source: dict[str, Any], *, lanes: int, **sections: Any) -> dict[str, Any]:
    kind = "zo-step" if "zo" in sections else "perturbation"
    core = {"name": "dut", "kind": kind, "board": "zcu102"}
    return {"core": core, "source": source, "reuse": {"lanes": lanes}, **sections}


TREE = {"kind": "gaussian-tree"}
CLT = {"kind": "gaussian-clt"}
STEP = {"weights": {"bits": 16, "frac": 13}, "zo": {"epsilon_log2": -7}}


def configured(source: dict[str, Any], **keys: Any) -> Config:
    return from_mapping(mapping(source, **keys))


def test_defaults() -> None:
    tree = configured(TREE, lanes=5)
    assert isinstance(tree.source, GaussianTreeSource)
    assert (tree.words, tree.reuse.stride, tree.scaling.mode, tree.source.seed) == (5, 0, "none", 1)
    clt = configured(CLT, lanes=12)
    assert isinstance(clt.source, GaussianCltSource)
    assert (clt.words, clt.source.terms, clt.scaling.mode) == (12, 4, "none")
    assert configured({**CLT, "terms": 8}, lanes=16384).words == 16384
    assert configured(TREE, lanes=16384).words == 16384
    assert load_preset("zcu102-gaussian-tree").source == tree.source
    assert load_preset("zcu102-gaussian-clt").source == clt.source


@pytest.mark.parametrize(
    ("source", "lanes", "sections", "pattern"),
    [
        (
            CLT,
            6,
            {},
            r"reuse\.lanes must be a multiple of the lanes of a block, source\.terms = 4, not 6; "
            r"use 4 or 8",
        ),
        (
            {**CLT, "terms": 8},
            4,
            {},
            r"reuse\.lanes must be a multiple of the lanes of a block, source\.terms = 8, not 4; "
            r"use 8",
        ),
        ({**CLT, "terms": 2}, 4, {}, r"source\.terms must be 4 or 8, not 2; use 4"),
        ({**CLT, "terms": 4.0}, 4, {}, r"source\.terms must be 4 or 8, not 4\.0; write 4"),
        (
            TREE,
            4,
            {"scaling": {"mode": "group"}},
            r'scaling\.mode must be "none" for source\.kind = "gaussian-tree", .*; use "none"',
        ),
        (
            CLT,
            4,
            {"scaling": {"mode": "constant"}},
            r'scaling\.mode must be "none" for source\.kind = "gaussian-clt", .*; use "none"',
        ),
        (
            TREE,
            300,
            STEP,
            r"reuse\.lanes must be at most 256, because a stream of 4096 bits holds no more "
            r"weights of 16 bits, not 300; use 256",
        ),
        (
            {**CLT, "terms": 8},
            264,
            STEP,
            r"reuse\.lanes must be at most 256, because .* not 264; use 256",
        ),
        ({**TREE, "bits": 8}, 4, {}, r"source\.bits .*"),
        ({"kind": "gaussian"}, 4, {}, r'source\.kind must be .*, not "gaussian"; .*'),
    ],
)
def test_bad_cases_are_refused(
    source: dict[str, Any], lanes: int, sections: dict[str, Any], pattern: str
) -> None:
    with pytest.raises(PezoError) as caught:
        from_mapping(mapping(source, lanes=lanes, **sections), where="x.toml")
    assert re.fullmatch(rf"x\.toml: {pattern}", str(caught.value)), str(caught.value)


@pytest.mark.parametrize("source", [TREE, CLT, {**CLT, "terms": 8}])
def test_widths_are_those_of_the_model(source: dict[str, Any]) -> None:
    config = configured(source, lanes=8)
    engine = engine_of(config)
    assert engine.fraction_bits == config.source.fraction_bits
    assert config.source.largest_word < 2 ** (engine.bits - 1)
    assert 2 * config.source.largest_word >= 2 ** (engine.bits - 1)
    assert abs(engine.groups(0, 2000)).max() <= config.source.largest_word
    # The perturbation's width in a step: 2^-7 in LSBs of 2^-13 is 64.
    step = configured(source, lanes=8, **STEP)
    largest = config.source.largest_word / 2**config.source.fraction_bits
    assert abs(reach(step, exponent=0) - 64 * largest) <= 0.5
    check_exponent(step, engine.max_exponent)
