"""A synthesis report as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pezo_hw.synth.counts import COLUMNS

__all__ = ["LABEL", "render"]

LABEL = "estimate (Yosys, not Vivado)"
"""What every figure of a report is labelled as."""

_TITLES = {"lut": "LUT", "ff": "FF", "bram36": "BRAM36", "dsp": "DSP"}


def render(report: Mapping[str, Any], *, name: str | None = None) -> RenderableType:
    """Show a report.

    Parameters
    ----------
    report : dict
        What `pezo_hw.synth.report.report` returned.
    name : str, optional
        What to call the core; default: its top module.

    Returns
    -------
    RenderableType
        For ``rich.print``: the resources beside the published ones, then the blocks.
    """
    lines = [f"{report['tool']}: {report['command']}", _levels(report)]
    if "scaled" in report:
        lines.append(_scaled(report["scaled"]))
    if report["other_cells"]:
        lines.append(f"cells in none of the columns: {_by_type(report['other_cells'])}")
    lines += [f"note: {reason}" for reason in report["published"].get("differs", ())]
    return Group(
        _resources(report, name=name or report["top"]), _blocks(report), Text("\n".join(lines))
    )


def _resources(report: Mapping[str, Any], *, name: str) -> Table:
    label = f"{LABEL}, scaled from fewer lanes" if "scaled" in report else LABEL
    table = Table(title=f"{name} on {report['device']}: {label}", title_justify="left")
    table.add_column("")
    table.add_column("this core", justify="right", style="bold")
    table.add_column("of the device", justify="right")
    published = report["published"]
    # Some sources have no published figures of their own.
    rows = [row for row in (published, published.get("baseline", {})) if "design" in row]
    for row in rows:
        table.add_column(f"{row['design']}, published", justify="right")
    for column in COLUMNS:
        table.add_row(
            _TITLES[column],
            _number(report["resources"][column]),
            _percent(report["share"][column]),
            *(_about(row[column], row["share"][column]) for row in rows),
        )
    return table


def _blocks(report: Mapping[str, Any]) -> Table:
    table = Table(title=f"By block: {LABEL}", title_justify="left")
    table.add_column("block")
    for column in COLUMNS:
        table.add_column(_TITLES[column], justify="right")
    for block in report["blocks"]:
        times = f" ({block['instances']} times)" if block["instances"] > 1 else ""
        table.add_row(block["name"] + times, *(_number(block[column]) for column in COLUMNS))
    table.add_section()
    table.add_row("sum", *(_number(report["resources"][column]) for column in COLUMNS))
    return table


def _levels(report: Mapping[str, Any]) -> str:
    text = f"LUT levels between registers: {report['logic_levels']}"
    path = report["paths"]["register_to_register"]
    if path is not None and path["levels"]:
        carry = f" and {path['carry']} carry cells" if path["carry"] else ""
        text += f"{carry}, from {path['start']} to {path['end']}"
    if report["ram"]:
        text += f"\nmemory cells: {_by_type(report['ram'])}"
    return text


def _scaled(scaled: Mapping[str, Any]) -> str:
    sizes = [f"{made['lanes']}" for made in scaled["from"]]
    lane = scaled["per_lane"]
    return (
        f"scaled to {scaled['lanes']:,} lanes from syntheses of {', '.join(sizes[:-1])} and "
        f"{sizes[-1]}: a lane adds {lane['lut']:g} LUT and {lane['ff']:g} FF; the middle one is "
        f"{100 * scaled['deviation']:.1f} % off the line"
    )


def _by_type(cells: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {cell_type}" for cell_type, n in cells.items())


def _number(value: float) -> str:
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _about(value: int | None, share: float | None) -> str:
    # The counts are derived from percentages of two digits.
    if value is None or share is None:
        return "not published"
    return f"~{value:,} ({100 * share:g} %)"
