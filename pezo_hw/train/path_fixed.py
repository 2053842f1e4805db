"""Training in fixed point: on the golden model, or through the RTL with every sweep compared."""

from __future__ import annotations

import dataclasses
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pezo_hw.config import Config, to_toml
from pezo_hw.config.advice import starts_warning
from pezo_hw.driver import Backend, GoldenBackend
from pezo_hw.driver.checked import CheckedBackend
from pezo_hw.errors import Interrupted, PezoError, PezoWarning
from pezo_hw.files import check_folder, parts, write_atomically

from . import curve, data, hardware
from .interruption import until_interrupted
from .loop import CHECKPOINT, Plan, Trainer
from .mlp import Mlp

if TYPE_CHECKING:
    from .paths import Request, Run, Say

SIZES = (32,)
"""Hidden layers of the perceptron: 64-32-10 for the digits."""

RESULT, CURVE, PLOT, CONFIG = "result.json", "curve.json", "curve.png", "config.toml"
_FILES = (CHECKPOINT, RESULT, CURVE, PLOT, CONFIG)
_METHODS = ("on-the-fly", "pre-generated", "rademacher", "zoqo")


def run_golden(request: Request, *, say: Say) -> list[Run]:
    """Train on the golden model."""
    return _run(request, "golden", GoldenBackend, say=say)


def run_rtl(request: Request, *, say: Say) -> list[Run]:
    """Train through the RTL in Verilator; every sweep is compared with the golden model."""

    def open_checked(config: Config) -> Backend:
        from pezo_hw.driver.rtl import open_rtl

        return CheckedBackend(open_rtl(config, progress=say), reference=GoldenBackend(config))

    return _run(request, "rtl", open_checked, say=say)


def config_of(request: Request) -> Config:
    """Return the configuration that a request means in fixed point.

    Raises
    ------
    PezoError
        If it asks for something that only floating point has.
    """
    for name in ("lora", "epsilon", "log"):
        if getattr(request, name) is not None:
            raise PezoError(
                f"{name} must not be given for fixed point, where it does not exist; "
                "leave it out, or train with --backend numpy or torch"
            )
    if request.model not in (None, "mlp"):
        raise PezoError(f"the model in fixed point must be mlp, not {request.model!r}")
    if request.config is not None:
        return request.config
    if request.method not in _METHODS:
        known = ", ".join(_METHODS)
        raise PezoError(f"the method in fixed point must be one of {known}, not {request.method}")
    zoqo = request.method == "zoqo"
    return hardware.configuration(
        source=None if zoqo else request.method,
        update="zoqo" if zoqo else None,
        bits=request.bits,
    )


def _run(request: Request, name: str, make: Callable[[Config], Backend], *, say: Say) -> list[Run]:
    config = config_of(request)
    places = [_place(request, seed) for seed in request.seeds]
    if request.output is not None:
        curve.require()
    for place in places:
        if place is not None:
            check_folder(place, known=_FILES)
    # Here and not at the top: this brings Amaranth, which most errors come before.
    from pezo_hw.synth import boards

    # `pezo generate` needs it: what is trained must be a core that can be made.
    boards.of(config, where=config.core.name)
    samples = data.load(request.data)
    weak = starts_warning(config, parameters=Mlp(_sizes(samples)).parameters, spread=True)
    if weak is not None:
        warnings.warn(weak, PezoWarning, stacklevel=2)
    return [
        _train(request, seed, place, config=config, samples=samples, name=name, make=make, say=say)
        for seed, place in zip(request.seeds, places, strict=True)
    ]


def _sizes(samples: data.DataSet) -> tuple[int, ...]:
    """Return the sizes of the perceptron for a data set."""
    return (samples.features, *SIZES, samples.classes)


def _place(request: Request, seed: int) -> Path | None:
    """Return the folder of a seed's run."""
    if request.output is None or len(request.seeds) == 1:
        return request.output
    return request.output / f"seed-{seed}"


def _train(
    request: Request,
    seed: int,
    place: Path | None,
    *,
    config: Config,
    samples: data.DataSet,
    name: str,
    make: Callable[[Config], Backend],
    say: Say,
) -> Run:
    from .paths import Run

    plan = Plan(
        data=request.data,
        sizes=_sizes(samples),
        batch=request.batch,
        rate=hardware.rate_of(config) if request.rate is None else request.rate,
        seed=seed,
        backend=name,
        decay=request.decay or 0,
    )
    if place is not None:
        _check_config(place, config)
    # Before anything is written: it refuses a core that cannot be built.
    backend = make(config)
    try:
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
            # A run that was killed while it wrote.
            for path in parts(place, known=_FILES):
                path.unlink()
            write_atomically(place / CONFIG, to_toml(config).encode())
        trainer = Trainer(plan, backend, samples, place=place)
        began, had = time.monotonic(), trainer.done
        if had:
            say(f"seed {seed}: going on behind step {had} of {request.steps}")
        with until_interrupted() as stopped:
            finished = trainer.run(
                request.steps,
                stopped=stopped,
                report=_reporter(request.steps, backend, say=say),
            )
        seconds = time.monotonic() - began
        result = result_of(trainer, name, backend)
        if place is not None:
            _write(place, trainer, result)
    finally:
        backend.close()
    if not finished:
        kept = "nothing is kept without -o"
        if place is not None:
            kept = f"the same command goes on from there: {place}"
        raise Interrupted(f"seed {seed} did {trainer.done} of {request.steps} steps; {kept}")
    rate = (trainer.done - had) / seconds if trainer.done > had else None
    details = result | {
        "steps_per_second": rate,
        "difference": _difference(trainer, backend),
        "limited_coefficients": trainer.engine.limited,
    }
    return Run(
        seed=seed,
        steps=trainer.done,
        parameters=trainer.model.parameters,
        loss_before=trainer.initial_loss,
        loss_after=trainer.test_loss,
        accuracy=result["test_accuracy"],
        seconds=seconds,
        details=details,
    )


def result_of(trainer: Trainer, name: str, backend: Backend) -> dict[str, Any]:
    """Return what `pezo train --json` prints for one run.

    ``bit_exact`` is null on the golden model, which is compared with nothing.
    """
    exact = None
    if isinstance(backend, CheckedBackend):
        exact = _difference(trainer, backend) is None
    return {
        "backend": name,
        "steps": trainer.done,
        "test_accuracy": trainer.test_accuracy,
        "weights_sha256": trainer.sha256,
        "saturations": trainer.engine.saturations,
        "bit_exact": exact,
    }


def _difference(trainer: Trainer, backend: Backend) -> str | None:
    """Return what differed first, in the parts of a run before an interruption too."""
    earlier: str | None = trainer.extra.get("difference")
    return earlier or getattr(backend, "difference", None)


def _reporter(steps: int, backend: Backend, *, say: Say) -> Callable[[Trainer], None]:
    """Return what is called after each step: it notes differences, and says how far it is."""
    began = last = time.monotonic()
    first: int | None = None

    def report(trainer: Trainer) -> None:
        nonlocal last, first
        if (found := _difference(trainer, backend)) is not None:
            trainer.extra["difference"] = found
        now = time.monotonic()
        first = trainer.done - 1 if first is None else first
        if now - last > 0.2 or trainer.done == steps:
            last = now
            share = trainer.done / steps
            bar = "#" * round(20 * share)
            speed = (trainer.done - first) / max(now - began, 1e-9)
            recent = trainer.losses[-50:]
            say(
                f"seed {trainer.plan.seed} [{bar:<20}] {share:4.0%}  {trainer.done}/{steps}  "
                f"loss {sum(recent) / len(recent):.3f}  {speed:.0f} steps/s"
            )

    return report


def _check_config(place: Path, config: Config) -> None:
    """Refuse to go on with a run of another configuration."""
    path = place / CONFIG
    here = (place / CHECKPOINT).exists() and path.exists()
    if here and path.read_bytes() != to_toml(config).encode():
        raise PezoError(
            f"{place} holds a run of another configuration, see {CONFIG} there; "
            "choose another folder"
        )


def _write(place: Path, trainer: Trainer, result: dict[str, Any]) -> None:
    plan = dataclasses.asdict(trainer.plan)
    found = {"plan": plan, "result": result, **curve.points(trainer.losses)}
    title = f"{plan['data']}, {plan['backend']}, seed {plan['seed']}"
    write_atomically(place / CURVE, f"{json.dumps(found, indent=2)}\n".encode())
    write_atomically(place / PLOT, curve.png(trainer.losses, title=title))
    write_atomically(place / RESULT, f"{json.dumps(result, indent=2)}\n".encode())
