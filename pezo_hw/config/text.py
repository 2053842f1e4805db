"""Pieces of one-line messages: values as TOML would write them, suggestions, ranges."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

_LONGEST = 60
# Python refuses to print integers of more than 4300 digits; nobody wants to read half as many.
_LONGEST_INTEGER_BITS = 128


def one_line(text: str) -> str:
    """Return `text` on one line: what is not printable (line breaks, escapes) is escaped."""
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def quote(text: str) -> str:
    """Return a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{one_line(escaped)}"'


def show(value: Any) -> str:
    """Return a value as TOML would write it, on one line and cut to a readable length."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value.bit_length() > _LONGEST_INTEGER_BITS:
            return f"an integer of {value.bit_length()} bits"
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return quote(value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "...")
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "an array"
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return f"a value of type {type(value).__name__}"


def closest(word: str, options: Iterable[str]) -> str | None:
    """Return the option that `word` is most probably a misspelling of, or None."""
    by_shape = {_shape(option): option for option in options}
    found = difflib.get_close_matches(_shape(word[:200]), list(by_shape), n=1, cutoff=0.6)
    return by_shape[found[0]] if found else None


def key_name(key: str) -> str:
    """Return a key as TOML would write it: in quotes if it is no bare word, and not too long."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", key) and len(key) <= _LONGEST
    return key if bare else show(key)


def removal(key: str) -> str:
    """Return how to get rid of a key, which may be in a file or in a preset: the way out."""
    return f"remove it (--set {key}=)"


def listed(items: Sequence[str], *, last: str = "and") -> str:
    """Return "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def choices(field: FieldInfo) -> tuple[str | int, ...]:
    """Return the values that a field may have if they are enumerated, else ()."""
    if get_origin(field.annotation) is Literal:
        return get_args(field.annotation)
    if field.annotation is bool:
        return (True, False)
    return ()


def bounds(field: FieldInfo) -> tuple[int | None, int | None]:
    """Return the least and the greatest value of a field, None where there is no bound."""
    least = next((m.ge for m in field.metadata if isinstance(m, Ge)), None)
    most = next((m.le for m in field.metadata if isinstance(m, Le)), None)
    return least, most  # type: ignore[return-value]  # every bound in the models is an int


def requirement(field: FieldInfo) -> str:
    """Return what a field must be: "an integer from 4 to 16", 'one of "a" and "b"'."""
    options = choices(field)
    if options:
        return listed([show(option) for option in options], last="or")
    if field.annotation is str:
        return "a string"
    least, most = bounds(field)
    if least is None and most is None:
        return "an integer"
    if most is None:
        return f"an integer of at least {least}"
    if least is None:
        return f"an integer of at most {most}"
    return f"an integer from {least} to {most}"


def _shape(word: str) -> str:
    return word.lower().replace("_", "-")


def _escape(character: str) -> str:
    code = ord(character)
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return short or (f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}")
