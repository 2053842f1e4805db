"""``pezo check``: validate a configuration and show what follows from it."""

from __future__ import annotations

from typing import Annotated

import typer

from pezo_hw import config as configuration
from pezo_hw.cli import common
from pezo_hw.config import Config


def run(
    config: common.ConfigArgument,
    parameters: Annotated[
        int | None,
        typer.Option(
            "--parameters", metavar="D", min=1, help="Weights trained; sets core.parameters."
        ),
    ] = None,
    overrides: common.SetOption = None,
) -> None:
    """Validate a configuration and show what follows."""
    given = list(overrides or [])
    if parameters is not None:
        given.append(f"core.parameters={parameters}")
    checked = common.load(config, given)
    rows = _facts(checked, where=config)
    typer.echo(f"OK: {config}")
    typer.echo(common.table(rows, indent="  "))
    for line in configuration.warnings(checked):
        typer.echo(f"warning: {line}")


def _facts(config: Config, *, where: str) -> list[tuple[str, str]]:
    # Here and not at the top: this brings numpy, which other commands can do without.
    from pezo_hw.golden.engine import engine_of
    from pezo_hw.golden.schedules import outputs_of
    from pezo_hw.golden.seeded import SEEDS, SeededEngine

    board = common.board(config, where=where)
    engine = engine_of(config)
    configuration.check_exponent(config, engine.max_exponent, where=where)
    source, lanes = config.source, config.reuse.lanes
    seeded = isinstance(engine, SeededEngine)
    exponents = str(engine.max_exponent)
    if engine.min_exponent != engine.max_exponent:
        exponents = f"{engine.min_exponent} to {engine.max_exponent}"
    signs = f", {lanes // config.words} blocks with signs" if config.reuse.signs else ""
    rows = [
        ("core", f"{config.core.name}, {config.core.kind}"),
        ("board", f"{board.name}, {board.part}"),
        ("source", f"{source.kind}, words of {source.bits} bits"),
        ("words a clock, W", str(config.words)),
        ("period, K", f"{_period(engine.period)} groups{' a seed' if seeded else ''}"),
        ("scaling", f"{config.scaling.mode}, exponent {exponents}, leftover {engine.leftover:.4f}"),
        ("lanes, P", f"{lanes} of {engine.value_bits} bits{signs}"),
    ]
    if config.weights is not None and config.zo is not None:
        bits, frac = config.weights.bits, config.weights.frac
        zo = config.zo
        lsb = configuration.reach(config, exponent=engine.max_exponent)
        epsilon = f"2^{zo.epsilon_log2}; perturbations up to {lsb} LSBs"
        if zo.update == "zoqo":
            epsilon = f"{zo.levels} LSBs, {2 * zo.levels + 1} levels"
        outputs = ", ".join(outputs_of(zo.schedule))
        rows += [
            ("weights", f"{bits} bits, {frac} of them fraction; a stream of {lanes * bits} bits"),
            ("epsilon", epsilon),
            ("schedule", f"{zo.schedule}: outputs {outputs}"),
        ]
    if config.core.parameters is not None:
        groups = configuration.groups_per_pass(config.core.parameters, lanes=lanes)
        starts = SEEDS
        if not isinstance(engine, SeededEngine):
            starts = configuration.distinct_starts(groups, period=engine.period)
        rows.append(("groups a pass, T", f"{groups} for {config.core.parameters} parameters"))
        rows.append(("start positions", f"{starts} visited"))
    return rows


def _period(groups: int) -> str:
    """Return a number of groups; 2^k - 1 in this form where it is too long to read."""
    exponent = groups.bit_length()
    if exponent > 40 and groups == (1 << exponent) - 1:
        return f"2^{exponent} - 1"
    return str(groups)
