"""`pezo generate` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pezo_hw.cli.main import main


def test_generate_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "deep" / "core"
    assert main(["generate", "tiny", "-o", str(place)]) == 0
    out = capsys.readouterr().out
    for path in place.rglob("*"):
        if path.is_file():
            assert path.relative_to(place).as_posix() in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "core.board=zcu103"], r'"zcu102"'),
        (["--set", "core.name=module"], r"core.name"),
        (["--set", "reuse.lanes=1"], r"reuse.lanes"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["generate", "tiny", "-o", str(tmp_path / "core"), *arguments]) == 2
    err = capsys.readouterr().err
    lines = [line for line in err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert message.strip('"') in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "tiny"]) == 2
    assert "--output" in capsys.readouterr().err
