"""``pezo analyze``: statistics of the perturbations, with a verdict for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pezo_hw.cli import common
from pezo_hw.cli.progress import Progress
from pezo_hw.errors import CheckFailed

if TYPE_CHECKING:
    from pezo_hw.analysis import Analysis


def run(
    config: common.ConfigArgument,
    parameters: Annotated[
        int | None,
        typer.Option(
            "--parameters", metavar="D", min=1, help="Weights trained; sets core.parameters."
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="S",
            min=1,
            help="Successive directions to take the rank of; by default at most 512.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for figures and plots."),
    ] = None,
    overrides: common.SetOption = None,
) -> None:
    """Judge words, correlations, norms, period and directions."""
    given = list(overrides or [])
    if parameters is not None:
        given.append(f"core.parameters={parameters}")
    checked = common.load(config, given)
    if not as_json:
        common.warn(checked)
    # Here and not at the top: these bring numpy, which other commands can do without.
    from pezo_hw import analysis
    from pezo_hw.analysis import output as folder

    if output is not None:
        folder.check_target(output)
    with Progress(quiet=as_json) as progress:
        found = analysis.analyse_config(checked, steps=steps, progress=progress)
        if output is not None:
            progress(f"plots into {output}")
        files = folder.write(found, output) if output is not None else []
    if as_json:
        typer.echo(folder.to_json(found))
    else:
        typer.echo(_text(found))
        if output is not None:
            typer.echo(f"{output}: {', '.join(files)}")
    if found.failed:
        names = ", ".join(check.name for check in found.failed)
        raise CheckFailed(f"{config}: the hardware promises more than holds: {names}")


def _text(found: Analysis) -> str:
    from pezo_hw.analysis.checks import VERDICTS, show

    whole = found.groups == found.period.declared
    looked = "all of them" if whole else f"{found.groups} of them looked at"
    lines = [
        f"{found.name}: {found.kind}, {found.words_a_group} words of {found.bits} bits, "
        f"{found.lanes} lanes; K = {show(found.period.declared)} groups, {looked}"
    ]
    rows = [("check", "figure", "limit", "verdict", "")]
    rows += [
        (
            check.name,
            show(check.value),
            check.requirement,
            check.verdict,
            check.note if check.verdict != "skipped" else check.basis,
        )
        for check in found.checks
    ]
    lines.append(common.table(rows, indent="  "))
    lines += [
        f"{check.verdict}: {check.name}: {show(check.value)}, "
        f"{'must' if check.verdict == 'fail' else 'should'} be {check.requirement} ({check.basis})"
        for check in found.checks
        if check.verdict in ("weak", "fail")
    ]
    lines.append(", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS))
    return "\n".join(lines)
