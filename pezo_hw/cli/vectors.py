"""``pezo vectors``: write what a core delivers, from the golden model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pezo_hw.cli import common
from pezo_hw.config import SeededSource


def run(
    config: common.ConfigArgument,
    groups: Annotated[int, typer.Option("--groups", metavar="G", min=1, help="How many groups.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.npz", help="File to write.")
    ],
    start: Annotated[
        int | None,
        typer.Option(
            "--start",
            metavar="K",
            min=0,
            help="Index of the first group, or the seed of a seeded source. "
            "Default: where the core starts after a reset.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    overrides: common.SetOption = None,
) -> None:
    """Write words (G, W), exponents (G,) and lanes (G, P) to an .npz file."""
    checked = common.load(config, overrides)
    from pezo_hw.golden import vectors

    seeded = isinstance(checked.source, SeededSource)
    if start is None:
        start = checked.source.seed if isinstance(checked.source, SeededSource) else 0
    content = vectors.to_npz(vectors.vectors(checked, start=start, groups=groups))
    common.write_bytes(output, content, force=force)
    typer.echo(f"{output}: {groups} groups {'of seed' if seeded else 'from index'} {start}")
