"""Warnings: the weak is named, the suggested is legal and better, the good is silent."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pezo_hw import config as configuration
from pezo_hw.config import advice, from_mapping, load
from pezo_hw.config.starts import config_starts, is_prime, period


def follow(config: configuration.Config, keys: str) -> configuration.Config:
    """Return the configuration after a suggestion "a.b = 1 with c.d = 2"."""
    mapping = config.model_dump()
    for name, value in re.findall(r"([a-z_.]+) = (\d+)", keys):
        section, _, key = name.partition(".")
        mapping[section][key] = int(value)
    return from_mapping(mapping)


def suggestions(line: str) -> list[str]:
    return line.partition("; use ")[2].split(" or ")


@pytest.mark.parametrize("preset", ["zcu102-onthefly", "zcu102-pregen", "zcu102-step"])
def test_presets_for_hardware_have_no_warnings(preset: str) -> None:
    assert configuration.warnings(load(preset)) == []


@pytest.mark.parametrize(
    ("preset", "parameters", "starts"),
    [
        ("zcu102-pregen", 4095 * 1024, 1),
        ("zcu102-pregen", 2040 * 1024, 273),
        ("zcu102-onthefly", 23 * 1024 + 1, 340),
        ("zcu102-onthefly", 4095 * 1024, 544),
        ("zcu102-step", 1_000_000, 816),
        ("tiny", 2410, 5),
    ],
)
def test_few_starts(preset: str, parameters: int, starts: int) -> None:
    config = load(preset, [f"core.parameters={parameters}"])
    line = configuration.warnings(config)[0]
    length = period(config.source)
    assert re.match(
        rf"core\.parameters = {parameters}: training visits only {starts} of {length} start "
        r"positions, because a pass takes \d+ groups; use ",
        line,
    )
    assert suggestions(line)
    for keys in suggestions(line):
        better = follow(config, keys)
        promised = re.search(r"\(then (\d+)\)$", keys)
        assert promised is not None and config_starts(better) == int(promised[1])
        assert not advice.few_starts(better)
        assert all("training visits" not in other for other in configuration.warnings(better))


@pytest.mark.parametrize("parameters", [1024 * 1025, 2410, 11_169])
def test_enough_starts_are_silent(parameters: int) -> None:
    assert configuration.warnings(load("zcu102-onthefly", [f"core.parameters={parameters}"])) == []


def test_the_threshold(pre_generated: Any) -> None:
    def few(size: int, parameters: int) -> bool:
        pre_generated["source"] |= {"pool_size": size, "words": 1}
        pre_generated["reuse"]["lanes"] = 1
        pre_generated["core"]["parameters"] = parameters
        return advice.few_starts(from_mapping(pre_generated))

    assert few(999, 1) and not few(1000, 1)
    assert not few(10 * 1001, 10) and few(11 * 1001, 11)
    assert few(65527, 13 * 7) is False


def test_better_pool_size_is_the_nearest_prime_that_fits(pre_generated: Any) -> None:
    for size in (100, 1000, 1024, 4095, 4096, 65536):
        pre_generated["source"] |= {"pool_size": size, "words": 4}
        config = from_mapping(pre_generated)
        better = advice.better_pool_size(config)
        assert better is not None and is_prime(better) and better != size
        below = [n for n in range(2, size) if is_prime(n)][-1]
        assert abs(better - size) <= size - below
        assert (better - 1).bit_length() <= (size - 1).bit_length()


def test_better_pool_size_avoids_primes_that_divide_the_pass(pre_generated: Any) -> None:
    # 4093 is the nearest prime, but a pass of 4093 groups always starts at the same word.
    pre_generated["source"] |= {"pool_size": 4096, "words": 4}
    pre_generated["reuse"]["lanes"] = 4
    pre_generated["core"]["parameters"] = 4 * 4093
    assert advice.better_pool_size(from_mapping(pre_generated)) == 4091


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_tiny_pools_do_not_break_the_search(pre_generated: Any, size: int) -> None:
    pre_generated["source"] |= {"pool_size": size, "words": size}
    pre_generated["reuse"]["lanes"] = size
    for line in configuration.warnings(from_mapping(pre_generated)):
        assert line.startswith(f"source.pool_size = {size} ")


@pytest.mark.parametrize(
    ("size", "words", "pattern"),
    [
        (
            4096,
            3,
            r"source\.pool_size = 4096 is a power of two, so that the pool re-aligns with tensors "
            r"of such sizes; use a prime, e\.g\. 4093",
        ),
        (
            4095,
            6,
            r"source\.pool_size = 4095 shares the factor 3 with source\.words = 6, so that the "
            r"groups repeat after 1365 instead of 4095; use a prime, e\.g\. 4093",
        ),
        (
            64,
            4,
            r"source\.pool_size = 64 is a power of two, .+ and shares the factor 4 with "
            r"source\.words = 4, .+; use a prime, e\.g\. 61",
        ),
    ],
)
def test_weak_pool_sizes(pre_generated: Any, size: int, words: int, pattern: str) -> None:
    pre_generated["source"] |= {"pool_size": size, "words": words}
    pre_generated["reuse"]["lanes"] = words
    lines = configuration.warnings(from_mapping(pre_generated))
    assert len(lines) == 1 and re.fullmatch(pattern, lines[0]), lines


def test_generators_not_coprime_to_the_period(on_the_fly: Any) -> None:
    on_the_fly["source"] |= {"generators": 6, "bits": 8}
    on_the_fly["reuse"]["lanes"] = 12
    config = from_mapping(on_the_fly)
    (line,) = configuration.warnings(config)
    assert re.fullmatch(
        r"source\.generators = 6 is not coprime to the period 2\^bits - 1 = 255: the groups repeat "
        r"after 510 instead of 1530; use source\.generators = 4 or source\.bits = 7 "
        r'or source\.rotation = "period"',
        line,
    )
    for keys in suggestions(line)[:2]:
        assert configuration.warnings(follow(config, keys)) == []
    on_the_fly["source"]["rotation"] = "period"
    assert configuration.warnings(from_mapping(on_the_fly)) == []


def test_a_polynomial_does_not_stop_the_search(on_the_fly: Any) -> None:
    on_the_fly["source"] |= {"polynomial": 0x11D, "leap": 7}
    on_the_fly["core"]["parameters"] = 255 * 16
    (line,) = configuration.warnings(from_mapping(on_the_fly))
    assert "source.bits" in line


def test_variant_leaves_the_original_alone(on_the_fly: Any) -> None:
    config = from_mapping(on_the_fly)
    before = config.model_dump()
    assert advice.variant(config, reuse__lanes=8) is not None
    assert advice.variant(config, reuse__lanes=9) is None
    assert config.model_dump() == before
