"""Training logs: twelve bytes for each query of a step, from which the weights come again.

The file begins with `MAGIC` and one line of JSON that tells what the optimiser was; then follow
records of a start (uint64) and a scalar (float32), both little-endian.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import numpy as np

from pezo_hw.arguments import shown
from pezo_hw.errors import PezoError

from .grid import check_scales, stepper_of
from .sources import Floats, from_description
from .weights import Group, Options, Slot
from .zo import Stepper

MAGIC = b"pezo-log-1\n"
_HEADER: Mapping[str, type] = MappingProxyType(
    {"source": dict, "options": dict, "groups": list, "members": list, "tensors": list, "base": str}
)
_RECORD = struct.Struct("<Qf")
RECORD_BYTES = _RECORD.size
_LONGEST_HEADER = 1 << 24


def fingerprint(slots: Iterable[Slot]) -> str:
    """Return the SHA-256 of weights as little-endian float32, tensor after tensor."""
    digest = hashlib.sha256()
    for slot in slots:
        digest.update(np.ascontiguousarray(slot.read(), dtype="<f4").tobytes())
    return digest.hexdigest()


class LogWriter:
    """Writes a log while an optimiser trains; a context manager.

    Parameters
    ----------
    path : Path
        A new file, in a folder that exists.
    stepper : Stepper
        Before its first step. Its recorder is set.
    names : sequence of str
        Of the tensors, in the optimiser's order.

    Raises
    ------
    PezoError
        If the file exists, as it may be the only copy of another training, if it cannot be
        written, or after a step.
    """

    def __init__(self, path: Path, stepper: Stepper, *, names: Sequence[str]):
        if stepper.steps:
            raise PezoError("a training log must begin before the first step; open it earlier")
        if len(names) != len(stepper.slots):
            raise PezoError(
                f"a training log must have {len(stepper.slots)} names, one for each tensor, not "
                f"{len(names)}; give those of the optimiser"
            )
        header: dict[str, Any] = {
            "source": stepper.source.describe(),
            "options": asdict(stepper.options),
            # A schedule may have changed the rates before the first step.
            "groups": [asdict(group) | {"rate": group.base} for group in stepper.groups],
            "members": stepper.members,
            "tensors": [
                {"name": name, "size": slot.size}
                for name, slot in zip(names, stepper.slots, strict=True)
            ],
            "base": fingerprint(stepper.slots),
            # Weights on a grid do not tell what its steps are.
            "scales": getattr(stepper, "scales", None),
        }
        head = MAGIC + json.dumps(header, separators=(",", ":")).encode() + b"\n"
        check_new(path)
        try:
            self._file = path.open("xb")
        except OSError as error:
            raise PezoError(
                f"{path} must be writable, but: {error.strerror}; choose another place"
            ) from None
        self._file.write(head)
        self._stepper = stepper
        stepper.recorder = self

    def append(self, start: int, scalar: float) -> None:
        """Add a query of a step."""
        self._file.write(_RECORD.pack(start, scalar))

    def close(self) -> None:
        """Write what is left, and stop recording."""
        self._stepper.recorder = None
        self._file.close()

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def check_new(path: Path) -> None:
    """Refuse a path where no new log can be, before anything takes long.

    Raises
    ------
    PezoError
        If something is there, or its folder is not.
    """
    if os.path.lexists(path):
        raise PezoError(f"{path} exists; choose another name")
    if not path.parent.is_dir():
        raise PezoError(
            f"{path} must be in a folder that exists, but {path.parent} does not; create it first"
        )


@dataclass(frozen=True)
class Log:
    """A log that was read.

    Attributes
    ----------
    header : dict
    starts : list of int
    scalars : list of float
        One for each query of each step.
    """

    header: dict[str, Any]
    starts: list[int]
    scalars: list[float]

    @property
    def names(self) -> list[str]:
        """Names of the tensors."""
        return [tensor["name"] for tensor in self.header["tensors"]]

    @property
    def options(self) -> Options:
        """How the steps were made."""
        return Options(**self.header["options"])

    def stepper(self, slots: Sequence[Slot]) -> Stepper:
        """Return the optimiser again, over the base model's weights.

        Raises
        ------
        PezoError
            If these are not the weights that the training began with.
        """
        sizes = [tensor["size"] for tensor in self.header["tensors"]]
        given = [slot.size for slot in slots]
        if sizes != given:
            raise PezoError(
                f"the base model must have the log's tensors of {sizes} weights, not {given}"
            )
        stepper = stepper_of(
            slots,
            self.header["members"],
            [Group(**group) for group in self.header["groups"]],
            source=from_description(self.header["source"]),
            options=self.options,
            scales=self.header.get("scales"),
        )
        if fingerprint(slots) != self.header["base"]:
            raise PezoError(
                "the base model must be the one that the log began with, but its weights differ; "
                "load that one"
            )
        return stepper


def read(path: Path) -> Log:
    """Read a log; one whose last record is cut off, as by a crash, ends before it.

    Raises
    ------
    PezoError
        If it cannot be read, or is not a log.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PezoError(
            f"{path} must be a training log, but: {error.strerror}; name the file that was written"
        ) from None
    end = content.find(b"\n", len(MAGIC), _LONGEST_HEADER)
    if not content.startswith(MAGIC) or end < 0:
        raise PezoError(
            f"{path}: must be a training log of this version, but begins differently; name another"
        )
    try:
        header = json.loads(content[len(MAGIC) : end])
        _check_header(header)
    except (ValueError, RecursionError, PezoError) as error:
        reason = str(error) if isinstance(error, PezoError) else "it is no JSON"
        raise PezoError(
            f"{path}: the head of the log must be whole, but {reason}; the file is damaged"
        ) from None
    body = content[end + 1 :]
    body = body[: len(body) // RECORD_BYTES * RECORD_BYTES]
    records = list(_RECORD.iter_unpack(body))
    return Log(header, [start for start, _ in records], [scalar for _, scalar in records])


def _check_header(header: Any) -> None:
    """Refuse what `LogWriter` would not have written, so that nothing else has to be prepared."""
    if not isinstance(header, dict):
        raise PezoError(f"it is {shown(header)}")
    for name, kind in _HEADER.items():
        if not isinstance(header.get(name), kind):
            raise PezoError(f"{name} is missing")
    try:
        Options(**header["options"])
        groups = [Group(**group) for group in header["groups"]]
        sizes = [int(tensor["size"]) for tensor in header["tensors"]]
        names = [tensor["name"] for tensor in header["tensors"]]
        members = [groups[number] for number in header["members"]]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise PezoError(f"reading it gives {type(error).__name__}") from None
    if len(members) != len(sizes) or not all(isinstance(name, str) for name in names):
        raise PezoError("its tensors have no groups or names")
    if header["options"].get("rule") == "zoqo":
        check_scales(header.get("scales"), count=len(sizes))


def array_of(values: Any) -> Floats:
    """Return weights as an array to replay into: a copy in float32."""
    return np.array(values, dtype=np.float32)
