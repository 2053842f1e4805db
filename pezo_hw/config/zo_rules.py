"""Rules about the arithmetic of the step core; see `pezo_hw.config.rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pezo_hw.config.fault import Fault
from pezo_hw.config.models import Config
from pezo_hw.config.text import listed, removal, requirement, show
from pezo_hw.config.widths import nominal_exponent, rounded
from pezo_hw.errors import PezoError

UNIFORM = ("on-the-fly", "pre-generated", "wide-uniform")
"""Sources whose words are uniform, as ZOQO's levels need them."""

STRENGTH_BITS = 3
"""Bits that the strongest tensor of a table adds to the coefficient."""

MULTIPLIER_BITS = 25
"""The wider input of a DSP block's multiplier: 25 bits in series 7, 27 in UltraScale."""


def _missing(config: Config) -> Iterator[Fault]:
    zo = config.zo
    if zo is None:
        return
    if zo.update == "dsp" and zo.epsilon_log2 is None:
        field = type(zo).model_fields["epsilon_log2"]
        yield Fault(
            ("zo.epsilon_log2",),
            f"zo.epsilon_log2 is missing; add it to [zo]: {requirement(field)} "
            f"({field.description})",
        )
    if zo.update == "zoqo" and not zo.levels:
        yield Fault(
            ("zo.levels", "zo.update"),
            'zo.levels must be at least 1 for zo.update = "zoqo", not 0; give the largest '
            "perturbation in weight LSBs, e.g. levels = 1",
        )


def _left_out(config: Config) -> Iterator[Fault]:
    zo = config.zo
    if zo is None:
        return
    if zo.update == "dsp":
        if zo.levels:
            yield Fault(
                ("zo.levels", "zo.update"),
                f'zo.levels must be left out for zo.update = "dsp", not {zo.levels}; '
                f'{removal("zo.levels")} or set zo.update = "zoqo"',
            )
        return
    reasons = {
        "epsilon_log2": "its epsilon is zo.levels weight LSBs",
        "coefficient_shift": "its coefficient is in whole weight LSBs",
    }
    for key, reason in reasons.items():
        value = getattr(zo, key)
        if value is not None:
            yield Fault(
                (f"zo.{key}", "zo.update"),
                f'zo.{key} must be left out for zo.update = "zoqo", not {value}, because {reason}; '
                f"{removal(f'zo.{key}')}",
            )


def _uniform(config: Config) -> Iterator[Fault]:
    zo, source = config.zo, config.source
    if zo is None or zo.update != "zoqo":
        return
    if source.kind not in UNIFORM:
        kinds = listed([show(kind) for kind in UNIFORM], last="or")
        yield Fault(
            ("source.kind", "zo.update"),
            f'source.kind must be {kinds} for zo.update = "zoqo", whose levels come from uniform '
            f"words, not {show(source.kind)}; choose one of them",
        )
    elif config.scaling.mode != "none":
        yield Fault(
            ("scaling.mode", "zo.update"),
            f'scaling.mode must be "none" for zo.update = "zoqo", whose levels are set by '
            f'zo.levels, not {show(config.scaling.mode)}; use "none"',
        )


def _levels(config: Config) -> Iterator[Fault]:
    zo, weights = config.zo, config.weights
    if zo is None or weights is None or zo.update != "zoqo" or config.source.kind not in UNIFORM:
        return
    for most, key, reason in (
        ((1 << (config.source.bits - 1)) - 1, "source.bits", "words of so few bits have no more"),
        (weights.largest // 2, "weights.bits", "twice that must fit into a weight"),
    ):
        if zo.levels > most:
            yield Fault(
                ("zo.levels", key),
                f"zo.levels must be at most {most}, because {reason}, not {zo.levels}; use {most}",
            )


def _tensors(config: Config) -> Iterator[Fault]:
    zo, control = config.zo, config.control
    if zo is None or control is None or not control.tensors or zo.update != "dsp":
        return
    most = MULTIPLIER_BITS - STRENGTH_BITS
    if zo.coefficient_bits > most:
        yield Fault(
            ("zo.coefficient_bits", "control.tensors"),
            f"zo.coefficient_bits must be at most {most} with control.tensors, because a tensor's "
            f"strength takes {STRENGTH_BITS} bits of the multiplier, not {zo.coefficient_bits}; "
            f"use {most}",
        )


def _epsilon(config: Config) -> Iterator[Fault]:
    # The width of the stream, lanes times 8 or 16 bits, is always whole bytes: no rule is needed.
    weights, zo = config.weights, config.zo
    if weights is None or zo is None or weights.frac >= weights.bits or zo.epsilon_log2 is None:
        return
    keys = ("zo.epsilon_log2", "weights.frac", "weights.bits")
    shift = weights.frac + zo.epsilon_log2
    if shift < 0:
        finer = f" or weights.frac = {-zo.epsilon_log2}" if -zo.epsilon_log2 < weights.bits else ""
        yield Fault(
            keys,
            f"zo.epsilon_log2 must be at least -weights.frac = {-weights.frac}, not "
            f"{show(zo.epsilon_log2)}: an epsilon below one weight LSB leaves nothing of the "
            f"perturbation; use {-weights.frac}{finer}",
        )
        return
    yield from _width(config, nominal_exponent(config))


def _width(config: Config, exponent: int) -> Iterator[Fault]:
    weights, zo = config.weights, config.zo
    if weights is None or zo is None or zo.epsilon_log2 is None:
        return

    source = config.source

    def reach(shift: int) -> int:
        scaled = source.largest_word << exponent
        return 2 * rounded(scaled, left=shift - source.fraction_bits)

    shift = weights.frac + zo.epsilon_log2
    if reach(shift) <= weights.largest:
        return
    # A shift of 0 always fits: 2 * 8 LSBs at most.
    fit = next(s for s in range(shift - 1, -1, -1) if reach(s) <= weights.largest) - weights.frac
    yield Fault(
        (
            "zo.epsilon_log2",
            "weights.frac",
            "weights.bits",
            "scaling.exponent",
            "scaling.mode",
            "source.bits",
        ),
        f"zo.epsilon_log2 must be at most {fit}, not {zo.epsilon_log2}: the perturbation is wider "
        f"than the weight (2 epsilon z reaches {reach(shift)} LSBs with words scaled by "
        f"2^{exponent}, a weight of {weights.bits} bits {weights.largest}); use {fit}",
    )


def check_exponent(config: Config, exponent: int, *, where: str = "configuration") -> None:
    """Check the width of the perturbation again, with the largest exponent of the computed table.

    Parameters
    ----------
    config : Config
        Any kind; a perturbation core passes.
    exponent : int
        Largest e_k that occurs, 0 to 3.
    where : str
        What error messages call the configuration.

    Raises
    ------
    PezoError
        If 2 epsilon z does not fit into a weight.
    """
    for fault in _width(config, exponent):
        raise PezoError(f"{where}: {fault.text}")


RULES: tuple[Callable[[Config], Iterator[Fault]], ...] = (
    _missing,
    _left_out,
    _uniform,
    _levels,
    _tensors,
    _epsilon,
)
