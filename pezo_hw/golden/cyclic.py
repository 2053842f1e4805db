"""Reading a table round and round, in whole blocks instead of an index for every row."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


def read(table: NDArray[_Scalar], start: int, count: int) -> NDArray[_Scalar]:
    """Return rows start, start + 1, ... of a table, taken modulo its length, as a new array.

    Parameters
    ----------
    table : ndarray, shape (N, ...)
        N at least 1.
    start : int
        Any integer.
    count : int
        Rows, 0 or more; may be many times N.

    Returns
    -------
    ndarray, shape (count, ...)
    """
    size = len(table)
    start %= size
    result = np.empty((count, *table.shape[1:]), dtype=table.dtype)
    # To the end of the table, then from its beginning: up to one whole turn.
    done = min(count, size - start)
    result[:done] = table[start : start + done]
    more = min(count - done, start)
    result[done : done + more] = table[:more]
    done += more
    # Each round doubles the turns that are there.
    while done < count:
        more = min(count - done, done)
        result[done : done + more] = result[:more]
        done += more
    return result
