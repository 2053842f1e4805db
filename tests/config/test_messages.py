"""Unknown, missing and misplaced keys and sections: named, with a suggestion, on one line."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from pezo_hw.config import from_mapping
from pezo_hw.config.text import closest, key_name, listed, one_line, quote, show
from pezo_hw.errors import PezoError

UNKNOWN: list[tuple[str, str, str]] = [
    # Base, section.key that is added, message.
    ("fly", "source.bit", r"unknown key source\.bit; did you mean source\.bits\?"),
    (
        "fly",
        "source.Generators",
        r"unknown key source\.Generators; did you mean source\.generators\?",
    ),
    ("pool", "source.poolsize", r"unknown key source\.poolsize; did you mean source\.pool_size\?"),
    ("fly", "core.lanes", r"unknown key core\.lanes; did you mean reuse\.lanes\?"),
    ("fly", "reuse.epsilon", r"unknown key reuse\.epsilon; did you mean zo\.epsilon_log2\?"),
    (
        "fly",
        "reuse.qqqq",
        r"unknown key reuse\.qqqq; the keys of \[reuse\] are lanes, stride and signs",
    ),
    (
        "fly",
        "source.pool_size",
        r'source\.pool_size must be left out for source\.kind = "on-the-fly", it is for '
        r'"pre-generated"; remove it \(--set source\.pool_size=\) or set '
        r'source\.kind = "pre-generated"',
    ),
    (
        "pool",
        "source.rotation",
        r'source\.rotation must be left out for source\.kind = "pre-generated", it is for '
        r'"on-the-fly"; remove it \(--set source\.rotation=\) or set source\.kind = "on-the-fly"',
    ),
    ("fly", "source.on-the-fly", r"unknown key source\.on-the-fly; the keys of \[source\] are .+"),
    ("fly", "source.a b\nc", r'unknown key source\."a b\\nc"; the keys of \[source\] are .+'),
    ("fly", "source.", r'unknown key source\.""; the keys of \[source\] are .+'),
]

SECTIONS: list[tuple[str, Any, str]] = [
    ("sorce", {}, r"unknown section \[sorce\]; did you mean \[source\]\?"),
    ("lanes", {}, r"unknown section \[lanes\]; did you mean the key reuse\.lanes\?"),
    (
        "qqqq",
        {},
        r"unknown section \[qqqq\]; the sections are core, source, scaling, reuse, weights, "
        r"zo and control",
    ),
    ("lanes", 8, r"unknown key lanes outside any section; it belongs to \[reuse\]"),
    (
        "qqqq",
        8,
        r"unknown key qqqq outside any section; the sections are core, source, scaling, reuse, "
        r"weights, zo and control",
    ),
    ("core", 3, r"core must be a section, not 3; write \[core\] and its keys below it"),
    ("source", "x", r'source must be a section, not "x"; write \[source\] and its keys below it'),
    ("source", [{}], r"source must be a section, not an array; write \[source\] and its keys .+"),
    ("scaling", False, r"scaling must be a section, not false; write \[scaling\] and its keys .+"),
    (
        "source",
        {},
        r'source\.kind is missing; set it to "on-the-fly", "pre-generated", (".+", )*".+" or ".+"',
    ),
    (
        "source",
        {"kind": "on-fly"},
        r'source\.kind must be "on-the-fly", "pre-generated", .+, not "on-fly"; '
        r'did you mean "on-the-fly"\?',
    ),
    (
        "source",
        {"kind": ["on-the-fly"]},
        r'source\.kind must be "on-the-fly", .+ or ".+", not an array; choose one of them',
    ),
    ("source", {"kind": 1 << 20_000}, r"source\.kind must be .+, not an integer of 20001 bits; .+"),
]


def refusal(mapping: Any) -> str:
    with pytest.raises(PezoError) as caught:
        from_mapping(mapping, where="x.toml")
    return str(caught.value)


@pytest.mark.parametrize(("base", "key", "pattern"), UNKNOWN)
def test_unknown_keys(bases: Any, base: str, key: str, pattern: str) -> None:
    section, _, name = key.partition(".")
    bases[base][section][name] = 1
    message = refusal(bases[base])
    assert re.fullmatch(rf"x\.toml: {pattern}", message), message


@pytest.mark.parametrize(("section", "value", "pattern"), SECTIONS)
def test_sections(on_the_fly: Any, section: str, value: Any, pattern: str) -> None:
    on_the_fly[section] = value
    message = refusal(on_the_fly)
    assert re.fullmatch(rf"x\.toml: {pattern}", message), message


@pytest.mark.parametrize(
    ("base", "key"),
    [
        ("fly", "core.name"),
        ("fly", "core.kind"),
        ("fly", "core.board"),
        ("fly", "source.bits"),
        ("fly", "source.generators"),
        ("pool", "source.pool_size"),
        ("pool", "source.words"),
        ("fly", "reuse.lanes"),
        ("step", "weights.bits"),
        ("step", "weights.frac"),
    ],
)
def test_required_keys(bases: Any, base: str, key: str) -> None:
    section, _, name = key.partition(".")
    del bases[base][section][name]
    message = refusal(bases[base])
    pattern = rf"x\.toml: {re.escape(key)} is missing; add it to \[{section}\]: .+ \(.+\)"
    assert re.fullmatch(pattern, message), message
    bases[base][section][name] = None
    assert re.fullmatch(
        rf"x\.toml: {re.escape(key)} must be .+, not nothing; .+", refusal(bases[base])
    )


@pytest.mark.parametrize("section", ["core", "source", "reuse"])
def test_required_sections(on_the_fly: Any, section: str) -> None:
    del on_the_fly[section]
    message = refusal(on_the_fly)
    pattern = rf"x\.toml: section \[{section}\] is missing; add it, with at least [a-z, ]+"
    assert re.fullmatch(pattern, message), message


def test_a_misspelt_key_goes_before_the_missing_one(on_the_fly: Any) -> None:
    on_the_fly["reuse"] = {"lane": 16}
    assert refusal(on_the_fly) == (
        "x.toml: unknown key reuse.lane; did you mean reuse.lanes? (and 1 more)"
    )


@pytest.mark.parametrize("mapping", [None, 3, [], "text", {1: 2}, {"core": {1: 2}}])
def test_things_that_are_no_configuration(mapping: Any) -> None:
    assert re.fullmatch(r"x\.toml: .+", refusal(mapping))


def test_where_is_escaped_too() -> None:
    with pytest.raises(PezoError, match=r"^a\\nb: "):
        from_mapping({}, where="a\nb")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "true"),
        (0, "0"),
        (1 << 400, "an integer of 401 bits"),
        (float("nan"), "nan"),
        ('a"\\\n\u2028\udcff', r'"a\"\\\n\u2028\uDCFF"'),
        ("x" * 100, '"' + "x" * 57 + '..."'),
        ({}, "a table"),
        ([1], "an array"),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (object(), "a value of type object"),
    ],
)
def test_show(value: Any, text: str) -> None:
    assert show(value) == text


def test_pieces() -> None:
    assert listed([]) == "" and listed(["a"]) == "a" and listed(["a", "b", "c"]) == "a, b and c"
    assert one_line("a\x1b[31m\r\n\t\U000e0001") == "a\\u001B[31m\\r\\n\\t\\U000E0001"
    assert quote('"') == '"\\""'
    assert key_name("a-b_1") == "a-b_1" and key_name("a.b") == '"a.b"'
    assert closest("POOL-SIZE", ["pool_size"]) == "pool_size"
    assert closest("zzz", ["pool_size"]) is None
