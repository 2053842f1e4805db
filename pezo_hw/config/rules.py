"""Rules that involve more than one key, and rules that a range cannot express.

Each rule is a function that yields a `Fault` for whatever breaks it; `RULES` lists them in the
order in which faults are reported.  A fault names the key, what must hold, what was given and the
way out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from pezo_hw.config import names, zo_rules
from pezo_hw.config.fault import Fault
from pezo_hw.config.models import (
    Config,
    GaussianCltSource,
    OnTheFlySource,
    PerLaneSource,
    PreGeneratedSource,
    SeededSource,
    section_keys,
)
from pezo_hw.config.text import listed, removal, show

MAX_STREAM_BITS = 4096
"""Widest AXI4-Stream: 512 bytes a beat."""

MAX_LANES = 16384
MAX_GENERATORS = 64

MAX_SIGNS = 128
"""Most blocks of lanes with signs: the bits of their generator."""


def faults(config: Config) -> list[Fault]:
    """Return everything that breaks a rule, the most telling first."""
    return [fault for rule in RULES for fault in rule(config)]


def most_lanes(config: Config) -> int:
    """Return the most lanes that the stream's width and the range of the key allow."""
    if config.weights is None:
        return MAX_LANES
    return min(MAX_LANES, MAX_STREAM_BITS // config.weights.bits)


def _own_lanes(config: Config) -> Iterator[Fault]:
    source, lanes = config.source, config.reuse.lanes
    if not isinstance(source, SeededSource) or source.most_lanes is None:
        return
    if lanes > source.most_lanes:
        yield Fault(
            ("reuse.lanes", "source.kind"),
            f'reuse.lanes must be at most {source.most_lanes} for source.kind = "{source.kind}", '
            f"not {lanes}; use {source.most_lanes} lanes or another source",
        )


def nearest_multiples(value: int, *, of: int, most: int) -> list[int]:
    """Return the multiples of `of` next to `value`, from `of` to `most`, ascending."""
    below = value // of * of
    return sorted({m for m in (below, below + of) if of <= m <= most} or {most // of * of})


def nearest_coprime(value: int, *, to: int) -> list[int]:
    """Return the positive numbers next below and next above `value` that are coprime to `to`."""
    below = next((m for m in range(value - 1, 0, -1) if math.gcd(m, to) == 1), None)
    above = next(m for m in range(value + 1, value + to + 2) if math.gcd(m, to) == 1)
    return [above] if below is None else [below, above]


def _words_key(config: Config) -> str:
    source = config.source
    if isinstance(source, PerLaneSource):
        return "reuse.lanes"
    return "source.generators" if isinstance(source, OnTheFlySource) else "source.words"


def _name(config: Config) -> Iterator[Fault]:
    name = config.core.name
    wrong = names.problem(name)
    if wrong:
        yield Fault(
            ("core.name",),
            f'core.name {wrong}, not {show(name)}; write e.g. "{names.legal_name(name)}"',
        )


def _board(config: Config) -> Iterator[Fault]:
    board = config.core.board
    if not board.endswith(".py") and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", board):
        yield Fault(
            ("core.board",),
            f"core.board must be the name of a board (letters, digits, underscores) or a path that "
            f'ends in .py, not {show(board)}; write e.g. "zcu102"',
        )
    elif not board.isprintable():
        yield Fault(
            ("core.board",),
            f"core.board must be a path of printable characters, not {show(board)}; "
            f"rename the file",
        )


def _sections(config: Config) -> Iterator[Fault]:
    needed = config.core.kind == "zo-step"
    # A step core without [control] has been given its defaults.
    sections = {"weights": config.weights, "zo": config.zo, "control": config.control}
    wrong = [f"[{name}]" for name, section in sections.items() if (section is None) == needed]
    if not wrong:
        return
    plural = "sections" if len(wrong) > 1 else "section"
    them = "them" if len(wrong) > 1 else "it"
    names_ = listed(wrong)
    keys = ("core.kind", *(key for name in sections for key in _keys_of(name)))
    if needed:
        yield Fault(
            keys,
            f'{plural} {names_} must be given for core.kind = "zo-step"; add {them} as in '
            f'pezo init zcu102-step, or set core.kind = "perturbation"',
        )
    else:
        yield Fault(
            keys,
            f'{plural} {names_} must be left out for core.kind = "perturbation"; remove {them} or '
            f'set core.kind = "zo-step"',
        )


def _keys_of(section: str) -> list[str]:
    return [f"{section}.{key}" for key in section_keys(section)]


def _generators(config: Config) -> Iterator[Fault]:
    source = config.source
    if not isinstance(source, OnTheFlySource):
        return
    states = 2**source.bits - 1
    if source.generators > states:
        needed = source.generators.bit_length()
        yield Fault(
            ("source.generators", "source.bits"),
            f"source.generators must be at most 2^bits - 1 = {states}, so that each has a phase of "
            f"its own, not {source.generators} with source.bits = {source.bits}; "
            f"use {states} generators or {needed} bits",
        )


def _pool(config: Config) -> Iterator[Fault]:
    source = config.source
    if isinstance(source, PreGeneratedSource) and source.words > source.pool_size:
        yield Fault(
            ("source.words", "source.pool_size"),
            f"source.words must be at most source.pool_size = {source.pool_size}, not "
            f"{source.words}; read {source.pool_size} words a clock or enlarge the pool",
        )


def _polynomial(config: Config) -> Iterator[Fault]:
    source = config.source
    if not isinstance(source, OnTheFlySource) or source.polynomial is None:
        return
    # Here and not at the top: golden needs numpy, which most commands can do without.
    from pezo_hw.golden import lfsr

    degree = source.polynomial.bit_length() - 1
    given = hex(source.polynomial) if degree < 64 else "one"
    good = f"use e.g. {lfsr.default_polynomial(source.bits):#x}"
    keys = ("source.polynomial", "source.bits")
    if degree != source.bits:
        yield Fault(
            keys,
            f"source.polynomial must have the degree source.bits = {source.bits} (its top bit is "
            f"the coefficient of x^{source.bits}), not {given} of degree {degree}; {good}",
        )
    elif not source.polynomial & 1:
        yield Fault(
            keys,
            f"source.polynomial must have the constant term 1 (bit 0 set), not {given}; {good}",
        )
    elif not lfsr.is_primitive(source.polynomial):
        yield Fault(
            keys,
            f"source.polynomial must be primitive, so that the period is 2^{source.bits} - 1, "
            f"not {given}; {good}",
        )


def _leap(config: Config) -> Iterator[Fault]:
    source = config.source
    if not isinstance(source, OnTheFlySource) or source.leap == 1:
        return
    keys = ("source.leap", "source.bits")
    if source.polynomial is None:
        yield Fault(
            ("source.leap",),
            f"source.leap must go with source.polynomial, not {source.leap} alone; add a "
            f"polynomial, or {removal('source.leap')}",
        )
        return
    period = 2**source.bits - 1
    factor = math.gcd(source.leap, period)
    if factor != 1:
        near = " or ".join(map(str, nearest_coprime(source.leap, to=period)))
        yield Fault(
            keys,
            f"source.leap must be coprime to 2^bits - 1 = {period}, not {source.leap}, which "
            f"shares the factor {factor}; use {near}",
        )


def _seeded_scaling(config: Config) -> Iterator[Fault]:
    source, scaling = config.source, config.scaling
    if not isinstance(source, SeededSource) or scaling.mode in source.scaling_modes:
        return
    modes = listed([show(mode) for mode in source.scaling_modes], last="or")
    yield Fault(
        ("scaling.mode", "source.kind"),
        f'scaling.mode must be {modes} for source.kind = "{source.kind}", whose groups all have '
        f"the same scale, not {show(scaling.mode)}; use {show(source.scaling_modes[0])}",
    )


def _exponent(config: Config) -> Iterator[Fault]:
    scaling = config.scaling
    if scaling.exponent is not None and scaling.mode != "constant":
        yield Fault(
            ("scaling.exponent", "scaling.mode"),
            f'scaling.exponent must go with scaling.mode = "constant", not {scaling.exponent} with '
            f'"{scaling.mode}"; {removal("scaling.exponent")} or set the mode to "constant"',
        )


def _block(config: Config) -> tuple[int, str, str]:
    """Return what the lanes must be a multiple of, the key that says so, and what it is."""
    source = config.source
    if isinstance(source, GaussianCltSource):
        return source.terms, "source.terms", "the lanes of a block"
    if isinstance(source, PerLaneSource):
        return 1, "reuse.lanes", "one lane"
    return config.words, _words_key(config), "the words a clock"


def _lanes(config: Config) -> Iterator[Fault]:
    lanes, most = config.reuse.lanes, most_lanes(config)
    block, key, name = _block(config)
    if lanes > most and config.weights is not None:
        bits = config.weights.bits
        yield Fault(
            ("reuse.lanes", "weights.bits", key),
            f"reuse.lanes must be at most {most}, because a stream of {MAX_STREAM_BITS} bits holds "
            f"no more weights of {bits} bits, not {lanes}; use {most // block * block}",
        )
    elif lanes % block:
        near = " or ".join(map(str, nearest_multiples(lanes, of=block, most=most)))
        yield Fault(
            ("reuse.lanes", key),
            f"reuse.lanes must be a multiple of {name}, {key} = {block}, not {lanes}; use {near}",
        )


def _stride(config: Config) -> Iterator[Fault]:
    words, stride = config.words, config.reuse.stride
    if stride >= words:
        key = _words_key(config)
        yield Fault(
            ("reuse.stride", key),
            f"reuse.stride must be below the words a clock, {key} = {words}, not {stride}; "
            f"use {stride % words}, which has the same effect",
        )


def _signs(config: Config) -> Iterator[Fault]:
    if not config.reuse.signs:
        return
    source, lanes, words = config.source, config.reuse.lanes, config.words
    if isinstance(source, PerLaneSource):
        yield Fault(
            ("reuse.signs", "source.kind"),
            f'reuse.signs must be false for source.kind = "{source.kind}", where no lanes share a '
            f"word, not true; {removal('reuse.signs')}",
        )
    elif config.core.kind == "zo-step":
        yield Fault(
            ("reuse.signs", "core.kind"),
            'reuse.signs must be false for core.kind = "zo-step", whose lanes have no signs yet, '
            f'not true; {removal("reuse.signs")}, or use core.kind = "perturbation"',
        )
    elif lanes > MAX_SIGNS * words:
        yield Fault(
            ("reuse.signs", "reuse.lanes", _words_key(config)),
            f"reuse.signs must go with at most {MAX_SIGNS} blocks of lanes, not {lanes} / {words} "
            f"= {lanes // words}; use at most {MAX_SIGNS * words} lanes or more words",
        )


def _frac(config: Config) -> Iterator[Fault]:
    weights = config.weights
    if weights is not None and weights.frac >= weights.bits:
        yield Fault(
            ("weights.frac", "weights.bits"),
            f"weights.frac must be below weights.bits = {weights.bits}, not {weights.frac}; "
            f"use {weights.bits - 1} or less",
        )


RULES: tuple[Callable[[Config], Iterator[Fault]], ...] = (
    _name,
    _board,
    _sections,
    _generators,
    _pool,
    _polynomial,
    _leap,
    _seeded_scaling,
    _exponent,
    _own_lanes,
    _lanes,
    _stride,
    _signs,
    _frac,
    *zo_rules.RULES,
)
"""All rules; a new one is a function and a line here."""
