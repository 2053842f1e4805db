"""``pezo train``: train a classifier, in fixed point as the hardware does or in floating point."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pezo_hw.cli import common
from pezo_hw.cli.progress import Progress
from pezo_hw.errors import CheckFailed, PezoError

if TYPE_CHECKING:
    from pezo_hw.config import Config
    from pezo_hw.train.paths import Request, Run

FIXED = ("golden", "rtl")
# Slips of the keyboard, found before hours of training: a batch that no memory holds, steps that
# take weeks.
MOST_BATCH, MOST_STEPS = 1 << 16, 10**9
# Keys of a run in fixed point, for programs.
_KEYS = ("backend", "steps", "test_accuracy", "weights_sha256", "saturations", "bit_exact")


def run(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="A data set's name, such as digits.")
    ],
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="golden or rtl (fixed point), numpy or torch (floating point).",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="bp, mezo, pre-generated, on-the-fly, rademacher, uniform or zoqo.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Network.")] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", metavar="KIND", help="Fixed point: on-the-fly, pre-generated, ..."
        ),
    ] = None,
    update: Annotated[
        str | None, typer.Option("--update", metavar="RULE", help="Fixed point: dsp or zoqo.")
    ] = None,
    bits: Annotated[
        int | None, typer.Option("--bits", help="Bits of a weight; in fixed point 8 or 16.")
    ] = None,
    lora: Annotated[
        int | None, typer.Option("--lora", metavar="R", help="Train adapters of rank R only.")
    ] = None,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=1, max=MOST_STEPS, help="Steps.")
    ] = 400,
    batch: Annotated[
        int, typer.Option("--batch", metavar="B", min=1, max=MOST_BATCH, help="Samples a step.")
    ] = 64,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="R", help="Learning rate.")
    ] = None,
    decay: Annotated[
        int | None,
        typer.Option(
            "--decay",
            metavar="N",
            min=1,
            help="Steps over which the rate falls to 0; fixed point. Default: it stays.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", metavar="E", help="Size of the perturbation; floating point."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="S", help="One seed.")] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="S,S,...", help="Seeds, a training each.")
    ] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="CONFIG", help="A preset or TOML file of a core."),
    ] = None,
    overrides: common.SetOption = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", metavar="FILE", help="Training log to write; floating point."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for checkpoint and loss curve; a run that is there goes on.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """Train a classifier with zeroth-order steps, or with back-propagation beside them."""
    # Here and not at the top: these bring numpy, which other commands can do without.
    from pezo_hw.train import paths

    name = _backend(backend, source=source, update=update, lora=lora, model=model)
    if decay is not None and name not in FIXED:
        raise PezoError(f"--decay must come with --backend golden or rtl, not {name}")
    request = paths.Request(
        data=dataset,
        model=model,
        method=method or ("zoqo" if update == "zoqo" else source or "on-the-fly"),
        config=_config(name, config, method, source, update, bits, tuple(overrides or ())),
        steps=steps,
        seeds=_seeds(seed, seeds),
        batch=batch,
        rate=rate,
        epsilon=epsilon,
        decay=decay,
        lora=lora,
        bits=None if name in FIXED else bits,
        log=log,
        output=output,
    )
    with Progress(quiet=as_json) as progress, common.warnings_as_lines():
        runs = paths.run(name, request, say=_Sparse(progress))
    if as_json:
        typer.echo(json.dumps(_document(name, request, runs), indent=2))
    else:
        typer.echo(_text(name, runs))
    for one in runs:
        limited = one.details.get("limited_coefficients", 0)
        # Now and then it only cuts off an outlier.
        if limited > one.steps / 20 and not as_json:
            typer.echo(
                f"warning: seed {one.seed}: the coefficient was at its limit in {limited} of "
                f"{one.steps} steps; lower zo.coefficient_shift or --rate",
                err=True,
            )
    for one in runs:
        if one.details.get("difference"):
            raise CheckFailed(f"seed {one.seed}: {one.details['difference']}")


def _backend(
    name: str | None, *, source: str | None, update: str | None, lora: int | None, model: str | None
) -> str:
    if name is not None:
        if name not in FIXED and (source or update):
            raise PezoError(
                f"--source and --update must come with --backend golden or rtl, not {name}; "
                "use --method"
            )
        return name
    if source or update:
        return "golden"
    return "torch" if lora is not None or model not in (None, "mlp", "linear") else "numpy"


def _config(
    name: str,
    config: str | None,
    method: str | None,
    source: str | None,
    update: str | None,
    bits: int | None,
    overrides: tuple[str, ...],
) -> Config | None:
    """Return the configuration that the options name, or None where they name none."""
    from pezo_hw.train import hardware

    if name not in FIXED:
        if config is None and overrides:
            raise PezoError("--set must come with --config; name the configuration to change")
        return None if config is None else common.load(config, overrides)
    if method is not None:
        if source or update:
            raise PezoError("--method must not come with --source or --update; leave one out")
        if method == "zoqo":
            update = "zoqo"
        elif method in hardware.SOURCES:
            source = method
        else:
            raise PezoError(
                f"--method in fixed point must be zoqo or one of {', '.join(hardware.SOURCES)}, "
                f"not {method}"
            )
    return hardware.configuration(
        base=config or hardware.BASE, source=source, update=update, bits=bits, overrides=overrides
    )


def _seeds(seed: int | None, seeds: str | None) -> tuple[int, ...]:
    if seed is not None and seeds is not None:
        raise PezoError("--seed must not come with --seeds; leave one out")
    if seeds is None:
        return (seed or 0,)
    try:
        return tuple(int(part) for part in seeds.split(","))
    except ValueError:
        raise PezoError(f"--seeds must be numbers such as 0,1,2, not {seeds!r}") from None


def _document(name: str, request: Request, runs: list[Run]) -> dict[str, Any]:
    from dataclasses import asdict

    from pezo_hw.train import paths

    if name in FIXED and len(runs) == 1:
        return {key: runs[0].details[key] for key in _KEYS}
    return {
        "request": request.to_dict(),
        "backend": name,
        "runs": [asdict(one) for one in runs],
        **paths.summary(runs),
    }


def _text(name: str, runs: list[Run]) -> str:
    from pezo_hw.train import paths

    rows = [("seed", "steps", "weights", "loss before", "loss after", "accuracy", "seconds")]
    rows += [
        (
            str(one.seed),
            str(one.steps),
            str(one.parameters),
            f"{one.loss_before:.3f}",
            f"{one.loss_after:.3f}",
            f"{one.accuracy:.1%}",
            f"{one.seconds:.1f}",
        )
        for one in runs
    ]
    lines = [common.table(rows)]
    if len(runs) > 1:
        found = paths.summary(runs)
        mean, deviation = found["mean"]["accuracy"], found["std"]["accuracy"]
        lines.append(f"accuracy {mean:.1%} +- {deviation:.1%} over {len(runs)} seeds")
    if name in FIXED:
        for one in runs:
            told = one.details
            exact = {None: "", True: ", every sweep equal to the golden model", False: ", DIFFERS"}
            lines.append(
                f"seed {one.seed}: {told['saturations']} saturations"
                f"{exact[told['bit_exact']]}; weights sha256 {told['weights_sha256']}"
            )
    return "\n".join(lines)


class _Sparse:
    """Passes lines of progress on: all on a terminal, else one in five seconds and the first."""

    def __init__(self, progress: Progress):
        self._progress = progress
        self._last: float | None = None

    def __call__(self, text: str) -> None:
        import time

        now = time.monotonic()
        if sys.stderr.isatty() or self._last is None or now - self._last > 5.0:
            self._last = now
            self._progress(text)
