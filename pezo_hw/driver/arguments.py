"""Checks of what callers give, so that every backend refuses the same with the same words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import shown, whole
from pezo_hw.config.text import one_line
from pezo_hw.errors import PezoError
from pezo_hw.golden.schedules import OFFERED
from pezo_hw.golden.tensors import Tensor

if TYPE_CHECKING:
    from pezo_hw.config import Config

    from .sweep import Description, Sweep


def step_core(config: Any) -> Config:
    """Return a configuration that a driver can drive.

    Raises
    ------
    PezoError
        For another kind of core, or what is no configuration.
    """
    # Here and not at the top: a board needs no configuration before it is opened.
    from pezo_hw.config import Config

    if not isinstance(config, Config):
        raise PezoError(
            f"config must be a pezo_hw.config.Config, not {config!r}; use pezo_hw.config.load"
        )
    if config.core.kind != "zo-step":
        raise PezoError(
            f'core.kind of a core to drive must be "zo-step", but {config.core.name} has '
            f'"{config.core.kind}"; use the preset zcu102-step, or one made from it'
        )
    return config


def weights(given: Any, *, description: Description) -> NDArray[np.integer]:
    """Return weights that fit a core, as they are.

    Raises
    ------
    PezoError
        If they are no integers in one dimension, or do not fit the weights' format.
    """
    array = array_of("weights", given)
    if array.ndim != 1 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise PezoError(
            "weights must be integers in one dimension, at least one, not "
            f"{array.dtype} of shape {array.shape}; use train.host.to_fixed"
        )
    limit, bits = description.arithmetic.weight_max, description.arithmetic.weight_bits
    if array.min() < -limit - 1 or array.max() > limit:
        raise PezoError(
            f"weights must be within {-limit - 1} .. {limit} ({bits} bits), not {array.min()} .. "
            f"{array.max()}"
        )
    return array


def array_of(name: str, given: Any) -> NDArray[Any]:
    """Return an array of what is given.

    Raises
    ------
    PezoError
        If it has no shape, as lists of different lengths.
    """
    try:
        return np.asarray(given)
    # The last two from tensors of torch that are on another device or have a gradient.
    except (ValueError, TypeError, RuntimeError) as error:
        raise PezoError(
            f"{name} must be numbers in one dimension, not {shown(given)} that NumPy makes no "
            f"array of ({one_line(str(error))}); use an array"
        ) from None


def table(
    given: Sequence[Tensor], *, description: Description, weights: int | None = None
) -> tuple[Tensor, ...]:
    """Return a table that a core can hold, and that suits a number of weights if it is given.

    Raises
    ------
    PezoError
        If there are too many tensors, or other things, or not those of the weights.
    """
    try:
        entries, most = tuple(given), description.tensors
    except TypeError:
        raise PezoError(f"a table must be a sequence of tensors, not {given!r}") from None
    if len(entries) > most:
        raise PezoError(
            f"{len(entries)} tensors need a core generated with control.tensors = {len(entries)}, "
            f"but {description.name} has {most}"
        )
    for entry in entries:
        if not isinstance(entry, Tensor):
            raise PezoError(
                f"a table must hold golden.tensors.Tensor, not {entry!r}; use layout.Layout.table"
            )
    beats = sum(tensor.beats for tensor in entries)
    if entries and weights is not None and beats != (wanted := description.beats(weights)):
        raise PezoError(
            f"the tensors must add up to the {wanted} beats of the weights, not {beats}; "
            "use layout.Layout to place them"
        )
    return entries


def command(given: Sweep, *, description: Description) -> Sweep:
    """Return the command of a sweep with plain numbers, which others write as JSON.

    Raises
    ------
    PezoError
        If the core cannot do it.
    """
    offered = OFFERED[description.schedule]
    if given.kind not in offered:
        raise PezoError(
            f"a sweep of kind {given.kind} needs a core generated with zo.schedule = "
            f'"{given.kind}", but {description.name} has "{description.schedule}"'
        )
    k = whole("k", given.k, least=-2, most=2)
    limit = 1 << (description.arithmetic.coefficient_bits - 1)
    coefficient = whole("the coefficient", given.coefficient, least=-limit, most=limit - 1)
    dither_seed = whole("dither_seed", given.dither_seed, least=0, most=(1 << 32) - 1)
    if given.capture_b and description.schedule != "fused":
        raise PezoError(
            'capture_b needs a core generated with zo.schedule = "fused", but '
            f'{description.name} has "{description.schedule}"'
        )
    return replace(given, k=k, coefficient=coefficient, dither_seed=dither_seed)
