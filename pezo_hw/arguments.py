"""Checks of single arguments: each returns the plain value, or says in a line what must hold."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pezo_hw.config.text import closest, listed, one_line
from pezo_hw.errors import PezoError

_LONGEST = 60


def shown(value: Any) -> str:
    """Return what messages call a value: short, and on one line."""
    plain = value is None or isinstance(value, str | bool | numbers.Number)
    if not plain:
        return f"a value of type {type(value).__name__}"
    # As numbers of NumPy print, not as they represent themselves.
    text = repr(value) if isinstance(value, str) else str(value)
    return one_line(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def real(name: str, value: Any, *, positive: bool, example: str) -> float:
    """Return a finite number, above 0 or at least 0."""
    number = _plain(value)
    if _is(number, numbers.Real):
        try:
            found = float(number)
        except OverflowError:  # an integer of hundreds of digits
            found = math.inf
        if math.isfinite(found) and (found > 0 or (found == 0 and not positive)):
            return found
    must = "a positive number" if positive else "a finite number, 0 or more"
    raise PezoError(f"{name} must be {must}, not {shown(number)}; give e.g. {example}")


def number(name: str, value: Any) -> float:
    """Return a number; whether it is finite is for others to ask."""
    found = _plain(value)
    if not _is(found, numbers.Real):
        raise PezoError(f"{name} must be a number, not {shown(found)}; give one")
    try:
        return float(found)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf if found > 0 else -math.inf


def whole(
    name: str, value: Any, *, least: int | None = None, most: int | None = None, hint: str = ""
) -> int:
    """Return an integer from `least` to `most`; `hint` is added to the message."""
    number = _plain(value)
    if _is(number, numbers.Integral):
        found = int(number)
        if (least is None or found >= least) and (most is None or found <= most):
            return found
    must = "an integer"
    if least is not None:
        must += f" from {least} to {most}" if most is not None else f" of at least {least}"
    raise PezoError(
        f"{name} must be {must}, not {shown(number)}; use {_nearest(number, least, most)}{hint}"
    )


def one_of(name: str, value: Any, options: Sequence[str]) -> str:
    """Return one of some words."""
    if isinstance(value, str) and value in options:
        return value
    guess = closest(value, options) if isinstance(value, str) else None
    raise PezoError(
        f"{name} must be {listed(options, last='or')}, not {shown(value)}; "
        f"{f'did you mean {guess}?' if guess else 'choose one of them'}"
    )


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    found = _plain(value)
    if not isinstance(found, bool):
        raise PezoError(f"{name} must be True or False, not {shown(found)}; choose one of them")
    return found


def keys(
    what: str, given: Any, *, known: Iterable[str], needed: Collection[str] = ()
) -> Mapping[str, Any]:
    """Return a mapping that has only known keys, and all that are needed."""
    known = list(known)
    if not isinstance(given, Mapping):
        raise PezoError(f"{what} must be a dict, not {shown(given)}; its keys are {listed(known)}")
    for key in given:
        if key not in known:
            guess = closest(key, known) if isinstance(key, str) else None
            raise PezoError(
                f"{what} must not have the key {shown(key)}; "
                f"{f'did you mean {guess}?' if guess else f'the keys are {listed(known)}'}"
            )
    for key in needed:
        if key not in given:
            raise PezoError(f"{what} must have the key {key!r}, which is missing; add it")
    return given


def _plain(value: Any) -> Any:
    """Return the number in an array or tensor of one number, else the value itself."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def _is(value: Any, kind: type) -> bool:
    """Tell whether a value is a number of a kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _nearest(number: Any, least: int | None, most: int | None) -> int:
    try:
        found = round(number) if _is(number, numbers.Real) else least or 0
    except (OverflowError, ValueError):  # infinite, or none
        found = least or 0
    found = found if least is None else max(least, found)
    return found if most is None else min(found, most)
