"""``pezo memory``: bytes of a training step, and what fits."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pezo_hw.arguments import shown
from pezo_hw.cli import common
from pezo_hw.errors import PezoError

if TYPE_CHECKING:
    from pezo_hw.memory import Options, Shape

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)}
_MOST_BYTES = 10**18


def run(
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="A public model, such as gpt2-medium."),
    ] = None,
    layers: Annotated[int | None, typer.Option("--layers", metavar="L", min=1)] = None,
    width: Annotated[int | None, typer.Option("--width", metavar="D", min=1)] = None,
    heads: Annotated[int | None, typer.Option("--heads", metavar="H", min=1)] = None,
    vocabulary: Annotated[int, typer.Option("--vocabulary", metavar="V", min=1)] = 50_257,
    context: Annotated[
        int, typer.Option("--context", metavar="N", min=1, help="Tokens of a sequence.")
    ] = 1024,
    batch: Annotated[int, typer.Option("--batch", metavar="B", min=1, help="Sequences.")] = 1,
    size: Annotated[int, typer.Option("--bytes", min=1, max=8, help="Bytes of a number.")] = 2,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="M",
            help="bp, bp-checkpoint, mezo or mezo-lora; by default all of them.",
        ),
    ] = None,
    kept: Annotated[
        int,
        typer.Option("--kept", metavar="L'", min=1, help="Layers that MeZO holds activations of."),
    ] = 1,
    segment: Annotated[
        int, typer.Option("--segment", min=1, help="Layers between checkpoints.")
    ] = 1,
    rank: Annotated[int, typer.Option("--rank", metavar="R", min=1, help="Of adapters.")] = 8,
    flash: Annotated[
        bool, typer.Option("--flash", help="Attention never holds its N x N scores.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="BYTES", help="Largest model that fits, such as 24G or 16Gi."
        ),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option("--board", metavar="NAME", help="Which of a board's memories hold it."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw the ratios over the context, as .png or .svg."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """Estimate the memory of training a decoder-only transformer."""
    from pezo_hw import memory
    from pezo_hw.memory import plot as plots
    from pezo_hw.plotting import format_of

    if plot is not None:
        plots.check_target(plot)
        common.check_file(plot, force=force)
    shape, name = _shape(model, layers, width, heads, vocabulary)
    base = memory.Options(
        context=context,
        batch=batch,
        bytes=size,
        method=method or "mezo",
        flash=flash,
        kept=kept,
        segment=segment,
        rank=rank,
    )
    methods = [method] if method else list(memory.METHODS)
    if board is not None and board not in memory.BOARDS:
        raise PezoError(f"--board must be {', '.join(memory.BOARDS)}, not {board!r}")
    found: dict[str, Any] = {
        "model": name,
        "parameters": shape.parameters,
        "context": context,
        "batch": batch,
        "bytes": size,
        "methods": {},
    }
    for one in methods:
        found["methods"][one] = _method(shape, replace(base, method=one), budget, board)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        typer.echo(_text(found))
    if plot is not None:
        title = f"{name}, batch {batch}, {size} bytes a number"
        drawn = plots.draw(shape, base, title=title, kind=format_of(plot, option="--plot"))
        common.write_bytes(plot, drawn, force=force)
        if not as_json:
            typer.echo(str(plot))


def _shape(
    model: str | None, layers: int | None, width: int | None, heads: int | None, vocabulary: int
) -> tuple[Shape, str]:
    from pezo_hw import memory

    given = {"--layers": layers, "--width": width, "--heads": heads}
    if model is not None:
        extra = [option for option, value in given.items() if value is not None]
        if extra:
            raise PezoError(f"{extra[0]} must not be given beside --model; leave one of them out")
        return memory.model(model), model
    if layers is None or width is None or heads is None:
        missing = [option for option, value in given.items() if value is None]
        raise PezoError(
            f"a model must be named by --model, or described by --layers, --width and --heads; "
            f"{', '.join(missing)} is missing"
        )
    shape = memory.Shape(layers=layers, width=width, heads=heads, vocabulary=vocabulary)
    return shape, f"{layers} layers of {width}"


def _method(
    shape: Shape, options: Options, budget: str | None, board: str | None
) -> dict[str, Any]:
    from pezo_hw import memory

    used = memory.usage(shape, options)
    result: dict[str, Any] = {**asdict(used), "total": used.total}
    if budget is not None:
        most = _bytes(budget)
        largest = memory.largest(most, options)
        result["budget"] = {
            "bytes": most,
            "fits": used.total <= most,
            "largest model": memory.largest_model(most, options),
            "largest parameters": largest.parameters if largest else 0,
        }
    if board is not None:
        result["board"] = [asdict(fit) for fit in memory.fits(board, shape, options)]
    return result


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?", text.strip().lower())
    if not match or match[2] not in _UNITS:
        raise PezoError(
            f"--budget must be a number of bytes such as 24G or 16Gi, not {shown(text)}"
        )
    # 400 digits are infinite.
    size = float(match[1]) * _UNITS[match[2]]
    if size > _MOST_BYTES:
        raise PezoError(f"--budget must be at most 10^18 bytes, not {shown(text)}; use e.g. 24G")
    return int(size)


def _text(found: dict[str, Any]) -> str:
    lines = [
        f"{found['model']}: {found['parameters']:,} parameters; context {found['context']}, "
        f"batch {found['batch']}, {found['bytes']} bytes a number; "
        "kB, MB, GB = 10^3, 10^6, 10^9 bytes"
    ]
    columns = ("parameters", "gradients", "activations", "total")
    rows = [("method", *columns, "trained")]
    rows += [
        (name, *(_size(used[key]) for key in columns), f"{used['trained']:,}")
        for name, used in found["methods"].items()
    ]
    lines.append(common.table(rows, indent="  "))
    lines.append(
        "  at the worst moment of a step; with mezo 8 bytes of random state (a start and a scalar)"
    )
    for name, used in found["methods"].items():
        if "budget" in used:
            budget = used["budget"]
            verdict = "fits" if budget["fits"] else "does not fit"
            lines.append(
                f"{name}: {verdict} {budget['bytes']:,} bytes, "
                f"which hold {budget['largest model'] or 'none'} of the public models, and of the "
                f"family D = 128 L one of {budget['largest parameters']:,} parameters"
            )
        for fit in used.get("board", ()):
            held = "step" if fit["all"] else "weights only" if fit["weights"] else "neither"
            lines.append(
                f"{name}: {fit['memory']} of {fit['capacity'] / 2**20:,.1f} MiB holds: {held}"
            )
    return "\n".join(lines)


def _size(number: int) -> str:
    """Return bytes with the unit that leaves one to three digits before the point."""
    size, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        # What would be printed as 1000.000 is one of the next unit.
        if round(size, 3) < 1000:
            break
        size, unit = size / 1000, larger
    return f"{number} B" if unit == "B" else f"{size:.3f} {unit}"
