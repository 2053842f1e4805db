"""A zeroth-order optimiser for PyTorch whose perturbations are those of the hardware.

::

    optimiser = ZO(model.parameters(), source="zcu102-onthefly", lr=1e-4, eps=1e-3)
    loss = optimiser.step(lambda: criterion(model(x), y))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pezo_hw.arguments import keys, shown
from pezo_hw.config.text import one_line
from pezo_hw.errors import PezoError

from . import log as logs
from . import replay as replaying
from .checks import callable_of, groups_of
from .grid import stepper_of
from .groups import SETTINGS, follow, settings_of
from .sources import RANDOM, Floats, Gaussian, Source, source_of
from .weights import ArraySlot, Copy, Options, Slot, check_apart

if TYPE_CHECKING:
    from pezo_hw.config import Config


class TorchGaussian(Gaussian):
    """Standard normal numbers from torch, which is faster than NumPy: MeZO."""

    name = "gaussian-torch"

    def __init__(self) -> None:
        self._generator_of_torch = torch.Generator()

    def fill(
        self,
        out: Floats,
        *,
        start: int,
        first: int,
        scale: float,
        bits: int = 0,
        sign: bool = False,
    ) -> None:
        """Write perturbations times a scale."""
        if bits:
            raise PezoError("word bits must be 0 with the source gaussian: it has no words")
        # Chunks of a step take every 2^32-th seed.
        self._generator_of_torch.manual_seed(start + (first // self.chunk << 32))
        row = torch.from_numpy(out)
        row.normal_(generator=self._generator_of_torch)
        if sign:
            row.sign_()
        row.mul_(float(np.float32(scale)))


RANDOM[TorchGaussian.name] = TorchGaussian

# Lists of arrays in a state, which are tensors in one of torch.
_ARRAYS = ("copies", "grid")
# A label, and where a scheduler begins, are the caller's.
_KEYS = ("params", *SETTINGS, "name", "initial_lr")


class TensorSlot:
    """Weights that are not float32 in the CPU's memory; chunks are moved to where they are.

    Parameters
    ----------
    tensor : torch.Tensor
        Of a floating-point type, contiguous.
    """

    def __init__(self, tensor: Any):
        self._flat = tensor.detach().view(-1)
        self.size = self._flat.numel()
        self._exact = self._flat.dtype == torch.float64
        self.narrow = self._flat.dtype not in (torch.float32, torch.float64)

    def add(self, begin: int, change: Floats) -> None:
        """Add to the weights from `begin` on."""
        self._flat[begin : begin + len(change)] += self._moved(change)

    def read(self) -> Floats:
        """Return a copy of all weights."""
        values: Floats = self._flat.to("cpu", torch.float32).numpy().copy()
        return values

    def copy(self) -> Copy:
        """Return a second copy of all weights, in float64 if they are."""
        if not self._exact:
            return self.read()
        values: Copy = self._flat.to("cpu").numpy().copy()
        return values

    def holds(self, values: Copy) -> bool:
        """Tell whether the weights are these, rounded to the weights' type."""
        return bool(torch.equal(self._flat, self._moved(values)))

    def write(self, begin: int, values: Copy) -> None:
        """Set the weights from `begin` on."""
        self._flat[begin : begin + len(values)] = self._moved(values)

    def _moved(self, values: Copy) -> Any:
        return torch.from_numpy(values).to(self._flat.device, self._flat.dtype)


def slot_of(tensor: Any) -> Slot:
    """Return a tensor's weights as a row; the memory is shared."""
    if not tensor.is_floating_point():
        raise PezoError(f"a parameter must be of a floating-point type, not {tensor.dtype}")
    if not tensor.is_contiguous():
        raise PezoError(
            f"a parameter of shape {tuple(tensor.shape)} must be contiguous; "
            "set its data to data.contiguous()"
        )
    if tensor.dtype == torch.float32 and tensor.device.type == "cpu":
        return ArraySlot(tensor.detach().numpy())
    return TensorSlot(tensor)


def _state_of(tensor: Any) -> tuple[Any, ...]:
    """Return what differs once a tensor's weights are elsewhere, and last, once they changed.

    Steps on float32 in the CPU's memory do not count as changes.
    """
    version = 0 if tensor.is_inference() else tensor._version
    return tensor.data_ptr(), tensor.numel(), tensor.dtype, tensor.device, version


class ZO(torch.optim.Optimizer):
    """Zeroth-order optimiser with the interface of `torch.optim.Optimizer`.

    Parameters
    ----------
    params : iterable of torch.Tensor or dict
        A dict is a parameter group: ``params`` and any of ``lr``, ``strength``, ``word_bits``,
        ``frozen``. Give `Module.named_parameters` for names in a log.
    source : str, Path, Config or Source
        ``"gaussian"`` (MeZO), ``"rademacher"``, ``"uniform"``, or a core: a preset, a configuration
        file or a configuration.
    lr, eps : float
        eta and eps for perturbations with a mean square of 1.
    queries, rule, variant, layout, fold, bits
        See `pezo_hw.train.weights.Options`.
    strength, word_bits, frozen
        Defaults of the groups; see `pezo_hw.train.weights.Group`.
    seed : int
        Where the first step begins.
    """

    def __init__(
        self,
        params: Iterable[Any],
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
        options = Options(
            epsilon=eps,
            queries=queries,
            rule=rule,
            variant=variant,
            layout=layout,
            fold=fold,
            bits=bits,
        )
        defaults = {"lr": lr, "strength": strength, "word_bits": word_bits, "frozen": frozen}
        try:
            super().__init__(params, defaults)
        except (IndexError, TypeError, ValueError) as error:
            raise PezoError(
                f"params must be tensors or parameter groups: {one_line(str(error))}; give e.g. "
                "model.named_parameters()"
            ) from None
        slots, members = [], []
        for number, group in enumerate(self.param_groups):
            slots += [slot_of(tensor) for tensor in group["params"]]
            members += [number] * len(group["params"])
        for device in {tensor.device for tensor in self._tensors}:
            check_apart(
                (name, tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes)
                for name, tensor in zip(self._places, self._tensors, strict=True)
                if tensor.device == device and tensor.data_ptr()
            )
        own = isinstance(source, str) and source == "gaussian"
        chosen = TorchGaussian() if own else source_of(source)
        self.stepper = stepper_of(
            slots,
            members,
            [settings_of(group) for group in self.param_groups],
            source=chosen,
            options=options,
            seed=seed,
        )
        self._note()
        self.stepper.warn()

    @property
    def _tensors(self) -> list[Any]:
        return [tensor for group in self.param_groups for tensor in group["params"]]

    @property
    def _places(self) -> list[str]:
        return [
            f"{number}.{place}"
            for number, group in enumerate(self.param_groups)
            for place in range(len(group["params"]))
        ]

    def _note(self) -> None:
        self._seen: list[Any] = list(map(_state_of, self._tensors))

    def _bind(self) -> list[int]:
        """Go to where the parameters are now; return those that moved or were changed.

        A model that is moved or gets another type has its weights elsewhere, in the same tensors.
        """
        tensors = self._tensors
        if len(tensors) != len(self._seen):
            raise PezoError(
                f"an optimiser must keep its {len(self._seen)} parameters, not have "
                f"{len(tensors)}; make a new one with all of them"
            )
        changed = []
        for number, (tensor, seen) in enumerate(zip(tensors, self._seen, strict=True)):
            now = _state_of(tensor)
            if now == seen:
                continue
            if self.stepper.recorder is not None:
                raise PezoError(
                    "a training log must hold all that changes the weights, but parameter "
                    f"{self._places[number]} was moved or changed between two steps; make the "
                    "optimiser and its log after that"
                )
            if seen is None or now[:-1] != seen[:-1]:
                self.stepper.slots[number] = self._again(number, tensor)
            changed.append(number)
        return changed

    def _again(self, number: int, tensor: Any) -> Slot:
        size = self.stepper.slots[number].size
        if tensor.numel() != size:
            raise PezoError(
                f"parameter {self._places[number]} must keep its {size} weights, not have "
                f"{tensor.numel()}; make the optimiser after that"
            )
        return slot_of(tensor)

    @torch.no_grad()
    def _follow(self) -> None:
        for number in self._bind():
            self.stepper.refresh(number)
        self._note()

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> float:  # type: ignore[override,unused-ignore]
        """Do a step and return the mean of its losses.

        Parameters
        ----------
        closure : callable
            Returns the loss of the model as it is, without a backward pass. It is called twice for
            each query, under `torch.no_grad`; a model with dropout needs the same seed each time.
        """
        follow(self.stepper, self.param_groups)
        self._follow()
        try:
            return self.stepper.step(callable_of(closure))
        finally:
            self._note()

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Refuse further groups: they would change what the row of perturbations belongs to.

        Raises
        ------
        PezoError
            Once the optimiser is made, or for a group with a key that is not known.
        """
        if hasattr(self, "stepper"):
            raise PezoError(
                "a parameter group must be given when the optimiser is made, not added later; make "
                "a new one with all groups and another seed, which loses nothing but the place in "
                "the row of perturbations"
            )
        keys("a parameter group", param_group, known=_KEYS, needed=("params",))
        super().add_param_group(param_group)

    def log(self, path: Path | str) -> logs.LogWriter:
        """Open a training log, before the first step; see `pezo_hw.train.log`."""
        self._follow()
        return logs.LogWriter(Path(path), self.stepper, names=self.names)

    @property
    def names(self) -> list[str]:
        """Names of the tensors: those given, or group and place."""
        names, places = [], iter(self._places)
        for group in self.param_groups:
            own = [next(places) for _ in group["params"]]
            names += list(group.get("param_names") or own)
        return names

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on later, beside the weights.

        That is a place in the stream. With ``"replay"``, weights of fewer bits than float32 have
        their copy in it, 4 bytes each; with ``"zoqo"`` all weights have their grid.
        """
        self._follow()
        state: dict[str, Any] = super().state_dict()
        own = self.stepper.state()
        for name in _ARRAYS:
            if name in own:
                own[name] = [None if part is None else torch.from_numpy(part) for part in own[name]]
        state["zo"] = own
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was called; the model must have the weights of that moment."""
        if not isinstance(state_dict, Mapping):
            raise PezoError(f"a state to load must be a dict, not {shown(state_dict)}")
        given = dict(state_dict)
        own = given.pop("zo", {})
        state = dict(own) if isinstance(own, Mapping) else {}
        groups = groups_of(given, count=len(self.param_groups), names=("params", *SETTINGS))
        settings = [settings_of(group) for group in groups]
        # All of it is checked before anything is changed.
        self.stepper.check(settings)
        for name in _ARRAYS:
            if isinstance(state.get(name), list):
                state[name] = [_array_of(part) for part in state[name]]
        self._bind()
        self.stepper.check_state(state)
        try:
            super().load_state_dict(given)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = one_line(str(error))
            raise PezoError(f"a state to load must be of this optimiser: {reason}") from None
        for group, now in zip(self.stepper.groups, settings, strict=True):
            group.rate, group.strength = now.rate, now.strength
            group.word_bits, group.frozen = now.word_bits, now.frozen
        self.stepper.load(state)
        # The model's weights may be loaded before or after this: they are looked at in the step.
        self._seen = [None] * len(self._seen)


def _array_of(part: Any) -> Any:
    """Return a tensor of a state as an array; what is none stays, to be refused with its name."""
    try:
        return part.cpu().numpy() if torch.is_tensor(part) else part
    except TypeError:  # a type that NumPy does not have
        return part


@torch.no_grad()
def replay(log: logs.Log | Path | str, model: Any, *, steps: int | None = None) -> None:
    """Turn a base model into the one that a log's training made, in place.

    Parameters
    ----------
    log : Log, Path or str
        Written by `ZO.log` with the names of `Module.named_parameters`.
    model : torch.nn.Module
        The base model.
    steps : int, optional
        Stop after so many.
    """
    if not isinstance(log, logs.Log):
        log = logs.read(Path(log))
    tensors = dict(model.named_parameters())
    missing = [name for name in log.names if name not in tensors]
    if missing:
        raise PezoError(
            f"the base model must have the tensor {missing[0]!r} of the log; it has none"
        )
    replaying.apply(log, [slot_of(tensors[name]) for name in log.names], steps=steps)
