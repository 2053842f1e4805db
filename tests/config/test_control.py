"""The section [control]: how a processor reaches a step core."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from pezo_hw.config import ControlConfig, from_mapping, load, to_toml
from pezo_hw.errors import PezoError


def test_a_step_core_has_ports_unless_said_otherwise() -> None:
    mapping = load("zcu102-step").model_dump(mode="json", exclude_none=True)
    assert load("zcu102-step").control == ControlConfig(interface="axi-lite", tensors=0)
    del mapping["control"]
    config = from_mapping(mapping)
    assert config.control == ControlConfig(interface="ports", tensors=0)
    # A written file says so.
    assert re.search(r'(?m)^\[control\]\ninterface = "ports" +# .*\ntensors = 0 ', to_toml(config))


def test_a_perturbation_core_has_none() -> None:
    assert load("tiny").control is None
    assert "[control]" not in to_toml(load("tiny"))
    with pytest.raises(
        PezoError, match=r"\A--set control\.tensors=1: .*\[control\] must be left out"
    ):
        load("tiny", ["control.tensors=1"])


@pytest.mark.parametrize(
    ("override", "pattern"),
    [
        (
            "control.interface=axi_lit",
            r'control\.interface must be .*, not "axi_lit"; did you mean "axi-lite"\?',
        ),
        (
            "control.tensors=65",
            r"control\.tensors must be an integer from 0 to 64, not 65; use 64",
        ),
        ("control.tensor=4", r"unknown key control\.tensor; did you mean control\.tensors\?"),
    ],
)
def test_messages(override: str, pattern: str) -> None:
    with pytest.raises(PezoError) as caught:
        load("zcu102-step", [override])
    assert re.fullmatch(rf"--set {re.escape(override)}: {pattern}", str(caught.value))


def test_the_section_survives_being_written() -> None:
    config = load("zcu102-step", ["control.tensors=64"])

    written: dict[str, Any] = tomllib.loads(to_toml(config))
    assert from_mapping(written) == config
