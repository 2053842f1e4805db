"""Written configurations explain themselves and read back."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from pezo_hw.config import from_mapping, load, load_preset, preset_names, to_toml


@pytest.mark.parametrize("preset", preset_names())
def test_round_trip_of_presets(preset: str) -> None:
    config = load_preset(preset)
    assert from_mapping(tomllib.loads(to_toml(config))) == config
    assert to_toml(config) == to_toml(from_mapping(tomllib.loads(to_toml(config))))


@pytest.mark.parametrize(
    "overrides",
    [
        ["source.polynomial=0x11d", "source.leap=7", "source.rotation=period"],
        ["scaling.mode=constant", "scaling.exponent=0", "core.parameters=7"],
        ['core.board="a \\"b\\\\c\\u00e9\\U0001F600.py"', "source.seed=0"],
        ["reuse.stride=0", "source.phases=seeded", "source.seed=4294967295"],
    ],
)
def test_round_trip_of_every_optional_key(overrides: list[str]) -> None:
    config = load("zcu102-step", overrides)
    assert from_mapping(tomllib.loads(to_toml(config))) == config


@pytest.mark.parametrize("preset", preset_names())
def test_every_key_is_there_with_a_comment(preset: str) -> None:
    text = to_toml(load_preset(preset), title="a title\nin two lines")
    lines = text.splitlines()
    assert lines[0] == "# a title\\nin two lines"
    assert text.endswith("\n") and not text.endswith("\n\n")
    for line in lines[1:]:
        assert re.fullmatch(r"(# )?[a-z_0-9]+ = \S.*  # \S.*|\[[a-z]+\]|", line), line


@pytest.mark.parametrize("preset", preset_names())
def test_optional_keys_work_once_uncommented(preset: str) -> None:
    text = to_toml(load_preset(preset))
    scaled = re.search(r"(?m)^# exponent = ", text) is not None
    if scaled:
        text = re.sub(r'mode = "(group|none)"', 'mode = "constant"', text)
    uncommented = re.sub(r"(?m)^# (?=[a-z_]+ = )", "", text)
    config = from_mapping(tomllib.loads(uncommented))
    assert config.core.parameters is not None
    assert config.scaling.exponent == (1 if scaled else None)


def test_a_source_that_is_never_scaled_offers_no_exponent() -> None:
    assert "exponent = " not in to_toml(load_preset("zcu102-rademacher"))
    assert "# exponent = " in to_toml(load_preset("zcu102-wide"))


def test_a_polynomial_is_written_in_hexadecimal(on_the_fly: Any) -> None:
    on_the_fly["source"]["polynomial"] = 285
    text = to_toml(from_mapping(on_the_fly))
    assert re.search(r"(?m)^polynomial = 0x11d ", text)
    assert re.search(r"(?m)^leap = 1 ", text)
