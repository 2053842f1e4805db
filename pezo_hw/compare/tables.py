"""A comparison as tables: what each column shows, for a terminal, Markdown and HTML alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pezo_hw.synth.published import LANES
from pezo_hw.synth.render import LABEL

from .entries import BASELINE
from .result import Comparison, published_rows

__all__ = ["COLUMNS", "Column", "cells", "markdown", "meanings", "notes", "text"]


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _times(value: float | None) -> str:
    """Return a ratio to the baseline as "1 / 488", which says more than 0.00205."""
    if value is None or value <= 0:
        return "-"
    return f"1 / {1 / value:,.0f}" if value < 0.1 else f"{value:.2g}"


def _large(value: int | None) -> str:
    """Return a number in full if it is short, else as a power of two, about."""
    if value is None:
        return "-"
    if value < 10**7:
        return f"{value:,}"
    if value & (value + 1) == 0:
        return f"2^{value.bit_length()} - 1"
    power = math.log2(value)
    return f"2^{power:.0f}" if value & (value - 1) == 0 else f"~2^{power:.1f}"


def _mhz(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _small(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes
    ----------
    key : str
        Field of `pezo_hw.compare.result.Row`.
    title : str
    show : callable
        From a value to text; published rows lack some.
    meaning : str
    """

    key: str
    title: str
    show: Callable[[Any], str]
    meaning: str


COLUMNS = (
    Column("lut", "LUT", _count, f"LUTs of UltraScale+, {LABEL}"),
    Column("ff", "FF", _count, "flip-flops, likewise"),
    Column("bram36", "BRAM36", _count, "block RAMs in units of 36 kbit"),
    Column("dsp", "DSP", _count, "DSP48E2 blocks"),
    Column("share", "of ZCU102", _percent, "share of the device's LUTs"),
    Column("ratio", "ratio", _times, f"LUTs as a part of those of {BASELINE}"),
    Column(
        "fmax_mhz",
        "ECP5 MHz",
        _mhz,
        "Fmax after place and route on an LFE5U-85F-6, which compares and predicts nothing else; "
        "published: the clock of the ZCU102 design",
    ),
    Column("logic_levels", "levels", _count, "LUTs between registers, at most, UltraScale+"),
    Column(
        "activity",
        "activity",
        _small,
        "toggles a lane value, a proxy for dynamic power without delays, not watts",
    ),
    Column("period", "period", _large, "groups after which the source repeats"),
    Column(
        "directions",
        "directions",
        _large,
        "different directions that training visits: start positions, or seeds",
    ),
    Column("rank", "rank", _count, "dimensions that successive directions span"),
)
"""All columns, in order."""

_PUBLISHED = {"fmax_mhz": "clock_mhz"}


def cells(comparison: Comparison) -> list[list[str]]:
    """Return the table: the titles, the rows, and the published rows."""
    head = ["source", *(column.title for column in COLUMNS)]
    rows = [
        [row.source, *(column.show(getattr(row, column.key)) for column in COLUMNS)]
        for row in comparison.rows
    ]
    return [head, *rows, *(_published(row) for row in published_rows())]


def _published(row: Mapping[str, Any]) -> list[str]:
    shown = []
    for column in COLUMNS:
        text = column.show(row.get(_PUBLISHED.get(column.key, column.key)))
        # The counts are derived from percentages of two digits.
        shown.append(f"~{text}" if column.key in ("lut", "ff") and text != "-" else text)
    return [f"published: {row['source']}", *shown]


def title(comparison: Comparison) -> str:
    """Return what the table is of, in a line."""
    return (
        f"{comparison.lanes:,} lanes on {comparison.device}: {LABEL}; rank of {comparison.steps} "
        f"directions of {comparison.parameters:,} weights"
    )


def notes(comparison: Comparison) -> list[str]:
    """Return what is to be said below the table: claims first, then notes."""
    lines = [
        f"{'holds' if claim.holds else 'DOES NOT HOLD'}: {claim.text}: {claim.value:g} "
        f"{claim.unit}, claimed {claim.must}"
        for claim in comparison.claims
    ]
    if comparison.lanes != LANES:
        there = f"the published figures are of {LANES:,} lanes"
        lines.append(f"note: {there}; what is claimed is judged there only")
    return [*lines, *(f"note: {note}" for note in comparison.notes)]


def meanings() -> list[tuple[str, str]]:
    """Return the title and the meaning of each column."""
    return [(column.title, column.meaning) for column in COLUMNS]


def text(comparison: Comparison) -> str:
    """Return the table for a terminal."""
    table = cells(comparison)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [title(comparison)]
    for row in table:
        first, *rest = row
        numbers = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        lines.append("  ".join([f"{first:<{widths[0]}}", *numbers]))
    return "\n".join([*lines, *notes(comparison)])


def markdown(comparison: Comparison) -> str:
    """Return a Markdown document with the table."""
    head, *rows = cells(comparison)
    lines = [
        "# Sources side by side",
        "",
        title(comparison) + ".",
        "",
        f"| {' | '.join(head)} |",
        f"| --- |{' ---: |' * len(COLUMNS)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        *(f"- {note}" for note in notes(comparison)),
        "",
        *_scaling(comparison),
        *(f"- **{name}**: {meaning}" for name, meaning in meanings()),
        "",
        f"Made by `{command(comparison)}` with "
        + ", ".join(f"{name} {version}" for name, version in comparison.tools.items())
        + ".",
        "",
    ]
    return "\n".join(lines)


def command(comparison: Comparison) -> str:
    """Return the command that makes a comparison again."""
    words = ["pezo compare", f"--lanes {comparison.lanes}"]
    words += [f"--parameters {comparison.parameters}"]
    words += ["--scaling"] * bool(comparison.scaling)
    words += ["--no-place"] * ("nextpnr-ecp5" not in comparison.tools)
    return " ".join(words)


def scaling(comparison: Comparison) -> list[list[str]]:
    """Return LUTs by source and number of lanes as a table, titles first; empty without any."""
    sizes = sorted({size.lanes for size in comparison.scaling})
    names = list(dict.fromkeys(size.source for size in comparison.scaling))
    known = {(size.source, size.lanes): _count(size.lut) for size in comparison.scaling}
    if not names:
        return []
    head = ["LUT at so many lanes", *(f"{lanes:,}" for lanes in sizes)]
    return [head, *([n, *(known.get((n, lanes), "-") for lanes in sizes)] for n in names)]


def _scaling(comparison: Comparison) -> list[str]:
    table = scaling(comparison)
    if not table:
        return []
    head, *rows = table
    return [
        f"| {' | '.join(head)} |",
        f"| --- |{' ---: |' * (len(head) - 1)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]
