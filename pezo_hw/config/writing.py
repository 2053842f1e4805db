"""Writing a configuration as a TOML file that explains itself."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from pezo_hw.config.models import Config, OnTheFlySource, Section, SeededSource
from pezo_hw.config.text import choices, one_line, quote, requirement, show

# Keys of [zo] that a kind of update has no use for.
_OTHER_UPDATE = {"dsp": ("levels",), "zoqo": ("epsilon_log2", "coefficient_shift")}

# Comments start here where the line before them is short enough.
_COLUMN = 28


def to_toml(config: Config, *, title: str | None = None) -> str:
    """Return a configuration as TOML, each key with a comment on its meaning and range.

    Reading the text gives an equal configuration. Optional keys that are not set stand in comments.

    Parameters
    ----------
    config : Config
        A valid configuration.
    title : str, optional
        One line for the comment at the top.
    """
    blocks = [f"# {one_line(title)}"] if title else []
    for name in type(config).model_fields:
        section = getattr(config, name)
        if section is not None:
            blocks.append("\n".join([f"[{name}]", *_lines(section, config)]))
    return "\n\n".join(blocks) + "\n"


def _lines(section: Section, config: Config) -> list[str]:
    lines = []
    for key, field in type(section).model_fields.items():
        value = getattr(section, key)
        if key == "exponent" and not _scalable(config):
            continue
        if config.zo is section and key in _OTHER_UPDATE[config.zo.update]:
            continue
        # Without a polynomial a leap has no meaning; shown all the same, for whoever adds one.
        unset = value is None or (key == "leap" and _polynomial(config) is None)
        shown = _example(key, field, config) if value is None else _value(key, value)
        line = f"{'# ' if unset else ''}{key} = {shown}"
        lines.append(f"{line:<{_COLUMN}}  # {field.description}{_range(field)}")
    return lines


def _range(field: FieldInfo) -> str:
    must = requirement(field)
    if must == "a string" or len(choices(field)) == 1:
        return ""
    return f"; {must.removeprefix('an integer ').removeprefix('of ').removeprefix('from ')}"


def _value(key: str, value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return show(value)
    # Taps are read bit by bit.
    return hex(value) if key == "polynomial" else str(value)


def _example(key: str, field: FieldInfo, config: Config) -> str:
    if key == "polynomial":
        from pezo_hw.golden import lfsr

        return hex(lfsr.default_polynomial(config.source.bits))
    return str((field.examples or [""])[0])


def _scalable(config: Config) -> bool:
    source = config.source
    return not isinstance(source, SeededSource) or "constant" in source.scaling_modes


def _polynomial(config: Config) -> int | None:
    source = config.source
    return source.polynomial if isinstance(source, OnTheFlySource) else None
