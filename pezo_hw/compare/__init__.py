"""Sources side by side: what each costs, how fast it is, and how good its numbers are."""

from .entries import BASELINE, ENTRIES, Entry
from .measuring import PARAMETERS, SIZES, STEPS, measure
from .result import Claim, Comparison, Row

__all__ = [
    "BASELINE",
    "ENTRIES",
    "PARAMETERS",
    "SIZES",
    "STEPS",
    "Claim",
    "Comparison",
    "Entry",
    "Row",
    "measure",
]
