"""AMD/Xilinx ZCU104 evaluation kit (Zynq UltraScale+ XCZU7EV).

Pins and I/O standards are those of the vendor's master constraint file for the board
(revision 1.0): the clocks of banks 28 and 64, the four user LEDs of bank 88.
"""

from typing import ClassVar

from amaranth.build import Attrs, Clock, Connector, DiffPairs, Resource
from amaranth.vendor import XilinxPlatform
from amaranth_boards.resources import LEDResources

__all__ = ["ZCU104Platform"]


class ZCU104Platform(XilinxPlatform):
    """Programmable logic of the ZCU104; the processor's own pins are not described."""

    device = "xczu7ev"
    package = "ffvc1156"
    speed = "2-e"
    default_clk = "clk125"

    # The device also has 96 UltraRAMs of 288 kbit, which no core of this project uses.
    capacity: ClassVar = {"lut": 230_400, "ff": 460_800, "bram36": 312, "dsp": 1_728}
    # What the out-of-context constraint asks for: the fastest clock that the board feeds
    # to the logic without programming anything.
    target_clock_hz = 300e6

    resources: ClassVar = [
        # Both from the 8T49N287 clock generator.
        Resource(
            "clk125", 0, DiffPairs("F23", "E23", dir="i"), Clock(125e6), Attrs(IOSTANDARD="LVDS")
        ),
        Resource(
            "clk300",
            0,
            DiffPairs("AH18", "AH17", dir="i"),
            Clock(300e6),
            Attrs(IOSTANDARD="DIFF_SSTL12"),
        ),
        *LEDResources(pins="D5 D6 A5 B5", attrs=Attrs(IOSTANDARD="LVCMOS33")),
    ]
    connectors: ClassVar[list[Connector]] = []
