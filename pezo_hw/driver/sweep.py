"""What the driver and its backends exchange: commands, what a sweep gives, what a core is."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import whole
from pezo_hw.golden.step import Arithmetic
from pezo_hw.golden.tensors import Tensor

from . import arguments

if TYPE_CHECKING:
    from pezo_hw.config import Config
    from pezo_hw.golden.engine import AnyEngine


@dataclass(frozen=True)
class Sweep:
    """The command of one sweep.

    Attributes
    ----------
    kind : str
        One of `golden.schedules.KINDS`.
    k : int
        Multiple of the perturbation, -2 to 2.
    coefficient : int
        C; 0 in a sweep that only perturbs.
    dither_seed : int
        32 bits, seed of the stochastic rounding.
    capture, capture_b : bool
        Make the end of this sweep the start of the next step, for the first and second source.
    """

    kind: str = "in-place"
    k: int = 0
    coefficient: int = 0
    dither_seed: int = 0
    capture: bool = False
    capture_b: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a sweep gave.

    Attributes
    ----------
    outputs : dict of str to ndarray of int64, shape (d,)
        Weights in LSBs by stream, exactly those of `golden.schedules.USED`.
    saturations : int
        Weights that the limit acted on, in all outputs.
    beats : int
        Beats of the sweep.
    """

    outputs: Mapping[str, NDArray[np.int64]]
    saturations: int
    beats: int


class Backend(Protocol):
    """Something that carries out sweeps: a model, a simulation or a board."""

    @property
    def description(self) -> Description:
        """What the core is."""

    def start(self, index: int) -> None:
        """Choose the group, or the seed, that the sweeps of the next step begin with."""

    def load_table(self, table: Sequence[Tensor]) -> None:
        """Let all further sweeps run over these tensors; over none: all weights alike."""

    def sweep(self, command: Sweep, weights: NDArray[np.integer]) -> Outcome:
        """Stream the weights, in LSBs, through the core once.

        Raises
        ------
        PezoError
            If the core reports an error, or does not end.
        """

    def close(self) -> None:
        """Give back what the backend holds; no call may follow."""


@dataclass(frozen=True)
class Description:
    """What a host must know of a core. All of it stands in the manifest of a generated folder.

    Attributes
    ----------
    name : str
    lanes : int
        P, weights of a beat.
    arithmetic : Arithmetic
        Number formats.
    fraction_bits : int
        A word u stands for u / 2^fraction_bits.
    leftover : float
        Factor that makes the mean square of the perturbation 1.
    epsilon : float
        Size of the perturbation.
    seeded : bool
        Whether steps are chosen by a seed, and not by a group of one sequence.
    period : int
        Starts of a step: groups K of the sequence, or 2^32 seeds.
    schedule : str
        "in-place", "inline", "inline-both" or "fused".
    update : str
        "dsp" or "zoqo".
    tensors : int
        Entries of the table of tensors; 0: there is none.
    stream : str
        Checksum of what the perturbations are made of: source, scaling and reuse. Empty: unknown.
    """

    name: str
    lanes: int
    arithmetic: Arithmetic
    fraction_bits: int
    leftover: float
    epsilon: float
    seeded: bool
    period: int
    schedule: str = "in-place"
    update: str = "dsp"
    tensors: int = 0
    stream: str = ""

    @classmethod
    def of(cls, config: Config, *, model: AnyEngine) -> Description:
        """Take everything from a checked configuration and its model."""
        return cls._of(
            config,
            leftover=model.leftover,
            period=model.period,
        )

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> Description:
        """Take everything from the manifest of a generated folder, without building a model."""
        from pezo_hw.config import from_mapping

        return cls._of(
            from_mapping(manifest["config"], where="manifest"),
            leftover=float(manifest["leftover_scale"]),
            period=int(manifest["source"]["period"]),
        )

    @classmethod
    def _of(cls, config: Config, *, leftover: float, period: int) -> Description:
        from pezo_hw.config import SeededSource

        zo, weights = arguments.step_core(config).zo, config.weights
        assert zo is not None and weights is not None
        seeded = isinstance(config.source, SeededSource)
        arithmetic = Arithmetic.of(config)
        assert config.control is not None
        return cls(
            name=config.core.name,
            lanes=config.reuse.lanes,
            arithmetic=arithmetic,
            fraction_bits=config.source.fraction_bits,
            leftover=leftover,
            # In ZOQO the perturbation is -m .. m LSBs.
            epsilon=zo.levels * 2.0**-weights.frac if zo.levels else zo.epsilon,
            seeded=seeded,
            period=1 << 32 if seeded else period,
            schedule=zo.schedule,
            update=zo.update,
            tensors=config.control.tensors,
            stream=_checksum(config),
        )

    @property
    def weight_bytes(self) -> int:
        """Bytes of a weight in memory."""
        return self.arithmetic.weight_bits // 8

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.lanes * self.weight_bytes

    def beats(self, weights: int) -> int:
        """Return the beats that a number of weights takes."""
        return -(-whole("a number of weights", weights, least=1) // self.lanes)

    def spread_beats(self, weights: int) -> int:
        """Return the fewest beats for a number of weights after which steps begin at every group.

        Steps of T groups from a sequence of K begin at K / gcd(T, K) of its groups only, so that a
        training sees as many directions. A few beats of padding more make T and K coprime.
        """
        beats = self.beats(weights)
        if not self.seeded:
            while math.gcd(beats, self.period) > 1:
                beats += 1
        return beats

    def after(self, index: int, *, beats: int) -> int:
        """Return where the step after one that began at `index` begins."""
        return (index + (1 if self.seeded else beats)) % self.period


def _checksum(config: Config) -> str:
    """Return the checksum of what decides all perturbations."""
    parts = config.model_dump(mode="json", include={"source", "scaling", "reuse"})
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
