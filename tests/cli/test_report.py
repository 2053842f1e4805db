"""`pezo report`: its form, and the figures that the ZCU102 presets must keep."""

from __future__ import annotations

import json

import pytest

from pezo_hw.cli.main import main

# A seed whose exponents differ, so that the norm table is needed.
LIVE = ["--set", "source.phases=seeded", "--set", "source.seed=7"]


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:  # type: ignore[type-arg]
    assert main(["report", "--json", *arguments]) == 0
    result: dict = json.loads(capsys.readouterr().out)  # type: ignore[type-arg]
    return result


def _sum(report: dict, key: str) -> float:  # type: ignore[type-arg]
    return sum(block[key] for block in report["blocks"])


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        (["zcu102-onthefly"], {"lut": 280, "ff": 540, "bram36": 0, "dsp": 0}),
        (["zcu102-onthefly", *LIVE], {"lut": 520, "ff": 850, "bram36": 0, "dsp": 0}),
        (["zcu102-pregen"], {"lut": 60, "ff": 340, "bram36": 15, "dsp": 0}),
        # 64 LUTs a lane beyond the source, one DSP a word.
        (["zcu102-step"], {"lut": 64 * 32 + 280, "ff": 4400, "bram36": 0, "dsp": 32}),
    ],
    ids=["onthefly", "onthefly-live", "pregen", "step"],
)
def test_presets_keep_their_figures(
    capsys: pytest.CaptureFixture[str], arguments: list[str], limits: dict[str, float]
) -> None:
    report = _report(capsys, *arguments)
    assert report["device"] == "xczu9eg-ffvb1156-2-e"
    assert report["estimate"] is True
    for key, limit in limits.items():
        assert 0 <= report["resources"][key] <= limit
        assert _sum(report, key) == pytest.approx(report["resources"][key])
        assert report["share"][key] == pytest.approx(
            report["resources"][key]
            / {"lut": 274080, "ff": 548160, "bram36": 912, "dsp": 2520}[key],
            abs=1e-6,
        )
    assert report["published"]["lut"] == (2193 if "pregen" in arguments[0] else 548)
    beyond = sum(
        block["lut"] for block in report["blocks"] if not block["name"].startswith("engine")
    )
    assert beyond <= (64 * 32 if "step" in arguments[0] else 8)
    assert report["logic_levels"] <= (5 if "step" in arguments[0] else 3)


def test_the_report_for_people_says_that_it_is_an_estimate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "tiny"]) == 0
    out = capsys.readouterr().out
    assert "estimate (Yosys, not Vivado)" in out
