"""Cases of `reuse.signs` for `test_rules`: base, keys to change, and the message."""

from __future__ import annotations

from typing import Any

BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "signs",
        {"reuse.signs": True},
        r'reuse\.signs must be false for source\.kind = "rademacher", where no lanes share a word, '
        r"not true; remove it \(--set reuse\.signs=\)",
    ),
    (
        "step",
        {"reuse.signs": True},
        r'reuse\.signs must be false for core\.kind = "zo-step", whose lanes have no signs yet, '
        r'not true; remove it \(--set reuse\.signs=\), or use core\.kind = "perturbation"',
    ),
    (
        "wide",
        {"reuse.signs": True, "source.words": 8, "reuse.lanes": 8 * 129},
        r"reuse\.signs must go with at most 128 blocks of lanes, not 1032 / 8 = 129; use at most "
        r"1024 lanes or more words",
    ),
    (
        "fly",
        {"reuse.signs": "yes"},
        r'reuse\.signs must be true or false, not "yes"; choose one of them, without quotes',
    ),
    (
        "fly",
        {"reuse.signs": 1},
        r"reuse\.signs must be true or false, not 1; choose one of them, without quotes",
    ),
]

LEGAL: list[tuple[str, dict[str, Any]]] = [
    ("fly", {"reuse.signs": True}),
    ("wide", {"reuse.signs": True, "source.words": 8, "reuse.lanes": 8 * 128}),
    ("signs", {"reuse.signs": False}),
    ("step", {"reuse.signs": False}),
]
