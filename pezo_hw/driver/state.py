"""The state of a training, in one file that is written as a whole or not at all."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.arguments import shown
from pezo_hw.errors import PezoError
from pezo_hw.files import write_atomically
from pezo_hw.golden.tensors import Tensor

from .arguments import array_of
from .engine import Engine
from .log import Log
from .sweep import Backend

FORMATS = (1, 2)
"""Of a file: 2 where steps had sweeps of their own, which the first one has no place for."""

_MARK = "extra_"  # begins the names of a user's arrays


def save(
    engine: Engine,
    path: Path,
    *,
    extra: Mapping[str, Any] | None = None,
    arrays: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write all that a training needs to go on, and to be replayed.

    Parameters
    ----------
    engine : Engine
        Between two steps.
    path : Path
        An ``.npz`` file. A reader sees the old or the new file, never a part.
    extra : mapping, optional
        More to keep, anything that JSON can hold.
    arrays : mapping of str to ndarray, optional
        More arrays to keep.

    Raises
    ------
    PezoError
        While the weights carry a perturbation, for what a file cannot hold, and if the file cannot
        be written.
    """
    if engine.displacement:
        raise PezoError(
            "a state must be saved between two steps, but the weights carry "
            f"{engine.displacement} times the perturbation; finish the step first"
        )
    kept = _kept(arrays)
    if extra is not None and not isinstance(extra, Mapping):
        raise PezoError(f"extra of a state must be a dict, not {shown(extra)}; name what it holds")
    log = engine.log
    meta = {
        "format": FORMATS[bool(log.others)],
        "core": _core(engine.backend),
        "table": [dataclasses.asdict(tensor) for tensor in engine.table],
        "index": engine.index,
        "saturations": engine.saturations,
        "transfers": engine.transfers,
        "seed": log.seed,
        "passes": log.passes,
        "exact": log.exact,
        **({"others": sorted(log.others.items())} if log.others else {}),
        # In-place sweeps since the last step, which may have taken each other back.
        "under_way": {"passes": engine.passes, "limited": engine.pass_limited},
        "extra": dict(extra or {}),
    }
    try:
        text = json.dumps(meta)
    except (TypeError, ValueError) as error:
        raise PezoError(f"extra of a state must be what JSON can hold, but: {error}") from None
    buffer = io.BytesIO()
    np.savez(
        buffer,
        allow_pickle=False,
        meta=np.array(text),
        weights=engine.weights,
        initial=engine.initial,
        indices=np.array(log.indices, dtype=np.int64),
        coefficients=np.array(log.coefficients, dtype=np.int64),
        **{f"{_MARK}{name}": value for name, value in kept.items()},
    )
    write_atomically(path, buffer.getvalue())


@dataclasses.dataclass(frozen=True)
class State:
    """What a file of `save` holds.

    Attributes
    ----------
    meta : dict
    arrays : dict of str to ndarray
    """

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def read(cls, path: Path) -> State:
        """Read a file.

        Raises
        ------
        PezoError
            If it is not a file of `save`.
        """
        try:
            # Read first: numpy leaves files open that it cannot make sense of.
            content = io.BytesIO(Path(path).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            meta = json.loads(str(arrays.pop("meta")))
            if meta["format"] not in FORMATS:
                known = " or ".join(map(str, FORMATS))
                raise PezoError(f"{path}: the format must be {known}, not {meta['format']}")
        except FileNotFoundError:
            raise PezoError(f"{path}: must be a saved state, but there is no such file") from None
        except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise PezoError(
                f"{path}: must be a saved state, but reading it gives {type(error).__name__}"
            ) from None
        return cls(meta=meta, arrays=arrays)

    @property
    def extra(self) -> dict[str, Any]:
        """What was given to `save` as `extra`."""
        return self.meta["extra"]

    @property
    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        """What was given to `save` as `arrays`."""
        return {name[len(_MARK) :]: a for name, a in self.arrays.items() if name.startswith(_MARK)}

    @property
    def log(self) -> Log:
        """The log of the run."""
        return Log(
            seed=self.meta["seed"],
            passes=tuple(self.meta["passes"]),
            indices=self.arrays["indices"].tolist(),
            coefficients=self.arrays["coefficients"].tolist(),
            exact=self.meta["exact"],
            others={step: tuple(passes) for step, passes in self.meta.get("others", ())},
        )

    @property
    def _table(self) -> list[Tensor]:
        try:
            return [Tensor(**tensor) for tensor in self.meta["table"]]
        except (PezoError, TypeError) as error:
            raise PezoError(
                f"the table of a state must hold tensors, but: {error}; use a file of save"
            ) from None

    def engine(self, backend: Backend) -> Engine:
        """Return an engine that goes on where the state was saved.

        Raises
        ------
        PezoError
            If the state is one of another core.
        """
        saved, core = self.meta["core"], _core(backend)
        for key in sorted(saved.keys() | core.keys()):
            if key == "stream" and "" in (saved.get(key), core[key]):
                continue
            if saved.get(key) != core.get(key):
                if key == "stream":
                    raise PezoError(
                        "the state must come from this core, but was made with another source, "
                        "scaling or reuse; use the configuration that it was made with"
                    )
                raise PezoError(
                    f"the state must come from this core, but its {key} is {saved.get(key)}, "
                    f"not {core.get(key)}; use the configuration that it was made with"
                )
        engine = Engine(
            backend,
            self.arrays["weights"],
            start=self.meta["index"],
            seed=self.meta["seed"],
            table=self._table,
        )
        engine.initial = self.arrays["initial"].astype(np.int64)
        engine.log = self.log
        engine.saturations = self.meta["saturations"]
        engine.transfers = self.meta["transfers"]
        engine.passes = list(self.meta["under_way"]["passes"])
        engine.pass_limited = bool(self.meta["under_way"]["limited"])
        return engine


def _kept(given: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays to keep, if a file can hold them without pickle."""
    if given is not None and not isinstance(given, Mapping):
        raise PezoError(f"arrays of a state must be a dict, not {shown(given)}; name each of them")
    kept = {}
    for name, value in (given or {}).items():
        kept[name] = array_of(f"arrays of a state: {shown(name)}", value)
        if kept[name].dtype.hasobject:
            raise PezoError(
                f"arrays of a state must hold numbers or text, but {shown(name)} holds objects; "
                "convert it, or give it as extra"
            )
    return kept


def _core(backend: Backend) -> dict[str, Any]:
    """Return what decides the numbers of a core, as JSON holds it."""
    given = dataclasses.asdict(backend.description)
    # Its name does not matter.
    given.pop("name")
    core: dict[str, Any] = json.loads(json.dumps(given))
    return core
