"""What a broken rule of a configuration is reported as."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One broken rule.

    Attributes
    ----------
    keys : tuple of str
        The keys involved, ``section.key``, the one to blame first.
    text : str
        One line, to be put behind "<file>: ".
    """

    keys: tuple[str, ...]
    text: str
