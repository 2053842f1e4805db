"""Seeded sources: their keys, defaults, words and starts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pezo_hw.config import (
    RademacherSource,
    WideUniformSource,
    from_mapping,
    load,
    load_preset,
    period,
    reach,
    to_toml,
    warnings,
)
from pezo_hw.config.starts import config_starts
from pezo_hw.errors import PezoError


def refusal(mapping: Any) -> str:
    with pytest.raises(PezoError) as caught:
        from_mapping(mapping, where="x.toml")
    return str(caught.value)


def put(base: Any, **source: Any) -> Any:
    base["source"] |= source
    return base


def test_defaults(bases: Any) -> None:
    wide = from_mapping(bases["wide"])
    assert isinstance(wide.source, WideUniformSource)
    assert (wide.source.seed, wide.words) == (1, 4)
    assert (wide.scaling.mode, wide.scaling.exponent, wide.reuse.stride) == ("none", None, 1)
    signs = from_mapping(bases["signs"])
    assert isinstance(signs.source, RademacherSource)
    assert (signs.source.seed, signs.words, signs.source.bits) == (1, 40, 1)
    assert (signs.scaling.mode, signs.reuse.stride) == ("none", 0)


def test_a_given_mode_stays(bases: Any) -> None:
    bases["wide"]["scaling"] = {"mode": "constant", "exponent": 2}
    scaling = from_mapping(bases["wide"]).scaling
    assert (scaling.mode, scaling.exponent) == ("constant", 2)


@pytest.mark.parametrize(
    ("key", "low", "high"), [("bits", 4, 16), ("words", 1, 64), ("seed", 0, 2**32 - 1)]
)
def test_ranges(bases: Any, key: str, low: int, high: int) -> None:
    bases["wide"]["reuse"] = {"lanes": 64, "stride": 0}
    for value in (low, high):
        assert getattr(from_mapping(put(bases["wide"], **{key: value})).source, key) == value
    for value, use in ((low - 1, low), (high + 1, high)):
        message = refusal(put(bases["wide"], **{key: value}))
        assert re.fullmatch(
            rf"x\.toml: source\.{key} must be an integer from {low} to {high}, not {value}; "
            rf"use {use}",
            message,
        )


@pytest.mark.parametrize(
    ("base", "key", "owner"),
    [
        ("wide", "generators", "on-the-fly"),
        ("wide", "phases", "on-the-fly"),
        ("wide", "pool_size", "pre-generated"),
        ("signs", "bits", "on-the-fly"),
        ("signs", "words", "pre-generated"),
        ("signs", "leap", "on-the-fly"),
    ],
)
def test_keys_of_other_kinds_are_refused(bases: Any, base: str, key: str, owner: str) -> None:
    kind = bases[base]["source"]["kind"]
    message = refusal(put(bases[base], **{key: 1}))
    assert message == (
        f'x.toml: source.{key} must be left out for source.kind = "{kind}", it is for "{owner}"; '
        f'remove it (--set source.{key}=) or set source.kind = "{owner}"'
    )


def test_a_misspelt_kind_is_guessed(bases: Any) -> None:
    message = refusal(put(bases["signs"], kind="rademacher-1024"))
    assert message.endswith('did you mean "rademacher"?')
    assert refusal(put(bases["wide"], kind="wide_uniforms")).endswith(
        'did you mean "wide-uniform"?'
    )


def test_every_seed_is_a_start(bases: Any) -> None:
    for base in ("wide", "signs"):
        assert config_starts(from_mapping(bases[base])) is None
        bases[base]["core"]["parameters"] = 4095 * 1024
        config = from_mapping(bases[base])
        assert config_starts(config) == 2**32
        assert warnings(config) == []
        with pytest.raises(ValueError, match=r"^a .+ source has no short period"):
            period(config.source)


@pytest.mark.parametrize("preset", ["zcu102-wide", "zcu102-rademacher"])
def test_presets(preset: str) -> None:
    config = load_preset(preset)
    assert config.reuse.lanes == 1024
    assert warnings(config) == []
    assert "seed = 1 " in to_toml(config)


def test_the_reach_of_a_step() -> None:
    # 0.996 2^-7 in LSBs of 2^-13, and one of 1.0; the bank's words reach 0.992, doubled.
    sets = ["weights.bits=16", "weights.frac=13", "zo.epsilon_log2=-7", "core.kind=zo-step"]
    wide = load("zcu102-wide", [*sets, "reuse.lanes=32"])
    signs = load("zcu102-rademacher", [*sets, "reuse.lanes=32"])
    bank = load("zcu102-step")
    assert [reach(config, exponent=0) for config in (wide, signs, bank)] == [64, 64, 64]
    assert [reach(config, exponent=1) for config in (wide, signs, bank)] == [128, 128, 127]
