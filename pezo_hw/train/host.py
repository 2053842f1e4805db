"""The host's part of a step: from two losses to the coefficient that the core multiplies with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError
from pezo_hw.golden.step import Arithmetic

if TYPE_CHECKING:
    from pezo_hw.driver.sweep import Description


def to_fixed(weights: NDArray[np.floating], *, arithmetic: Arithmetic) -> NDArray[np.int64]:
    """Return weights in LSBs, rounded and limited to the weights' format."""
    scaled = np.rint(np.asarray(weights, dtype=np.float64) * 2.0**arithmetic.frac)
    return np.clip(scaled, -arithmetic.weight_max - 1, arithmetic.weight_max).astype(np.int64)


def to_float(weights: NDArray[np.integer], *, arithmetic: Arithmetic) -> NDArray[np.float32]:
    """Return weights in LSBs as real numbers; exact for weights of up to 24 bits."""
    return (weights * 2.0**-arithmetic.frac).astype(np.float32)


def projected_gradient(loss_plus: float, loss_minus: float, *, epsilon: float) -> float:
    """Return g = (L(theta + eps z) - L(theta - eps z)) / (2 eps) (MeZO, section 2).

    z is what the core adds, so its mean square is 1 / leftover^2, not 1.
    """
    return (loss_plus - loss_minus) / (2 * epsilon)


def coefficient(
    gradient: float, *, rate: float, bits: int, leftover: float, arithmetic: Arithmetic
) -> int:
    """Return C, so that the update is the one of a perturbation with a mean square of 1.

    With z1 = leftover z of mean square 1 and its projected gradient g1 = leftover g, the update
    rate g1 z1 is rate leftover^2 g z, and z = u 2^e / 2^(b-1). In weight LSBs that is u 2^e C / 2^S
    with C = rate leftover^2 g 2^(frac + S - (b - 1)).

    Parameters
    ----------
    gradient : float
        g.
    rate : float
        Learning rate of an optimiser with perturbations of mean square 1.
    bits : int
        b.
    leftover : float
        The engine's leftover factor.
    arithmetic : Arithmetic
        Number formats; C is limited to the coefficient's.

    Returns
    -------
    int
        Rounded to the nearest integer.
    """
    _check_rate(rate)
    real = rate * leftover**2 * gradient * 2.0 ** (arithmetic.frac + arithmetic.shift - (bits - 1))
    # Limited before it is rounded: a large rate gives infinity, which no integer is. 0 times that
    # is no number, and changes nothing.
    limit = (1 << (arithmetic.coefficient_bits - 1)) - 1
    return 0 if math.isnan(real) else round(max(-limit, min(limit, real)))


def sign_coefficient(
    loss_plus: float, loss_minus: float, *, rate: float, arithmetic: Arithmetic
) -> int:
    """Return C of a ZOQO step, eta_q sign(L+ - L-) in whole weight LSBs.

    eta_q = max(floor(eta / s), 1) with the weights' step s = 2^-frac.
    """
    _check_rate(rate)
    limit = (1 << (arithmetic.coefficient_bits - 1)) - 1
    size = max(math.floor(min(limit, rate * 2.0**arithmetic.frac)), 1)
    return size * int(np.sign(loss_plus - loss_minus))


def _check_rate(rate: float) -> None:
    if not math.isfinite(rate):
        raise PezoError(f"the learning rate must be a finite number, not {rate}")


def coefficient_of(
    loss_plus: float, loss_minus: float, *, rate: float, description: Description
) -> int:
    """Return C for the two losses of a step, by the update rule of the core.

    A loss that is not a number or infinite gives 0: the step changes nothing.
    """
    if not math.isfinite(loss_plus - loss_minus):
        return 0
    arithmetic = description.arithmetic
    if description.update == "zoqo":
        return sign_coefficient(loss_plus, loss_minus, rate=rate, arithmetic=arithmetic)
    return coefficient(
        projected_gradient(loss_plus, loss_minus, epsilon=description.epsilon),
        rate=rate,
        bits=description.fraction_bits + 1,
        leftover=description.leftover,
        arithmetic=arithmetic,
    )
