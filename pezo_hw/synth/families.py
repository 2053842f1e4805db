"""What Yosys makes for each device family: its command, what each cell costs, how cells time.

Everything that differs between families is data in this file; the counting
(`pezo_hw.synth.counts`) and the path search (`pezo_hw.synth.levels`) do not know any family.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["FAMILIES", "Cost", "Family", "Timing"]

_T = TypeVar("_T")
_NEVER = "(?!)"


@dataclass(frozen=True)
class Cost:
    """What one cell takes of its device.

    Attributes
    ----------
    lut, ff, dsp : int
        Look-up tables, flip-flops and DSP blocks.
    bram36 : float
        Block RAM in units of 36 kbit.
    carry : int
        Carry cells. They have no column of their own in a device's capacity.
    """

    lut: int = 0
    ff: int = 0
    bram36: float = 0.0
    dsp: int = 0
    carry: int = 0


@dataclass(frozen=True)
class Timing:
    r"""How signals travel through a cell.

    Attributes
    ----------
    arcs : tuple of (str, str, int)
        Combinational arcs: a pattern of input pins, a pattern of output pins (which may refer to
        groups of the first, like ``\1``), and the LUT levels that the arc adds. The first input
        pattern that matches is used.
    ends : str
        Pattern of the input pins where a path ends, because the cell stores them.
    clocks : str
        Pattern of the clock pins, which are never part of a path.
    starts : bool
        Whether paths start at the outputs, because the cell stores something.
    stages : tuple of (str, tuple of str)
        For cells whose registers are options: a pattern of input pins, and the parameters that,
        when any of them is on, make the pin an end; else it has an arc without levels to every
        output. First match. Paths start at the outputs when any parameter of any stage is on.
    ripple : bool
        Whether bit i of an input reaches only bits i and up of an output, as in a carry cell.
    """

    arcs: tuple[tuple[str, str, int], ...] = ()
    ends: str = _NEVER
    clocks: str = _NEVER
    starts: bool = False
    stages: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ripple: bool = False


@dataclass(frozen=True)
class Family:
    """A device family as Yosys sees it.

    Attributes
    ----------
    name : str
        Short name, the one Yosys uses where it has one.
    title : str
        Name for people.
    vendor : str
        Who places and routes it: ``"vivado"``, ``"trellis"`` or ``"icestorm"``.
    part : str
        How device, package and speed grade make a part's name.
    synth : str
        The synthesis command, without ``-top``.
    costs : dict of str to Cost
        Pattern of cell types to cost; first match.
    timings : dict of str to Timing
        Pattern of cell types to timing; first match.
    ram : str
        Pattern of the cell types that the report lists one by one, because they hold memory.
    """

    name: str
    title: str
    vendor: str
    part: str
    synth: str
    costs: dict[str, Cost] = field(repr=False)
    timings: dict[str, Timing] = field(repr=False)
    ram: str

    def cost(self, cell_type: str) -> Cost | None:
        """Return what a cell of this type takes, or None for a type that is not in the table."""
        return _first(self.costs, cell_type)

    def timing(self, cell_type: str) -> Timing | None:
        """Return how a cell of this type times, or None for a type that is not in the table."""
        return _first(self.timings, cell_type)


def _first(table: dict[str, _T], cell_type: str) -> _T | None:
    return next(
        (value for pattern, value in table.items() if re.fullmatch(pattern, cell_type)), None
    )


_LUT = Timing(arcs=((".*", ".*", 1),))
_WIRE = Timing(arcs=((".*", ".*", 0),))

# LUT RAMs: reading is combinational and takes the place of one LUT, writing is clocked. The last
# address port of a multi-port cell is also the write address.
_XILINX_RAM_PORTS = Timing(
    arcs=(("ADDR([A-H])", r"DO\1", 1),), ends=".*", clocks="WCLK", starts=True
)
_XILINX_RAM_DUAL = Timing(
    arcs=((r"DPRA\d*", "DPO", 1), (r"A\d*", "SPO", 1)),
    ends="(?!DPRA).*",
    clocks="WCLK",
    starts=True,
)
_XILINX_RAM_SINGLE = Timing(arcs=((r"A\d*", r"O\d*", 1),), ends=".*", clocks="WCLK", starts=True)

_XILINX_COSTS = {
    r"LUT[1-6]|LUT6_2|INV": Cost(lut=1),
    r"SRL16E?|SRLC16E?|SRLC32E": Cost(lut=1),
    # LUT RAM cells by the LUTs they fill.
    r"RAM(16|32|64)X1S(_1)?": Cost(lut=1),
    r"RAM(16|32|64)X1D(_1)?|RAM128X1S(_1)?|RAM(32|64)X2S": Cost(lut=2),
    r"RAM128X1D(_1)?|RAM256X1S(_1)?|RAM32X4S|RAM(32|64)M": Cost(lut=4),
    r"RAM256X1D|RAM512X1S|RAM32X8S|RAM32M16|RAM64M8|RAM64X8SW|RAM32X16DR8": Cost(lut=8),
    r"FD[RSCP]E?(_1)?": Cost(ff=1),
    r"RAMB36E[12]": Cost(bram36=1.0),
    r"RAMB18E[12]": Cost(bram36=0.5),
    r"DSP48E[12]": Cost(dsp=1),
    r"CARRY[48]": Cost(carry=1),
    # Wide multiplexers and clock buffers have places of their own beside the LUTs.
    r"MUXF[789]|BUFG.*|VCC|GND": Cost(),
}

_XILINX_TIMINGS = {
    r"LUT[1-6]|LUT6_2|INV": _LUT,
    r"SRL.*": Timing(arcs=((r"A\d*", "Q", 1),), ends="D|CE", clocks="CLK", starts=True),
    r"RAM(32|64)M(8|16)?": _XILINX_RAM_PORTS,
    r"RAM\d+X1D(_1)?": _XILINX_RAM_DUAL,
    r"RAM\d+X\d+S(_1)?": _XILINX_RAM_SINGLE,
    r"FD[RSCP]E?(_1)?": Timing(ends=".*", clocks="C", starts=True),
    r"RAMB.*|URAM.*": Timing(ends=".*", clocks=".*CLK.*", starts=True),
    r"DSP48E[12]": Timing(
        ends="CE.*|RST.*",
        clocks="CLK",
        stages=(
            (r"A|ACIN", ("AREG", "ADREG", "MREG", "PREG")),
            (r"B|BCIN", ("BREG", "MREG", "PREG")),
            (r"C", ("CREG", "PREG")),
            (r"D", ("DREG", "ADREG", "MREG", "PREG")),
            (r".*", ("PREG",)),
        ),
    ),
    r"CARRY[48]": Timing(arcs=((".*", ".*", 0),), ripple=True),
    r"MUXF[789]|BUFG.*": _WIRE,
}


def _xilinx(name: str, title: str, *, part: str) -> Family:
    return Family(
        name=name,
        title=title,
        vendor="vivado",
        part=part,
        synth=f"synth_xilinx -family {name} -flatten -noiopad",
        costs=_XILINX_COSTS,
        timings=_XILINX_TIMINGS,
        ram=r"SRL.*|RAM.*|URAM.*",
    )


_ECP5 = Family(
    name="ecp5",
    title="Lattice ECP5",
    vendor="trellis",
    part="{device}-{speed}{package}",
    synth="synth_ecp5",
    costs={
        r"LUT4|INV": Cost(lut=1),
        # A carry cell is two LUTs with a carry chain between them.
        r"CCU2C": Cost(lut=2, carry=1),
        # Four LUTs hold the bits, two more of the slice beside them are its write port.
        r"TRELLIS_DPR16X4": Cost(lut=6),
        r"TRELLIS_FF": Cost(ff=1),
        # 18 kbit each.
        r"DP16KD|PDPW16KD": Cost(bram36=0.5),
        r"MULT18X18D": Cost(dsp=1),
        r"PFUMX|L6MUX21|ALU54B|GSR|DCCA|VHI|VLO": Cost(),
    },
    timings={
        r"LUT4|INV": _LUT,
        r"CCU2C": Timing(arcs=(("CIN", ".*", 0), (".*", ".*", 1))),
        r"TRELLIS_DPR16X4": Timing(
            arcs=(("RAD", "DO", 1),), ends="(?!RAD).*", clocks="WCK", starts=True
        ),
        r"TRELLIS_FF": Timing(ends=".*", clocks="CLK", starts=True),
        r"DP16KD|PDPW16KD": Timing(ends=".*", clocks="CLK.*", starts=True),
        r"MULT18X18D": Timing(
            ends=r"(CE|RST)\d",
            clocks=r"CLK\d",
            stages=(
                (r"A\d*", ("REG_INPUTA_CLK", "REG_PIPELINE_CLK", "REG_OUTPUT_CLK")),
                (r"B\d*", ("REG_INPUTB_CLK", "REG_PIPELINE_CLK", "REG_OUTPUT_CLK")),
                (r".*", ("REG_OUTPUT_CLK",)),
            ),
        ),
        r"PFUMX|L6MUX21|DCCA": _WIRE,
    },
    ram=r"TRELLIS_DPR16X4|P?DPW?16KD",
)

_ICE40 = Family(
    name="ice40",
    title="Lattice iCE40",
    vendor="icestorm",
    part="{device}-{package}",
    synth="synth_ice40",
    costs={
        r"SB_LUT4": Cost(lut=1),
        r"SB_DFF.*": Cost(ff=1),
        # 4 kbit each, in units of 36 kbit.
        r"SB_RAM40_4K.*": Cost(bram36=4 / 36),
        r"SB_MAC16": Cost(dsp=1),
        r"SB_CARRY": Cost(carry=1),
        r"SB_GB": Cost(),
    },
    timings={
        r"SB_LUT4": _LUT,
        r"SB_CARRY|SB_GB": _WIRE,
        r"SB_DFF.*": Timing(ends=".*", clocks="C", starts=True),
        r"SB_RAM40_4K.*": Timing(ends=".*", clocks="[RW]CLKN?", starts=True),
        r"SB_MAC16": Timing(
            ends="CE|.*RST.*|.*HOLD",
            clocks="CLK",
            stages=(
                (r"A", ("A_REG", "TOP_8x8_MULT_REG", "PIPELINE_16x16_MULT_REG1")),
                (r"B", ("B_REG", "TOP_8x8_MULT_REG", "PIPELINE_16x16_MULT_REG1")),
                (r"C", ("C_REG",)),
                (r"D", ("D_REG",)),
                (r".*", ()),
            ),
        ),
    },
    ram=r"SB_RAM40_4K.*|SB_SPRAM256KA",
)

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        _xilinx("xcup", "AMD/Xilinx UltraScale+", part="{device}-{package}-{speed}"),
        _xilinx("xcu", "AMD/Xilinx UltraScale", part="{device}-{package}-{speed}"),
        _xilinx("xc7", "AMD/Xilinx 7 series", part="{device}{package}-{speed}"),
        _ECP5,
        _ICE40,
    )
}
