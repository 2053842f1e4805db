"""Every check passes a sound source and catches a source that has its fault."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from pezo_hw import config
from pezo_hw.analysis import Analysis, analyse, analyse_config
from tests.analysis.sources import (
    GROUPS,
    WORDS,
    NoWrap,
    Recorded,
    TwoLanesAlike,
    Words,
    expected,
    one_shift,
    sound_words,
    with_bit,
)

PARAMETERS, STEPS = 64, 64
NO_SCALING = np.zeros(GROUPS, dtype=np.int64)


def judged(source: Recorded, **more: Any) -> Analysis:
    return analyse(source, expectation=expected(source, **more), parameters=PARAMETERS, steps=STEPS)


def verdicts(found: Analysis) -> dict[str, str]:
    return {check.name: check.verdict for check in found.checks}


def changed(change: Callable[[Words], Words], **more: Any) -> Callable[[], Analysis]:
    return lambda: judged(Recorded(change(sound_words())), **more)


def realigned() -> Analysis:
    # 2^17 weights take 128 groups of 1024 lanes, and 4096 words are 128 groups of 32.
    return analyse_config(
        config.load("zcu102-pregen", ["source.pool_size=4096"]), parameters=1 << 17, steps=32
    )


def flat(words: Words) -> Words:
    """Give each position every value equally often in 255 groups, for 510 groups."""
    order = np.random.default_rng(2)
    values = np.arange(-127, 128)
    columns = [
        np.concatenate([order.permutation(values) for _ in range(2)]) for _ in range(words.shape[1])
    ]
    return np.stack(columns, axis=1)


def one_word_off(words: Words) -> Words:
    words = flat(words)
    words[100, 3] += 1 if words[100, 3] < 0 else -1
    return words


def delayed(words: Words) -> Words:
    words[:, 5] = np.roll(words[:, 2], 3)
    return words


def shared(words: Words) -> Words:
    words[:, 5] = words[:, 2]
    return words


def shared_magnitude(words: Words) -> Words:
    signs = np.random.default_rng(3).choice([-1, 1], size=len(words))
    words[:, 5] = words[:, 2] * signs
    return words


def stuck_in_one_position(words: Words) -> Words:
    words[:, 4:5] = with_bit(words[:, 4:5], 2, 0)
    return words


def biased(words: Words) -> Words:
    return with_bit(words, 7, np.random.default_rng(4).random(words.shape) < 0.55)


def foreign(words: Words) -> Words:
    words[17, 3] = -128
    return words


def loud_and_quiet(words: Words) -> Words:
    words[: len(words) // 2] //= 4
    return words


def common_part(words: Words) -> Words:
    return (words // 4) + words[:1] // 2


def constant(words: Words) -> Words:
    return np.full_like(words, 73)


def unscaled() -> Analysis:
    return judged(Recorded(sound_words(), exponents=NO_SCALING), group_scaling=False, leftover=None)


def wrong_exponents() -> Analysis:
    words = sound_words()
    # The fault of floor(log2(...)) where floor(log2(...) + 1/2) is right.
    ratio = np.sqrt((words**2).sum(axis=1)) / 2**7 / 2.7412
    exponents = np.floor(-np.log2(ratio)).clip(0, 3).astype(np.int64)
    return judged(Recorded(words, exponents=exponents))


MAKE: dict[str, Callable[[], Analysis]] = {
    "repeats early": changed(lambda w: np.tile(w[:512], (8, 1))),
    "may repeat early": changed(lambda w: np.tile(w[:512], (8, 1)), least_period=False),
    "does not wrap": lambda: judged(NoWrap(sound_words())),
    "impossible word": changed(foreign),
    "shifted": changed(lambda w: np.minimum(w + 3, 127)),
    "one word off": changed(one_word_off, block=255),
    "small": changed(lambda w: w * 24 // 25),
    "two values": changed(lambda w: np.where(w < 0, -73, 73)),
    "stuck bit": changed(lambda w: with_bit(w, 0, 1)),
    "stuck bit in one position": changed(stuck_in_one_position),
    "biased bit": changed(biased),
    "too even": changed(flat),
    "one shift a word": lambda: judged(Recorded(one_shift(), bits=12)),
    "one shift a word, turning": lambda: analyse_config(
        config.load("zcu102-onthefly", ["source.polynomial=0x11d", "reuse.lanes=32"])
    ),
    "a few clocks apart": changed(delayed),
    "same word twice": changed(shared),
    "same magnitude": changed(shared_magnitude),
    "duplicated lane": lambda: judged(TwoLanesAlike(sound_words())),
    "wrong exponents": wrong_exponents,
    "two exponents for one": lambda: judged(Recorded(sound_words()), group_scaling=False),
    "no scaling": unscaled,
    "wrong leftover": changed(lambda w: w, leftover=0.87),
    "loud and quiet": lambda: judged(
        Recorded(loud_and_quiet(sound_words()), exponents=NO_SCALING),
        group_scaling=False,
        leftover=None,
    ),
    "realigned pool": realigned,
    "a common part": changed(common_part),
    "constant": changed(constant),
}
make = cache(lambda name: MAKE[name]())

CAUGHT = {
    "repeats early": {"period": "fail"},
    "may repeat early": {"period": "weak"},
    "does not wrap": {"period": "fail"},
    "impossible word": {"range": "fail"},
    "shifted": {"mean": "weak"},
    "one word off": dict.fromkeys(("mean", "variance", "kurtosis", "histogram"), "fail"),
    "small": {"variance": "weak"},
    "two values": {"kurtosis": "weak"},
    "stuck bit": {"histogram": "weak", "bits": "weak"},
    "stuck bit in one position": {"bits": "weak"},
    "biased bit": {"bits": "weak", "mean": "weak", "histogram": "weak"},
    "too even": {"histogram": "weak"},
    "one shift a word": {"lag-correlation": "weak"},
    "one shift a word, turning": {"neighbour-correlation": "weak"},
    "a few clocks apart": {"neighbour-correlation": "weak"},
    "same word twice": {"word-correlation": "weak", "lanes": "weak"},
    "same magnitude": {"square-correlation": "weak"},
    "duplicated lane": {"lanes": "weak", "rank": "weak"},
    "wrong exponents": {"exponents": "fail"},
    "two exponents for one": {"exponents": "fail"},
    "no scaling": {"group-norm": "weak", "scale": "weak"},
    "wrong leftover": {"leftover": "fail"},
    "loud and quiet": {"norm": "weak"},
    "realigned pool": {"directions": "weak", "rank": "weak", "participation": "weak"},
    "a common part": {"participation": "weak"},
    "constant": {
        "period": "fail",
        **dict.fromkeys(
            (
                "mean",
                "variance",
                "kurtosis",
                "histogram",
                "bits",
                "lag-correlation",
                "neighbour-correlation",
                "word-correlation",
                "square-correlation",
                "lanes",
                "directions",
                "rank",
                "participation",
            ),
            "weak",
        ),
    },
}


@pytest.mark.parametrize("name", MAKE)
def test_the_checks_catch(name: str) -> None:
    found = verdicts(make(name))
    assert {check: found[check] for check in CAUGHT[name]} == CAUGHT[name]


@pytest.mark.parametrize("seed", range(6))
def test_a_sound_source_passes_every_check(seed: int) -> None:
    found = verdicts(judged(Recorded(sound_words(seed))))
    assert set(found.values()) == {"pass"}, found


def test_a_flat_source_keeps_its_promise() -> None:
    found = verdicts(judged(Recorded(flat(sound_words())), block=255))
    promised = ("mean", "variance", "kurtosis", "histogram")
    assert [found[name] for name in promised] == ["pass"] * 4


def test_every_check_has_a_source_that_it_catches() -> None:
    names = set(verdicts(judged(Recorded(sound_words()))))
    assert {check for checks in CAUGHT.values() for check in checks} == names


def test_words_of_one_magnitude_pass() -> None:
    """+1 and -1 for each lane: no fourth moment to speak of, no squares, no table."""
    signs = np.random.default_rng(5).choice([-1, 1], size=(4099, 64))
    values, probabilities = np.array([-1, 1]), np.array([0.5, 0.5])
    source = Recorded(signs, bits=1, exponents=NO_SCALING)
    wanted = expected(source, leftover=1.0, group_scaling=False)
    found = analyse(
        source,
        expectation=type(wanted)(values, probabilities, leftover=1.0, least_period=True),
        parameters=PARAMETERS,
        steps=STEPS,
    )
    by_name = verdicts(found)
    assert by_name.pop("square-correlation") == "skipped"
    assert set(by_name.values()) == {"pass"}, by_name
    even = np.random.default_rng(7).permuted(np.repeat([-1, 1], 1024 * 64)).reshape(-1, 64)
    scaling = np.zeros(len(even), dtype=np.int64)
    balanced = analyse(Recorded(even, bits=1, exponents=scaling), expectation=found.expectation)
    assert (balanced.words.chi_square, verdicts(balanced)["histogram"]) == (0, "pass")
    heavy = np.where(np.random.default_rng(6).random((4099, 64)) < 0.55, 1, -1)
    found = analyse(Recorded(heavy, bits=1, exponents=NO_SCALING), expectation=found.expectation)
    assert [verdicts(found)[n] for n in ("mean", "histogram", "bits")] == ["weak"] * 3


def test_a_wide_source_without_reuse() -> None:
    """As many words as lanes, a period past 2^64, and more than all words can be compared."""

    class Endless(Recorded):
        def _indices(self, start: int, count: int) -> Any:
            return (start % 1021 + np.arange(count)) % 1021

    source = Endless(sound_words(groups=1021, words=600))
    source.period = 2**127 - 1
    values = expected(source)
    found = analyse(
        source,
        expectation=type(values)(
            values.values, values.probabilities, group_scaling=True, period_factors=(2**127 - 1,)
        ),
        parameters=10_000,
        steps=16,
    )
    assert found.starts == 2**127 - 1
    assert found.correlations.positions == 512
    assert found.directions is not None and found.directions.rank == 16
    assert found.to_json()["directions"] == 2**127 - 1
    assert WORDS < found.correlations.distinct_lanes == 600
