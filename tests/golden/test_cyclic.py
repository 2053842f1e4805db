from __future__ import annotations

import numpy as np
import pytest

from pezo_hw.golden import cyclic


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9])
def test_every_start_and_count(size: int) -> None:
    table = np.arange(10, 10 + size)
    for start in range(-size - 1, 3 * size + 2):
        for count in range(5 * size + 2):
            expected = [10 + (start + k) % size for k in range(count)]
            assert cyclic.read(table, start, count).tolist() == expected


def test_rows_and_their_type() -> None:
    table = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.int16)
    found = cyclic.read(table, 2**80 + 2, 4)
    assert found.dtype == np.int16
    # 2^80 = 1 modulo 3
    assert found.tolist() == [[1, 2], [3, 4], [5, 6], [1, 2]]


def test_what_is_read_may_be_written() -> None:
    table = np.arange(6)
    for start, count in ((0, 6), (1, 3), (4, 5)):
        cyclic.read(table, start, count)[:] = -1
    assert table.tolist() == [0, 1, 2, 3, 4, 5]
