"""``pezo generate``: write the hand-over folder of a core."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pezo_hw.cli import common
from pezo_hw.cli.progress import Progress

# Words of a pool, times the positions that keep a copy, which take 10 s.
_LONG = 1 << 19


def run(
    config: common.ConfigArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace a folder that holds other files as well.")
    ] = False,
    overrides: common.SetOption = None,
) -> None:
    """Write RTL, wrapper, constraints, scripts and manifest."""
    checked = common.load(config, overrides)
    common.warn(checked)
    from pezo_hw.export import folder

    common.board(checked, where=config)
    # Only a large pool takes long, up to a minute.
    quiet = getattr(checked.source, "pool_size", 0) * checked.words < _LONG
    with Progress(quiet=quiet) as progress:
        progress("generating; a pool of this size takes up to a minute ...")
        manifest = folder.generate(checked, output, force=force, where=config)
    rows = [(role, ", ".join(paths)) for role, paths in manifest["files"].items()]
    typer.echo(f"{output}: core {manifest['name']}, top module {manifest['top']}")
    typer.echo(common.table([*rows, ("manifest", folder.MANIFEST)], indent="  "))
