"""Test vectors: what a core delivers, as arrays and as a file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pezo_hw.errors import PezoError
from pezo_hw.golden.engine import engine_of
from pezo_hw.golden.seeded import SEEDS, SeededEngine

if TYPE_CHECKING:
    from pezo_hw.config import Config

# Lane values of one file; more is a typing error or would not fit into memory.
MOST_VALUES = 1 << 28


def vectors(config: Config, *, start: int, groups: int) -> dict[str, NDArray[Any]]:
    """Return the groups that a core delivers.

    Parameters
    ----------
    config : Config
    start : int
        Index of the first group, 0 to K - 1; for a seeded source the seed, whose groups come from
        group 0 on.
    groups : int
        How many.

    Returns
    -------
    dict of ndarray
        ``words`` (G, W): signed words u; ``exponents`` (G,): e_k; ``lanes`` (G, P): u 2^e by lane.

    Raises
    ------
    PezoError
        If the start is past the period or the file would be too large.
    """
    engine = engine_of(config)
    if isinstance(engine, SeededEngine):
        if not 0 <= start < SEEDS:
            raise PezoError(
                f'--start must be a seed for source.kind = "{config.source.kind}", 0 to '
                f"{SEEDS - 1}, not {start}; seeds have 32 bits, so use {start % SEEDS}"
            )
        engine.start(start)
        start = 0
    elif not 0 <= start < engine.period:
        raise PezoError(
            f"--start must be a group index of this core, 0 to {engine.period - 1}, not {start}; "
            f"indices count modulo {engine.period}, so {start % engine.period} is the same group"
        )
    if groups * engine.lane_count > MOST_VALUES:
        raise PezoError(
            f"--groups must give at most {MOST_VALUES} lane values, not {groups} groups of "
            f"{engine.lane_count} lanes; at most {MOST_VALUES // engine.lane_count} groups a file"
        )
    return {
        "words": engine.groups(start, groups),
        "exponents": np.array(engine.exponents(start, groups)),
        "lanes": engine.lanes(start, groups),
    }


def to_npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an .npz file; the same bytes for the same arrays, whatever the date."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            # ZipInfo's default date is fixed: 1980-01-01.
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, member.getvalue())
    return buffer.getvalue()
