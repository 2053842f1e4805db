"""Bit-exact reference model of the hardware, in plain integers and NumPy.

One file for each gateware file, with the same name.  Every table that ends up in the hardware is
made here; nothing in this package imports gateware.
"""
