"""Low-rank adapters on linear layers, of which only A and B are trained (LoRA).

A layer W becomes W + s B A. The usual start, B = 0, hides A from a zeroth-order step: as long as B
is 0 the loss depends on A only through eps^2 z_B z_A, so A's perturbation is noise that its own
update turns into a random walk. So B starts small and random, and s B A is subtracted from W once:
the model starts where it was, and both factors have a first-order effect from the first step on.
``start="zero"`` has the usual start.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from typing import Any

import torch

from pezo_hw.arguments import one_of, real, shown, whole
from pezo_hw.errors import PezoError

STARTS = ("balanced", "zero")


class LoraLinear(torch.nn.Module):
    """A linear layer with an adapter; the layer's own weights are frozen.

    Parameters
    ----------
    base : torch.nn.Linear
        Its weight is changed once by ``start="balanced"``.
    rank : int
    alpha : float
        s = alpha / rank.
    start : str
        ``"balanced"`` or ``"zero"``.
    generator : torch.Generator
    """

    def __init__(self, base: Any, *, rank: int, alpha: float, start: str, generator: Any):
        super().__init__()
        outputs, inputs = base.weight.shape
        where = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.base = base
        self.scale = alpha / rank
        a = torch.randn(rank, inputs, generator=generator) / math.sqrt(inputs)
        b = torch.zeros(outputs, rank)
        if start == "balanced":
            b = torch.randn(outputs, rank, generator=generator) / math.sqrt(rank)
        self.lora_a = torch.nn.Parameter(a.to(**where))
        self.lora_b = torch.nn.Parameter(b.to(**where))
        with torch.no_grad():
            base.weight -= self.scale * (self.lora_b @ self.lora_a)
        for parameter in base.parameters():
            parameter.requires_grad_(False)

    @property
    def weight(self) -> Any:
        """W + s B A, for modules that read it in place of calling the layer (attention does)."""
        return self.base.weight + self.scale * (self.lora_b @ self.lora_a)

    @property
    def bias(self) -> Any:
        """The layer's bias."""
        return self.base.bias

    def forward(self, x: Any) -> Any:
        """Return the layer's output."""
        low = torch.nn.functional.linear(x, self.lora_a)
        return self.base(x) + self.scale * torch.nn.functional.linear(low, self.lora_b)

    @torch.no_grad()
    def merged(self) -> Any:
        """Return a plain linear layer that does the same."""
        self.base.weight += self.scale * (self.lora_b @ self.lora_a)
        return self.base


def adapt(
    model: Any,
    pattern: str | Sequence[str] = "*",
    *,
    rank: int,
    alpha: float | None = None,
    start: str = "balanced",
    seed: int = 0,
) -> list[str]:
    """Put adapters on the linear layers whose names match, and freeze all else.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place.
    pattern : str or sequence of str
        Shell patterns of names, as `Module.named_modules` gives them.
    rank : int
        At least 1, and at most the smaller side of each layer: with more there is nothing to save.
    alpha : float, optional
        s = alpha / rank; by default s = 1.
    start : str
        ``"balanced"`` or ``"zero"``, see above.
    seed : int
        Of the first A and B.

    Returns
    -------
    list of str
        The layers that got an adapter.

    Raises
    ------
    PezoError
        If no linear layer matches, the rank does not fit one that does, or one cannot have an
        adapter: it shares its weight, or is the model itself; or if there are adapters already. The
        model is as before.
    """
    one_of("the start of adapters", start, STARTS)
    rank = whole("the rank of adapters", rank, least=1)
    seed = whole("the seed of adapters", seed, least=0, most=2**63 - 1)
    alpha = rank if alpha is None else real("alpha", alpha, positive=True, example=str(rank))
    patterns = [pattern] if isinstance(pattern, str) else pattern
    if not isinstance(patterns, Sequence) or not all(isinstance(one, str) for one in patterns):
        raise PezoError(
            f"the pattern of adapters must be text such as 'blocks.*', or a list of such texts, "
            f"not {shown(pattern)}"
        )
    _check_model(model)
    # A layer may be in several places, and gets one adapter for all of them.
    places: dict[Any, list[str]] = {}
    for name, layer in model.named_modules(remove_duplicate=False):
        if isinstance(layer, torch.nn.Linear):
            places.setdefault(layer, []).append(name)
    chosen = [
        layer
        for layer, names in places.items()
        if any(fnmatch.fnmatchcase(name, one) for name in names for one in patterns)
    ]
    if not chosen:
        first = next(iter(places.values()), ["none"])[0]
        raise PezoError(
            f"the pattern of adapters must match a linear layer, such as {first}, but "
            f"{', '.join(patterns)} matches none of {len(places)}"
        )
    for layer in chosen:
        _check_layer(model, layer, places[layer][0], rank=rank)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for layer in chosen:
        adapter = LoraLinear(layer, rank=rank, alpha=alpha, start=start, generator=generator)
        for name in places[layer]:
            _put(model, name, adapter)
    return [places[layer][0] for layer in chosen]


def _check_model(model: Any) -> None:
    """Refuse a model in which no layer can be replaced."""
    if not isinstance(model, torch.nn.Module):
        raise PezoError(f"a model to adapt must be a torch.nn.Module, not {shown(model)}")
    for name, layer in model.named_modules():
        if isinstance(layer, LoraLinear):
            raise PezoError(
                f"a model must have no adapters yet, but the layer {name or 'itself'} has one; "
                "give all patterns at once, or call lora.merge first"
            )
    if isinstance(model, torch.nn.Linear):
        raise PezoError(
            "a model to adapt must hold its linear layers, not be one itself; give "
            "torch.nn.Sequential(layer)"
        )


def _check_layer(model: Any, layer: Any, name: str, *, rank: int) -> None:
    """Refuse a layer that cannot have an adapter of this rank."""
    weight = layer._parameters.get("weight")
    if weight is None or torch.nn.parameter.is_lazy(weight):
        raise PezoError(
            f"the layer {name} must have a weight of its own, not one that is made when it is "
            "used; make it plain first, or give a pattern without this layer"
        )
    # The start changes W, and so does `merge`: whoever shares it would change as well.
    for other, module in model.named_modules():
        for own, parameter in module._parameters.items():
            if (module is layer and own == "weight") or parameter is None:
                continue
            if parameter is weight or 0 != _address(parameter) == _address(weight):
                shares = f"{other}.{own}" if other else own
                raise PezoError(
                    f"the layer {name} must have a weight of its own for an adapter, but "
                    f"shares it with {shares}; give a pattern without this layer"
                )
    sides = tuple(weight.shape)
    if rank > min(sides):
        raise PezoError(
            f"the rank of adapters must be at most {min(sides)}, the smaller side of the layer "
            f"{name} of {sides[1]} inputs and {sides[0]} outputs, not {rank}; use "
            f"{min(sides)} or less, or a pattern without this layer"
        )


def _address(parameter: Any) -> int:
    if torch.nn.parameter.is_lazy(parameter):
        return 0
    return int(parameter.data_ptr())


def _put(model: Any, name: str, layer: Any) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, layer)


def merge(model: Any) -> None:
    """Turn all adapters into plain linear layers that do the same."""
    plain: dict[Any, Any] = {}
    for name, layer in list(model.named_modules(remove_duplicate=False)):
        if isinstance(layer, LoraLinear):
            if not name:
                raise PezoError(
                    "a model to merge must hold its adapters, not be one itself; call its merged()"
                )
            if layer not in plain:
                plain[layer] = layer.merged()
            _put(model, name, plain[layer])


def trainable(model: Any) -> list[tuple[str, Any]]:
    """Return what an optimiser gets: names and tensors that are not frozen."""
    return [(name, p) for name, p in model.named_parameters() if p.requires_grad]
