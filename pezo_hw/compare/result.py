"""What a comparison comes to: rows, claims, and the published figures beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pezo_hw.synth import published

from .entries import BASELINE

__all__ = [
    "Claim",
    "Comparison",
    "Row",
    "Size",
    "claims_of",
    "from_document",
    "published_rows",
]


@dataclass(frozen=True)
class Row:
    """The figures of a source; field by field what the JSON has.

    Attributes
    ----------
    source : str
    lut, ff, bram36, dsp : float
        Estimates of Yosys for UltraScale+.
    share : float or None
        LUTs as a fraction of the device's.
    ratio : float
        LUTs as a fraction of the Gaussian baseline's in the same run.
    fmax_mhz : float or None
        Median of placements for ECP5; None if it was not placed or does not fit.
    logic_levels : int
        LUTs between registers, at most, for UltraScale+.
    activity : float
        Toggles a lane value, a proxy for dynamic power.
    period : int
        Groups after which the source repeats.
    directions : int
        Start positions, or seeds, that training with D parameters visits.
    rank : int
        Dimensions that successive directions of D parameters span.
    """

    source: str
    lut: float
    ff: float
    bram36: float
    dsp: float
    share: float | None
    ratio: float
    fmax_mhz: float | None
    logic_levels: int
    activity: float
    period: int
    directions: int
    rank: int


@dataclass(frozen=True)
class Size:
    """LUTs and flip-flops of a source with some number of lanes."""

    source: str
    lanes: int
    lut: float
    ff: float
    scaled: bool


@dataclass(frozen=True)
class Claim:
    """A statement about the rows, with whether it holds.

    Attributes
    ----------
    text : str
        What is compared.
    value : float
        What was measured.
    unit : str
        "times" or "%".
    must : str
        What is claimed, in the same unit.
    holds : bool
    """

    text: str
    value: float
    unit: str
    must: str
    holds: bool


@dataclass(frozen=True)
class Comparison:
    """A comparison of sources.

    Attributes
    ----------
    lanes : int
    device : str
        Part that LUTs and flip-flops are for.
    parameters, steps : int
        D and S of `Row.rank`.
    lane_values : int
        Lane values that were simulated for the activity, the same for each source.
    tools : dict of str to str
    rows : tuple of Row
    claims : tuple of Claim
        Empty unless they can be judged: at 1,024 lanes and with all figures.
    notes : tuple of str
        What is to be known about single figures.
    paths : dict of str to str
        The critical path of each source that was placed, in words.
    scaling : tuple of Size
        Empty unless asked for.
    """

    lanes: int
    device: str
    parameters: int
    steps: int
    lane_values: int
    tools: Mapping[str, str]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    scaling: tuple[Size, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the figures are there to show."""
        return claims_of(self.rows) if self.lanes == published.LANES else ()

    def row(self, source: str) -> Row:
        """Return the row of a source."""
        return next(row for row in self.rows if row.source == source)

    def document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "lanes": self.lanes,
            "device": self.device,
            "estimate": True,
            "parameters": self.parameters,
            "steps": self.steps,
            "lane_values": self.lane_values,
            "tools": dict(self.tools),
            "rows": [asdict(row) for row in self.rows],
            "published": published_rows(),
            "claims": [asdict(claim) for claim in self.claims],
            "critical_paths": dict(self.paths),
            "scaling": [asdict(size) for size in self.scaling],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document(), indent=2, allow_nan=False)


def from_document(document: Mapping[str, Any]) -> Comparison:
    """Return the comparison that a document was written from."""
    return Comparison(
        lanes=document["lanes"],
        device=document["device"],
        parameters=document["parameters"],
        steps=document["steps"],
        lane_values=document["lane_values"],
        tools=document["tools"],
        rows=tuple(Row(**row) for row in document["rows"]),
        notes=tuple(document["notes"]),
        paths=document["critical_paths"],
        scaling=tuple(Size(**size) for size in document["scaling"]),
    )


def published_rows() -> list[dict[str, Any]]:
    """Return the rows of the paper's hardware table, with the keys of `Row` where it has them."""
    figures = (*published.PEZO.values(), published.BASELINE)
    rows = []
    for one in sorted(figures, key=lambda one: one.lut):
        known = one.as_dict()
        rows.append(
            {
                "source": one.design,
                **{key: known[key] for key in ("lut", "ff", "bram36", "dsp")},
                "share": known["share"]["lut"],
                "ratio": round(one.lut / published.BASELINE.lut, 6),
                "power_w": one.power_w,
                "clock_mhz": one.clock_mhz,
                "marks": known["marks"],
            }
        )
    return rows


def claims_of(rows: Sequence[Row]) -> tuple[Claim, ...]:
    """Judge what PeZO claims, by figures of one run; those that the rows lack are left out."""
    by_name = {row.source: row for row in rows}
    if not {"on-the-fly", BASELINE} <= by_name.keys():
        return ()
    cheap, gaussian = by_name["on-the-fly"], by_name[BASELINE]
    fewer = gaussian.lut / cheap.lut
    share = cheap.activity / gaussian.activity
    found = [
        Claim(
            f"fewer LUTs: on-the-fly against {BASELINE}",
            round(fewer, 1),
            "times",
            "at least 300",
            fewer >= 300,
        ),
        Claim(
            f"activity: on-the-fly against {BASELINE}",
            round(100 * share, 2),
            "%",
            "at most 14",
            share <= 0.14,
        ),
    ]
    if cheap.fmax_mhz is not None and gaussian.fmax_mhz is not None:
        faster = cheap.fmax_mhz / gaussian.fmax_mhz
        found.append(
            Claim(
                f"Fmax: on-the-fly against {BASELINE}",
                round(faster, 2),
                "times",
                "at least 1",
                faster >= 1,
            )
        )
    return tuple(found)
