"""A zeroth-order optimiser for arrays of NumPy: the twin of `pezo_hw.train.torch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pezo_hw.arguments import keys, shown
from pezo_hw.errors import PezoError

from .checks import callable_of, groups_of
from .grid import stepper_of
from .groups import SETTINGS, follow, settings_of
from .sources import Floats, Source, source_of
from .weights import ArraySlot, Options, check_apart

if TYPE_CHECKING:
    from pezo_hw.config import Config


class ZO:
    """Zeroth-order optimiser; changes the arrays where they lie.

    Parameters
    ----------
    params : ndarray, sequence of ndarray, or sequence of dict
        Arrays of float32, C-contiguous. A dict is a parameter group: ``params`` and any of
        ``lr``, ``strength``, ``word_bits``, ``frozen``.
    source : str, Path, Config or Source
        ``"gaussian"``, ``"rademacher"``, ``"uniform"``, a preset, a configuration file, a
        configuration, or a source of your own.
    lr, eps : float
        eta and eps for perturbations with a mean square of 1.
    queries : int
        Directions a step; their updates are averaged.
    rule, variant, layout, fold, bits
        See `pezo_hw.train.weights.Options`.
    strength, word_bits, frozen
        Defaults of the groups; see `pezo_hw.train.weights.Group`.
    seed : int
        Where the first step begins.
    """

    def __init__(
        self,
        params: Any,
        *,
        source: str | Path | Config | Source,
        lr: float,
        eps: float,
        queries: int = 1,
        rule: str = "sgd",
        variant: str = "in-place",
        layout: str = "flat",
        fold: bool = True,
        bits: int = 8,
        strength: int = 0,
        word_bits: int = 0,
        frozen: bool = False,
        seed: int = 0,
    ):
        defaults = {"lr": lr, "strength": strength, "word_bits": word_bits, "frozen": frozen}
        self.param_groups = [_group(one, defaults) for one in _grouped(params)]
        options = Options(
            epsilon=eps,
            queries=queries,
            rule=rule,
            variant=variant,
            layout=layout,
            fold=fold,
            bits=bits,
        )
        slots: list[ArraySlot] = []
        members: list[int] = []
        for number, group in enumerate(self.param_groups):
            for array in group["params"]:
                slots.append(ArraySlot(_checked(array)))
                members.append(number)
        check_apart(
            (name, array.ctypes.data, array.ctypes.data + array.nbytes)
            for name, array in zip(names_of(self.param_groups), self._arrays(), strict=True)
        )
        self.stepper = stepper_of(
            slots,
            members,
            [settings_of(group) for group in self.param_groups],
            source=source_of(source),
            options=options,
            seed=seed,
        )
        self.stepper.warn()

    def _arrays(self) -> list[Floats]:
        return [array for group in self.param_groups for array in group["params"]]

    def step(self, closure: Callable[[], float]) -> float:
        """Do a step; see `pezo_hw.train.zo.Stepper.step`.

        Parameters
        ----------
        closure : callable
            Returns the loss of the weights as they are; it is called twice for each query.

        Returns
        -------
        float
            Mean of the losses.
        """
        follow(self.stepper, self.param_groups)
        return self.stepper.step(callable_of(closure))

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on later, beside the weights."""
        groups = [{name: group[name] for name in SETTINGS} for group in self.param_groups]
        return {"state": self.stepper.state(), "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was called; the arrays must hold the weights of that moment."""
        given = groups_of(state, count=len(self.param_groups), names=SETTINGS)
        groups = [
            settings_of(settings, base=group.base)
            for settings, group in zip(given, self.stepper.groups, strict=True)
        ]
        # All of it is checked before anything is changed.
        self.stepper.check(groups)
        self.stepper.check_state(state.get("state", {}))
        for group, settings in zip(self.param_groups, given, strict=True):
            group.update({name: settings[name] for name in SETTINGS})
        self.stepper.groups = groups
        self.stepper.load(state["state"])


def _grouped(params: Any) -> list[Any]:
    listed = _listed(params)
    if any(isinstance(one, Mapping) for one in listed):
        return listed
    return [{"params": listed}]


def _listed(params: Any) -> list[Any]:
    """Return arrays or groups as a list; a single one may stand for itself."""
    if isinstance(params, np.ndarray | Mapping):
        return [params]
    try:
        return list(params)
    except TypeError:
        raise PezoError(
            f"params must be arrays of float32, not {shown(params)}; give a list"
        ) from None


def _group(given: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    keys("a parameter group", given, known=("params", *SETTINGS), needed=("params",))
    return {**defaults, **given, "params": _listed(given["params"])}


def _checked(array: Any) -> Floats:
    if not isinstance(array, np.ndarray) or array.dtype != np.float32:
        kind = f"one of {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
        raise PezoError(
            f"a parameter must be an array of float32, not {kind}; use numpy.float32(values)"
        )
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise PezoError(
            "a parameter must be C-contiguous and writable; use numpy.ascontiguousarray"
        )
    return array


def names_of(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each array, by group and place."""
    return [
        f"{number}.{place}"
        for number, group in enumerate(groups)
        for place in range(len(group["params"]))
    ]
