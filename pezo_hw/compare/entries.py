"""What is compared: one preset for each kind of source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pezo_hw.config import Config, SeededSource, load
from pezo_hw.errors import PezoError

MOST_LANES = 16384


@dataclass(frozen=True)
class Entry:
    """A design of the comparison.

    Attributes
    ----------
    name : str
        What its row is called: ``source.kind``, and what is changed.
    preset : str
    text : str
        What it is, in a few words.
    overrides : tuple of str
        What ``--set`` is given.
    """

    name: str
    preset: str
    text: str
    overrides: tuple[str, ...] = ()

    def config(self, lanes: int) -> Config:
        """Return the configuration with so many lanes."""
        return load(self.preset, [*self.overrides, f"reuse.lanes={lanes}"])

    @property
    def most_lanes(self) -> int:
        """Most lanes of the kind of source."""
        source = load(self.preset).source
        own = source.most_lanes if isinstance(source, SeededSource) else None
        return MOST_LANES if own is None else own


ENTRIES = (
    Entry("on-the-fly", "zcu102-onthefly", "PeZO: a bank of 32 LFSRs of 8 bits, words reused"),
    Entry("pre-generated", "zcu102-pregen", "PeZO: a pool of 4,095 words in block RAM, reused"),
    Entry("wide-uniform", "zcu102-wide", "32 words of one wide generator, reused"),
    Entry("rademacher", "zcu102-rademacher", "a fresh +1 or -1 for each lane"),
    Entry("gaussian-clt", "zcu102-gaussian-clt", "sums of four table entries for each lane"),
    Entry("gaussian-tree", "zcu102-gaussian-tree", "a tree of comparators for each lane"),
)
"""All designs, in the order of the rows; a new one is a line here."""

BASELINE = "gaussian-tree"
"""The design that the published Gaussian baseline fits; ratios are to its LUTs."""

# The lanes of all sources that reuse words are multiples of the words a clock.
_WORDS = 32


def check_lanes(lanes: int, *, option: str = "--lanes") -> None:
    """Refuse a number of lanes that not every source can have.

    Raises
    ------
    PezoError
        If it is not a multiple of 32, or out of range.
    """
    if not _WORDS <= lanes <= MOST_LANES or lanes % _WORDS:
        near = min(max(_WORDS, round(lanes / _WORDS) * _WORDS), MOST_LANES)
        raise PezoError(
            f"{option} must be a multiple of {_WORDS}, the words a clock, from {_WORDS} to "
            f"{MOST_LANES}, not {lanes}; use {near}"
        )


def with_lanes(lanes: int, entries: Sequence[Entry] = ENTRIES) -> tuple[list[Entry], list[str]]:
    """Return the designs that can have so many lanes, and a note for each of the others."""
    fit = [entry for entry in entries if lanes <= entry.most_lanes]
    notes = [
        f"{entry.name} has at most {entry.most_lanes:,} lanes and is left out at {lanes:,}"
        for entry in entries
        if entry not in fit
    ]
    return fit, notes
