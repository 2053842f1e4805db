"""What sub-commands share: option types, tables, and writing files."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pezo_hw import config as configuration
from pezo_hw.errors import PezoError, PezoWarning
from pezo_hw.files import write_atomically

if TYPE_CHECKING:
    from pezo_hw.synth.boards import Board

ConfigArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONFIG", help="A preset's name or a TOML file.")
]

SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        help="Override a key, or remove it with no VALUE; may be given several times. "
        "Words need no quotes.",
    ),
]


def load(ref: str, overrides: Sequence[str] | None) -> configuration.Config:
    """Return the configuration that CONFIG and --set name, for parameters of the types above."""
    return configuration.load(ref, overrides or ())


def board(config: configuration.Config, *, where: str) -> Board:
    """Return the board of a configuration; see `pezo_hw.synth.boards.of`."""
    # Here and not at the top: this brings Amaranth, which most errors come before.
    from pezo_hw.synth import boards

    return boards.of(config, where=where)


def warn(config: configuration.Config) -> None:
    """Print the warnings of a configuration to the error output, one line each."""
    for line in configuration.warnings(config):
        typer.echo(f"warning: {line}", err=True)


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Return rows as lines with aligned columns, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        (
            indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a text file in UTF-8 as a whole or not at all; see `write_bytes`."""
    write_bytes(path, text.encode(), force=force)


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each warning of this package to the error output once, as one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", PezoWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, PezoWarning):
                typer.echo(f"warning: {message}", err=True)
            else:
                others(message, category, *more, **named)

        warnings.showwarning = show
        yield


def write_bytes(path: Path, content: bytes, *, force: bool = False) -> None:
    """Write a file as a whole or not at all.

    Parameters
    ----------
    path : Path
        Its folder must exist.
    content : bytes
    force : bool
        Replace an existing file.

    Raises
    ------
    PezoError
        If the file exists and `force` is off, or it cannot be written; nothing is left behind.
    """
    check_file(path, force=force)
    write_atomically(path, content)


def check_file(path: Path, *, force: bool = False) -> None:
    """Refuse a file that `write_bytes` would not write, before the work is done.

    Raises
    ------
    PezoError
        If it is a folder, its folder is missing, or it exists and `force` is off.
    """
    if path.is_dir():
        raise PezoError(f"{path}: must be a file, not a directory; name a file in it")
    if not path.parent.is_dir():
        raise PezoError(
            f"{path}: the folder {path.parent} must exist to write there; create it first"
        )
    if path.exists() and not force:
        raise PezoError(f"{path}: must not exist yet; choose another name or add --force")
