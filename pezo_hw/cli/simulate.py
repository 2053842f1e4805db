"""``pezo simulate``: compare a core's RTL with the golden model in simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pezo_hw.cli import common
from pezo_hw.errors import CheckFailed, PezoError


def run(
    config: common.ConfigArgument,
    simulator: Annotated[
        str,
        typer.Option(metavar="NAME", help="verilator, or icarus where it is installed."),
    ] = "verilator",
    waves: Annotated[
        bool,
        typer.Option("--waves", help="Write waves.vcd, of a shorter run; into NAME-waves or -o."),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of stalls, commands and weights."),
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder that keeps log and waves."),
    ] = None,
    overrides: common.SetOption = None,
) -> None:
    """Simulate the RTL and compare it with the golden model."""
    checked = common.load(config, overrides)
    # Here and not at the top: this brings Amaranth and cocotb, which most errors come before.
    from pezo_hw.simulate import check

    check.require(simulator)
    common.board(checked, where=config)
    if waves and output is None:
        output = Path(f"{checked.core.name}-waves")
    if output is not None and output.exists() and not output.is_dir():
        raise PezoError(f"--output {output} must be a folder, but is a file; choose another name")
    common.warn(checked)
    typer.echo(f"simulating with {simulator} ...", err=True)
    try:
        report = check.check(checked, simulator=simulator, seed=seed, output=output, waves=waves)
    except CheckFailed as error:
        raise CheckFailed(_short(error, output)) from None
    typer.echo(f"OK: {config}: the RTL equals the golden model")
    rows = report.facts()
    if output is not None:
        rows.append(("log", str(output / check.LOG)))
        if waves:
            rows.append(("waves", str(output / check.WAVES)))
    typer.echo(common.table(rows, indent="  "))


def _short(error: CheckFailed, output: Path | None) -> str:
    """Return a failure's first line, and where there is more."""
    from pezo_hw.simulate import check

    first, *more = str(error).splitlines()
    if output is None:
        # A failure before the run has no log, and no further lines.
        return f"{first}; -o DIR keeps the log" if more else first
    log = output / check.LOG
    return f"{first}; see {log}" if log.is_file() else first
