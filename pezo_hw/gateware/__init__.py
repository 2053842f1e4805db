"""Amaranth modules: everything here becomes Verilog. Tables come from `pezo_hw.golden`."""
