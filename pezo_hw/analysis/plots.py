"""Plots of an analysis, as PNG; the same bytes for the same analysis."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pezo_hw.plotting import require

from . import limits
from .analysis import Analysis
from .correlation import LARGEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(analysis: Analysis) -> dict[str, bytes]:
    """Return the plots by file name.

    ``singular-values.png`` is there if the analysis has directions.

    Raises
    ------
    PezoError
        If matplotlib is missing.
    """
    require()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    files = {}
    for name, (plot, size) in PLOTS.items():
        if name == _SINGULAR and analysis.directions is None:
            continue
        # The settings of whoever runs this must not change what comes out.
        with mpl.rc_context(dict(mpl.rcParamsDefault)):
            figure = Figure(figsize=size, dpi=100, layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.add_subplot()
            plot(analysis, figure, axes)
            buffer = io.BytesIO()
            # Without the version of the package, which is the only thing that would be noted.
            figure.savefig(buffer, format="png", metadata={"Software": None})
        files[name] = buffer.getvalue()
    return files


def _histogram(analysis: Analysis, _figure: Figure, axes: Axes) -> None:
    found = analysis.words.to_json()["histogram"]
    edges = np.array(found["edges"])
    counts = np.array(found["counts"])
    total = max(1, counts.sum())
    widths = np.diff(edges)
    axes.stairs(counts / total / widths, edges, fill=True, color="tab:blue", label="words")
    expected = analysis.expectation
    starts = np.searchsorted(expected.values, edges[:-1])
    nominal = np.add.reduceat(expected.probabilities, starts) / widths
    axes.stairs(nominal, edges, color="black", label="nominal")
    axes.set(xlabel="word u", ylabel="share of the words", ylim=(0, None))
    axes.set_title(f"{analysis.name}: {analysis.groups} groups of {analysis.words_a_group} words")
    axes.legend()


def _autocorrelation(analysis: Analysis, _figure: Figure, axes: Axes) -> None:
    found = analysis.correlations
    lags = np.arange(1, len(found.largest) + 1)
    axes.vlines(lags, 0, found.largest, color="tab:blue", label="largest of the positions")
    axes.plot(lags, np.abs(found.mean), "k.", label="mean of the positions")
    if found.in_time is not None:
        limit = min(LARGEST, limits.sigmas(found.in_time.tests) / math.sqrt(found.draws))
        axes.axhline(limit, color="tab:red", linestyle="--", label="limit")
    axes.set(xlabel="lag in groups", ylabel="magnitude of the correlation", ylim=(0, 1))
    axes.set_title(f"{analysis.name}: a position with itself, {found.groups} groups")
    axes.legend()


def _lanes(analysis: Analysis, figure: Figure, axes: Axes) -> None:
    matrix = analysis.correlations.lanes
    image = axes.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu_r", interpolation="nearest")
    figure.colorbar(image, ax=axes, label="correlation")
    axes.set(xlabel="lane", ylabel="lane")
    axes.set_title(f"{analysis.name}: {len(matrix)} of {analysis.lanes} lanes")


def _singular_values(analysis: Analysis, _figure: Figure, axes: Axes) -> None:
    found = analysis.directions
    assert found is not None
    scale = analysis.norms.leftover / math.sqrt(found.parameters)
    axes.plot(np.arange(1, len(found.singular) + 1), found.singular * scale, label="z / sqrt(D)")
    ratio = math.sqrt(found.steps / found.parameters)
    for sign in (1, -1):
        axes.axhline(
            abs(1 + sign * ratio),
            color="tab:red",
            linestyle="--",
            label="ends of the Gaussian's" if sign > 0 else None,
        )
    axes.set(xlabel="singular value", ylabel="size", ylim=(0, None))
    axes.set_title(
        f"{analysis.name}: {found.steps} directions of {found.parameters} weights, "
        f"rank {found.rank}"
    )
    axes.legend()


_SINGULAR = "singular-values.png"

PLOTS: dict[str, tuple[Callable[[Analysis, Figure, Axes], None], tuple[float, float]]] = {
    "histogram.png": (_histogram, (7, 4)),
    "autocorrelation.png": (_autocorrelation, (7, 4)),
    "lanes.png": (_lanes, (6, 5)),
    _SINGULAR: (_singular_values, (7, 4)),
}
"""All plots and their sizes in inches; a new one is a function and a line here."""
