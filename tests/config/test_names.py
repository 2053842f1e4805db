"""Names of cores."""

from __future__ import annotations

import pytest

from pezo_hw.config import names

GOOD = ["a", "A", "a1", "a_b", "zcu102_step", "x" * 64, "modules", "moDule", "glbl2"]
BAD = [
    "",
    "1a",
    "_a",
    "a_",
    "a__b",
    "a-b",
    "a b",
    "a.b",
    "a\n",
    "a\0b",
    "gr\u00f6\u00dfe",
    "\u0430bc",  # Cyrillic
    "a\u0661",  # Arabic digit
    "$a",
    "\\a",
    "x" * 65,
    "module",
    "uwire",
    "logic",
    "final",
    "entity",
    "Entity",
    "BEGIN",
    "restrict_guarantee",
]


@pytest.mark.parametrize("name", GOOD)
def test_good_name(name: str) -> None:
    assert names.problem(name) is None


@pytest.mark.parametrize("name", BAD)
def test_bad_name_and_a_legal_one_instead(name: str) -> None:
    wrong = names.problem(name)
    assert wrong is not None and wrong.startswith("must ")
    assert names.problem(names.legal_name(name)) is None


def test_languages() -> None:
    assert names.problem("wire") == "must not be a keyword of Verilog"
    assert names.problem("Process") == "must not be a keyword of VHDL"
    # Verilog tells upper from lower case, VHDL does not.
    assert names.problem("Wire") is None


def test_every_keyword_is_refused_and_has_a_way_out() -> None:
    for keyword in names.VERILOG_KEYWORDS | names.VHDL_KEYWORDS:
        assert names.problem(keyword), keyword
        assert names.problem(names.legal_name(keyword)) is None, keyword
    # The standards list 248 and 115 words.
    assert len(names.VERILOG_KEYWORDS) == 248
    assert len(names.VHDL_KEYWORDS) == 115
