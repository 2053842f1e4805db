"""Turning what pydantic found into one line for a person."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from pezo_hw.config.fault import Fault
from pezo_hw.config.models import SECTIONS, Config, Section, section_keys
from pezo_hw.config.text import (
    bounds,
    choices,
    closest,
    key_name,
    listed,
    one_line,
    removal,
    requirement,
    show,
)
from pezo_hw.errors import PezoError

# A misspelt key is reported before the key that is then missing.
_FIRST_TYPES = ("extra_forbidden", "union_tag_not_found", "union_tag_invalid")
# What another kind of source brings about: a key too many, or too few.
_BY_KIND = ("extra_forbidden", "missing")


def problem(error: ValidationError, *, where: str, origins: Mapping[str, str]) -> PezoError:
    """Return the error to raise for a configuration that does not validate.

    Parameters
    ----------
    error : ValidationError
        What pydantic reported.
    where : str
        The file or preset that the values come from.
    origins : mapping
        ``section.key`` to another source, for values that do not come from there.
    """
    details = error.errors(include_url=False)
    details.sort(key=lambda d: _FIRST_TYPES.index(d["type"]) if d["type"] in _FIRST_TYPES else 9)
    found = [fault for detail in details for fault in _faults(detail)]
    first = found[0]
    place = next((origins[key] for key in first.keys if key in origins), where)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return PezoError(one_line(f"{place}: {first.text}{more}"))


def unknown_section(section: str) -> str:
    """Return the text that refuses a section nobody knows."""
    unknown = f"unknown section [{key_name(section)}]"
    holder = next((name for name in SECTIONS if section in section_keys(name)), None)
    if holder is not None:
        return f"{unknown}; did you mean the key {holder}.{section}?"
    guess = closest(section, SECTIONS)
    if guess is not None:
        return f"{unknown}; did you mean [{guess}]?"
    return f"{unknown}; the sections are {listed(list(SECTIONS))}"


def _faults(detail: ErrorDetails) -> list[Fault]:
    kind, given = detail["type"], detail["input"]
    if kind == "rules":
        return list(detail["ctx"]["faults"])
    path = [str(part) for part in detail["loc"]]
    if not path:
        return [Fault((), f"the configuration must be a table, not {show(given)}")]
    if len(path) == 1:
        keys = (path[0], "source.kind") if kind.startswith("union_tag") else (path[0],)
        return [Fault(keys, _section_text(path[0], kind, given))]
    # The location within a source names its kind as well: ("source", "on-the-fly", "bits").
    section, key = path[0], path[2] if path[0] == "source" and len(path) > 2 else path[1]
    model = SECTIONS[section][0]
    if section == "source" and path[1] in _KINDS:
        model = _KINDS[path[1]]
    keys = (f"{section}.{key}",)
    if section == "source" and key in section_keys(section) and kind in _BY_KIND:
        keys = (*keys, "source.kind")
    return [Fault(keys, _key_text(section, key, model, kind, given))]


def _kind_of(model: type[Section]) -> str:
    return str(choices(model.model_fields["kind"])[0])


_KINDS: dict[str, type[Section]] = {_kind_of(model): model for model in SECTIONS["source"]}


def _section_text(section: str, kind: str, given: Any) -> str:
    if kind == "extra_forbidden":
        if not isinstance(given, dict):
            holder = next((name for name in SECTIONS if section in section_keys(name)), None)
            hint = (
                f"it belongs to [{holder}]"
                if holder
                else f"the sections are {listed(list(SECTIONS))}"
            )
            return f"unknown key {key_name(section)} outside any section; {hint}"
        return unknown_section(section)
    if kind == "missing":
        needed = [k for k in section_keys(section) if _required(section, k)]
        return f"section [{section}] is missing; add it, with at least {listed(needed)}"
    if kind in ("union_tag_not_found", "union_tag_invalid") and isinstance(given, dict):
        options = list(_KINDS)
        must = listed([show(option) for option in options], last="or")
        if "kind" not in given:
            return f"source.kind is missing; set it to {must}"
        value = given["kind"]
        return f"source.kind must be {must}, not {show(value)}; {_choose(value, options)}"
    return (
        f"{section} must be a section, not {show(given)}; write [{section}] and its keys below it"
    )


def _required(section: str, key: str) -> bool:
    fields = [m.model_fields[key] for m in SECTIONS[section] if key in m.model_fields]
    # Of the keys of only one kind of source, none is needed by both.
    return len(fields) == len(SECTIONS[section]) and fields[0].is_required()


def _key_text(section: str, key: str, model: type[Section], kind: str, given: Any) -> str:
    name = f"{section}.{key}"
    if kind == "extra_forbidden":
        return _unknown_key(section, key, model)
    field = model.model_fields.get(key)
    if field is None:
        return f"{name} must be a plain value, not {show(given)}; see pezo init"
    must = requirement(field)
    if kind == "missing":
        return f"{name} is missing; add it to [{section}]: {must} ({field.description})"
    return f"{name} must be {must}, not {show(given)}; {_way_out(field, given)}"


def _unknown_key(section: str, key: str, model: type[Section]) -> str:
    others = [m for m in SECTIONS[section] if m is not model and key in m.model_fields]
    if others:
        mine, other = _kind_of(model), _kind_of(others[0])
        return (
            f'{section}.{key} must be left out for {section}.kind = "{mine}", it is for "{other}"; '
            f'{removal(f"{section}.{key}")} or set {section}.kind = "{other}"'
        )
    own = list(model.model_fields)
    unknown = f"unknown key {section}.{key_name(key)}"
    guess = closest(key, own)
    if guess is not None:
        return f"{unknown}; did you mean {section}.{guess}?"
    elsewhere = {f"{s}.{k}": k for s in SECTIONS for k in section_keys(s) if s != section}
    near = closest(key, elsewhere.values())
    if near is not None:
        there = next(name for name, k in elsewhere.items() if k == near)
        return f"{unknown}; did you mean {there}?"
    return f"{unknown}; the keys of [{section}] are {listed(own)}"


def _choose(given: Any, options: list[str]) -> str:
    guess = closest(given, options) if isinstance(given, str) else None
    return f"did you mean {show(guess)}?" if guess else "choose one of them"


def _way_out(field: FieldInfo, given: Any) -> str:
    options = choices(field)
    if options and all(isinstance(option, str) for option in options):
        return _choose(given, [str(option) for option in options])
    if field.annotation is str:
        return "write it as text in quotes"
    if field.annotation is bool:
        return "choose one of them, without quotes"
    if isinstance(given, bool):
        return "write a number"
    number = _as_integer(given)
    if number is None:
        return "write a whole number"
    nearest = _nearest(number, field)
    if nearest == number:
        return f"write {nearest}"
    return f"use {nearest}"


def _as_integer(given: Any) -> int | None:
    """Return the whole number that was probably meant by a value of another type."""
    if isinstance(given, int):
        return given
    if isinstance(given, float) and math.isfinite(given) and abs(given) < 1e15:
        return round(given)
    if isinstance(given, str) and re.fullmatch(r"[+-]?[0-9]{1,15}", given):
        return int(given)
    return None


def _nearest(number: int, field: FieldInfo) -> int:
    options = [option for option in choices(field) if isinstance(option, int)]
    if options:
        return min(options, key=lambda option: abs(option - number))
    least, most = bounds(field)
    if least is not None and number < least:
        return least
    if most is not None and number > most:
        return most
    return number


assert tuple(SECTIONS) == tuple(Config.model_fields), "one model for each section"
