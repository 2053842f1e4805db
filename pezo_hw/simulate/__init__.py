"""Simulation of generated folders with cocotb benches, on Verilator or Icarus Verilog."""

from pezo_hw.simulate.results import Case, Result
from pezo_hw.simulate.runner import SIMULATORS, run

__all__ = ["SIMULATORS", "Case", "Result", "run"]
