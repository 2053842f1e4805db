"""The C driver, compiled and run on simulated registers, does what the engine does."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import Config
from pezo_hw.driver import Description, Engine, c, dither_seed
from pezo_hw.driver.compile import library
from pezo_hw.registers import RegisterMap
from pezo_hw.train import host
from tests.driver.cores import golden, small

MAIN = Path(__file__).with_name("step.c")
COUNT, STEPS, START, SEED, RATE = 30, 12, 17, 5, 0.05


def _compile(place: Path, manifest: dict[str, Any], folder: Path) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    texts = c.files(
        Description.from_manifest(manifest), registers=RegisterMap.from_json(manifest["registers"])
    )
    for name, text in texts.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    shutil.copytree(folder / "registers", place / "registers")
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion"]
    # A core that does not come to rest is soon given up.
    flags += ["-Werror", "-DPEZO_POLLS=100000u", f"-I{place / c.FOLDER}"]
    program = place / "step"
    sources = [str(MAIN), str(place / c.FOLDER / "pezo.c")]
    done = subprocess.run(
        [compiler, *flags, *sources, "-o", str(program), "-ldl", "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


def _engine(config: Config, weights: Any, targets: Any) -> Engine:
    engine = Engine(golden(config), weights, start=START, seed=SEED)
    lsbs = 2.0**engine.description.arithmetic.frac
    for _ in range(STEPS):
        plus, minus = (
            float(np.abs(side - targets).sum()) / lsbs / len(targets) for side in engine.sides()
        )
        engine.step(plus, minus, lr=RATE)
    return engine


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(small(), id="in-place"),
        pytest.param(small("fused", tensors=4), id="fused"),
        pytest.param(small("inline-both", update="zoqo", bits=8), id="zoqo"),
    ],
)
def test_the_c_driver_trains_to_the_same_weights(
    config: Config,
    folder_of: Callable[[Config], Path],
    manifest_of: Callable[[Config], dict[str, Any]],
    tmp_path: Path,
) -> None:
    folder = folder_of(config)
    program = _compile(tmp_path, manifest_of(config), folder)
    assert config.weights is not None and config.zo is not None
    rng = np.random.default_rng(0)
    limit = 1 << (config.weights.bits - 2)
    weights, targets = rng.integers(-limit, limit, (2, COUNT))
    schedules = {"fused": ["fused", "inline", "inline-both"], "inline-both": ["inline-both"]}
    # A core of a schedule can do those before it.
    for schedule in schedules.get(config.zo.schedule, ["in-place"]):
        expected = _engine(config, weights, targets)
        dtype = f"<i{config.weights.bits // 8}"
        numbers = map(str, (STEPS, START, SEED, RATE, COUNT))
        done = subprocess.run(
            [str(program), str(library(folder)), schedule, *numbers],
            input=np.concatenate([weights, targets]).astype(dtype).tobytes(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        head, _, data = done.stdout.partition(b"\n")
        index, steps, saturations = map(int, head.split())
        assert np.array_equal(np.frombuffer(data, dtype), expected.weights)
        assert (index, steps) == (expected.index, STEPS)
        if schedule == config.zo.schedule != "fused":
            assert saturations == expected.saturations
    assert not np.array_equal(expected.weights, weights)


def test_the_headers_numbers_are_those_of_the_host() -> None:
    config = small()
    backend = golden(config)
    from pezo_hw.registers.description import register_map

    registers = register_map(config, model=backend.core.engine)
    text = c.core_header(backend.description, registers=registers)
    defined = dict(
        line.removeprefix("#define ").split(maxsplit=1)
        for line in text.splitlines()
        if line.startswith("#define PEZO_") and len(line.split()) == 3
    )
    gradient, rate = 0.37, 0.011
    scaled = (
        rate * float(defined["PEZO_LEFTOVER_SQUARED"]) * gradient * float(defined["PEZO_SCALE"])
    )
    arithmetic = backend.description.arithmetic
    assert round(scaled) == host.coefficient(
        gradient, rate=rate, bits=8, leftover=backend.description.leftover, arithmetic=arithmetic
    )
    assert float(defined["PEZO_EPSILON"]) == backend.description.epsilon
    assert int(defined["PEZO_PERIOD"].removesuffix("ull")) == backend.core.engine.period


def test_dither_seeds_differ_in_many_bits() -> None:
    seeds = [dither_seed(3, step) for step in range(2000)]
    assert len(set(seeds)) == len(seeds)
    changed = [(a ^ b).bit_count() for a, b in itertools.pairwise(seeds)]
    assert 15 < sum(changed) / len(changed) < 17
