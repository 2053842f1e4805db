"""Bytes that a training step holds at its worst moment, part by part.

What is counted is what a plain implementation in PyTorch holds, operation by operation: each
operation's inputs that its gradient needs stay until the backward pass, and in a pass without a
gradient a tensor goes when its last reader is done.
"""

from __future__ import annotations

from dataclasses import dataclass

from pezo_hw.errors import PezoError

from .models import Shape, check_count

METHODS = ("bp", "bp-checkpoint", "mezo", "mezo-lora")
# A start index or seed, and a scalar.
_RANDOM_STATE = 8
# Perturbations that software makes at a time (`pezo_hw.train.sources`), as float32.
CHUNK = 1 << 18
_FLOAT = 4


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a model is trained.

    Attributes
    ----------
    context, batch : int
        N and B.
    bytes : int
        Of a number: 2 or 4.
    method : str
        One of `METHODS`.
    flash : bool
        Attention never holds its N x N scores.
    kept : int
        L': layers whose activations an implementation of MeZO holds at once, 1 to L.
    rank : int
        Of adapters.
    segment : int
        Layers between checkpoints; their activations are all made again at once.
    """

    context: int
    batch: int = 1
    bytes: int = 2
    method: str = "mezo"
    flash: bool = False
    kept: int = 1
    rank: int = 8
    segment: int = 1

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise PezoError(f"the method must be {', '.join(METHODS)}, not {self.method!r}")
        for name in ("context", "batch", "bytes", "kept", "rank", "segment"):
            check_count(name, getattr(self, name))


@dataclass(frozen=True)
class Usage:
    """Bytes at the worst moment of a step.

    Attributes
    ----------
    parameters, gradients, activations, random : int
    trained : int
        Parameters that are trained.
    """

    parameters: int
    gradients: int
    activations: int
    random: int
    trained: int

    @property
    def total(self) -> int:
        """Bytes in all."""
        return self.parameters + self.gradients + self.activations + self.random


def check(shape: Shape, options: Options) -> None:
    """Refuse options that a model of this shape cannot be trained with.

    Raises
    ------
    PezoError
        If more layers are asked for than there are, or adapters larger than what they adapt.
    """
    for name in ("kept", "segment"):
        if getattr(options, name) > shape.layers:
            raise PezoError(
                f"{name} must be at most the {shape.layers} layers, not {getattr(options, name)}; "
                f"use {shape.layers} or less"
            )
    inputs, outputs = min(shape.matrices, key=min)
    most = min(inputs, outputs)
    if options.method == "mezo-lora" and options.rank > most:
        raise PezoError(
            f"rank must be at most {most}, the smaller side of the layer of {inputs} inputs and "
            f"{outputs} outputs, not {options.rank}; use {most} or less"
        )


def usage(shape: Shape, options: Options) -> Usage:
    """Return the bytes of a step; see `check` for what is refused."""
    check(shape, options)
    size = options.bytes
    parameters = trained = shape.parameters
    if options.method == "mezo-lora":
        trained = shape.adapter_parameters(options.rank)
        parameters += trained
    if options.method in ("mezo", "mezo-lora"):
        layers = (options.kept - 1) * _kept(shape, options)
        # In a sweep over the weights there are no activations, but a chunk of perturbations.
        working = max(
            layers + max(_working(shape, options), _output(shape, options)),
            min(CHUNK, trained) * _FLOAT // size,
        )
        return Usage(parameters * size, 0, working * size, _RANDOM_STATE, trained)
    gradients, activations = _backward(shape, options)
    return Usage(parameters * size, gradients * size, activations * size, 0, trained)


def _tokens(options: Options) -> int:
    return options.batch * options.context


def _scores(shape: Shape, options: Options) -> int:
    return 0 if options.flash else options.batch * shape.heads * options.context**2


def _kept(shape: Shape, options: Options) -> int:
    """Return the numbers that a layer's backward pass needs.

    The layer's input, the first norm's output, queries, keys and values, the attention's weights
    and output, the second norm's input and output; in the MLP what goes into and comes out of its
    nonlinearity, and with a gate both factors of the product and the product.
    """
    inner = (4 if shape.gated else 2) * shape.hidden
    return _tokens(options) * (8 * shape.width + inner) + _scores(shape, options)


def _working(shape: Shape, options: Options) -> int:
    """Return the numbers that a layer holds at once in a pass without a gradient."""
    d = shape.width
    # Attention: the residual, queries, keys and values, scores before and after the softmax.
    attention = _tokens(options) * 4 * d + 2 * _scores(shape, options)
    # MLP: the residual, what goes into and comes out of the nonlinearity, the gate's other factor.
    # An adapter makes its own output, scales it and adds it to the layer's.
    wide = 3 if shape.gated or options.method == "mezo-lora" else 2
    mlp = _tokens(options) * (2 * d + wide * shape.hidden)
    return max(attention, mlp)


def _output(shape: Shape, options: Options) -> int:
    """Return the numbers at the output in a pass without a gradient: logits and their log."""
    return _tokens(options) * (shape.width + 2 * shape.vocabulary)


def _backward(shape: Shape, options: Options) -> tuple[int, int]:
    """Return numbers of gradients and activations at the worst moment of the backward pass.

    Gradients of parameters grow from the last layer to the first while activations go. In between
    both change by the same amount with each layer, so the worst moment is at one end.
    """
    tokens, scores = _tokens(options), _scores(shape, options)
    kept = _kept(shape, options)
    # The last norm's input and output, and the log of the softmax.
    ends = tokens * (2 * shape.width + shape.vocabulary)
    # While a layer goes back, beside the gradient that comes in: in the MLP one of its widest
    # tensor; in attention, when the MLP's activations are gone, two of the scores.
    inner = (4 if shape.gated else 2) * shape.hidden
    widest = max(tokens * shape.hidden, 2 * scores - tokens * (inner + 2 * shape.width))
    head = 0 if shape.tied else shape.vocabulary * shape.width
    if options.method == "bp-checkpoint":
        # Each segment's input is kept; one segment at a time is run again.
        segments = -(-shape.layers // options.segment)
        stored, alive = segments * tokens * shape.width, options.segment * kept
    else:
        stored, alive = (shape.layers - 1) * kept, kept
    # At the loss: its gradient is made beside the logits' log.
    in_loss = stored + ends + 2 * tokens * shape.vocabulary
    if options.method == "bp":
        in_loss += alive
    # In the last layer.
    at_last = stored + alive + widest + tokens * shape.width
    gradients_last = shape.vocabulary * shape.width
    # In the first layer all gradients are there but those of the embedding.
    at_first = alive + widest + tokens * shape.width
    if options.method == "bp-checkpoint":
        at_first += tokens * shape.width
    gradients_first = (
        (shape.vocabulary if shape.tied else 0) * shape.width
        + shape.layers * shape.layer_parameters
        + head
    )
    # At the embedding: a gradient as large as its matrix, added to the output's if they are one.
    at_embedding = tokens * shape.width + (shape.vocabulary * shape.width if shape.tied else 0)
    moments = [
        (0, in_loss),
        (gradients_last, at_last),
        (gradients_first, at_first),
        (shape.parameters, at_embedding),
    ]
    return max(moments, key=sum)
