"""Reading a configuration from a preset, a file or a mapping, with overrides."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pezo_hw import resources
from pezo_hw.config import messages
from pezo_hw.config.models import SECTIONS, Config, section_keys
from pezo_hw.config.text import closest, listed, one_line, quote
from pezo_hw.errors import PezoError

# Far beyond any configuration: what is larger is some other file.
_MAX_BYTES = 1 << 20
# Of an override, in messages.
_LONGEST = 100
# In the place of an override's value.
_REMOVED = object()


def preset_names() -> list[str]:
    """Return the names of the presets, sorted."""
    return list(resources.preset_paths())


def preset_summary(name: str) -> str:
    """Return the one-line description of a preset: the comment that its file begins with.

    Raises
    ------
    PezoError
        If there is no such preset.
    """
    first = _read(_preset_path(name), name).partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def load_preset(name: str) -> Config:
    """Return the configuration of a preset.

    Raises
    ------
    PezoError
        If there is no such preset.
    """
    return from_mapping(_parse(_read(_preset_path(name), name), name), where=name)


def load(ref: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Return the configuration of a preset or file, with overrides applied.

    Parameters
    ----------
    ref : str or Path
        A preset's name or the path of a TOML file. A preset goes first; write ``./tiny`` for a file
        of such a name.
    overrides : sequence of str
        ``section.key=value`` each, the value as in TOML; what is no TOML value is taken as a
        string, so that words need no quotes. Without a value the key is removed, as if the file
        did not have it. The last one for a key counts.

    Returns
    -------
    Config

    Raises
    ------
    PezoError
        If the file cannot be read or the configuration is not valid; one line that says where.
    """
    presets = resources.preset_paths()
    if str(ref) in presets:
        path, where = presets[str(ref)], str(ref)
    else:
        path, where = _config_path(str(ref), list(presets)), str(ref)
    mapping = _parse(_read(path, where), where)
    origins: dict[str, str] = {}
    for override in overrides:
        section, key, value = _parse_override(override)
        # A key that nobody knows is refused as one that is set, with a suggestion.
        if value is _REMOVED and key in section_keys(section):
            target = mapping.get(section)
            if isinstance(target, dict):
                target.pop(key, None)
        else:
            target = mapping.setdefault(section, {})
            # Something else than a section there is the file's fault and reported as such.
            if isinstance(target, dict):
                target[key] = "" if value is _REMOVED else value
        origins[f"{section}.{key}"] = _origin(override)
    config = _build(mapping, where, origins)
    board = Path(config.core.board)
    if board.suffix == ".py" and not board.is_absolute() and "core.board" not in origins:
        config._folder = path.absolute().parent
    return config


def from_mapping(mapping: Mapping[str, Any], where: str = "configuration") -> Config:
    """Return the configuration of nested mappings: section, then key.

    Parameters
    ----------
    mapping : mapping
        As ``tomllib`` or ``Config.model_dump`` returns it.
    where : str
        What error messages call it.

    Raises
    ------
    PezoError
        If the configuration is not valid.
    """
    return _build(mapping, where, {})


def _build(mapping: Any, where: str, origins: Mapping[str, str]) -> Config:
    try:
        return Config.model_validate(mapping)
    except ValidationError as error:
        raise messages.problem(error, where=where, origins=origins) from None


def _preset_path(name: str) -> Path:
    presets = resources.preset_paths()
    if name not in presets:
        guess = closest(name, presets)
        hint = f"did you mean {guess}?" if guess else f"the presets are {listed(list(presets))}"
        raise PezoError(f"PRESET must be the name of a preset, not {quote(name)}; {hint}")
    return presets[name]


def _config_path(ref: str, presets: list[str]) -> Path:
    # Path("") is the current directory: not what an empty shell variable means.
    path = Path(ref or "\0")
    try:
        if path.exists():
            return path
    except (OSError, ValueError):
        pass
    must = f"CONFIG must be a preset or an existing file, not {quote(ref)}"
    guess = None if "/" in ref or "\\" in ref else closest(ref.removesuffix(".toml"), presets)
    if guess:
        raise PezoError(f"{must}; did you mean the preset {guess}?")
    raise PezoError(f"{must}; check the path, or choose one of the presets {listed(presets)}")


def _read(path: Path, where: str) -> str:
    def refuse(must: str, way_out: str) -> PezoError:
        return PezoError(one_line(f"{where}: {must}; {way_out}"))

    if path.is_dir():
        raise refuse("must be a TOML file, not a directory", "name the file in it")
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise refuse(f"must be readable, but: {reason}", "check its permissions") from None
    if len(data) > _MAX_BYTES:
        raise refuse(f"must have at most {_MAX_BYTES} bytes", "is it really a configuration?")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refuse("must be UTF-8 text, not UTF-16", "save it again as UTF-8")
    try:
        # Some editors put a byte order mark in front, which TOML does not allow.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        must = f"must be UTF-8 text, but line {line} is not"
        raise refuse(must, "save it again as UTF-8") from None


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:
        # Also raised, as a plain ValueError, for integers with thousands of digits.
        reason = str(error)
    raise PezoError(one_line(f"{where}: must be valid TOML, but: {reason}; correct this place"))


def _parse_override(override: str) -> tuple[str, str, Any]:
    def refuse(text: str) -> PezoError:
        return PezoError(one_line(f"{_origin(override)}: {text}"))

    name, equals, value = (part.strip() for part in override.partition("="))
    section, dot, key = (part.strip() for part in name.partition("."))
    form = "must have the form section.key=value"
    if not equals:
        raise refuse(f"{form}, but has no '='; write e.g. --set source.bits=8")
    if not (section and dot and key):
        holder = closest(section, (key for s in SECTIONS for key in section_keys(s)))
        owner = next((s for s in SECTIONS if holder in section_keys(s)), None)
        guess = f"did you mean {owner}.{holder}?" if owner else "write e.g. --set source.bits=8"
        raise refuse(f"{form}, but names no section and key; {guess}")
    if section not in SECTIONS:
        raise refuse(messages.unknown_section(section))
    return section, key, _parse_value(value, refuse) if value else _REMOVED


def _origin(override: str) -> str:
    return f"--set {override if len(override) <= _LONGEST else override[: _LONGEST - 3] + '...'}"


def _parse_value(value: str, refuse: Callable[[str], PezoError]) -> Any:
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        if value[0] in "\"'[{":
            raise refuse("the value must be valid TOML; check its quotes and brackets") from None
        return value
    # A line break in the value could have smuggled in a second key.
    return parsed["value"] if list(parsed) == ["value"] else value
