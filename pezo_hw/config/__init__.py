"""Configuration: what can be generated, validated in one place."""

from pezo_hw.config.advice import warnings
from pezo_hw.config.loading import (
    from_mapping,
    load,
    load_preset,
    preset_names,
    preset_summary,
)
from pezo_hw.config.models import (
    Config,
    ControlConfig,
    CoreConfig,
    GaussianCltSource,
    GaussianTreeSource,
    OnTheFlySource,
    PerLaneSource,
    PreGeneratedSource,
    RademacherSource,
    ReuseConfig,
    ScalingConfig,
    SeededSource,
    Source,
    WeightsConfig,
    WideUniformSource,
    ZoConfig,
)
from pezo_hw.config.starts import distinct_starts, groups_per_pass, period
from pezo_hw.config.widths import largest_perturbation, reach
from pezo_hw.config.writing import to_toml
from pezo_hw.config.zo_rules import check_exponent

__all__ = [
    "Config",
    "ControlConfig",
    "CoreConfig",
    "GaussianCltSource",
    "GaussianTreeSource",
    "OnTheFlySource",
    "PerLaneSource",
    "PreGeneratedSource",
    "RademacherSource",
    "ReuseConfig",
    "ScalingConfig",
    "SeededSource",
    "Source",
    "WeightsConfig",
    "WideUniformSource",
    "ZoConfig",
    "check_exponent",
    "distinct_starts",
    "from_mapping",
    "groups_per_pass",
    "largest_perturbation",
    "load",
    "load_preset",
    "period",
    "preset_names",
    "preset_summary",
    "reach",
    "to_toml",
    "warnings",
]
