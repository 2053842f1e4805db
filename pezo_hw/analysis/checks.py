"""Verdicts: one figure against its limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["pass", "weak", "fail", "skipped"]
VERDICTS: tuple[Verdict, ...] = ("pass", "weak", "fail", "skipped")
Limit = float | tuple[float, float] | None


@dataclass(frozen=True)
class Check:
    """A figure, what it must be, and whether it is.

    Attributes
    ----------
    name : str
        Identifier, stable.
    value : float or int or None
        The figure; None if it could not be had.
    relation : str
        ``"=="``, ``"<="``, ``">="`` or ``"within"``.
    limit : float, (float, float) or None
    verdict : str
        ``"pass"``; ``"weak"`` where a figure is past its limit; ``"fail"`` where the hardware
        promises the figure; ``"skipped"`` where there is none, and `basis` says why.
    basis : str
        Where the limit comes from: null distribution, definition, or promise.
    note : str
        What else there is to say, possibly nothing.
    """

    name: str
    value: float | None
    relation: str
    limit: Limit
    verdict: Verdict
    basis: str
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the check as JSON can hold it."""
        limit = list(self.limit) if isinstance(self.limit, tuple) else self.limit
        return {
            "name": self.name,
            "value": self.value,
            "relation": self.relation,
            "limit": limit,
            "verdict": self.verdict,
            "basis": self.basis,
            "note": self.note,
        }

    @property
    def requirement(self) -> str:
        """Relation and limit, for people."""
        if self.limit is None:
            return ""
        if isinstance(self.limit, tuple):
            return f"{show(self.limit[0])} to {show(self.limit[1])}"
        return f"{self.relation} {show(self.limit)}"


def show(value: float | None) -> str:
    """Return a figure in at most five significant digits; whole numbers in full."""
    if value is None:
        return "-"
    if isinstance(value, int):
        bits = value.bit_length()
        # Nobody reads a number of hundreds of digits.
        return f"2^{bits} - 1" if bits > 40 and value == (1 << bits) - 1 else str(value)
    # Adding 0 makes -0.0 a plain 0.
    return f"{value + 0.0:.5g}"


def _holds(value: float, relation: str, limit: float | tuple[float, float]) -> bool:
    if isinstance(limit, tuple):
        return limit[0] <= value <= limit[1]
    if relation == "==":
        return value == limit
    return value <= limit if relation == "<=" else value >= limit


def _check(
    name: str,
    value: float,
    relation: str,
    limit: float | tuple[float, float],
    *,
    basis: str,
    note: str,
    promised: bool,
) -> Check:
    bad: Verdict = "fail" if promised else "weak"
    verdict: Verdict = "pass" if _holds(value, relation, limit) else bad
    return Check(name, value, relation, limit, verdict, basis, note)


def exactly(
    name: str, value: float, limit: float, *, basis: str, note: str = "", promised: bool = True
) -> Check:
    """Return the check that a figure equals its limit; a promise unless said otherwise."""
    return _check(name, value, "==", limit, basis=basis, note=note, promised=promised)


def at_most(
    name: str, value: float, limit: float, *, basis: str, note: str = "", promised: bool = False
) -> Check:
    """Return the check that a figure is no greater than its limit."""
    return _check(name, value, "<=", limit, basis=basis, note=note, promised=promised)


def at_least(
    name: str, value: float, limit: float, *, basis: str, note: str = "", promised: bool = False
) -> Check:
    """Return the check that a figure is no less than its limit."""
    return _check(name, value, ">=", limit, basis=basis, note=note, promised=promised)


def within(
    name: str,
    value: float,
    limit: tuple[float, float],
    *,
    basis: str,
    note: str = "",
    promised: bool = False,
) -> Check:
    """Return the check that a figure lies in a closed range."""
    return _check(name, value, "within", limit, basis=basis, note=note, promised=promised)


def skipped(name: str, reason: str) -> Check:
    """Return the check that could not be made."""
    return Check(name, None, "", None, "skipped", reason)
