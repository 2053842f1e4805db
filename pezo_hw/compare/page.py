"""A comparison as one HTML file that needs no other: a page to show to a colleague."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from html import escape

from . import tables
from .entries import BASELINE, ENTRIES
from .plots import COST, SCALING
from .result import Comparison

__all__ = ["page"]

_STYLE = """
:root { --ink: #1b1f24; --soft: #5b6570; --line: #d9dee3; --bar: #0072b2; --paper: #fff;
  --good: #1a7f37; --bad: #b42318; --tint: #f5f7f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa5b1; --line: #353c44;
  --bar: #56b4e9; --paper: #15181c; --good: #4cc38a; --bad: #ff8a80; --tint: #1d2126; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 2.5rem 1.5rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; }
p { max-width: 48rem; }
.soft, footer { color: var(--soft); font-size: .9rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 1rem;
  margin: 1.6rem 0; padding: 0; list-style: none; }
.facts li { background: var(--tint); border-left: 4px solid var(--good); padding: .8rem 1rem; }
.facts li.no { border-color: var(--bad); }
.facts b { display: block; font-size: 1.7rem; line-height: 1.2; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .82rem;
  width: 100%; }
th, td { padding: .45rem .5rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; white-space: normal; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
td small { color: var(--soft); display: block; white-space: normal; min-width: 11rem; }
tr.published td { color: var(--soft); font-style: italic; }
tr.rule td { border-top: 2px solid var(--line); }
.bar { background: var(--bar); display: block; height: 4px; margin: 3px 0 0 auto; }
figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); padding: .5rem;
  max-width: 52rem; }
figure svg { display: block; width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; font-size: .9rem; }
dt { font-weight: 600; } dd { margin: 0; }
ul.notes { font-size: .9rem; padding-left: 1.2rem; }
code { background: var(--tint); padding: .1rem .3rem; }
"""


def page(comparison: Comparison, plots: Mapping[str, bytes]) -> str:
    """Return the page.

    Parameters
    ----------
    comparison : Comparison
    plots : dict of str to bytes
        What `pezo_hw.compare.plots.draw` returned.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>pezo-hw: sources at {comparison.lanes:,} lanes</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>Random perturbations for {comparison.lanes:,} lanes, side by side</h1>",
        f"<p>{_lead(comparison)}</p>",
        _facts(comparison),
        "<h2>All figures</h2>",
        f'<p class="soft">{escape(tables.title(comparison))}. '
        "The bars show LUTs on a logarithmic scale.</p>",
        _table(comparison),
        "<h2>Cost against quality</h2>",
        _figure(plots[COST], "LUTs of each source against the rank of its directions"),
        *_scaling(comparison, plots),
        "<h2>What the columns mean</h2>",
        "<dl>",
        *(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in tables.meanings()),
        "</dl>",
        *_remarks(comparison),
        f"<footer><p>Made by <code>{escape(tables.command(comparison))}</code> with "
        f"{escape(', '.join(f'{n} {v}' for n, v in comparison.tools.items()))}. Published rows: "
        "PeZO, arXiv 2504.20314; shares of the device as quoted in articles about it, converted "
        "to counts.</p></footer>",
        "</body></html>",
        "",
    ]
    return "\n".join(parts)


def _lead(comparison: Comparison) -> str:
    return (
        "Zeroth-order training needs a random number for every weight and step. Each row is "
        f"hardware that gives {comparison.lanes:,} of them a clock, made from a preset, "
        "synthesised, placed and simulated by the same open tools in one run."
    )


def _facts(comparison: Comparison) -> str:
    def item(value: str, text: str, *, holds: bool = True) -> str:
        return f"<li{'' if holds else ' class=no'}><b>{escape(value)}</b>{escape(text)}</li>"

    if comparison.claims:
        found = [
            item(
                f"{claim.value:g} {claim.unit}",
                f"{claim.text} (claimed: {claim.must})",
                holds=claim.holds,
            )
            for claim in comparison.claims
        ]
    else:
        least = min(comparison.rows, key=lambda row: row.lut)
        times = comparison.row(BASELINE).lut / max(least.lut, 1)
        found = [item(f"{times:,.0f} times", f"fewer LUTs: {least.source} against {BASELINE}")]
    return f'<ul class="facts">{"".join(found)}</ul>'


def _table(comparison: Comparison) -> str:
    head, *rows = tables.cells(comparison)
    about = {entry.name: entry.text for entry in ENTRIES}
    most = max(row.lut for row in comparison.rows)
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    body = []
    for number, (name, *cells) in enumerate(rows):
        measured = number < len(comparison.rows)
        kind = "" if measured else ' class="published"'
        if number == len(comparison.rows):
            kind = ' class="published rule"'
        text = f"<small>{escape(about[name])}</small>" if name in about else ""
        bar = ""
        if measured:
            share = math.log(max(comparison.rows[number].lut, 2)) / math.log(max(most, 2))
            bar = f'<span class="bar" style="width:{100 * share:.0f}%"></span>'
        rest = "".join(
            f"<td>{escape(cell)}{bar if i == 0 else ''}</td>" for i, cell in enumerate(cells)
        )
        body.append(f"<tr{kind}><td>{escape(name)}{text}</td>{rest}</tr>")
    return (
        f'<div class="wide"><table><thead>{lines[0]}</thead><tbody>{"".join(body)}</tbody>'
        "</table></div>"
    )


def _scaling(comparison: Comparison, plots: Mapping[str, bytes]) -> list[str]:
    table = tables.scaling(comparison)
    if not table or SCALING not in plots:
        return []
    head, *rows = table
    return [
        "<h2>How it scales</h2>",
        _figure(plots[SCALING], "LUTs of each source by the number of lanes"),
        '<div class="wide"><table><thead><tr>',
        "".join(f"<th>{escape(cell)}</th>" for cell in head),
        "</tr></thead><tbody>",
        *("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows),
        "</tbody></table></div>",
    ]


def _remarks(comparison: Comparison) -> list[str]:
    items = [*comparison.notes, *(f"{n}: {path}" for n, path in comparison.paths.items())]
    if not items:
        return []
    return [
        "<h2>To be known</h2>",
        '<ul class="notes">',
        *(f"<li>{escape(item)}</li>" for item in items),
        "</ul>",
    ]


def _figure(svg: bytes, alt: str) -> str:
    # Names that two pictures have are made different.
    prefix = "".join(c for c in alt if c.isalpha())
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg.decode())
    # What stands before the element is for files of their own, and names a DTD on the network.
    text = re.sub(r"^.*?(?=<svg )", "", text, flags=re.DOTALL)
    return f'<figure role="img" aria-label="{escape(alt)}">{text}</figure>'
