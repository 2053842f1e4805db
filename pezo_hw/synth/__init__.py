"""Synthesis estimates: Yosys runs, what they cost of a device, and published figures beside."""
