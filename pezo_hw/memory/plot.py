"""How many times the memory of MeZO back-propagation takes, over the context, as PNG."""

from __future__ import annotations

import io
from dataclasses import replace

from pezo_hw.plotting import require

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


def draw(shape: Shape, options: Options, *, title: str) -> bytes:
    """Return the plot; the same bytes for the same arguments.

    Raises
    ------
    PezoError
        If matplotlib is missing.
    """
    require(option="--plot")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(mpl.rcParamsDefault):
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
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
