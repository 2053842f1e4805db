"""Plots of a comparison, as SVG; the same text for the same comparison."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from pezo_hw.plotting import require

from .entries import BASELINE
from .result import Comparison, published_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COST", "NAMES", "SCALING", "draw", "require"]

COST, SCALING = "cost-quality.svg", "scaling.svg"
NAMES = (COST, SCALING)
"""Files that `draw` may return."""

# Okabe and Ito's colours, which people who see red and green alike can tell apart.
_COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#cc79a7", "#d55e00", "#000000")


def draw(comparison: Comparison) -> dict[str, bytes]:
    """Return the plots by file name; that of the scaling only if there is one.

    Raises
    ------
    PezoError
        If matplotlib is missing.
    """
    require()
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    plots = {COST: _cost}
    if comparison.scaling:
        plots[SCALING] = _scaling
    files = {}
    for name, plot in plots.items():
        # The settings of whoever runs this must not change what comes out. The hash of the name
        # keeps the ids of two plots on one page apart.
        settings = dict(mpl.rcParamsDefault) | {"svg.hashsalt": name, "font.size": 9}
        with mpl.rc_context(settings):
            figure = Figure(figsize=(7.5, 4.2), layout="constrained")
            FigureCanvasSVG(figure)
            axes = figure.add_subplot()
            plot(comparison, axes)
            buffer = io.BytesIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        # Trailing blanks are matplotlib's own.
        lines = buffer.getvalue().decode().splitlines()
        files[name] = ("\n".join(line.rstrip() for line in lines) + "\n").encode()
    return files


def _cost(comparison: Comparison, axes: Axes) -> None:
    largest = max(row.activity for row in comparison.rows)
    for row, colour in zip(comparison.rows, _colours(comparison), strict=True):
        lut = max(row.lut, 1)
        axes.scatter(lut, row.rank, s=40 + 600 * row.activity / largest, color=colour, alpha=0.75)
        # A name goes to the side on which there is no other dot near.
        near = [other.lut for other in comparison.rows if abs(other.rank - row.rank) < 30]
        left = any(1 < luts / lut < 12 for luts in near)
        below = left and any(0.6 < luts / lut < 1 for luts in near)
        axes.annotate(
            row.source,
            (lut, row.rank),
            textcoords="offset points",
            xytext=(-9 if left else 9, -17 if below else 9),
            horizontalalignment="right" if left else "left",
        )
    base = next(one for one in published_rows() if one["ratio"] == 1)
    axes.axvline(base["lut"], color="0.6", linestyle=":", linewidth=1)
    axes.annotate(
        f"published: {base['source']}",
        (base["lut"], 0.03),
        xycoords=("data", "axes fraction"),
        rotation=90,
        textcoords="offset points",
        xytext=(-11, 0),
        color="0.4",
    )
    axes.set_xscale("log")
    axes.margins(x=0.25)
    axes.set(
        xlabel="LUTs, estimate (Yosys, not Vivado)",
        ylabel=f"rank of {comparison.steps} directions",
        ylim=(0, comparison.steps * 1.15),
        title=f"{comparison.lanes:,} lanes, {comparison.parameters:,} weights; "
        "area of a dot: its activity",
    )
    axes.grid(visible=True, which="major", color="0.9")
    axes.set_axisbelow(True)


def _scaling(comparison: Comparison, axes: Axes) -> None:
    names = list(dict.fromkeys(size.source for size in comparison.scaling))
    colours = dict(zip((row.source for row in comparison.rows), _colours(comparison), strict=True))
    for name in names:
        sizes = [size for size in comparison.scaling if size.source == name]
        lanes, luts = [size.lanes for size in sizes], [max(size.lut, 1) for size in sizes]
        colour = colours.get(name, "0.5")
        axes.plot(lanes, luts, color=colour, linewidth=1.5, label=name)
        for marker, scaled in (("o", False), ("x", True)):
            chosen = [i for i, size in enumerate(sizes) if size.scaled == scaled]
            axes.plot([lanes[i] for i in chosen], [luts[i] for i in chosen], marker, color=colour)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    every = sorted({size.lanes for size in comparison.scaling})
    axes.set_xticks(every, [f"{lanes:,}" for lanes in every])
    axes.set(
        xlabel="lanes",
        ylabel="LUTs, estimate (Yosys, not Vivado)",
        title=f"LUTs by lanes; x: scaled from fewer lanes, as {BASELINE}",
    )
    axes.grid(visible=True, which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.legend()


def _colours(comparison: Comparison) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(len(comparison.rows))]
