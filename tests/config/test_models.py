"""Types, ranges and defaults of single keys."""

from __future__ import annotations

import re
from typing import Any

import pydantic
import pytest

from pezo_hw.config import Config, OnTheFlySource, PreGeneratedSource, ReuseConfig, from_mapping
from pezo_hw.errors import PezoError

# Base, key, least, greatest (None: no bound of its own).
RANGES = [
    ("fly", "core.parameters", 1, 10**15),
    ("fly", "source.generators", 1, 64),
    ("fly", "source.bits", 4, 16),
    ("fly", "source.seed", 0, 2**32 - 1),
    ("fly", "source.polynomial", 1, None),
    ("fly", "source.leap", 1, 65534),
    ("pool", "source.pool_size", 2, 65536),
    ("pool", "source.words", 1, 64),
    ("pool", "source.bits", 4, 16),
    ("pool", "source.seed", 0, 2**32 - 1),
    ("fly", "scaling.exponent", 0, 3),
    ("fly", "reuse.lanes", 1, 16384),
    ("fly", "reuse.stride", 0, 63),
    ("step", "weights.frac", 0, 15),
    ("step", "zo.epsilon_log2", None, 0),
    ("step", "zo.coefficient_bits", 8, 25),
    ("step", "zo.coefficient_shift", 1, 24),
]
BEYOND = [
    (base, key, value)
    for base, key, least, most in RANGES
    for value in (
        None if least is None else least - 1,
        None if most is None else most + 1,
    )
    if value is not None
]
WORDS = [
    ("fly", "core.kind", ("perturbation",)),
    ("step", "core.kind", ("zo-step",)),
    ("fly", "source.rotation", ("clock", "period")),
    ("fly", "source.phases", ("auto", "seeded")),
    ("pool", "source.phases", ("auto", "seeded")),
    ("fly", "scaling.mode", ("group", "constant", "none")),
]


def put(mapping: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    section, _, name = key.partition(".")
    mapping.setdefault(section, {})[name] = value
    return mapping


def refusal(mapping: Any) -> str:
    with pytest.raises(PezoError) as caught:
        from_mapping(mapping, where="x.toml")
    return str(caught.value)


@pytest.mark.parametrize(("base", "key", "value"), BEYOND)
def test_number_out_of_range_is_refused(bases: Any, base: str, key: str, value: int) -> None:
    message = refusal(put(bases[base], key, value))
    assert re.fullmatch(
        rf"x\.toml: {re.escape(key)} must be an integer "
        rf"(from -?\d+ to \d+|of at least \d+|of at most \d+), not {value}; use -?\d+",
        message,
    )


@pytest.mark.parametrize(
    ("base", "key"),
    [(base, key) for base, key, _, _ in RANGES] + [("step", "weights.bits")],
)
@pytest.mark.parametrize(
    "value", [True, False, 8.0, 8.5, "8", "eight", [8], {"a": 8}, float("nan"), 1e300]
)
def test_only_an_integer_is_an_integer(bases: Any, base: str, key: str, value: Any) -> None:
    message = refusal(put(bases[base], key, value))
    assert re.fullmatch(
        rf"x\.toml: {re.escape(key)} must be (an integer.*|8 or 16), not .+; (use|write) .+",
        message,
    )


@pytest.mark.parametrize(("base", "key", "words"), WORDS)
def test_words(bases: Any, base: str, key: str, words: tuple[str, ...]) -> None:
    section, _, name = key.partition(".")
    for word in words:
        config = from_mapping(put(bases[base], key, word))
        assert getattr(getattr(config, section), name) == word
    for wrong in (words[0].upper(), "", 1, True, [words[0]], "x"):
        message = refusal(put(bases[base], key, wrong))
        assert re.fullmatch(
            rf'x\.toml: {re.escape(key)} must be ".+" or ".+", not .+; '
            r'(did you mean ".+"\?|choose one of them)',
            message,
        )


@pytest.mark.parametrize("key", ["core.name", "core.board"])
@pytest.mark.parametrize("value", [1, True, ["a"], {}, b"zcu102"])
def test_text_must_be_text(bases: Any, key: str, value: Any) -> None:
    message = refusal(put(bases["fly"], key, value))
    assert re.fullmatch(
        rf"x\.toml: {re.escape(key)} must be a string, not .+; write it as text in quotes", message
    )


def test_defaults(bases: Any) -> None:
    fly = from_mapping(bases["fly"])
    assert isinstance(fly.source, OnTheFlySource)
    assert (fly.source.seed, fly.source.phases, fly.source.rotation) == (1, "auto", "clock")
    assert (fly.source.polynomial, fly.source.leap) == (None, 1)
    assert (fly.scaling.mode, fly.scaling.exponent) == ("group", None)
    assert (fly.reuse.stride, fly.core.parameters) == (1, None)
    assert (fly.weights, fly.zo) == (None, None)
    step = from_mapping(bases["step"])
    assert step.zo is not None and step.weights is not None
    assert (step.zo.coefficient_bits, step.zo.coefficient_shift) == (18, 16)
    assert step.zo.epsilon == 2**-7
    assert step.weights.largest == 32767


def test_words_a_clock(bases: Any) -> None:
    assert from_mapping(bases["fly"]).words == 4
    pool = from_mapping(bases["pool"])
    assert isinstance(pool.source, PreGeneratedSource)
    assert pool.words == pool.source.words == 4


def test_stride_is_0_by_default_where_there_is_one_word(bases: Any) -> None:
    assert from_mapping(put(bases["fly"], "source.generators", 1)).reuse.stride == 0
    assert from_mapping(put(bases["pool"], "source.words", 1)).reuse.stride == 0
    assert from_mapping(put(bases["fly"], "reuse.stride", 0)).reuse.stride == 0


def test_stride_by_default_without_a_mapping(bases: Any) -> None:
    one = from_mapping(put(bases["fly"], "source.generators", 1))
    built = Config(core=one.core, source=one.source, reuse=ReuseConfig(lanes=16))
    assert built == one


def test_models_are_frozen(bases: Any) -> None:
    config = from_mapping(bases["step"])
    for model in (config, config.core, config.source, config.scaling, config.reuse, config.zo):
        assert model is not None
        with pytest.raises(pydantic.ValidationError, match="frozen"):
            setattr(model, next(iter(type(model).model_fields)), None)
    assert hash(config) == hash(from_mapping(bases["step"]))


def test_the_mapping_is_left_as_it_was(bases: Any) -> None:
    before = repr(bases)
    from_mapping(put(bases["fly"], "source.generators", 4))
    assert repr(bases) == before


def test_a_dump_reads_back(bases: Any) -> None:
    for base in bases.values():
        config = from_mapping(base)
        assert from_mapping(config.model_dump()) == config
        assert from_mapping(config.model_dump(mode="json")) == config
