"""The optimiser's perturbations are what `pezo vectors` writes, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.cli.main import main
from pezo_hw.config import load
from pezo_hw.golden import reuse
from pezo_hw.golden.tensors import Settings, Tensor
from pezo_hw.train import sources
from pezo_hw.train.numpy import ZO

EPS = 2.0**-6
# Neither is a multiple of 24 lanes, and together they are not either.
SHAPES = ((7, 5), (13,), (41, 3))
CONFIGS: dict[str, list[str]] = {
    "on the fly": ["reuse.lanes=24"],
    "on the fly, live exponents": ["reuse.lanes=24", "source.phases=seeded", "source.seed=3"],
    "on the fly, signs": ["reuse.lanes=24", "reuse.signs=true"],
    "few words": [
        "source.generators=3",
        "source.bits=5",
        "reuse.lanes=24",
        "scaling.mode=none",
    ],
}
POOL = ["source.pool_size=101", "source.words=8", "reuse.lanes=24", "reuse.stride=3"]


def _config(name: str) -> tuple[str, list[str]]:
    if name == "pool":
        return "zcu102-pregen", POOL
    few = ["source.generators=8", "source.bits=6"] if name != "few words" else []
    return "zcu102-onthefly", few + CONFIGS[name]


def _vectors(path: Path, name: str, *, start: int, groups: int) -> Any:
    preset, overrides = _config(name)
    sets = [part for override in overrides for part in ("--set", override)]
    command = ["vectors", preset, "--groups", str(groups), "--start", str(start)]
    assert main([*command, "-o", str(path), "--force", *sets]) == 0
    with np.load(path) as archive:
        return archive["lanes"]


def _plus_sides(optimiser: Any, read: Any, steps: int) -> list[Any]:
    """Return theta + eps z of each step; the loss is constant, so theta stays 0."""
    seen = []

    def loss() -> float:
        seen.append(read())
        return 1.0

    for _ in range(steps):
        optimiser.step(loss)
    return seen[::2]


@pytest.mark.parametrize("name", [*CONFIGS, "pool"])
def test_perturbations_equal_the_vectors_over_steps(name: str, tmp_path: Path) -> None:
    preset, overrides = _config(name)
    config = load(preset, overrides)
    arrays = [np.zeros(shape, dtype=np.float32) for shape in SHAPES]
    optimiser = ZO(arrays, source=config, lr=0.1, eps=EPS, seed=2, variant="replay")
    source = optimiser.stepper.source
    assert isinstance(source, sources.PezoSource)

    def read() -> Any:
        return np.concatenate([array.ravel() for array in arrays])

    length = read().size
    groups = -(-length // 24)
    starts = [optimiser.stepper.start]
    for _ in range(4):
        starts.append((starts[-1] + groups) % source.engine.period)
    seen = _plus_sides(optimiser, read, 3)
    # Going on from a state that was stored is the same as not stopping.
    later = ZO(arrays, source=config, lr=0.1, eps=EPS, variant="replay")
    later.load_state_dict(optimiser.state_dict())
    seen += _plus_sides(later, read, 2)
    scale = np.float32(EPS * source.factor * source.engine.scale)
    for start, found in zip(starts, seen, strict=True):
        lanes = _vectors(tmp_path / "v.npz", name, start=start, groups=groups)
        expected = (lanes.ravel()[:length] * scale).astype(np.float32)
        assert np.array_equal(found.view(np.uint32), (expected + 0.0).view(np.uint32))


def test_a_source_one_group_late_is_found(tmp_path: Path) -> None:
    class Late(sources.PezoSource):
        def _groups(self, start: int, first: int, count: int, *, bits: int) -> Any:
            return super()._groups(start + 1, first, count, bits=bits)

    preset, overrides = _config("pool")
    lanes = _vectors(tmp_path / "v.npz", "pool", start=0, groups=3)
    row = np.empty(72, dtype=np.float32)
    right, late = (make(load(preset, overrides)) for make in (sources.PezoSource, Late))
    right.fill(row, start=0, first=0, scale=1 / right.engine.scale)
    assert np.array_equal(row, lanes.ravel())
    late.fill(row, start=0, first=0, scale=1 / right.engine.scale)
    assert not np.array_equal(row, lanes.ravel())


def test_chunks_join_without_a_seam() -> None:
    source = sources.PezoSource(load(*_config("on the fly, signs")))
    source.chunk = 10 * source.grain
    whole = np.empty(source.grain * 35 + 5, dtype=np.float32)
    for first in range(0, whole.size, source.chunk):
        source.fill(whole[first : first + source.chunk], start=4090, first=first, scale=1.0)
    lanes = source.engine.lanes(4090, 36).ravel()[: whole.size]
    assert np.array_equal(whole, (lanes * source.engine.scale).astype(np.float32))


def test_a_seeded_source_takes_the_next_seed_each_step() -> None:
    config = load("zcu102-wide", ["reuse.lanes=64"])
    source = sources.PezoSource(config)
    start = source.first(0)
    assert source.after(start, 1000) == start + 1
    row = np.empty(150, dtype=np.float32)
    source.fill(row, start=7, first=0, scale=1 / source.engine.scale)
    source.engine.start(7)
    assert np.array_equal(row, source.engine.lanes(0, 3).ravel()[:150])


@pytest.mark.parametrize("name", ["on the fly, live exponents", "pool"])
def test_fewer_word_bits_and_strength_are_those_of_the_tensor_table(name: str) -> None:
    config = load(*_config(name))
    source = sources.PezoSource(config)
    engine = source.engine
    bits, strength = engine.bits - 3, 2
    row = np.empty(6 * source.grain, dtype=np.float32)
    source.fill(row, start=5, first=0, scale=2.0**strength / engine.scale, bits=bits)
    table = Settings.of([Tensor(beats=6, strength=strength, word_bits=bits)], beats=6)
    words = table.words(engine.scaled(5, 6), bits=engine.bits, exponents=engine.exponents(5, 6))
    lanes = reuse.spread(words, lanes=source.grain, stride=engine.stride)
    assert np.array_equal(row, lanes.ravel())


def test_levels_are_uniform_odd_and_those_of_the_core() -> None:
    source = sources.PezoSource(load("zcu102-onthefly", ["reuse.lanes=32", "scaling.mode=none"]))
    row = np.empty(source.engine.period * 32, dtype=np.int32)
    source.levels(row, start=0, first=0, most=2)
    counts = np.bincount(row + 2, minlength=5)
    assert len(counts) == 5
    assert counts.max() - counts.min() <= 0.03 * counts.mean()
    assert counts[0] == counts[4] and counts[1] == counts[3]


def test_random_sources_have_their_moments_and_repeat() -> None:
    for name, mean_square, kurtosis in (
        ("gaussian", 1, 3),
        ("rademacher", 1, 1),
        ("uniform", 1 / 3, 1.8),
    ):
        source = sources.source_of(name)
        row, again = np.empty((2, 100_000), dtype=np.float32)
        source.fill(row, start=3, first=0, scale=1.0)
        source.fill(again, start=3, first=0, scale=1.0)
        assert np.array_equal(row, again)
        source.fill(again, start=4, first=0, scale=1.0)
        assert not np.array_equal(row, again)
        assert abs(row.mean()) < 0.01
        assert (row**2).mean() == pytest.approx(mean_square, rel=0.02)
        assert (row**4).mean() / (row**2).mean() ** 2 == pytest.approx(kurtosis, rel=0.05)
