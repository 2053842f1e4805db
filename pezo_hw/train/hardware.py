"""Configurations to train with: a step core with another source, update rule or word size."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pezo_hw.config import Config, from_mapping, load, load_preset
from pezo_hw.errors import PezoError

BASE = "zcu102-step"
"""Preset that everything not chosen is taken from."""

SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "on-the-fly": "zcu102-onthefly",
        "pre-generated": "zcu102-pregen",
        "rademacher": "zcu102-rademacher",
        "wide-uniform": "zcu102-wide",
        "gaussian-tree": "zcu102-gaussian-tree",
        "gaussian-clt": "zcu102-gaussian-clt",
    }
)
"""Sources by name, and the preset whose source section is meant."""

UPDATES = ("dsp", "zoqo")

FORMATS: Mapping[int, dict[str, int]] = MappingProxyType(
    {
        16: {"frac": 13, "epsilon_log2": -7, "levels": 127},
        8: {"frac": 6, "epsilon_log2": -5, "levels": 3},
    }
)
"""Fraction bits, epsilon and ZOQO levels by bits of a weight."""

RATES: Mapping[tuple[str, int], float] = MappingProxyType(
    {("dsp", 16): 3e-3, ("dsp", 8): 3e-3, ("zoqo", 16): 2.0**-8, ("zoqo", 8): 2.0**-6}
)
"""Learning rates that suit the digits, by update rule and bits of a weight."""


def configuration(
    *,
    base: str = BASE,
    source: str | None = None,
    update: str | None = None,
    bits: int | None = None,
    overrides: tuple[str, ...] = (),
) -> Config:
    """Return the configuration of a step core to train with.

    Parameters
    ----------
    base : str
        A preset or a TOML file, of kind ``zo-step``.
    source, update, bits : optional
        A key of `SOURCES`, one of `UPDATES`, 8 or 16; None leaves what the base has.
    overrides : tuple of str
        ``section.key=value``, which come before the others.

    Raises
    ------
    PezoError
        If there is no such choice, the result is not valid, or an override would be lost.
    """
    config = load(base, overrides)
    if config.core.kind != "zo-step":
        raise PezoError(
            f'{base}: core.kind must be "zo-step" to train with, not "{config.core.kind}"; '
            f"use {BASE}"
        )
    assert config.zo is not None
    mapping: dict[str, Any] = config.model_dump(exclude_unset=True)
    before = {name: dict(section) for name, section in mapping.items()}
    if source is not None and source != config.source.kind:
        preset = load_preset(SOURCES[_choice("source", source, SOURCES)])
        other = preset.model_dump(exclude_unset=True)
        mapping["source"] = other["source"]
        mapping["scaling"] = other.get("scaling", {})
        if not any(given.startswith("zo.coefficient_shift") for given in overrides):
            shift = _shift(preset.source.fraction_bits)
            mapping["zo"] = {**mapping["zo"], "coefficient_shift": shift}
    if bits is not None:
        given = FORMATS[_choice("bits", bits, FORMATS)]
        mapping["weights"] = {"bits": bits, "frac": given["frac"]}
        # A core has one of both.
        size = "levels" if config.zo.update == "zoqo" else "epsilon_log2"
        mapping["zo"] = {**mapping["zo"], size: given[size]}
    if update is not None and update != config.zo.update:
        zo = {**mapping["zo"], "update": _choice("update", update, UPDATES)}
        width = int(mapping["weights"]["bits"])
        if update == "zoqo":
            # The perturbation is m levels of the weights' step: nothing is scaled, rounded or
            # multiplied.
            for key in ("epsilon_log2", "coefficient_shift"):
                zo.pop(key, None)
            zo["levels"] = FORMATS[width]["levels"]
            mapping["scaling"] = {"mode": "none"}
        else:
            zo.pop("levels", None)
            zo["epsilon_log2"] = FORMATS[width]["epsilon_log2"]
            mapping.pop("scaling", None)
        mapping["zo"] = zo
    # What is wrong now is so because of these, as base and overrides are right by themselves.
    given_options = {"--source": source, "--update": update, "--bits": bits}
    options = " ".join(f"{name} {value}" for name, value in given_options.items() if value)
    for override in overrides:
        name, _, _ = override.partition("=")
        section, _, key = (part.strip() for part in name.partition("."))
        now = mapping.get(section, {}).get(key)
        if now != before.get(section, {}).get(key):
            sets = f"sets {section}.{key} = {now}" if now is not None else "leaves no such key"
            raise PezoError(
                f"--set {override} must not come with {options}, which {sets}; leave one of them "
                "out, or write all of it into a file for --config"
            )
    try:
        made = from_mapping(mapping, where=f"{options} with {base}")
    except PezoError as error:
        way_out = f"leave out {options.split()[0]}, or take another --config than {base}"
        raise PezoError(f"{error}; or {way_out}") from None
    # A copy of what was loaded, since a relative board counts from its file.
    return config.model_copy(update={name: getattr(made, name) for name in Config.model_fields})


def _shift(fraction_bits: int) -> int:
    """Return S for words with so many fraction bits.

    C grows as words get smaller, and leaves its port; the preset's S suits 7 fraction bits.
    """
    return max(1, min(24, 16 + fraction_bits - 7))


def rate_of(config: Config) -> float:
    """Return a learning rate that suits the digits."""
    assert config.weights is not None and config.zo is not None
    return RATES[config.zo.update, config.weights.bits]


def _choice(name: str, value: Any, choices: Any) -> Any:
    if value not in choices:
        listed = ", ".join(map(str, choices))
        raise PezoError(f"{name} must be one of {listed}, not {value}")
    return value
