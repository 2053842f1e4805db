"""Accepted figures: what counts as worse, and the files that hold them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pezo_hw.config import load as load_config
from pezo_hw.config import preset_names
from pezo_hw.errors import PezoError
from pezo_hw.export.manifest import portable
from pezo_hw.synth import baseline as baselines
from pezo_hw.synth.baseline import FIGURES, accept, changed_keys, compare, load, to_json

BENCH = Path(__file__).resolve().parents[2] / "bench"

CONFIG = {"core": {"name": "c", "board": "zcu102"}, "source": {"bits": 8}}
TOOLS = {"yosys": "0.70", "nextpnr-ecp5": "0.11"}


def report(**changes: float) -> dict[str, Any]:
    figures = {"lut": 200, "ff": 500, "bram36": 0, "dsp": 2, "logic_levels": 2} | changes
    result: dict[str, Any] = {
        "device": "xczu9eg",
        "resources": {key: figures[key] for key in ("lut", "ff", "bram36", "dsp")},
        "logic_levels": figures["logic_levels"],
    }
    if "fmax_mhz" in figures:
        result["place"] = {"fmax_mhz": figures["fmax_mhz"]}
    if "activity" in figures:
        result["activity"] = {"per_lane_value": figures["activity"]}
    return result


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The versions that are installed; tests may change them."""
    found = dict(TOOLS)
    monkeypatch.setattr(baselines, "versions", lambda: dict(found))
    return found


def accepted(**changes: float) -> baselines.Baseline:
    return accept(report(**changes), name="c", config=CONFIG)


def verdicts(baseline: baselines.Baseline, **changes: float) -> dict[str, str]:
    return {item.figure: item.verdict for item in compare(baseline, report(**changes))}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "same"),
        ({"lut": 201}, "worse"),
        ({"lut": 199}, "better"),
        ({"ff": 501}, "worse"),
        ({"bram36": 0.5}, "worse"),
        ({"dsp": 1}, "better"),
        ({"logic_levels": 3}, "worse"),
        ({"activity": 0.2500001}, "worse"),
        ({"activity": 0.24}, "better"),
        # The one for which more is better, and which is noisy.
        ({"fmax_mhz": 285.0}, "within"),
        ({"fmax_mhz": 284.9}, "worse"),
        ({"fmax_mhz": 300.1}, "better"),
    ],
)
def test_the_same_tools_tolerate_nothing_but_the_noise_of_placement(
    change: dict[str, float], verdict: str
) -> None:
    figures = {"fmax_mhz": 300.0, "activity": 0.25}
    found = verdicts(accepted(**figures), **(figures | change))
    assert list(found) == list(FIGURES)
    for key, value in found.items():
        assert value == (verdict if key in change else "same")


@pytest.mark.parametrize(
    ("tool", "change", "verdict"),
    [
        ("yosys", {"lut": 210}, "within"),
        ("yosys", {"lut": 211}, "worse"),
        ("yosys", {"fmax_mhz": 270.0}, "within"),
        ("yosys", {"fmax_mhz": 269.9}, "worse"),
        # Nothing is a twentieth of nothing.
        ("yosys", {"bram36": 0.5}, "worse"),
        # What nextpnr decides, and what it does not.
        ("nextpnr-ecp5", {"fmax_mhz": 270.0}, "within"),
        ("nextpnr-ecp5", {"fmax_mhz": 269.9}, "worse"),
        ("nextpnr-ecp5", {"lut": 201}, "worse"),
    ],
)
def test_other_tools_tolerate_noise(
    installed: dict[str, str], tool: str, change: dict[str, float], verdict: str
) -> None:
    baseline = accepted(fmax_mhz=300.0)
    installed[tool] = "1.0"
    found = verdicts(baseline, **({"fmax_mhz": 300.0} | change))
    assert found == {
        key: verdict if key in change else "same" for key in FIGURES if key != "activity"
    }


def test_what_is_not_measured_is_told(installed: dict[str, str]) -> None:
    baseline = accepted(fmax_mhz=300.0, activity=0.25)
    found = compare(baseline, report())
    assert {item.figure for item in found if item.verdict == "not measured"} == {
        "fmax_mhz",
        "activity",
    }
    assert all(FIGURES[i.figure].option for i in found if i.measured is None)
    # A figure that the baseline does not hold is no difference.
    assert "fmax_mhz" not in verdicts(accepted(), fmax_mhz=1.0)
    # Only the tools that decide a figure are in the file.
    assert accepted().tools == {"yosys": installed["yosys"]}
    assert baseline.tools == installed


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    baseline = accepted(fmax_mhz=300.0, bram36=7.5)
    path.write_text(to_json(baseline))
    assert load(path) == baseline
    document = json.loads(path.read_text())
    assert document["bigger_is_better"]["figures"] == {"fmax_mhz": 300.0}
    assert set(document["smaller_is_better"]["figures"]) == set(FIGURES) - {"fmax_mhz", "activity"}
    assert document["smaller_is_better"]["tolerance"]["same_tools"] == 0


def test_tolerances_edited_by_hand_stay(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = json.loads(to_json(accepted()))
    document["smaller_is_better"]["tolerance"]["same_tools"] = 0.5
    path.write_text(json.dumps(document))
    again = accept(report(lut=300), name="c", config=CONFIG, before=load(path))
    assert again.figures["lut"] == 300
    assert verdicts(again, lut=450)["lut"] == "within"
    assert verdicts(again, lut=451)["lut"] == "worse"


def test_no_figure_is_lost_when_a_baseline_is_replaced() -> None:
    before = accepted(fmax_mhz=300.0, activity=0.25)
    with pytest.raises(
        PezoError, match=r"holds activity and fmax_mhz, .* add --activity --place ecp5$"
    ):
        accept(report(), name="c", config=CONFIG, before=before)
    with pytest.raises(PezoError, match=r"holds fmax_mhz, .* add --place ecp5$"):
        accept(report(activity=1), name="c", config=CONFIG, before=before)


def _without(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


def _with(value: object, *keys: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("tools"), "but tools is missing$"),
        (_without("smaller_is_better", "tolerance", "other_tools"), "but other_tools is missing$"),
        (_with(2, "format"), "but its format is 2 and not 1$"),
        (
            _with(7, "smaller_is_better", "figures", "fmax_mhz"),
            "but fmax_mhz is no figure under smaller_is_better$",
        ),
        (_with(7, "bigger_is_better", "figures", "lut"), "lut is no figure under bigger_is_better"),
        (_with("7", "smaller_is_better", "figures", "lut"), "but lut is '7' and not a number"),
        (_with(True, "smaller_is_better", "figures", "lut"), "but lut is True and not a number"),
        (
            _with(-0.1, "bigger_is_better", "tolerance", "same_tools"),
            "but tolerance same_tools is -0.1 and not a number of at least 0$",
        ),
        (_with([], "smaller_is_better"), "must be a baseline file as --write-baseline makes it"),
    ],
)
def test_a_file_that_is_no_baseline(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    path = tmp_path / "c.json"
    document = json.loads(to_json(accepted()))
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(PezoError, match=message):
        load(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PezoError, match=r"no\.json must be a baseline file, but: no such file"):
        load(tmp_path / "no.json")
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(PezoError, match=r"c\.json must be a baseline file in JSON, but: "):
        load(tmp_path / "c.json")
    (tmp_path / "c.json").write_text("[1]")
    with pytest.raises(PezoError, match=r"c\.json must be a baseline file as "):
        load(tmp_path / "c.json")


def test_changed_keys() -> None:
    baseline = accepted()
    assert changed_keys(baseline, CONFIG) == []
    other = {"core": {"name": "c", "board": "zcu104"}, "source": {}, "zo": {"shift": 3}}
    assert changed_keys(baseline, other) == ["core.board", "source.bits", "zo.shift"]


def test_the_repository_has_a_baseline_for_each_preset_of_the_first_design() -> None:
    paths = {path.stem: path for path in BENCH.glob("*.json")}
    assert {"zcu102-onthefly", "zcu102-pregen", "zcu102-step"} <= set(paths) <= set(preset_names())
    for name, path in paths.items():
        baseline = load(path)
        config = load_config(name)
        dumped = portable(config.model_dump(mode="json", exclude_none=True))
        assert changed_keys(baseline, dumped) == []
        # Activity takes too long for some of them.
        assert set(FIGURES) - set(baseline.figures) <= {"activity"}
        assert baseline.figures["lut"] > 0 and baseline.figures["fmax_mhz"] > 0
        assert path.read_text() == to_json(baseline)
