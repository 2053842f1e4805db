"""A compact convolutional transformer: CCT-2/3x2 has 0.28 M parameters (arXiv 2104.05704)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


class _Block(nn.Module):
    """A transformer layer; layer norm before attention and, as in the original, before the MLP."""

    def __init__(self, width: int, heads: int, inner: int):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.projection = nn.Linear(width, width)
        self.middle = nn.LayerNorm(width)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x: Any) -> Any:
        """Return tokens, shape (batch, tokens, width)."""
        batch, tokens, width = x.shape
        split = self.qkv(self.before(x)).reshape(batch, tokens, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, tokens, width))
        x = self.middle(x)
        return x + self.down(functional.gelu(self.up(x)))


class Cct(nn.Module):
    """Convolutions make the tokens, transformer layers mix them, attention pools them.

    Parameters
    ----------
    classes : int
    channels, side : int
        Of the square images.
    width, heads, layers : int
        128, 2 and 2 in CCT-2.
    ratio : float
        Inner width of the MLP as a multiple of the width.
    """

    def __init__(
        self,
        *,
        classes: int = 10,
        channels: int = 3,
        side: int = 32,
        width: int = 128,
        heads: int = 2,
        layers: int = 2,
        ratio: float = 1.0,
    ):
        super().__init__()
        self.tokens = nn.Sequential(
            nn.Conv2d(channels, 64, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(64, width, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        length = ((side + 1) // 2 + 1) // 2
        self.position = nn.Parameter(torch.randn(1, length * length, width) * 0.02)
        inner = int(width * ratio)
        self.blocks = nn.ModuleList(_Block(width, heads, inner) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.pool = nn.Linear(width, 1)
        self.head = nn.Linear(width, classes)

    def forward(self, images: Any) -> Any:
        """Return outputs, shape (batch, classes), for images, shape (batch, channels, H, W)."""
        x = self.tokens(images).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        weights = functional.softmax(self.pool(x), dim=1)
        return self.head((weights.transpose(1, 2) @ x).squeeze(1))


def cct2(*, classes: int = 10, channels: int = 3, side: int = 32, seed: int = 0) -> Cct:
    """Return CCT-2 with fresh weights, the same ones for a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Cct(classes=classes, channels=channels, side=side)


def parameters(model: Any) -> int:
    """Return the number of weights."""
    return sum(tensor.numel() for tensor in model.parameters())
