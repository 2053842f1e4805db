"""``pezo compare``: all sources side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pezo_hw.cli.progress import Progress
from pezo_hw.errors import CheckFailed


def run(
    lanes: Annotated[
        int, typer.Option("--lanes", metavar="P", help="Lanes of all sources, a multiple of 32.")
    ] = 1024,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for compare.json, .md, .html and the plots.",
        ),
    ] = None,
    parameters: Annotated[
        int,
        typer.Option("--parameters", metavar="D", help="Weights that a direction is for."),
    ] = 2410,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Synthesise 32 to 4096 lanes as well, for a plot.")
    ] = False,
    place: Annotated[
        bool, typer.Option(help="Place and route for Fmax, which takes most of the time.")
    ] = True,
) -> None:
    """Compare sources: cost, clock, activity and quality, beside published figures."""
    # Here and not at the top: these bring Amaranth and numpy, which most errors come before.
    from pezo_hw import compare
    from pezo_hw.compare import output as folder
    from pezo_hw.compare import tables

    if output is not None:
        folder.check_target(output)
    with Progress(quiet=as_json) as progress:
        found = compare.measure(
            lanes,
            parameters=parameters,
            place=place,
            sizes=compare.SIZES if scaling else (),
            progress=progress,
        )
    files = folder.write(found, output) if output is not None else []
    if as_json:
        typer.echo(found.to_json())
    else:
        typer.echo(tables.text(found))
        if output is not None:
            typer.echo(f"{output}: {', '.join(files)}")
    broken = [
        f"{claim.text}: {claim.value:g} {claim.unit}, not {claim.must}"
        for claim in found.claims
        if not claim.holds
    ]
    if broken:
        raise CheckFailed(f"what the figures are to show does not hold: {'; '.join(broken)}")
