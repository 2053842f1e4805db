"""Registers and their fields, as plain data that JSON can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from pezo_hw.errors import PezoError

WINDOW = 0x1000
"""Bytes of addresses that a register block takes: the smallest page of a processor."""


class Access(StrEnum):
    """What software can do with a field."""

    READ = "read-only"
    READ_WRITE = "read-write"
    WRITE = "write-only"
    CLEAR = "write-1-clear"
    PULSE = "pulse"
    """Write only: a 1 acts once and is not kept."""


class Hardware(StrEnum):
    """What the core does with a field."""

    CONSTANT = "constant"
    STATUS = "status"
    """The core gives the value that is read."""
    CONTROL = "control"
    """The core is given what was written."""
    CAUSE = "cause"
    """The core sets bits, software clears them."""


@dataclass(frozen=True)
class Field:
    """A field of a register.

    Attributes
    ----------
    name : str
    low, bits : int
        Place and width.
    access : Access
    hardware : Hardware
    reset : int or None
        Value after a reset as an unsigned number; None where the core decides it.
    description : str
    signed : bool
        Whether its value is a two's complement number.
    lockable : bool
        Whether the core can refuse writes for a time.
    clearable : bool
        Whether the core can clear it.
    values : dict of str to int
        Names of values; empty for numbers.
    """

    name: str
    low: int
    bits: int
    access: Access
    hardware: Hardware
    reset: int | None
    description: str
    signed: bool
    lockable: bool
    clearable: bool
    values: Mapping[str, int]

    @property
    def mask(self) -> int:
        """Ones at the field's bits."""
        return ((1 << self.bits) - 1) << self.low

    @property
    def readable(self) -> bool:
        """Whether reads give its value; else they give 0."""
        return self.access not in (Access.WRITE, Access.PULSE)

    @property
    def writable(self) -> bool:
        """Whether writes act on it."""
        return self.access is not Access.READ

    def get(self, word: int) -> int:
        """Return the field's value in a word that was read."""
        value = (word & self.mask) >> self.low
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def put(self, value: int) -> int:
        """Return a value at the field's place, to be written.

        Raises
        ------
        PezoError
            If it does not fit.
        """
        least = -(1 << (self.bits - 1)) if self.signed else 0
        most = (1 << (self.bits - self.signed)) - 1
        if not least <= value <= most:
            raise PezoError(f"{self.name} must be from {least} to {most}, not {value}")
        return (value << self.low) & self.mask


@dataclass(frozen=True)
class Register:
    """A register of 32 bits, or an array of such.

    Attributes
    ----------
    name : str
    offset : int
        Bytes from the begin of the window.
    title, description : str
    fields : tuple of Field
        In order of their bits, the lowest first.
    count, stride : int
        Elements of the array and the bytes between them; 1 and 4 if it is none.
    external : bool
        Whether it lies in a memory of the core, which takes whole words only.
    """

    name: str
    offset: int
    title: str
    description: str
    fields: tuple[Field, ...]
    count: int
    stride: int
    external: bool

    @property
    def readable(self) -> bool:
        """Whether a read is answered with a value; one with pulses only reads as 0."""
        return any(field.access is not Access.WRITE for field in self.fields)

    @property
    def writable(self) -> bool:
        """Whether a write is answered OKAY."""
        return any(field.writable for field in self.fields)

    @property
    def reset(self) -> int | None:
        """Value that is read after a reset, or None where the core decides a part of it."""
        value = 0
        for field in self.fields:
            if field.readable:
                if field.reset is None:
                    return None
                value |= field.reset << field.low
        return value

    def mask(self, *access: Access) -> int:
        """Return ones at the bits of the fields with one of the given kinds of access."""
        return sum(field.mask for field in self.fields if field.access in access)

    def field(self, name: str) -> Field:
        """Return the field of a name."""
        for field in self.fields:
            if field.name == name:
                return field
        raise PezoError(f"the register {self.name} must have a field {name}, but has none")

    def pack(self, **values: int) -> int:
        """Return the word that holds values of fields, 0 in all others."""
        word = 0
        for name, value in values.items():
            word |= self.field(name).put(value)
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Return the values of all fields of a word."""
        return {field.name: field.get(word) for field in self.fields}

    def address(self, index: int = 0) -> int:
        """Return the offset of an element."""
        if not 0 <= index < self.count:
            raise PezoError(f"the index of {self.name} must be below {self.count}, not {index}")
        return self.offset + index * self.stride

    def addresses(self) -> range:
        """Return the offsets of all elements."""
        return range(self.offset, self.offset + self.count * self.stride, self.stride)


@dataclass(frozen=True)
class RegisterMap:
    """All registers of a core.

    Attributes
    ----------
    registers : tuple of Register
        In order of their offsets.
    """

    registers: tuple[Register, ...]

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers)

    def __contains__(self, name: object) -> bool:
        return any(register.name == name for register in self.registers)

    def __getitem__(self, name: str) -> Register:
        for register in self.registers:
            if register.name == name:
                return register
        raise PezoError(f"the core must have a register {name}, but has none")

    def to_json(self) -> list[dict[str, Any]]:
        """Return the map as JSON can hold it."""
        return [asdict(register) for register in self.registers]

    @classmethod
    def from_json(cls, registers: list[dict[str, Any]]) -> RegisterMap:
        """Return the map of what `to_json` returned, e.g. of a manifest's ``registers``."""
        return cls(
            tuple(
                Register(
                    **{
                        **register,
                        "fields": tuple(
                            Field(
                                **{
                                    **field,
                                    "access": Access(field["access"]),
                                    "hardware": Hardware(field["hardware"]),
                                }
                            )
                            for field in register["fields"]
                        ),
                    }
                )
                for register in registers
            )
        )
