"""What a method's name stands for in floating point: a source, a rule, and values to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pezo_hw.arguments import whole
from pezo_hw.errors import PezoError

from .paths import Request
from .zo import LARGEST, MOST_SEED

if TYPE_CHECKING:
    from pezo_hw.config import Config


@dataclass(frozen=True)
class Method:
    """A way to train.

    Attributes
    ----------
    source : str
        For `pezo_hw.train.sources.source_of`; empty for back-propagation.
    rate, epsilon : float
        Where nothing else is asked for: what did well on the digits, see the experiments.
    rule : str
    fold : bool
        See `pezo_hw.train.weights.Options`.
    """

    source: str
    rate: float
    epsilon: float = 1e-3
    rule: str = "sgd"
    fold: bool = True


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "bp": Method("", rate=0.03),
        "mezo": Method("gaussian", rate=3e-3),
        "pre-generated": Method("zcu102-pregen", rate=3e-3),
        "on-the-fly": Method("zcu102-onthefly", rate=3e-3),
        "rademacher": Method("rademacher", rate=3e-3),
        "uniform": Method("uniform", rate=3e-3, fold=False),
        "zoqo": Method("zcu102-onthefly", rate=1e-3, epsilon=1e-2, rule="zoqo"),
    }
)
"""By the names of `pezo_hw.train.paths.METHODS`."""


@dataclass(frozen=True)
class Plan:
    """A method with what a request says instead.

    Attributes
    ----------
    source : str or Config
    rate, epsilon : float
    rule : str
    fold : bool
    bits : int
    """

    source: str | Config
    rate: float
    epsilon: float
    rule: str
    fold: bool
    bits: int


def plan(request: Request) -> Plan:
    """Return what a request asks for."""
    if request.method not in METHODS:
        raise PezoError(
            f"the method in floating point must be {', '.join(METHODS)}, not {request.method}; "
            "choose one of them"
        )
    method = METHODS[request.method]
    if request.config is not None and request.method == "bp":
        raise PezoError(
            "a configuration must not be given with the method bp, which perturbs nothing"
        )
    if request.output is not None:
        raise PezoError(
            "an output folder must be left out when training in floating point; "
            "its results are printed, and --log keeps the steps"
        )
    if request.log is not None and request.method == "bp":
        raise PezoError("a training log must be one of zeroth-order steps; choose another method")
    if request.rate is not None and request.method == "bp" and request.rate > LARGEST:
        raise PezoError(
            f"the rate must be finite in float32, not {request.rate:g}; give e.g. {method.rate}"
        )
    # All of them, before the first one is trained.
    for seed in request.seeds:
        whole("a seed in floating point", seed, least=0, most=MOST_SEED)
    return Plan(
        source=method.source if request.config is None else request.config,
        rate=method.rate if request.rate is None else request.rate,
        epsilon=method.epsilon if request.epsilon is None else request.epsilon,
        rule=method.rule,
        fold=method.fold,
        bits=request.bits or 8,
    )
