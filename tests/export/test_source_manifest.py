"""The stream of every kind of core against one worked out anew from its manifest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pezo_hw.config import Config, from_mapping, load_preset
from pezo_hw.export import manifest
from pezo_hw.export.rtl import build
from pezo_hw.golden.engine import AnyEngine
from tests.export.recomputed import Source, mismatch, walk, wrong_exponents


def on_the_fly(
    bits: int,
    generators: int,
    *,
    rotation: str = "clock",
    phases: str = "seeded",
    seed: int = 1,
    **keys: Any,
) -> Source:
    return {
        "kind": "on-the-fly",
        "bits": bits,
        "generators": generators,
        "rotation": rotation,
        "phases": phases,
        "seed": seed,
        **keys,
    }


def pre_generated(
    bits: int, size: int, words: int, *, phases: str = "seeded", seed: int = 1
) -> Source:
    return {
        "kind": "pre-generated",
        "bits": bits,
        "pool_size": size,
        "words": words,
        "phases": phases,
        "seed": seed,
    }


def configured(
    source: Source, *, blocks: int = 2, stride: int | None = None, mode: str = "group"
) -> Config:
    words = source.get("generators") or source["words"]
    reuse = {"lanes": words * blocks}
    if stride is not None:
        reuse["stride"] = stride
    return from_mapping(
        {
            "core": {"name": "dut", "kind": "perturbation", "board": "zcu102"},
            "source": source,
            "scaling": {"mode": mode},
            "reuse": reuse,
        }
    )


def exported(config: Config) -> tuple[Source, AnyEngine]:
    core = build(config)
    # As a reader gets it: through JSON.
    return json.loads(json.dumps(manifest.source(core))), core.model


def check(config: Config, *, start: int, count: int) -> None:
    source, model = exported(config)
    assert mismatch(source, model, start=start, count=count) == ""


def check_whole(config: Config) -> None:
    """Compare a whole period and what comes around the wrap."""
    source, model = exported(config)
    assert mismatch(source, model, start=0, count=source["period"] + 3) == ""
    assert wrong_exponents(source, mode=config.scaling.mode, ks=range(source["period"])) == ""


def check_samples(config: Config, *, count: int) -> None:
    """Compare some groups from the beginning, around the wrap, and far beyond."""
    source, model = exported(config)
    period = source["period"]
    for start in (0, period - count // 2, 7 * period + period // 3, 10**15 + 1):
        assert mismatch(source, model, start=start, count=count) == "", start
        ks = range(start, start + count)
        if config.scaling.mode == "group":
            assert wrong_exponents(source, mode="group", ks=ks) == ""


@pytest.mark.parametrize("rotation", ["clock", "period"])
@pytest.mark.parametrize(
    ("bits", "generators"),
    [
        *((4, n) for n in range(1, 16)),
        *((5, n) for n in (1, 2, 3, 7, 15, 16, 17, 30, 31)),
        *((6, n) for n in (1, 3, 8, 21, 31, 33)),
    ],
)
def test_whole_periods_of_small_banks(bits: int, generators: int, rotation: str) -> None:
    check_whole(configured(on_the_fly(bits, generators, rotation=rotation)))


@pytest.mark.parametrize("generators", range(1, 65))
def test_every_number_of_generators(generators: int) -> None:
    rotation = ("clock", "period")[generators % 2]
    bits = 7 + generators % 2
    source = on_the_fly(bits, generators, rotation=rotation, seed=generators)
    check_samples(configured(source, blocks=1 + generators % 3), count=21)


@pytest.mark.parametrize("rotation", ["clock", "period"])
@pytest.mark.parametrize("bits", range(4, 17))
def test_every_word_size(bits: int, rotation: str) -> None:
    for generators in (1, 15):
        check_samples(configured(on_the_fly(bits, generators, rotation=rotation)), count=40)


@pytest.mark.parametrize("bits", [9, 12, 16])
def test_turns_a_period_apart(bits: int) -> None:
    """With ``rotation = "period"`` the turn falls between two groups in the middle of a call."""
    source, model = exported(configured(on_the_fly(bits, 5, rotation="period"), mode="none"))
    for turns in (1, 3, 5):
        start = turns * (2**bits - 1) - 4
        assert mismatch(source, model, start=start, count=9) == ""


@pytest.mark.parametrize("generators", [33, 64])
def test_banks_too_long_to_keep(generators: int) -> None:
    config = configured(on_the_fly(16, generators, rotation="period"), blocks=1, mode="none")
    source, model = exported(config)
    assert source["period"] * generators > 1 << 23
    for start in (0, 5 * 65535 - 9, source["period"] - 11, 123_456_789):
        assert mismatch(source, model, start=start, count=24) == ""


@pytest.mark.parametrize("phases", ["auto", "seeded"])
@pytest.mark.parametrize("mode", ["group", "constant", "none"])
def test_scaling_modes(mode: str, phases: str) -> None:
    for source in (
        on_the_fly(5, 3, phases=phases),
        on_the_fly(6, 16, phases=phases, rotation="period"),
        pre_generated(6, 61, 4, phases=phases),
        pre_generated(4, 64, 32, phases=phases),
    ):
        check_whole(configured(source, mode=mode))


@pytest.mark.parametrize("exponent", range(4))
def test_a_given_exponent(exponent: int) -> None:
    mapping = configured(on_the_fly(16, 4), mode="constant").model_dump(exclude_none=True)
    mapping["scaling"]["exponent"] = exponent
    source, model = exported(from_mapping(mapping))
    assert source["exponents"] == [exponent]
    assert mismatch(source, model, start=65530, count=10) == ""


@pytest.mark.parametrize(
    ("polynomial", "leap"),
    [(0x13, 1), (0x19, 7), (0x11D, 8), (0x11D, 1), (0x1053, 11), (0x1002D, 16), (0x1002D, 65534)],
)
def test_a_polynomial_and_a_leap(polynomial: int, leap: int) -> None:
    bits = polynomial.bit_length() - 1
    config = configured(on_the_fly(bits, 3, polynomial=polynomial, leap=leap))
    check_samples(config, count=20)

    # The registers are windows of `bits` bits on the polynomial's own sequence, a leap apart.
    stream = [1] + [0] * (bits - 1)
    length = min(40 * leap, 2**bits) + leap + bits
    while len(stream) < length:
        oldest = len(stream) - bits
        stream.append(sum(stream[oldest + i] for i in range(bits) if polynomial >> i & 1) % 2)
    states = walk(tuple(exported(config)[0]["matrix"]))
    for k in range(min(40, (2**bits - 1) // leap)):
        window = stream[k * leap : k * leap + bits]
        assert states[k] == sum(bit << i for i, bit in enumerate(window)), k


@pytest.mark.parametrize("bits", range(4, 17))
def test_the_manifest_names_the_polynomial(bits: int) -> None:
    source, _ = exported(configured(on_the_fly(bits, 2)))
    polynomial, states = source["polynomial"], walk(tuple(source["matrix"]))
    assert polynomial.bit_length() == bits + 1
    assert len(states) == 2**bits - 1
    for bit in range(bits):
        stream = [state >> bit & 1 for state in (states * 2)[: 3 * bits + 50]]
        for k in range(len(stream) - bits):
            tapped = sum(stream[k + i] for i in range(bits) if polynomial >> i & 1)
            assert stream[k + bits] == tapped % 2


POOL_SIZES = sorted(
    {2, 3, 5, 61, 251, 509, 1021, 2039, 4093, 4095, 4097}
    | {2**n + d for n in range(2, 9) for d in (-1, 0, 1)}
)


@pytest.mark.parametrize("size", POOL_SIZES)
def test_whole_pools(size: int) -> None:
    for words in {1, 2, 3, 31, 32, 33, 64, size}:
        if words <= min(size, 64) and size * words < 2**16:
            bits = 4 + size % 13
            check_whole(configured(pre_generated(bits, size, words), blocks=1))


@pytest.mark.parametrize("words", range(1, 65))
def test_every_number_of_words_from_a_pool(words: int) -> None:
    for size in (64, 67, 6 * words):
        if size >= words:
            config = configured(pre_generated(4 + words % 13, max(size, 2), words))
            check_samples(config, count=12)


@pytest.mark.parametrize("size", [8191, 8192, 8193, 32749, 65521, 65535, 65536])
@pytest.mark.parametrize("words", [1, 32, 33, 64])
def test_large_pools(size: int, words: int) -> None:
    source = pre_generated(8, size, words)
    check_samples(configured(source, blocks=1), count=12)


PRESETS = ["tiny", "zcu102-onthefly", "zcu102-pregen", "zcu102-step"]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    config = load_preset(preset)
    source, model = exported(config)
    assert mismatch(source, model, start=source["period"] - 3, count=9) == ""
    assert wrong_exponents(source, mode="group", ks=range(source["period"])) == ""


@st.composite
def configurations(draw: st.DrawFn) -> Config:
    bits = draw(st.integers(4, 16))
    phases = draw(st.sampled_from(["seeded", "seeded", "auto"] if bits < 12 else ["seeded"]))
    seed = draw(st.integers(0, 2**32 - 1))
    if draw(st.booleans()):
        words = draw(st.integers(1, min(64, 2**bits - 1)))
        rotation = draw(st.sampled_from(["clock", "period"]))
        source = on_the_fly(bits, words, rotation=rotation, phases=phases, seed=seed)
    else:
        size = draw(st.one_of(st.integers(2, 300), st.integers(2, 65536)))
        words = draw(st.integers(1, min(64, size)))
        if size > 1000:
            phases = "seeded"
        source = pre_generated(bits, size, words, phases=phases, seed=seed)
    return configured(
        source,
        blocks=draw(st.integers(1, 9)),
        stride=draw(st.integers(0, words - 1)),
        mode=draw(st.sampled_from(["group", "group", "constant", "none"])),
    )


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(configurations(), st.integers(0, 2**70), st.integers(1, 30))
def test_any_configuration_from_any_start(config: Config, start: int, count: int) -> None:
    check(config, start=start, count=count)


def reversed_taps(source: Source) -> Source:
    bits = source["bits"]
    rows = [int(f"{row:0{bits}b}"[::-1], 2) for row in source["matrix"]]
    return source | {"matrix": rows}


def tap_off_by_one(source: Source) -> Source:
    first, *others = source["matrix"]
    bits = source["bits"]
    return source | {"matrix": [(first << 1 | first >> (bits - 1)) % 2**bits, *others]}


def turned(source: Source) -> Source:
    return source | {"states": source["states"][1:] + source["states"][:1]}


def other_rotation(source: Source) -> Source:
    other = {"clock": "period", "period": "clock"}[source["rotation"]]
    return source | {"rotation": other}


def one_draw_more(source: Source) -> Source:
    if source["pool"] is None:
        states = walk(tuple(source["matrix"]))
        after = {state: states[(t + 1) % len(states)] for t, state in enumerate(states)}
        return source | {"states": [after[state] for state in source["states"]]}
    return source | {"pool": source["pool"][1:] + source["pool"][:1]}


def wrap_at_power_of_two(source: Source) -> Source:
    size = len(source["pool"])
    return source | {"pool": source["pool"] + [0] * ((1 << size.bit_length()) - size)}


def short_wrap(source: Source) -> Source:
    return source | {"pool": source["pool"][:-1]}


def late_exponents(source: Source) -> Source:
    return source | {"exponents": source["exponents"][1:] + source["exponents"][:1]}


def next_stride(source: Source) -> Source:
    return source | {"stride": source["stride"] + 1}


def lower_half(source: Source) -> Source:
    return source | {"bits": source["bits"] - 1} if source["pool"] is None else source


BANK_FAULTS = [reversed_taps, tap_off_by_one, turned, other_rotation, one_draw_more]
POOL_FAULTS = [one_draw_more, wrap_at_power_of_two, short_wrap]
ANY_FAULTS = [late_exponents, next_stride]


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        pytest.param(configured(source, blocks=3), fault, id=f"{source['kind']}-{fault.__name__}")
        for source, faults in (
            (on_the_fly(6, 3), [*BANK_FAULTS, *ANY_FAULTS, lower_half]),
            (on_the_fly(6, 3, rotation="period"), [other_rotation]),
            (pre_generated(6, 61, 4), [*POOL_FAULTS, *ANY_FAULTS]),
        )
        for fault in faults
    ],
)
def test_faults_are_seen(config: Config, fault: Callable[[Source], Source]) -> None:
    source, model = exported(config)
    count = source["period"] + 3
    assert mismatch(source, model, start=0, count=count) == ""
    assert mismatch(fault(source), model, start=0, count=count) != ""


@pytest.mark.parametrize("fault", ["late", "low", "collapsed"])
def test_wrong_exponents_are_seen(fault: str) -> None:
    source, _ = exported(configured(pre_generated(6, 61, 4)))
    exponents = source["exponents"]
    assert len(set(exponents)) > 1
    wrong = {
        "late": exponents[-1:] + exponents[:-1],
        # floor where the contract says round: one less for about half the groups
        "low": [max(0, e - (k % 2)) for k, e in enumerate(exponents)],
        "collapsed": exponents[:1],
    }[fault]
    assert wrong_exponents(source | {"exponents": wrong}, mode="group", ks=range(61)) != ""
