"""``pezo init``: write a configuration file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pezo_hw import config as configuration
from pezo_hw.cli import common


def run(
    preset: Annotated[str, typer.Argument(metavar="PRESET", help="A name from pezo presets.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE instead of printing."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a preset as a TOML file, each key with its meaning."""
    title = f"{preset}: {configuration.preset_summary(preset)}"
    text = configuration.to_toml(configuration.load_preset(preset), title=title)
    if output is None:
        typer.echo(text, nl=False)
    else:
        common.write_text(output, text, force=force)
        typer.echo(f"wrote {output}")
