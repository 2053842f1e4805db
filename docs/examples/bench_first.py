"""Take the first groups of a perturbation core under stalls, and compare them with an array."""

import cocotb
import numpy as np
from kit import Bench, unpack


@cocotb.test()
async def first_groups(dut):
    """Every group equals the expected one."""
    bench = Bench(dut, capture=0, restore=0, start=0, start_index=0)
    sink = bench.sink(stalls=bench.stalls("half"))
    await bench.reset()
    expected = bench.arrays["lanes"]
    await bench.run_until(lambda: len(sink.data) >= len(expected))
    width, lanes = bench.manifest["lane_bits"], bench.manifest["source"]["lanes"]
    # TDATA is padded to whole bytes.
    mask = (1 << width * lanes) - 1
    taken = unpack([beat & mask for beat in sink.data], width=width, lanes=lanes)
    assert np.array_equal(taken[: len(expected)], expected)
    bench.report(groups=len(expected), clocks=bench.cycle)
