"""The loss of a training over its steps, as JSON and as PNG."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from pezo_hw import plotting

POINTS = 200
"""Most points of a curve; each is the mean of as many steps."""


def points(losses: list[float]) -> dict[str, list[Any]]:
    """Return ``steps`` (the last of each point's) and ``loss`` (the mean of its steps')."""
    array = np.array(losses)
    if not len(array):
        return {"steps": [], "loss": []}
    size = -(-len(array) // POINTS)
    starts = np.arange(0, len(array), size)
    counts = np.diff(np.append(starts, len(array)))
    means = np.add.reduceat(array, starts) / counts
    return {"steps": (starts + counts).tolist(), "loss": means.tolist()}


def require() -> None:
    """Refuse to go on without the package that draws; see `plotting.require`."""
    plotting.require("the loss curve needs")


def png(losses: list[float], *, title: str) -> bytes:
    """Return the curve as PNG; the same bytes for the same curve."""
    require()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = points(losses)
    # The settings of whoever runs this must not change what comes out.
    with mpl.rc_context(dict(mpl.rcParamsDefault)):
        figure = Figure(figsize=(7, 4), dpi=100, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.plot(found["steps"], found["loss"], color="tab:blue")
        axes.set(xlabel="step", ylabel="loss of the batches in nats", ylim=(0, None))
        axes.set_title(title)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
