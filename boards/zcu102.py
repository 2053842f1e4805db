"""AMD/Xilinx ZCU102 evaluation kit (Zynq UltraScale+ XCZU9EG).

Pins and I/O standards are those of the vendor's master constraint file for the board
(revision 1.0): the clocks of the logic and the eight user LEDs of bank 44.
"""

from typing import ClassVar

from amaranth.build import Attrs, Clock, Connector, DiffPairs, Resource
from amaranth.vendor import XilinxPlatform
from amaranth_boards.resources import LEDResources

__all__ = ["ZCU102Platform"]


class ZCU102Platform(XilinxPlatform):
    """Programmable logic of the ZCU102; the processor's own pins are not described."""

    device = "xczu9eg"
    package = "ffvb1156"
    speed = "2-e"
    default_clk = "clk125"

    capacity: ClassVar = {"lut": 274_080, "ff": 548_160, "bram36": 912, "dsp": 2_520}
    # What the out-of-context constraint asks for: the fastest clock that the board feeds
    # to the logic without programming anything.
    target_clock_hz = 300e6

    resources: ClassVar = [
        # SI5341B, fixed.
        Resource(
            "clk125", 0, DiffPairs("G21", "F21", dir="i"), Clock(125e6), Attrs(IOSTANDARD="LVDS_25")
        ),
        Resource(
            "clk74_25",
            0,
            DiffPairs("AK15", "AK14", dir="i"),
            Clock(74.25e6),
            Attrs(IOSTANDARD="LVDS_25"),
        ),
        # SI570, programmable; 300 MHz after power-up.
        Resource(
            "clk300",
            0,
            DiffPairs("AL8", "AL7", dir="i"),
            Clock(300e6),
            Attrs(IOSTANDARD="DIFF_SSTL12"),
        ),
        *LEDResources(
            pins="AG14 AF13 AE13 AJ14 AJ15 AH13 AH14 AL12", attrs=Attrs(IOSTANDARD="LVCMOS33")
        ),
    ]
    connectors: ClassVar[list[Connector]] = []
