"""The `pezo` command: its sub-commands, and how it ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pezo_hw import __version__
from pezo_hw.cli import (
    analyze,
    check,
    compare,
    generate,
    init,
    memory,
    presets,
    report,
    simulate,
    train,
    vectors,
)
from pezo_hw.config.text import one_line
from pezo_hw.errors import CheckFailed, Interrupted, PezoError

DONE, FAILED, BAD_USAGE = 0, 1, 2
INTERRUPTED, BROKEN_PIPE = 130, 141  # 128 + SIGINT, 128 + SIGPIPE, as shells count

app = typer.Typer(
    name="pezo",
    help="Generate, simulate and synthesise hardware for zeroth-order training.",
    epilog="Exit codes: 0 done, 1 a check failed, 2 bad usage or configuration.",
    add_completion=False,
    # Errors are one line for people and scripts alike, so nothing draws boxes.
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("presets")(presets.run)
app.command("init")(init.run)
app.command("check")(check.run)
app.command("generate")(generate.run)
app.command("simulate")(simulate.run)
app.command("vectors")(vectors.run)
app.command("report")(report.run)
app.command("analyze")(analyze.run)
app.command("compare")(compare.run)
app.command("train")(train.run)
app.command("memory")(memory.run)


def _print_versions(wanted: bool) -> None:
    if not wanted:
        return
    # Here and not at the top: only this option needs to look for tools.
    from pezo_hw import tools

    typer.echo(f"pezo-hw {__version__}")
    for name, version in tools.versions().items():
        if name != "pezo-hw":
            typer.echo(f"{name} {version}")
    raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option(
            "--version",
            callback=_print_versions,
            is_eager=True,
            help="Print the versions of pezo-hw and of the tools it uses.",
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(BAD_USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `pezo` and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default taken from the process.

    Returns
    -------
    int
        0 done, 1 a check failed, 2 bad usage or configuration, 130 interrupted, 141 if whoever read
        the output closed it.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    _open_standard_streams()
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except Interrupted as end:
        typer.echo(f"interrupted: {one_line(str(end))}", err=True)
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    return code


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        # Not command.main(): that handles errors too, in several lines and with other exit codes.
        with command.make_context("pezo", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except CheckFailed as error:
        return _report(str(error), FAILED)
    except PezoError as error:
        return _report(str(error), BAD_USAGE)
    except typer.TyperException as error:
        return _report(_usage(error), BAD_USAGE)
    except BrokenPipeError:
        raise
    except OSError as error:
        # A full disk or a folder without permission: nothing a traceback would help with.
        place = f"{error.filename}: " if error.filename else ""
        return _report(f"{place}{error.strerror or error}", BAD_USAGE)
    return DONE


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "pezo"
    return f"{error.format_message().rstrip('.')}; see {path} --help"


def _report(text: str, code: int) -> int:
    typer.echo(f"error: {one_line(' '.join(text.split()))}", err=True)
    return code


def _open_standard_streams() -> None:
    """Let what was closed before the start (``>&-``) lead nowhere.

    Else the next file that is opened would take its place, and get what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            mode = "r" if name == "stdin" else "w"
            # The lowest number that is free, which is this one.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _silence_stdout() -> None:
    # What is still buffered would raise again when the interpreter flushes at exit.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
