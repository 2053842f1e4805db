"""Adapters on linear layers: they begin where the model is, and only they are trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pezo_hw.errors import PezoError

torch = pytest.importorskip("torch", reason="torch is not installed")

# Only now: these need torch.
from pezo_hw.train import lora  # noqa: E402
from pezo_hw.train.torch import ZO  # noqa: E402
from tests.train.small_models import (  # noqa: E402
    CORE,
    bytes_of,
    loss_of,
    one_thread,  # noqa: F401
    samples,
    small_model,
)


@pytest.mark.parametrize("start", lora.STARTS)
def test_adapters_begin_where_the_model_is_and_only_they_are_trained(start: str) -> None:
    model = small_model()
    x, _ = samples()
    with torch.no_grad():
        before = model(x)
    assert lora.adapt(model, "2", rank=2, start=start) == ["2"]
    with torch.no_grad():
        assert torch.allclose(model(x), before, atol=1e-5)
    trained = lora.trainable(model)
    assert [name for name, _ in trained] == ["2.lora_a", "2.lora_b"]
    assert sum(tensor.numel() for _, tensor in trained) == 2 * (5 + 3)
    frozen = {n: p.clone() for n, p in model.named_parameters() if not p.requires_grad}
    optimiser = ZO(trained, source=CORE, lr=0.02, eps=1e-3)
    losses = [optimiser.step(loss_of(model)) for _ in range(300)]
    assert losses[-1] < losses[0]
    assert all(torch.equal(p, frozen[n]) for n, p in model.named_parameters() if n in frozen)
    with torch.no_grad():
        after = model(x)
        lora.merge(model)
        assert torch.allclose(model(x), after, atol=1e-5)
    assert not any("lora" in name for name, _ in model.named_parameters())


def test_the_usual_start_of_adapters_hides_a() -> None:
    for start, least in (("zero", 0.0), ("balanced", 1e-4)):
        model = small_model()
        lora.adapt(model, "2", rank=2, start=start)
        loss_of(model)().backward()
        slope = float(model.get_submodule("2").lora_a.grad.abs().max())
        assert slope == least if start == "zero" else slope > least


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pattern": "head.*"}, "the pattern of adapters must match a linear layer, such as 0"),
        ({"rank": 0}, "the rank of adapters must be an integer of at least 1, not 0; use 1$"),
        ({"rank": 1.5}, "the rank of adapters must be an integer of at least 1, not 1.5; use 2$"),
        (
            {"rank": 4},
            "the rank of adapters must be at most 3, the smaller side of the layer 2 of 5 inputs "
            "and 3 outputs, not 4; use 3 or less, or a pattern without this layer$",
        ),
        ({"rank": 10**9, "pattern": "0"}, "the rank of adapters must be at most 5, .* layer 0 of"),
        ({"alpha": -1}, "alpha must be a positive number, not -1; give e.g. 1$"),
        ({"seed": -1}, "the seed of adapters must be an integer from 0 to "),
        ({"start": "x"}, "the start of adapters must be balanced or zero, not 'x'"),
        ({"pattern": None}, "the pattern of adapters must be text such as 'blocks.*', or a list"),
    ],
)
def test_wrong_adapters_are_refused(change: dict[str, Any], message: str) -> None:
    model = small_model()
    with pytest.raises(PezoError, match=f"^{message}"):
        lora.adapt(model, **({"rank": 1} | change))
    # Nothing was changed on the way.
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert bytes_of(model) == bytes_of(small_model())
    lora.adapt(model, rank=3)


def _tied() -> Any:
    """Return a model whose head is the embedding's matrix, as in GPT-2."""
    layers = {"embedding": torch.nn.Embedding(20, 8), "middle": torch.nn.Linear(8, 8)}
    model = torch.nn.ModuleDict(layers | {"head": torch.nn.Linear(8, 20, bias=False)})
    model.head.weight = model.embedding.weight
    return model


def _states(model: Any) -> tuple[Any, ...]:
    flags = tuple(parameter.requires_grad for parameter in model.parameters())
    return bytes_of(model), flags, str(model)


def _adapted() -> Any:
    model = small_model()
    lora.adapt(model, "0", rank=1)
    return model


@pytest.mark.parametrize("start", lora.STARTS)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            _tied,
            "the layer head must have a weight of its own for an adapter, but shares it with "
            "embedding.weight; give a pattern without this layer$",
        ),
        (
            lambda: torch.nn.Linear(4, 4),
            r"a model to adapt must hold its linear layers, not be one itself; give torch.nn.Seq",
        ),
        (
            _adapted,
            "a model must have no adapters yet, but the layer 0 has one; give all patterns at once,"
            " or call lora.merge first$",
        ),
        (
            lambda: torch.nn.Sequential(
                torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 4))
            ),
            "the layer 0 must have a weight of its own, not one that is made when it is used; ",
        ),
    ],
)
def test_layers_that_can_have_no_adapter_are_refused(make: Any, message: str, start: str) -> None:
    model = make()
    before = _states(model)
    with pytest.raises(PezoError, match=f"^{message}"):
        lora.adapt(model, rank=1, start=start)
    assert _states(model) == before


def test_a_layer_beside_a_tied_one_can_be_adapted() -> None:
    model = _tied()
    assert lora.adapt(model, "middle", rank=2) == ["middle"]
    assert model.head.weight is model.embedding.weight
    with torch.device("meta"):  # no memory that could be the same
        model = _tied()
    with pytest.raises(PezoError, match=r"^the layer head must have a weight of its own for an "):
        lora.adapt(model, rank=1)
    assert lora.adapt(model, "middle", rank=1) == ["middle"]
    with pytest.raises(PezoError, match=r"^a model to adapt must be a torch.nn.Module, not 3$"):
        lora.adapt(3, rank=1)
    with pytest.raises(PezoError, match=r"^a model to merge must hold its adapters, not be one"):
        lora.merge(model.middle)


@torch.no_grad()
def _trained(model: Any, x: Any, *, pattern: str = "*") -> list[str]:
    """Adapt, train and merge; outputs must go on where they were."""
    before = model(x)
    names = lora.adapt(model, pattern, rank=1)
    assert torch.allclose(model(x), before, atol=1e-5)
    optimiser = ZO(lora.trainable(model), source=CORE, lr=0.1, eps=1e-2)
    for _ in range(5):
        optimiser.step(lambda: (model(x)[..., 0]).mean() * 2)
    trained = model(x)
    assert not torch.allclose(trained, before, atol=1e-3)
    lora.merge(model)
    assert torch.allclose(model(x), trained, atol=1e-5)
    assert not any("lora" in name for name, _ in model.named_parameters())
    return names


@pytest.mark.parametrize("pattern", ["*", "2"])
def test_a_layer_in_two_places_has_one_adapter(pattern: str) -> None:
    layer = torch.nn.Linear(4, 4)
    model = torch.nn.Sequential(layer, torch.nn.Tanh(), layer)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))
    assert _trained(model, x, pattern=pattern) == ["0"]
    assert model[0] is model[2] is layer


@pytest.mark.parametrize("training", [True, False])
def test_attention_that_reads_the_weights_of_its_layers_can_be_adapted(training: bool) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        x = torch.randn(2, 3, 8)
    model.train(training)
    names = _trained(model, x, pattern="*out_proj")
    assert names == ["self_attn.out_proj"]
    assert _trained(model, x) == ["self_attn.out_proj", "linear1", "linear2"]
