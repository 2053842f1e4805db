"""Run the bench beside this file on a generated folder: python run_bench.py FOLDER SIMULATOR."""

import sys
from pathlib import Path

from pezo_hw.config import load
from pezo_hw.golden.vectors import vectors
from pezo_hw.simulate import run

folder, simulator = sys.argv[1:]
expected = vectors(load("tiny"), start=0, groups=30)
result = run(
    Path(folder),
    bench=Path(__file__).with_name("bench_first.py"),
    simulator=simulator,
    arrays={"lanes": expected["lanes"]},
)
print(f"{result.data['groups']} groups in {result.data['clocks']} clocks, all equal")
