"""Cases of the rules about the step's arithmetic, for test_rules.py."""

from __future__ import annotations

from typing import Any

_ZOQO: dict[str, Any] = {"zo.update": "zoqo", "zo.epsilon_log2": None, "zo.levels": 2}

BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "step",
        {"zo.epsilon_log2": -14},
        r"zo\.epsilon_log2 must be at least -weights\.frac = -13, not -14: an epsilon below one "
        r"weight LSB leaves nothing of the perturbation; use -13 or weights\.frac = 14",
    ),
    (
        "step",
        {"zo.epsilon_log2": -(10**6)},
        r"zo\.epsilon_log2 must be at least -weights\.frac = -13, not -1000000: an epsilon below "
        r"one weight LSB leaves nothing of the perturbation; use -13",
    ),
    (
        "step",
        {"weights.frac": 14, "zo.epsilon_log2": 0},
        r"zo\.epsilon_log2 must be at most -1, not 0: the perturbation is wider than the weight "
        r"\(2 epsilon z reaches 65024 LSBs with words scaled by 2\^1, a weight of 16 bits "
        r"32767\); use -1",
    ),
    (
        "step",
        {"zo.epsilon_log2": None},
        r"zo\.epsilon_log2 is missing; add it to \[zo\]: an integer .+ \(epsilon = .+\)",
    ),
    (
        "step",
        _ZOQO | {"zo.levels": 0},
        r'zo\.levels must be at least 1 for zo\.update = "zoqo", not 0; give the largest '
        r"perturbation in weight LSBs, e\.g\. levels = 1",
    ),
    (
        "step",
        {"zo.levels": 3},
        r'zo\.levels must be left out for zo\.update = "dsp", not 3; remove it '
        r'\(--set zo\.levels=\) or set zo\.update = "zoqo"',
    ),
    (
        "step",
        _ZOQO | {"zo.epsilon_log2": -7},
        r'zo\.epsilon_log2 must be left out for zo\.update = "zoqo", not -7, because its epsilon '
        r"is zo\.levels weight LSBs; remove it \(--set zo\.epsilon_log2=\)",
    ),
    (
        "step",
        _ZOQO | {"zo.coefficient_shift": 9},
        r'zo\.coefficient_shift must be left out for zo\.update = "zoqo", not 9, because its '
        r"coefficient is in whole weight LSBs; remove it \(--set zo\.coefficient_shift=\)",
    ),
    (
        "signs",
        {"core.kind": "zo-step", "weights.bits": 8, "weights.frac": 7, **_ZOQO},
        r'source\.kind must be "on-the-fly", "pre-generated" or "wide-uniform" for zo\.update = '
        r'"zoqo", whose levels come from uniform words, not "rademacher"; choose one of them',
    ),
    (
        "step",
        _ZOQO | {"scaling.mode": "group"},
        r'scaling\.mode must be "none" for zo\.update = "zoqo", whose levels are set by '
        r'zo\.levels, not "group"; use "none"',
    ),
    (
        "step",
        _ZOQO | {"zo.levels": 128},
        r"zo\.levels must be at most 127, because words of so few bits have no more, not 128; "
        r"use 127",
    ),
    (
        "step",
        _ZOQO | {"zo.levels": 64, "weights.bits": 8, "weights.frac": 7},
        r"zo\.levels must be at most 63, because twice that must fit into a weight, not 64; "
        r"use 63",
    ),
    (
        "step",
        {"control.tensors": 1, "zo.coefficient_bits": 23},
        r"zo\.coefficient_bits must be at most 22 with control\.tensors, because a tensor's "
        r"strength takes 3 bits of the multiplier, not 23; use 22",
    ),
]

LEGAL: list[tuple[str, dict[str, Any]]] = [
    ("step", {"zo.schedule": "fused", "control.tensors": 64, "zo.coefficient_bits": 22}),
    ("step", {"zo.coefficient_bits": 25}),
    ("step", _ZOQO),
    ("step", _ZOQO | {"zo.levels": 127, "scaling.mode": "none"}),
    ("step", _ZOQO | {"zo.levels": 63, "weights.bits": 8, "weights.frac": 7}),
    ("step", _ZOQO | {"control.tensors": 1, "zo.coefficient_bits": 25}),
    ("pool", {"core.kind": "zo-step", "weights.bits": 8, "weights.frac": 7, **_ZOQO}),
    ("wide", {"core.kind": "zo-step", "weights.bits": 8, "weights.frac": 7, **_ZOQO}),
]
