"""What pages show as output of long commands is what these print; see also test_docs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pezo_hw.cli.main import main
from pezo_hw.compare import tables
from pezo_hw.compare.result import from_document

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
CUT = "..."


def _shown() -> list[tuple[str, str]]:
    """Return commands with the output that a page shows below them."""
    found = []
    for page in sorted(DOCS.glob("*.rst")):
        for match in re.finditer(
            r"^( +)\$ (pezo (?:compare|memory|train).*)\n((?:\1[^$\s].*\n|\1 +\S.*\n)+)",
            page.read_text(encoding="utf-8"),
            re.MULTILINE,
        ):
            indent, command, output = match.groups()
            found.append((command, re.sub(f"(?m)^{indent}", "", output)))
    return found


def _without_seconds(text: str) -> str:
    """Return a table of trainings without the time that they took, which ends a row."""
    return re.sub(r"(?m)(%  +)\d+\.\d$", r"\1S", text)


def test_pages_show_output() -> None:
    assert {command.split()[1] for command, _ in _shown()} == {"compare", "memory", "train"}


@pytest.mark.parametrize(("command", "output"), _shown())
def test_a_command_prints_what_the_page_shows(
    command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "pezo compare":
        # It takes minutes. That the kept results are those of today is tested where they are.
        kept = (DOCS / "results" / "compare" / "compare.json").read_text(encoding="utf-8")
        printed = f"{tables.text(from_document(json.loads(kept)))}\n"
    else:
        main(shlex.split(command)[1:])
        printed = capsys.readouterr().out
    pattern = ".*".join(re.escape(part) for part in _without_seconds(output).split(f"{CUT}\n"))
    shorter = ".*" if CUT in output else ""
    assert re.fullmatch(pattern + shorter, _without_seconds(printed), re.DOTALL), printed
