"""Published figures that a report stands beside.

Marks: P published in the paper or its abstract; Q quoted by secondary articles only; D derived from
other figures; M measured here. Percentages are shares of the ZCU102's device; the counts are
derived from them, and so have no more digits than the percentages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["BASELINE", "DEVICE", "LANES", "PEZO", "Figures", "beside"]

DEVICE = "xczu9eg-ffvb1156-2-e"
"""Part that the figures are for: the ZCU102's."""

LANES = 1024
"""Lanes that the figures are for (D): the baseline fits 1024 copies of a known generator."""

_DEVICE_LUT = 274_080
_DEVICE_FF = 548_160
_WHERE = "PeZO, arXiv 2504.20314, ICCAD 2025"


@dataclass(frozen=True)
class Figures:
    """One row of the paper's hardware table, mark Q.

    Attributes
    ----------
    design : str
        What was built.
    lut_percent, ff_percent : float
        Percent of the device's LUTs and flip-flops. Block RAM and DSP blocks are not published.
    power_w : float
        Power in W.
    clock_mhz : int
        Highest clock in MHz.
    """

    design: str
    lut_percent: float
    ff_percent: float
    power_w: float
    clock_mhz: int

    @property
    def lut(self) -> int:
        """LUTs, mark D."""
        return round(self.lut_percent / 100 * _DEVICE_LUT)

    @property
    def ff(self) -> int:
        """Flip-flops, mark D."""
        return round(self.ff_percent / 100 * _DEVICE_FF)

    def as_dict(self) -> dict[str, Any]:
        """Return the row for a report, with the mark of every figure."""
        return {
            "design": self.design,
            "lut": self.lut,
            "ff": self.ff,
            "bram36": None,
            "dsp": None,
            "share": {
                "lut": round(self.lut_percent / 100, 6),
                "ff": round(self.ff_percent / 100, 6),
                "bram36": None,
                "dsp": None,
            },
            "power_w": self.power_w,
            "clock_mhz": self.clock_mhz,
            "marks": {"share": "Q", "power_w": "Q", "clock_mhz": "Q", "lut": "D", "ff": "D"},
        }


BASELINE = Figures("Gaussian generators (MeZO)", 48.6, 12.7, 4.474, 500)
"""One Gaussian generator a lane."""

PEZO = {
    "pre-generated": Figures("PeZO pre-generated", 0.8, 0.3, 2.104, 700),
    "on-the-fly": Figures("PeZO on the fly", 0.2, 0.4, 0.626, 700),
}
"""The paper's two designs, by ``source.kind``."""


def beside(
    kind: str, *, core: str = "perturbation", part: str, lanes: int | None = None
) -> dict[str, Any]:
    """Return the figures to set beside a core.

    Parameters
    ----------
    kind : str
        ``source.kind`` of the core. For one that is no key of `PEZO`, nothing is published but the
        baseline.
    core : str
        ``core.kind``: the published designs are perturbation engines only.
    part : str
        Part that the core is for.
    lanes : int, optional
        Lanes of the core.

    Returns
    -------
    dict
        `Figures.as_dict` of the design, and ``source``, ``device``, ``lanes``, the ``baseline`` and
        ``differs``: why the figures cannot be compared one to one, empty if they can.
    """
    differs = []
    if part != DEVICE:
        differs.append(f"published for {DEVICE}, not {part}")
    if lanes is not None and lanes != LANES:
        differs.append(f"published for {LANES} lanes, not {lanes}")
    if core != "perturbation":
        differs.append(f"published for the source of perturbations alone, not for a {core} core")
    return {
        **(PEZO[kind].as_dict() if kind in PEZO else {}),
        "source": _WHERE,
        "device": DEVICE,
        "lanes": LANES,
        "differs": differs,
        "baseline": BASELINE.as_dict(),
    }
