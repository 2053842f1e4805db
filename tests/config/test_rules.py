"""Rules across keys: each refuses its bad cases and passes their legal neighbours."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest

from pezo_hw.config import check_exponent, from_mapping, largest_perturbation
from pezo_hw.config import rules as rules_module
from pezo_hw.config.models import Config
from pezo_hw.errors import PezoError
from pezo_hw.golden import lfsr
from tests.config import signs_cases, zo_cases

_STEP_8: dict[str, Any] = {"weights.bits": 8, "weights.frac": 7, "zo.epsilon_log2": 0}

# Base, keys to change, the whole message behind the file's name.
BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "fly",
        {"core.name": "9fly"},
        r"core\.name must be a Verilog and VHDL identifier \(a letter, then letters, digits and "
        r'single underscores, none at the end\), not "9fly"; write e\.g\. "core_9fly"',
    ),
    (
        "fly",
        {"core.name": "module"},
        r'core\.name must not be a keyword of Verilog, not "module"; write e\.g\. "module_core"',
    ),
    (
        "fly",
        {"core.board": "my board"},
        r"core\.board must be the name of a board \(letters, digits, underscores\) or a path that "
        r'ends in \.py, not "my board"; write e\.g\. "zcu102"',
    ),
    (
        "fly",
        {"core.board": "a\udcffb.py"},
        r'core\.board must be a path of printable characters, not "a\\uDCFFb\.py"; rename the file',
    ),
    (
        "fly",
        {"core.kind": "zo-step"},
        r'sections \[weights\] and \[zo\] must be given for core\.kind = "zo-step"; add them as in '
        r'pezo init zcu102-step, or set core\.kind = "perturbation"',
    ),
    (
        "fly",
        {"weights.bits": 8, "weights.frac": 4},
        r'section \[weights\] must be left out for core\.kind = "perturbation"; remove it or '
        r'set core\.kind = "zo-step"',
    ),
    (
        "fly",
        {"source.generators": 16, "source.bits": 4},
        r"source\.generators must be at most 2\^bits - 1 = 15, so that each has a phase of its "
        r"own, not 16 with source\.bits = 4; use 15 generators or 5 bits",
    ),
    (
        "pool",
        {"source.pool_size": 3},
        r"source\.words must be at most source\.pool_size = 3, not 4; "
        r"read 3 words a clock or enlarge the pool",
    ),
    (
        "fly",
        {"source.polynomial": 0b10011},
        r"source\.polynomial must have the degree source\.bits = 8 \(its top bit is the "
        r"coefficient of x\^8\), not 0x13 of degree 4; use e\.g\. 0x11d",
    ),
    (
        "fly",
        {"source.polynomial": 1 << 5000},
        r"source\.polynomial must have the degree source\.bits = 8 \(its top bit is the "
        r"coefficient of x\^8\), not one of degree 5000; use e\.g\. 0x11d",
    ),
    (
        "fly",
        {"source.polynomial": 0x11C},
        r"source\.polynomial must have the constant term 1 \(bit 0 set\), not 0x11c; "
        r"use e\.g\. 0x11d",
    ),
    (
        # The polynomial of AES is irreducible, but x has order 51 only.
        "fly",
        {"source.polynomial": 0x11B},
        r"source\.polynomial must be primitive, so that the period is 2\^8 - 1, not 0x11b; "
        r"use e\.g\. 0x11d",
    ),
    (
        "fly",
        {"source.leap": 2},
        r"source\.leap must go with source\.polynomial, not 2 alone; "
        r"add a polynomial, or remove it \(--set source\.leap=\)",
    ),
    (
        "fly",
        {"source.polynomial": 0x11D, "source.leap": 5},
        r"source\.leap must be coprime to 2\^bits - 1 = 255, not 5, which shares the factor 5; "
        r"use 4 or 7",
    ),
    (
        "fly",
        {"source.bits": 12, "source.polynomial": 0x1053, "source.leap": 12},
        r"source\.leap must be coprime to 2\^bits - 1 = 4095, not 12, which shares the factor 3; "
        r"use 11 or 16",
    ),
    (
        "fly",
        {"scaling.exponent": 1},
        r'scaling\.exponent must go with scaling\.mode = "constant", not 1 with "group"; remove it '
        r'\(--set scaling\.exponent=\) or set the mode to "constant"',
    ),
    (
        "fly",
        {"reuse.lanes": 18},
        r"reuse\.lanes must be a multiple of the words a clock, source\.generators = 4, not 18; "
        r"use 16 or 20",
    ),
    (
        "pool",
        {"reuse.lanes": 3},
        r"reuse\.lanes must be a multiple of the words a clock, source\.words = 4, not 3; use 4",
    ),
    (
        "step",
        {"source.generators": 7, "reuse.lanes": 255},
        r"reuse\.lanes must be a multiple of the words a clock, source\.generators = 7, not 255; "
        r"use 252",
    ),
    (
        "step",
        {"reuse.lanes": 260},
        r"reuse\.lanes must be at most 256, because a stream of 4096 bits holds no more weights of "
        r"16 bits, not 260; use 256",
    ),
    (
        "fly",
        {"reuse.stride": 4},
        r"reuse\.stride must be below the words a clock, source\.generators = 4, not 4; use 0, "
        r"which has the same effect",
    ),
    (
        "fly",
        {"source.generators": 1, "reuse.stride": 1},
        r"reuse\.stride must be below the words a clock, source\.generators = 1, not 1; use 0, "
        r"which has the same effect",
    ),
    (
        "step",
        {"weights.bits": 8},
        r"weights\.frac must be below weights\.bits = 8, not 13; use 7 or less",
    ),
    (
        "wide",
        {"scaling.mode": "group"},
        r'scaling\.mode must be "none" or "constant" for source\.kind = "wide-uniform", whose '
        r'groups all have the same scale, not "group"; use "none"',
    ),
    (
        "signs",
        {"scaling.mode": "constant"},
        r'scaling\.mode must be "none" for source\.kind = "rademacher", whose groups all have the '
        r'same scale, not "constant"; use "none"',
    ),
    (
        "wide",
        {"scaling.exponent": 1},
        r'scaling\.exponent must go with scaling\.mode = "constant", not 1 with "none"; remove it '
        r'\(--set scaling\.exponent=\) or set the mode to "constant"',
    ),
    (
        "signs",
        {"reuse.lanes": 1025},
        r'reuse\.lanes must be at most 1024 for source\.kind = "rademacher", not 1025; use 1024 '
        r"lanes or another source",
    ),
    (
        "wide",
        {"reuse.lanes": 18},
        r"reuse\.lanes must be a multiple of the words a clock, source\.words = 4, not 18; "
        r"use 16 or 20",
    ),
    (
        "wide",
        {"core.kind": "zo-step", **_STEP_8},
        r"zo\.epsilon_log2 must be at most -2, not 0: the perturbation is wider than the weight "
        r"\(2 epsilon z reaches 256 LSBs with words scaled by 2\^0, a weight of 8 bits 127\); "
        r"use -2",
    ),
    (
        "signs",
        {"core.kind": "zo-step", **_STEP_8},
        r"zo\.epsilon_log2 must be at most -2, not 0: the perturbation is wider than the weight "
        r"\(2 epsilon z reaches 256 LSBs with words scaled by 2\^0, a weight of 8 bits 127\); "
        r"use -2",
    ),
    *zo_cases.BAD,
    *signs_cases.BAD,
]

LEGAL: list[tuple[str, dict[str, Any]]] = [
    ("fly", {"core.name": "Fly_9"}),
    ("fly", {"core.name": "x" * 64}),
    ("fly", {"core.board": "../boards/my board.py"}),
    ("fly", {"source.generators": 15, "source.bits": 4, "reuse.lanes": 15}),
    ("pool", {"source.pool_size": 4}),
    ("fly", {"source.polynomial": 0x11D}),
    ("fly", {"source.polynomial": 0x11D, "source.leap": 4}),
    ("fly", {"source.leap": 1}),
    ("fly", {"scaling.mode": "constant"}),
    ("fly", {"scaling.mode": "constant", "scaling.exponent": 3}),
    ("fly", {"reuse.lanes": 16384}),
    ("step", {"reuse.lanes": 256}),
    ("step", {"reuse.lanes": 512, "weights.bits": 8, "weights.frac": 7}),
    ("fly", {"reuse.stride": 3}),
    ("step", {"zo.epsilon_log2": -13}),
    ("step", {"weights.frac": 14, "zo.epsilon_log2": -1}),
    ("step", {"weights.frac": 14, "zo.epsilon_log2": 0, "scaling.mode": "none"}),
    ("step", {"weights.bits": 8, "weights.frac": 0, "zo.epsilon_log2": 0}),
    ("wide", {"scaling.mode": "constant"}),
    ("wide", {"scaling.mode": "constant", "scaling.exponent": 3}),
    ("wide", {"source.words": 64, "source.bits": 16, "reuse.lanes": 64}),
    ("wide", {"core.kind": "zo-step", **_STEP_8, "zo.epsilon_log2": -2}),
    ("signs", {"reuse.lanes": 1024}),
    ("signs", {"reuse.lanes": 1}),
    ("signs", {"core.kind": "zo-step", **_STEP_8, "zo.epsilon_log2": -2}),
    *zo_cases.LEGAL,
    *signs_cases.LEGAL,
]


def changed(base: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    for name, value in keys.items():
        section, _, key = name.partition(".")
        base.setdefault(section, {})[key] = value
    return base


def refusal(mapping: Any) -> str:
    with pytest.raises(PezoError) as caught:
        from_mapping(mapping, where="x.toml")
    return str(caught.value)


@pytest.mark.parametrize(("base", "keys", "pattern"), BAD)
def test_bad_case_is_refused(bases: Any, base: str, keys: dict[str, Any], pattern: str) -> None:
    message = refusal(changed(bases[base], keys))
    assert re.fullmatch(rf"x\.toml: {pattern}", message), message


@pytest.mark.parametrize(("base", "keys"), LEGAL)
def test_legal_neighbour_passes(bases: Any, base: str, keys: dict[str, Any]) -> None:
    from_mapping(changed(bases[base], keys))


@pytest.mark.parametrize("removed", rules_module.RULES, ids=lambda rule: rule.__name__)
def test_every_rule_is_needed(bases: Any, removed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the rule some bad case must come through, or nothing tests the rule.
    left = tuple(rule for rule in rules_module.RULES if rule is not removed)
    monkeypatch.setattr(rules_module, "RULES", left)
    passed = []
    for base, keys, _ in BAD:
        fresh = {section: dict(values) for section, values in bases[base].items()}
        try:
            from_mapping(changed(fresh, keys))
            passed.append(keys)
        except PezoError:
            pass
    assert passed


def test_several_faults_are_counted(bases: Any) -> None:
    message = refusal(changed(bases["fly"], {"reuse.lanes": 18, "scaling.exponent": 1}))
    assert re.fullmatch(r"x\.toml: scaling\.exponent must .+ \(and 1 more\)", message)


@pytest.mark.parametrize("bits", range(4, 17))
def test_the_suggested_polynomial_is_accepted(bases: Any, bits: int) -> None:
    keys = {"source.bits": bits, "source.polynomial": (1 << bits) | 2}
    message = refusal(changed(bases["fly"], keys))
    good = re.search(r"use e\.g\. (0x[0-9a-f]+)$", message)
    assert good is not None
    from_mapping(changed(bases["fly"], {"source.polynomial": int(good[1], 16)}))


@pytest.mark.parametrize("bits", [4, 8, 12])
def test_every_leap(bases: Any, bits: int) -> None:
    period = 2**bits - 1
    polynomial = lfsr.default_polynomial(bits)
    for leap in range(2, 40):
        mapping = changed(
            bases["fly"],
            {"source.bits": bits, "source.polynomial": polynomial, "source.leap": leap},
        )
        if math.gcd(leap, period) == 1:
            from_mapping(mapping)
            continue
        near = [int(word) for word in re.findall(r"\d+", refusal(mapping).partition("; use ")[2])]
        assert near
        for other in near:
            assert math.gcd(other, period) == 1
        # Nothing nearer would do.
        assert all(math.gcd(m, period) > 1 for m in range(near[0] + 1, near[-1]))


def test_the_suggested_lanes_are_accepted(bases: Any) -> None:
    for words in (1, 2, 3, 5, 7, 31, 32, 64):
        for lanes in (1, 2, 33, 63, 65, 255, 256, 257, 16383):
            mapping = changed(bases["step"], {"source.generators": words, "reuse.lanes": lanes})
            try:
                from_mapping(mapping)
                assert lanes % words == 0 and lanes <= 256
            except PezoError as error:
                assert lanes % words or lanes > 256
                hint = str(error).partition("; use ")[2]
                for near in re.findall(r"\d+", hint):
                    from_mapping(changed(bases["step"], {"reuse.lanes": int(near)}))


def rounded(value: Fraction) -> int:
    """Round a positive number half away from zero."""
    return math.floor(value + Fraction(1, 2))


def test_largest_perturbation_is_the_one_of_the_largest_word() -> None:
    for bits in range(4, 17):
        for exponent in range(4):
            for shift in range(16):
                top = 2 ** (bits - 1) - 1
                exact = Fraction(top * 2**exponent * 2**shift, 2 ** (bits - 1))
                got = largest_perturbation(bits, exponent=exponent, shift=shift)
                assert got == rounded(exact)


def test_every_accepted_epsilon_moves_a_weight_and_fits(bases: Any) -> None:
    accepted = 0
    for word_bits in (4, 8, 16):
        for bits in (8, 16):
            for frac in range(bits):
                for log2 in range(-frac - 1, 1):
                    keys = {"source.bits": word_bits, "weights.bits": bits, "weights.frac": frac}
                    mapping = changed(bases["step"], {**keys, "zo.epsilon_log2": log2})
                    top = rounded(
                        Fraction((2 ** (word_bits - 1) - 1) * 2, 2 ** (word_bits - 1))
                        * Fraction(2) ** (frac + log2)
                    )
                    legal = log2 >= -frac and 2 * top <= 2 ** (bits - 1) - 1
                    if not legal:
                        refusal(mapping)
                        continue
                    accepted += 1
                    from_mapping(mapping)
                    assert top >= 1
    assert accepted > 100


def test_the_suggested_epsilon_is_accepted(bases: Any) -> None:
    for exponent in range(4):
        for frac in (3, 7, 12, 15):
            keys = {"scaling.mode": "constant", "scaling.exponent": exponent, "weights.frac": frac}
            mapping = changed(bases["step"], {**keys, "zo.epsilon_log2": 0})
            try:
                from_mapping(mapping)
            except PezoError as error:
                best = int(str(error).rpartition("use ")[2])
                from_mapping(changed(mapping, {"zo.epsilon_log2": best}))
                refusal(changed(mapping, {"zo.epsilon_log2": best + 1}))


def test_a_second_look_with_the_true_exponent(bases: Any) -> None:
    tight = from_mapping(changed(bases["step"], {"weights.frac": 14, "zo.epsilon_log2": -1}))
    check_exponent(tight, 1)
    with pytest.raises(PezoError, match=r"^x: zo\.epsilon_log2 must be at most -3, not -1: "):
        check_exponent(tight, 3, where="x")
    check_exponent(from_mapping(bases["fly"]), 3)


def test_an_invalid_config_cannot_be_built_either(bases: Any) -> None:
    good = from_mapping(bases["fly"])
    with pytest.raises(ValueError, match=r"reuse\.lanes must be a multiple"):
        Config(core=good.core, source=good.source, reuse=good.reuse.model_copy(update={"lanes": 5}))
