"""A cocotb bench whose tests end in every way in which a test can end badly."""

from __future__ import annotations

from typing import Any

import cocotb
from kit import Bench


@cocotb.test
async def fine(dut: Any) -> None:
    await Bench(dut).clock()


@cocotb.test
async def wrong(dut: Any) -> None:
    await Bench(dut).clock(3)
    raise AssertionError("7 is not 8")


@cocotb.test
async def broken(dut: Any) -> None:
    del dut
    raise KeyError("lanes")


@cocotb.test
async def endless(dut: Any) -> None:
    del dut
    while True:
        pass


@cocotb.test
async def too_long(dut: Any) -> None:
    await Bench(dut, limit=50).clock(1000)
