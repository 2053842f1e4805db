"""How many times the memory of MeZO back-propagation takes, over the context, as PNG or SVG."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from pezo_hw.plotting import format_of, require

from .methods import Options
from .models import Shape
from .planner import ratio

CONTEXTS = tuple(1 << power for power in range(7, 17))


def curves(shape: Shape, options: Options) -> dict[str, list[float]]:
    """Return ratios of back-propagation to MeZO for each of `CONTEXTS`, by curve."""
    found: dict[str, list[float]] = {}
    for method in ("bp", "bp-checkpoint"):
        for flash in (False, True):
            name = f"{method}, {'no N x N scores' if flash else 'N x N scores'}"
            found[name] = [
                ratio(
                    shape,
                    replace(options, method="mezo", context=context, flash=flash),
                    method=method,
                )
                for context in CONTEXTS
            ]
    return found


def check_target(path: Path) -> None:
    """Refuse what cannot be drawn, before the work is done.

    Raises
    ------
    PezoError
        If the name's suffix is of no format that is drawn, or matplotlib is missing.
    """
    format_of(path, option="--plot")
    require(option="--plot")


def draw(shape: Shape, options: Options, *, title: str, kind: str = "png") -> bytes:
    """Return the plot; the same bytes for the same arguments.

    Parameters
    ----------
    shape : Shape
    options : Options
    title : str
    kind : str
        One of `pezo_hw.plotting.FORMATS`.

    Raises
    ------
    PezoError
        If matplotlib is missing.
    """
    require(option="--plot")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Identifiers in an SVG are random without a salt, and metadata has the date.
    with mpl.rc_context(dict(mpl.rcParamsDefault) | {"svg.hashsalt": "memory"}):
        figure = Figure(figsize=(7, 4), layout="constrained", dpi=100)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for name, values in curves(shape, options).items():
            axes.plot(CONTEXTS, values, marker=".", label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlabel("context N, tokens")
        axes.set_ylabel("bytes, as a multiple of MeZO's")
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        buffer = io.BytesIO()
        metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()
