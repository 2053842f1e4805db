"""The models of a configuration: keys, types, ranges and defaults.

A `Config` that exists is valid: what the models cannot express is checked by `rules`, which every
construction runs.  The descriptions and ranges here are also what error messages and the comments
of a written TOML file say, so each is stated once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pezo_hw.config.sources import (
    GaussianCltSource,
    GaussianTreeSource,
    OnTheFlySource,
    PerLaneSource,
    PreGeneratedSource,
    RademacherSource,
    Section,
    SeededSource,
    Source,
    WideUniformSource,
    only_integers,
)

__all__ = [
    "SECTIONS",
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
    "Section",
    "SeededSource",
    "Source",
    "WeightsConfig",
    "WideUniformSource",
    "ZoConfig",
    "section_keys",
]

# A file with more weights than this is a typing error; the bound keeps derived numbers small.
_MOST_PARAMETERS = 10**15


class CoreConfig(Section):
    """What is generated, and for which board."""

    name: Annotated[
        str, Field(description="name of the core and prefix of every module; an HDL identifier")
    ]
    kind: Annotated[
        Literal["perturbation", "zo-step"],
        Field(description="perturbations only, or weights streamed through the whole step"),
    ]
    board: Annotated[
        str,
        Field(description="a file in boards/, an amaranth-boards platform, or a path to a .py"),
    ]
    parameters: Annotated[
        int | None,
        Field(
            ge=1,
            le=_MOST_PARAMETERS,
            description="weights trained, d; used for warnings only",
            examples=[1_000_000],
        ),
    ] = None


class ScalingConfig(Section):
    """Scaling of each group to the norm of a Gaussian vector, by a power of two."""

    mode: Annotated[
        Literal["group", "constant", "none"],
        Field(description="an exponent for each group, one for all, or no scaling"),
    ] = "group"  # "none" for the seeded sources
    exponent: Annotated[
        int | None,
        Field(
            ge=0,
            le=3,
            description='words times 2^exponent; only with "constant"; default: the commonest',
            examples=[1],
        ),
    ] = None


class ReuseConfig(Section):
    """How the words of a group are spread over the lanes."""

    lanes: Annotated[
        int, Field(ge=1, le=16384, description="perturbations a clock, P; a multiple of W")
    ]
    stride: Annotated[
        int,
        Field(
            ge=0, le=63, description="places each further block of W lanes is turned by; below W"
        ),
    ] = 1
    signs: Annotated[
        bool, Field(description="each block of W lanes gets a sign of its own in each group")
    ] = False


class WeightsConfig(Section):
    """The signed fixed-point format of the weights."""

    bits: Annotated[
        Literal[8, 16], BeforeValidator(only_integers), Field(description="bits a weight")
    ]
    frac: Annotated[int, Field(ge=0, le=15, description="fraction bits; below weights.bits")]

    @property
    def largest(self) -> int:
        """Largest weight in LSBs, 2^(bits-1) - 1."""
        return (1 << (self.bits - 1)) - 1


class ZoConfig(Section):
    """The zeroth-order step."""

    schedule: Annotated[
        Literal["in-place", "inline", "inline-both", "fused"],
        Field(description="sweeps that the core has, each with those before it; see the docs"),
    ] = "in-place"
    update: Annotated[
        Literal["dsp", "zoqo"],
        Field(description="a product rounded stochastically, or the sign times whole LSBs"),
    ] = "dsp"
    levels: Annotated[
        int,
        Field(ge=0, le=16383, description="largest perturbation m in weight LSBs; zoqo only"),
    ] = 0  # none: "dsp"
    epsilon_log2: Annotated[
        int | None,
        Field(
            le=0,
            description="epsilon = 2^epsilon_log2; at least one weight LSB",
            examples=[-7],
        ),
    ] = None  # must be given for "dsp"
    coefficient_bits: Annotated[
        int, Field(ge=8, le=25, description="bits of the signed update coefficient C")
    ] = 18  # weights.bits for "zoqo"
    coefficient_shift: Annotated[
        int | None,
        Field(
            ge=1,
            le=24,
            description="fraction bits of C, S: update = (word C + dither) / 2^S",
            examples=[16],
        ),
    ] = None  # 16 for "dsp"

    @property
    def epsilon(self) -> float:
        """Size of the perturbation, epsilon = 2^epsilon_log2; not for "zoqo"."""
        if self.epsilon_log2 is None:
            raise ValueError("epsilon of zoqo is levels weight LSBs")
        return float(2.0**self.epsilon_log2)


class ControlConfig(Section):
    """How a processor reaches the step core."""

    interface: Annotated[
        Literal["ports", "axi-lite"],
        Field(description="commands on plain ports, or in AXI4-Lite registers with an interrupt"),
    ] = "ports"
    tensors: Annotated[
        int,
        Field(ge=0, le=64, description="entries of the table of tensors; 0 for no table"),
    ] = 0


def _source_kind(source: Any) -> str | None:
    # Left to itself pydantic formats whatever stands there, and fails on very long integers.
    kind = source.get("kind") if isinstance(source, dict) else getattr(source, "kind", None)
    return kind if isinstance(kind, str) else None


class Config(Section):
    """A valid configuration.

    Attributes
    ----------
    core, source, scaling, reuse : Section
        Always there.
    weights, zo, control : Section or None
        There exactly if ``core.kind == "zo-step"``.
    """

    core: CoreConfig
    source: Annotated[
        Annotated[OnTheFlySource, Tag("on-the-fly")]
        | Annotated[PreGeneratedSource, Tag("pre-generated")]
        | Annotated[WideUniformSource, Tag("wide-uniform")]
        | Annotated[RademacherSource, Tag("rademacher")]
        | Annotated[GaussianTreeSource, Tag("gaussian-tree")]
        | Annotated[GaussianCltSource, Tag("gaussian-clt")],
        Discriminator(_source_kind),
    ]
    scaling: ScalingConfig = ScalingConfig()
    reuse: ReuseConfig
    weights: WeightsConfig | None = None
    zo: ZoConfig | None = None
    control: ControlConfig | None = None

    # Folder that a relative board path counts from; set for configurations read from a file.
    _folder: Path | None = PrivateAttr(default=None)

    @property
    def words(self) -> int:
        """Words in a group, W."""
        source = self.source
        if isinstance(source, PerLaneSource):
            return self.reuse.lanes
        return source.words

    @property
    def board_reference(self) -> str:
        """What to look the board up by.

        ``core.board``, except that a relative path in a configuration file counts from this file's
        folder, so that the file works from any directory.
        """
        if self._folder is None:
            return self.core.board
        return str(self._folder / self.core.board)

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        # Here and not at the top: the rules are written in terms of these models.
        from pezo_hw.config.rules import faults

        source = self.source
        one_block = self.words == 1 or isinstance(source, PerLaneSource)
        if one_block and "stride" not in self.reuse.model_fields_set:
            # There is nothing to turn (with one word, 0 is the only legal stride).
            self.__dict__["reuse"] = self.reuse.model_copy(update={"stride": 0})
        if isinstance(source, SeededSource) and "mode" not in self.scaling.model_fields_set:
            update = {"mode": source.scaling_modes[0]}
            self.__dict__["scaling"] = self.scaling.model_copy(update=update)
        self._complete_zo()
        if self.control is None and self.core.kind == "zo-step":
            self.__dict__["control"] = ControlConfig()
        found = faults(self)
        if found:
            raise PydanticCustomError("rules", "{text}", {"text": found[0].text, "faults": found})
        return self

    def _complete_zo(self) -> None:
        """Fill in defaults that depend on the kind of update."""
        zo = self.zo
        if zo is None:
            return
        if zo.update == "dsp":
            update = {} if zo.coefficient_shift is not None else {"coefficient_shift": 16}
        else:
            if "mode" not in self.scaling.model_fields_set:
                scaling = self.scaling.model_copy(update={"mode": "none"})
                self.__dict__["scaling"] = scaling
            update = {}
            if self.weights is not None and "coefficient_bits" not in zo.model_fields_set:
                update = {"coefficient_bits": self.weights.bits}
        if update:
            self.__dict__["zo"] = zo.model_copy(update=update)


SECTIONS: dict[str, tuple[type[Section], ...]] = {
    "core": (CoreConfig,),
    "source": (
        OnTheFlySource,
        PreGeneratedSource,
        WideUniformSource,
        RademacherSource,
        GaussianTreeSource,
        GaussianCltSource,
    ),
    "scaling": (ScalingConfig,),
    "reuse": (ReuseConfig,),
    "weights": (WeightsConfig,),
    "zo": (ZoConfig,),
    "control": (ControlConfig,),
}
"""The models of each section, in the order in which a file is written."""


def section_keys(section: str) -> tuple[str, ...]:
    """Return all keys that `section` can have, whatever its kind."""
    return tuple(dict.fromkeys(key for model in SECTIONS[section] for key in model.model_fields))
