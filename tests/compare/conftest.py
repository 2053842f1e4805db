"""Comparisons without synthesis: what the tools would say is made up."""

from __future__ import annotations

from typing import Any

import pytest

from pezo_hw.compare import measuring
from pezo_hw.config import Config
from pezo_hw.errors import PezoError
from pezo_hw.synth import cores, scaling
from pezo_hw.synth import place as placing

LUTS = {
    "on-the-fly": 273,
    "pre-generated": 52,
    "wide-uniform": 298,
    "rademacher": 1066,
    "gaussian-clt": 40_000,
    "gaussian-tree": 130_000,
}


class Tools:
    """What takes the place of Yosys, nextpnr and the simulation.

    Attributes
    ----------
    luts : dict of str to int
        LUTs of each kind of source.
    too_large : set of str
        Kinds that do not fit the device that they are placed on.
    simulated : dict of str to (int, int)
        Groups and lanes that were asked for, by kind.
    asked : list of (str, int, bool)
        Kind, lanes and whether it was placed, of all reports.
    """

    def __init__(self) -> None:
        self.luts = dict(LUTS)
        self.too_large: set[str] = set()
        self.simulated: dict[str, tuple[int, int]] = {}
        self.asked: list[tuple[str, int, bool]] = []

    def report(
        self, config: Config, *, where: str, place: str | None = None, **_: Any
    ) -> dict[str, Any]:
        kind, lanes = config.source.kind, config.reuse.lanes
        self.asked.append((kind, lanes, place is not None))
        luts = self.luts[kind]
        result: dict[str, Any] = {
            "device": "xczu9eg-ffvb1156-2-e",
            "resources": {"lut": luts, "ff": 2 * luts, "bram36": 7.5, "dsp": 0},
            "share": {"lut": round(luts / 274_080, 6)},
            "logic_levels": 3,
        }
        if scaling.samples(config):
            sizes = scaling.samples(config)
            result["scaled"] = {"from": [{"lanes": n} for n in sizes], "deviation": 0.013}
        if place is not None:
            if kind in self.too_large:
                raise PezoError(f"{kind} must fit LFE5U-85F-6")
            result["place"] = {
                "fmax_mhz": 214.55,
                "critical_path_words": "from here to there",
                "lanes": scaling.samples(config)[0] if scaling.samples(config) else lanes,
            }
        return result

    def activity(self, config: Config, *, groups: int, **_: Any) -> dict[str, Any]:
        lanes = (scaling.samples(config) or [config.reuse.lanes])[-1]
        self.simulated[config.source.kind] = (groups, config.reuse.lanes)
        value = 8.0 if config.source.kind.startswith("gaussian") else 0.25
        return {
            "per_lane_value": value,
            "lanes": lanes,
            "groups": -(-groups * config.reuse.lanes // lanes),
        }


def install(patch: pytest.MonkeyPatch) -> Tools:
    """Take the place of all tools, and of most of the 512 directions."""
    made = Tools()
    patch.setattr(cores, "report", made.report)
    patch.setattr(cores, "activity", made.activity)
    patch.setattr(placing, "version", lambda: "0.11")
    patch.setattr(measuring, "STEPS", 12)
    return made


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    """Take the place of all tools."""
    return install(monkeypatch)
