"""Peak memory of a real transformer in torch, tensor by tensor, to check the model against.

A mode of torch sees every operation. The storage of each result counts from when it is made to when
nothing refers to it any more, which is what an allocator without fragments would hold.
"""

from __future__ import annotations

import weakref
from typing import Any

from .methods import Options
from .models import Shape

try:
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.checkpoint import checkpoint
except ModuleNotFoundError:
    from pezo_hw.errors import PezoError

    raise PezoError(
        "measuring memory needs the package torch, which is not installed; "
        "pip install 'pezo-hw[torch]'"
    ) from None


class Tracker(TorchDispatchMode):
    """Counts the bytes of all tensors that are alive; `peak` is the most there ever were."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._seen: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()

    def add(self, tensor: Any) -> None:
        """Count a tensor that was there before."""
        storage = tensor.untyped_storage()
        if storage in self._seen:
            return
        self._seen[storage] = True
        size = storage.nbytes()
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, size)

    def _gone(self, size: int) -> None:
        self.now -= size

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and count what it made."""
        result = func(*args, **(kwargs or {}))
        made = result if isinstance(result, (tuple, list)) else (result,)
        for one in made:
            if isinstance(one, torch.Tensor):
                self.add(one)
        return result


class _Layer(nn.Module):
    def __init__(self, shape: Shape, *, flash: bool):
        super().__init__()
        self.heads, self.flash = shape.heads, flash
        self.first = nn.LayerNorm(shape.width)
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.projection = nn.Linear(shape.width, shape.width)
        self.second = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, shape.hidden)
        self.down = nn.Linear(shape.hidden, shape.width)

    def forward(self, x: Any) -> Any:
        x = x + self.projection(self.attention(self.first(x)))
        return x + self.down(functional.gelu(self.up(self.second(x))))

    def attention(self, x: Any) -> Any:
        batch, context, width = x.shape
        split = self.qkv(x).reshape(batch, context, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        del x, split
        if self.flash:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.transpose(-1, -2)
            # In place: the mask and the scale take no copy of the scores.
            scores.mul_((width // self.heads) ** -0.5)
            mask = torch.ones(context, context, dtype=torch.bool).triu_(1)
            scores.masked_fill_(mask, float("-inf"))
            weights = scores.softmax(dim=-1)
            del scores
            mixed = weights @ value
        return mixed.transpose(1, 2).reshape(batch, context, width)


class Transformer(nn.Module):
    """The transformer of a shape that is not gated."""

    def __init__(self, shape: Shape, options: Options):
        super().__init__()
        self.segment = options.segment if options.method == "bp-checkpoint" else 0
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Parameter(torch.zeros(shape.positions, shape.width))
        self.layers = nn.ModuleList(_Layer(shape, flash=options.flash) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        if shape.tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: Any) -> Any:
        """Return the logits."""
        x = self.embedding(tokens) + self.position[: tokens.shape[1]]
        if self.segment:
            for first in range(0, len(self.layers), self.segment):
                part = nn.Sequential(*self.layers[first : first + self.segment])
                x = checkpoint(part, x, use_reentrant=False)
        else:
            for layer in self.layers:
                x = layer(x)
        return self.head(self.norm(x))


def peak(shape: Shape, options: Options) -> int:
    """Run a step of a real model and return the most bytes that were alive, parameters included.

    Parameters
    ----------
    shape : Shape
        Not gated.
    options : Options
        With 4 bytes: the CPU computes in float32.
    """
    if shape.gated or options.bytes != 4:
        raise ValueError("only models without gates are measured, in float32")
    model = Transformer(shape, options)
    if options.method == "mezo-lora":
        from pezo_hw.train import lora

        lora.adapt(model, "layers.*", rank=options.rank)
    tokens = torch.randint(0, shape.vocabulary, (options.batch, options.context + 1))
    tracker = Tracker()
    for parameter in model.parameters():
        tracker.add(parameter)

    def loss() -> Any:
        return functional.cross_entropy(
            model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()
        )

    if options.method in ("bp", "bp-checkpoint"):
        with tracker:
            value = loss()
            value.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(parameter.grad, alpha=1e-3)
        return tracker.peak
    from pezo_hw.train.torch import ZO

    optimiser = ZO(
        [p for p in model.parameters() if p.requires_grad], source="gaussian", lr=1e-6, eps=1e-3
    )
    with tracker:
        optimiser.step(loss)
    return tracker.peak
