"""The models of the sources; see `pezo_hw.config.models`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


def only_integers(value: Any) -> Any:
    """Refuse 8.0 for a literal 8, which pydantic takes even in strict mode."""
    if isinstance(value, float):
        raise PydanticCustomError("float_for_integer", "must be an integer")
    return value


class Section(BaseModel):
    """Base of all sections: frozen, no unknown keys, no conversion between types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


# What both kinds of source have.
_Bits: TypeAlias = Annotated[int, Field(ge=4, le=16, description="bits a word, b")]
_Seed: TypeAlias = Annotated[
    int, Field(ge=0, le=2**32 - 1, description="picks the phases or the pool's words")
]
_Phases: TypeAlias = Annotated[
    Literal["auto", "seeded"],
    Field(description="chosen for equal group norms, or arbitrary from the seed"),
]


class SignedWords:
    """What a word u = v - 2^(b-1) of b bits stands for. A base of sources."""

    bits: int

    @property
    def fraction_bits(self) -> int:
        """F: a word u stands for the real number u / 2^F."""
        return self.bits - 1

    @property
    def largest_word(self) -> int:
        """Largest |u|."""
        return (1 << (self.bits - 1)) - 1


class OnTheFlySource(Section, SignedWords):
    """A bank of LFSRs in lock-step: one word a generator and clock."""

    kind: Annotated[
        Literal["on-the-fly"], Field(description="bank of LFSRs; another kind is pre-generated")
    ]
    generators: Annotated[
        int, Field(ge=1, le=64, description="LFSRs, n; also the words a clock, W")
    ]
    bits: _Bits
    rotation: Annotated[
        Literal["clock", "period"],
        Field(description="the group turns by one place every clock, or every 2^b - 1 clocks"),
    ] = "clock"
    phases: _Phases = "auto"
    seed: _Seed = 1
    polynomial: Annotated[
        int | None,
        Field(
            ge=1,
            description="own primitive polynomial; bit i = coefficient of x^i, x^b and 1 included",
        ),
    ] = None
    leap: Annotated[
        int,
        Field(
            ge=1,
            le=2**16 - 2,
            description="LFSR shifts a clock; only with a polynomial; coprime to 2^b - 1",
        ),
    ] = 1

    @property
    def words(self) -> int:
        """Words a clock, W: one from each generator."""
        return self.generators


class PreGeneratedSource(Section, SignedWords):
    """A pool of words in block RAM, read circularly."""

    kind: Annotated[
        Literal["pre-generated"],
        Field(description="pool in block RAM; another kind is on-the-fly"),
    ]
    pool_size: Annotated[
        int, Field(ge=2, le=65536, description="words in the pool, N; a prime is best")
    ]
    words: Annotated[int, Field(ge=1, le=64, description="words a clock, W; at most pool_size")]
    bits: _Bits
    phases: _Phases = "auto"
    seed: _Seed = 1


class SeededSource(Section):
    """Base of the sources that a 32-bit seed starts: no index to walk to, no short period.

    A kind defines ``kind``, ``words`` (W), `bits`, `fraction_bits` and `largest_word`.
    """

    scaling_modes: ClassVar[tuple[str, ...]] = ("none", "constant")
    """What ``scaling.mode`` may be; the first one is the default."""

    most_lanes: ClassVar[int | None] = None
    """Most lanes, if the kind has a limit of its own."""

    seed: Annotated[
        int, Field(ge=0, le=2**32 - 1, description="seed that the core starts with after a reset")
    ] = 1


class PerLaneSource(SeededSource):
    """Base of the seeded sources with a word of its own for each lane: W = P, no reuse.

    Such a kind has no ``words``.
    """


class WideUniformSource(SeededSource):
    """Words cut from the state of one wide F2-linear generator."""

    kind: Annotated[
        Literal["wide-uniform"],
        Field(description="words of one wide generator, started by a seed; fresh in every group"),
    ]
    words: Annotated[int, Field(ge=1, le=64, description="words a clock, W")]
    bits: _Bits

    @property
    def fraction_bits(self) -> int:
        """F: a word u stands for the real number u / 2^F."""
        return self.bits

    @property
    def largest_word(self) -> int:
        """Largest |u|: u is odd, of b + 1 bits."""
        return (1 << self.bits) - 1


class RademacherSource(PerLaneSource):
    """+1 or -1 for each lane, one fresh bit of a wide F2-linear generator each."""

    scaling_modes: ClassVar[tuple[str, ...]] = ("none",)
    most_lanes: ClassVar[int | None] = 1024

    kind: Annotated[
        Literal["rademacher"],
        Field(description="+1 or -1, a fresh one for each lane; no reuse, no scaling"),
    ]

    @property
    def bits(self) -> int:
        """Bits a word, b."""
        return 1

    @property
    def fraction_bits(self) -> int:
        """F: a word u stands for the real number u / 2^F."""
        return 0

    @property
    def largest_word(self) -> int:
        """Largest |u|."""
        return 1


class GaussianTreeSource(PerLaneSource):
    """A Gaussian generator for each lane: a tree of constant comparators fed by eight LFSRs."""

    scaling_modes: ClassVar[tuple[str, ...]] = ("none",)

    kind: Annotated[
        Literal["gaussian-tree"],
        Field(description="Gaussian numbers, a tree of comparators for each lane; no reuse"),
    ]

    @property
    def bits(self) -> int:
        """Bits a word, b: standard deviation 32."""
        return 8

    @property
    def fraction_bits(self) -> int:
        """F: a word u stands for the real number u / 2^F."""
        return 6

    @property
    def largest_word(self) -> int:
        """Largest |u|: u is odd, of b + 1 bits."""
        return 255


class GaussianCltSource(PerLaneSource):
    """A Gaussian number for each lane: sums of table entries by a Hadamard transform."""

    scaling_modes: ClassVar[tuple[str, ...]] = ("none",)

    kind: Annotated[
        Literal["gaussian-clt"],
        Field(description="Gaussian numbers, sums of table entries for each lane; no reuse"),
    ]
    terms: Annotated[
        Literal[4, 8],
        BeforeValidator(only_integers),
        Field(description="table entries in a sum, n; lanes come in blocks of so many"),
    ] = 4

    @property
    def bits(self) -> int:
        """Bits a word, b: standard deviation 32."""
        return 9

    @property
    def fraction_bits(self) -> int:
        """F: a word u stands for the real number u / 2^F."""
        return 5

    @property
    def largest_word(self) -> int:
        """Largest |u|."""
        # Here and not at the top: golden needs numpy, which most commands can do without.
        from pezo_hw.golden.gaussian_tables import MAGNITUDES

        return max(MAGNITUDES[self.terms]) * self.terms // 2


Source: TypeAlias = (
    OnTheFlySource
    | PreGeneratedSource
    | WideUniformSource
    | RademacherSource
    | GaussianTreeSource
    | GaussianCltSource
)
