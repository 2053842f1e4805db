"""The table of the wide generators is what its script finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def search(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/search_wide.py", *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_table_is_what_the_search_finds() -> None:
    # The larger sizes take minutes.
    done = search("--check", "--sizes", "64", "128")
    assert (done.returncode, done.stdout) == (0, "the same\n"), done.stderr
