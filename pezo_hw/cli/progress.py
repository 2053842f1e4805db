"""What a long command says while it runs: one line that changes on a terminal, else plain lines."""

from __future__ import annotations

import shutil
import sys
from types import TracebackType


class Progress:
    """Writes what is being done to the error output; a context manager.

    Parameters
    ----------
    quiet : bool
        Say nothing, as beside JSON for programs.
    """

    def __init__(self, *, quiet: bool = False):
        self._quiet = quiet
        self._in_place = not quiet and sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Say what comes next, or how far it is."""
        if self._quiet:
            return
        if self._in_place:
            # A line that wraps could not be taken back.
            width = shutil.get_terminal_size().columns - 1
            text = f"\r\033[K{text[:width]}"
        sys.stderr.write(text if self._in_place else f"{text}\n")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._in_place:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
