"""How far perturbations reach: the sizes that the rules about the step's widths reckon with."""

from __future__ import annotations

from pezo_hw.config.models import Config


def largest_perturbation(word_bits: int, *, exponent: int, shift: int) -> int:
    """Return the largest perturbation of any word, in weight LSBs.

    Parameters
    ----------
    word_bits : int
        b; the largest word is 2^(b-1) - 1.
    exponent : int
        e, the scaling of the group.
    shift : int
        frac - E: a word that stands for 1.0 becomes 2^(e + shift) LSBs.

    Returns
    -------
    int
        round_half_away(u 2^e 2^(shift - (b-1))).
    """
    return rounded(((1 << (word_bits - 1)) - 1) << exponent, left=shift - (word_bits - 1))


def reach(config: Config, *, exponent: int) -> int:
    """Return the largest perturbation of a step configuration, |p|, in weight LSBs.

    Parameters
    ----------
    config : Config
        With sections weights and zo.
    exponent : int
        e, the scaling of the group.
    """
    if config.weights is None or config.zo is None:
        raise ValueError("a zo-step configuration has weights and zo sections")
    if config.zo.epsilon_log2 is None:
        return config.zo.levels
    shift = config.weights.frac + config.zo.epsilon_log2
    source = config.source
    return rounded(source.largest_word << exponent, left=shift - source.fraction_bits)


def rounded(value: int, *, left: int) -> int:
    """Return value 2^left, rounded to the nearest integer, halves up; value 0 or more."""
    if left >= 0:
        return value << left
    return (value + (1 << (-left - 1))) >> -left


def nominal_exponent(config: Config) -> int:
    """Return the exponent that rules reckon with.

    With ``mode = "group"`` (and "constant" without an exponent) the true ones are known only once
    the tables have been computed; nearly all groups have 1, because sqrt(3) is rounded to 2.
    Whoever computes the tables checks again with the true ones, see `check_exponent`.
    """
    if config.scaling.mode == "none":
        return 0
    return 1 if config.scaling.exponent is None else config.scaling.exponent
