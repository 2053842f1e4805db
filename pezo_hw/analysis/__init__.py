"""Statistics of the perturbations: figures, verdicts and plots for any source of groups."""

from pezo_hw.analysis.analysis import Analysis, analyse, analyse_config
from pezo_hw.analysis.checks import Check
from pezo_hw.analysis.source import Expectation, Source, expectation_of, uniform

__all__ = [
    "Analysis",
    "Check",
    "Expectation",
    "Source",
    "analyse",
    "analyse_config",
    "expectation_of",
    "uniform",
]
