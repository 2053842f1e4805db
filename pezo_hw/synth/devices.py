"""Capacities of the devices on the boards of amaranth-boards.

Boards in ``boards/`` say their capacity themselves. A device that is missing here is no error: its
report has no shares.
"""

from __future__ import annotations

import re

__all__ = ["CAPACITIES", "capacity"]

_COLUMNS = ("lut", "ff", "bram36", "dsp")

# LUT, FF, block RAM in units of 36 kbit, DSP blocks.
CAPACITIES: dict[str, tuple[int, int, float, int]] = {
    # AMD/Xilinx 7 series: data sheets DS180 and DS190.
    "xc7s25": (14_600, 29_200, 45, 80),
    "xc7s50": (32_600, 65_200, 75, 120),
    "xc7a15t": (10_400, 20_800, 25, 45),
    "xc7a35t": (20_800, 41_600, 50, 90),
    "xc7a50t": (32_600, 65_200, 75, 120),
    "xc7a100t": (63_400, 126_800, 135, 240),
    "xc7a200t": (134_600, 269_200, 365, 740),
    "xc7k325t": (203_800, 407_600, 445, 840),
    "xc7z007s": (14_400, 28_800, 50, 66),
    "xc7z010": (17_600, 35_200, 60, 80),
    "xc7z020": (53_200, 106_400, 140, 220),
    # UltraScale: data sheet DS890.
    "xcku040": (242_400, 484_800, 600, 1_920),
    # Lattice ECP5, in the open tools' count: LUT4; the block RAMs have 18 kbit, so two of them make
    # one of 36; DSP blocks are MULT18X18D. The open tools use the whole die of a 12F, a 25F.
    "lfe5u-12f": (24_288, 24_288, 28, 28),
    "lfe5u-25f": (24_288, 24_288, 28, 28),
    "lfe5u-45f": (43_848, 43_848, 54, 72),
    "lfe5u-85f": (83_640, 83_640, 104, 156),
    # Lattice iCE40: logic cells; the block RAMs have 4 kbit, so nine of them make one of 36.
    "ice40hx1k": (1_280, 1_280, 16 / 9, 0),
    "ice40lp1k": (1_280, 1_280, 16 / 9, 0),
    "ice40hx8k": (7_680, 7_680, 32 / 9, 0),
    "ice40lp8k": (7_680, 7_680, 32 / 9, 0),
    "ice40up5k": (5_280, 5_280, 30 / 9, 8),
}


def capacity(device: str) -> dict[str, float] | None:
    """Return what a device holds.

    Parameters
    ----------
    device : str
        As amaranth-boards writes it, such as ``"LFE5U-85F"`` or ``"xc7a35ti"``.

    Returns
    -------
    dict or None
        ``lut``, ``ff``, ``bram36`` (units of 36 kbit) and ``dsp``; None for an unknown device.
    """
    name = device.lower()
    # The same dies with transceivers, and industrial temperature grades.
    name = re.sub(r"^lfe5um5?g?-", "lfe5u-", name)
    name = re.sub(r"^(xc7.*t)[il]$", r"\1", name)
    row = CAPACITIES.get(name)
    return dict(zip(_COLUMNS, row, strict=True)) if row is not None else None
