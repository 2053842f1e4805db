"""The host's part of a step, and a short training on real digits."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import load
from pezo_hw.errors import PezoError
from pezo_hw.golden.step import Arithmetic, StepCore
from pezo_hw.train import data, host
from pezo_hw.train.mlp import Mlp

MODEL = Mlp((64, 16, 10))


def _arithmetic() -> Arithmetic:
    return Arithmetic.of(load("zcu102-step"))


def test_loss_and_accuracy_follow_their_definitions() -> None:
    rng = np.random.default_rng(0)
    weights = MODEL.initial(seed=0)
    x = rng.normal(size=(5, 64)).astype(np.float32)
    y = np.array([0, 3, 9, 9, 1])
    first, rest = weights[: 64 * 16].reshape(64, 16), weights[64 * 16 :]
    bias, second = rest[:16], rest[16 : 16 + 160].reshape(16, 10)
    logits = np.maximum(x @ first + bias, 0) @ second + rest[16 + 160 :]
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert MODEL.parameters == len(weights) == 65 * 16 + 17 * 10
    assert MODEL.loss(weights, x, y) == pytest.approx(
        -np.log(chances[np.arange(5), y]).mean(), rel=1e-5
    )
    assert MODEL.accuracy(weights, x, y) == (logits.argmax(axis=1) == y).mean()


def test_fixed_point_goes_there_and_back() -> None:
    arithmetic = _arithmetic()
    lsb = 2.0**-arithmetic.frac
    values = np.array([0.0, lsb, -lsb, 0.4 * lsb, 100.0, -100.0])
    fixed = host.to_fixed(values, arithmetic=arithmetic)
    assert fixed.tolist() == [0, 1, -1, 0, arithmetic.weight_max, -arithmetic.weight_max - 1]
    assert np.array_equal(
        host.to_fixed(host.to_float(fixed, arithmetic=arithmetic), arithmetic=arithmetic), fixed
    )


def test_the_coefficient_gives_the_update_of_a_unit_perturbation() -> None:
    core = StepCore(load("zcu102-step"))
    engine, arithmetic = core.engine, core.arithmetic
    gradient, rate = 1.7, 1e-3
    coefficient = host.coefficient(
        gradient, rate=rate, bits=engine.bits, leftover=engine.leftover, arithmetic=arithmetic
    )
    scaled = engine.scaled(0, engine.period).astype(float)
    update = scaled * coefficient / 2.0 ** (arithmetic.shift + arithmetic.frac)
    # theta -= rate (leftover g) (leftover z): its root mean square over a period is exact.
    expected = rate * gradient * engine.leftover
    assert np.sqrt((update**2).mean()) == pytest.approx(expected, rel=1e-3)
    # And it points along z.
    assert (update * scaled).sum() > 0


def test_the_coefficient_is_limited_to_its_port() -> None:
    arithmetic = _arithmetic()
    for gradient in (1e9, -1e9):
        limited = host.coefficient(gradient, rate=1.0, bits=8, leftover=1.0, arithmetic=arithmetic)
        arithmetic.check_coefficient(limited)
        assert limited == np.sign(gradient) * (2 ** (arithmetic.coefficient_bits - 1) - 1)


def _train(steps: int, *, sign: int = 1) -> tuple[float, float, int]:
    """Train in place; return the loss on the test images before and after, and saturations."""
    config = load("zcu102-step")
    core, digits = StepCore(config), data.digits()
    arithmetic, engine = core.arithmetic, core.engine
    assert config.zo is not None
    weights = host.to_fixed(MODEL.initial(seed=0), arithmetic=arithmetic)
    rng = np.random.default_rng(0)
    saturations = 0

    def loss(fixed: Any, x: Any, y: Any) -> float:
        return MODEL.loss(host.to_float(fixed, arithmetic=arithmetic), x, y)

    before = loss(weights, digits.test_x, digits.test_y)
    for step in range(steps):
        batch = rng.integers(0, len(digits.train_y), 64)
        x, y = digits.train_x[batch], digits.train_y[batch]
        plus = core.sweep(weights, k=1)
        minus = core.sweep(plus.weights, k=-2)
        gradient = host.projected_gradient(
            loss(plus.weights, x, y),
            loss(minus.weights, x, y),
            epsilon=config.zo.epsilon,
        )
        coefficient = host.coefficient(
            gradient, rate=3e-3, bits=engine.bits, leftover=engine.leftover, arithmetic=arithmetic
        )
        after = core.sweep(
            minus.weights, k=1, coefficient=sign * coefficient, dither_seed=step, capture=True
        )
        weights = after.weights
        saturations += plus.saturations + minus.saturations + after.saturations
    return before, loss(weights, digits.test_x, digits.test_y), saturations


def test_training_on_real_digits_lowers_the_loss() -> None:
    before, after, saturations = _train(400)
    assert saturations == 0
    assert after < 0.75 * before


def test_an_update_added_instead_of_subtracted_is_found() -> None:
    before, after, _ = _train(100, sign=-1)
    assert after > before


def test_digits_are_split_without_overlap() -> None:
    digits = data.digits()
    assert digits.train_x.shape == (1437, 64)
    assert digits.test_x.shape == (360, 64)
    assert set(digits.train_y) == set(digits.test_y) == set(range(10))
    assert -1 <= digits.train_x.min() < digits.train_x.max() <= 1


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.startswith("sklearn"):
            raise ModuleNotFoundError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(PezoError, match=r"scikit-learn is missing; pip install"):
        data.digits()
