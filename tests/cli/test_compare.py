"""`pezo compare`: text, JSON, files, progress, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pezo_hw.cli.main import main
from pezo_hw.compare import output
from tests.compare.conftest import LUTS, Tools, tools  # noqa: F401 - a fixture


def test_json_and_nothing_else(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    assert main(["compare", "--json", "--lanes", "512"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    document = json.loads(printed.out)
    assert [row["source"] for row in document["rows"]] == list(LUTS)
    assert len(document["published"]) == 3
    assert document["lanes"] == 512 and document["claims"] == []
    assert {lanes for _, lanes, _ in tools.asked} == {512}


def test_text_and_files(
    tools: Tools,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = tmp_path / "found"
    assert main(["compare", "--no-place", "--scaling", "-o", str(place)]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[2].startswith("on-the-fly")
    assert lines[-1].startswith(f"{place}: compare.json, ")
    assert {path.name for path in place.iterdir()} == set(output.NAMES)
    # No terminal: whole lines, and none is taken back.
    assert "6/6 on-the-fly: rank of 12 directions\n" in printed.err
    assert "29/29 scaling: gaussian-tree with 4096 lanes\n" in printed.err
    # Numbered in the order in which they begin, two at a time: the largest first.
    said = printed.err.splitlines()
    assert {line[:17] for line in said[:2]} == {"1/6 gaussian-tree", "2/6 gaussian-clt:"}
    numbers = [int(line.partition("/")[0]) for line in said]
    assert sorted(numbers[:6]) == list(range(1, 7)) and numbers[6:] == list(range(1, 30))
    assert "\r" not in printed.err and "\033" not in printed.err
    assert {lanes for _, lanes, _ in tools.asked} == {32, 128, 512, 1024, 4096}


def test_a_claim_that_fails(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    tools.luts["on-the-fly"] = 1000
    assert main(["compare"]) == 1
    printed = capsys.readouterr()
    assert "DOES NOT HOLD: fewer LUTs: on-the-fly against gaussian-tree: 130 times" in printed.out
    assert printed.err.splitlines()[-1] == (
        "error: what the figures are to show does not hold: fewer LUTs: on-the-fly against "
        "gaussian-tree: 130 times, not at least 300"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lanes", "100"], "error: --lanes must be a multiple of 32, the words a clock, from 32"),
        (["--parameters", "0"], "error: --parameters must be at least 1, not 0"),
        (
            ["--parameters", "1000000000"],
            "error: --parameters must be so few that the rank of 12 directions of wide-uniform "
            "takes at most 268435456 lane values, not 12000006144, as for 1000000000; use ",
        ),
        (
            ["--parameters", f"1{'0' * 400}"],
            "error: --parameters must be at most 1,000,000,000, not 1000",
        ),
        (["-o", "@"], "it holds mine.txt"),
    ],
)
def test_bad_options_are_found_before_anything_takes_long(
    tools: Tools,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    (tmp_path / "mine.txt").write_text("")
    assert main(["compare", *(text.replace("@", str(tmp_path)) for text in options)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error and "--steps" not in error
    assert tools.asked == []
    if (use := error.rpartition("; use ")[2]).isdigit() and options[0] == "--parameters":
        # What is proposed is possible.
        assert main(["compare", "--parameters", use]) == 0
