"""``pezo presets``: list the presets."""

from __future__ import annotations

import typer

from pezo_hw import config as configuration
from pezo_hw.cli import common


def run() -> None:
    """List the configurations to start from."""
    rows = [(name, configuration.preset_summary(name)) for name in configuration.preset_names()]
    typer.echo(common.table(rows))
