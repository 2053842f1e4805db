"""Shapes of decoder-only transformers, and how many parameters they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pezo_hw.arguments import shown
from pezo_hw.errors import PezoError

MOST = 10**9
"""The largest count of anything: more would be a typing error, and no number of JSON or float."""


def check_count(name: str, value: int) -> None:
    """Refuse what is no count of layers, tokens and the like."""
    if value < 1:
        raise PezoError(f"{name} must be at least 1, not {shown(value)}")
    if value > MOST:
        raise PezoError(f"{name} must be at most {MOST:,}, not {shown(value)}; use fewer")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A decoder-only transformer.

    Attributes
    ----------
    layers, width, heads : int
        L, D and H.
    vocabulary : int
    inner : int
        Width inside the MLP; 0: 4 D.
    gated : bool
        The MLP has three matrices and the norms no bias, as in LLaMA; else two matrices, with
        biases everywhere.
    tied : bool
        The output uses the embedding's matrix.
    positions : int
        Learned positions; 0: none.
    """

    layers: int
    width: int
    heads: int
    vocabulary: int = 50_257
    inner: int = 0
    gated: bool = False
    tied: bool = True
    positions: int = 1024

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "vocabulary"):
            check_count(name, getattr(self, name))
        if self.width % self.heads:
            raise PezoError(
                f"width must be a multiple of heads, not {self.width} with {self.heads} heads"
            )

    @property
    def hidden(self) -> int:
        """Width inside the MLP."""
        return self.inner or 4 * self.width

    @property
    def matrices(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of a layer's linear maps."""
        d, inner = self.width, self.hidden
        up = ((d, inner),) * (2 if self.gated else 1)
        return ((d, 3 * d), (d, d), *up, (inner, d))

    @property
    def layer_parameters(self) -> int:
        """Parameters of a layer."""
        weights = sum(a * b for a, b in self.matrices)
        if self.gated:
            return weights + 2 * self.width
        return weights + sum(b for _, b in self.matrices) + 4 * self.width

    @property
    def parameters(self) -> int:
        """Parameters of the model."""
        tables = self.vocabulary * (1 if self.tied else 2) + self.positions
        norm = self.width if self.gated else 2 * self.width
        return tables * self.width + self.layers * self.layer_parameters + norm

    def adapter_parameters(self, rank: int) -> int:
        """Parameters of adapters of a rank on every linear map of every layer."""
        return self.layers * sum(rank * (a + b) for a, b in self.matrices)


def _opt(layers: int, width: int, heads: int) -> Shape:
    return Shape(layers=layers, width=width, heads=heads, vocabulary=50_272, positions=2050)


def _llama(layers: int, width: int, heads: int, inner: int) -> Shape:
    return Shape(
        layers=layers,
        width=width,
        heads=heads,
        vocabulary=32_000,
        inner=inner,
        gated=True,
        tied=False,
        positions=0,
    )


MODELS: Mapping[str, Shape] = MappingProxyType(
    {
        "gpt2": Shape(layers=12, width=768, heads=12),
        "gpt2-medium": Shape(layers=24, width=1024, heads=16),
        "gpt2-large": Shape(layers=36, width=1280, heads=20),
        "gpt2-xl": Shape(layers=48, width=1600, heads=25),
        "opt-125m": _opt(12, 768, 12),
        "opt-1.3b": _opt(24, 2048, 32),
        "opt-2.7b": _opt(32, 2560, 32),
        "opt-6.7b": _opt(32, 4096, 32),
        "opt-13b": _opt(40, 5120, 40),
        "llama2-7b": _llama(32, 4096, 32, 11_008),
        "llama2-13b": _llama(40, 5120, 40, 13_824),
    }
)
"""Shapes of public models by name."""


def model(name: str) -> Shape:
    """Return a shape by name."""
    if name not in MODELS:
        raise PezoError(f"the model must be {', '.join(MODELS)}, not {name!r}; or give --layers")
    return MODELS[name]
