"""The levels of ZOQO."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pezo_hw.config import from_mapping, to_toml
from pezo_hw.golden import zoqo
from pezo_hw.golden.step import StepCore
from tests.config.conftest import STEP

Levels = Callable[[NDArray[np.int64], int, int], NDArray[np.int64]]


def right(levels: Levels, *, bits: int, m: int) -> bool:
    """Whether levels are odd in the word, reach m and come as evenly as they can."""
    words = np.arange(-(2 ** (bits - 1)) + 1, 2 ** (bits - 1))
    found = levels(words, bits, m)
    values, counts = np.unique(found, return_counts=True)
    odd = np.array_equal(found, -found[::-1])
    reaches = values.tolist() == list(range(-m, m + 1))
    return odd and reaches and int(counts.max() - counts.min()) <= 1


@pytest.mark.parametrize("bits", [4, 5, 8, 12])
def test_levels(bits: int) -> None:
    for m in (1, 2, 3, 7, 2 ** (bits - 1) - 1):
        assert right(lambda u, b, m: zoqo.perturbation(u, bits=b, levels=m), bits=bits, m=m)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda u, b, m: (2 * m * (u + 2 ** (b - 1)) >> b) - m, id="2m levels"),
        pytest.param(lambda u, b, m: (2 * m + 1) * u >> b, id="floor of the signed word"),
        pytest.param(lambda u, b, m: np.rint(u / 2 ** (b - 1) * m).astype(int), id="rounded"),
        pytest.param(lambda u, _, m: np.clip(u, -m, m), id="clipped"),
    ],
)
def test_wrong_levels_are_seen(fault: Levels) -> None:
    assert not right(fault, bits=8, m=3)


def test_a_step_moves_by_whole_coefficients_against_the_sign() -> None:
    mapping = STEP | {"zo": {"update": "zoqo", "levels": 2}, "scaling": {"mode": "none"}}
    config = from_mapping(mapping)
    core = StepCore(config)
    weights = np.random.default_rng(1).integers(-(2**15), 2**15, 5000)
    p = core.sweep(np.zeros(5000, dtype=int), k=1).weights
    result = core.sweep(weights, coefficient=-300)
    moved = result.weights - weights
    free = np.abs(weights) < 2**15 - 301
    assert np.array_equal(moved[free], 300 * np.sign(p)[free])
    # A weight whose perturbation is 0 stays; one at the limit is kept there and counted.
    assert not moved[p == 0].any() and (p == 0).any()
    assert result.saturations == int((np.abs(weights + 300 * np.sign(p) + 0.5) > 2**15).sum()) > 0


def test_the_configuration_of_zoqo_is_written_and_read() -> None:
    import tomllib

    config = from_mapping(STEP | {"zo": {"update": "zoqo", "levels": 2}, "scaling": {}})
    assert config.zo is not None and config.zo.coefficient_bits == 16
    assert config.scaling.mode == "none"
    text = to_toml(config)
    assert "epsilon_log2" not in text and "coefficient_shift" not in text
    assert from_mapping(tomllib.loads(text)) == config
    dumped = config.model_dump(mode="json", exclude_none=True)
    assert from_mapping(dumped) == config
