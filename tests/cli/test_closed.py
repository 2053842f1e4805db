"""`pezo` with standard streams that are closed before it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_lead_nowhere(closed: str) -> None:
    command = f'"{sys.executable}" -m pezo_hw.cli presets {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert ("tiny" in done.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_errors_do_not_take_the_place_of_output() -> None:
    command = f'"{sys.executable}" -m pezo_hw.cli check none 2>&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
