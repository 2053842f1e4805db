"""Write a generated folder, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pezo_hw.config import Config, to_toml
from pezo_hw.driver import Description, c
from pezo_hw.errors import PezoError
from pezo_hw.export import manifest as manifests
from pezo_hw.export import vendor, waivers
from pezo_hw.export.rtl import Core, build, to_systemverilog
from pezo_hw.export.wrapper import wrapper
from pezo_hw.files import check_folder, write_folder, write_into
from pezo_hw.gateware.ip import StepIp
from pezo_hw.registers import artefacts
from pezo_hw.registers.description import parameters
from pezo_hw.synth.boards import Board, resolve


def contents(core: Core, *, board: Board) -> dict[str, str]:
    """Return the text of every file of a folder, by path; the same for the same configuration."""
    name = core.config.core.name
    rtl = {f"rtl/{name}_core.sv": to_systemverilog(core), f"rtl/{name}.v": wrapper(core)}
    waiver = {f"rtl/{name}.vlt": waivers.text(name)}
    vendors = vendor.files(name, board=board, rtl=list(rtl))
    portable = core.config.model_copy(
        update={
            "core": core.config.core.model_copy(update={"board": Path(core.config.core.board).name})
        }
    )
    config = {f"{name}.toml": to_toml(portable)}
    if core.config.core.board.endswith(".py"):
        # A board of the user goes with the configuration that names it.
        text = Path(core.config.board_reference).expanduser().read_text(encoding="utf-8")
        config[portable.core.board] = text
    documents = _register_documents(core)
    driver = _driver(core)
    texts = rtl | waiver | vendors | config | documents | driver
    files = {
        "rtl": list(rtl),
        "waivers": list(waiver),
        "vendor": list(vendors),
        "config": list(config),
        **({"registers": list(documents), "driver": list(driver)} if documents else {}),
    }
    document = manifests.manifest(core, board=board, files=files, texts=texts)
    return texts | {MANIFEST: manifests.to_json(document)}


def _register_documents(core: Core) -> dict[str, str]:
    if not isinstance(core.component, StepIp):
        return {}
    written = artefacts.texts(
        core.config.core.name,
        registers=core.component.registers,
        given=parameters(core.config, model=core.model),
    )
    return {f"registers/{name}": text for name, text in written.items()}


def _driver(core: Core) -> dict[str, str]:
    if not isinstance(core.component, StepIp):
        return {}
    description = Description.of(core.config, model=core.model)
    return c.files(description, registers=core.component.registers)


MANIFEST = manifests.NAME


def read(directory: Path) -> dict[str, Any]:
    """Return the manifest of a generated folder."""
    document: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    return document


_ONE_AT_A_TIME = threading.Lock()


@contextlib.contextmanager
def temporary(core: Core, *, board: Board) -> Iterator[Path]:
    """Give the generated folder of a core to a ``with`` block, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="pezo-core-") as name:
        # Nobody promises that Amaranth can work in two threads at a time.
        with _ONE_AT_A_TIME:
            files = _encoded(contents(core, board=board))
        write_into(Path(name), files)
        yield Path(name)


def generate(
    config: Config, directory: Path, *, force: bool = False, where: str = "configuration"
) -> dict[str, Any]:
    """Generate a core into a folder.

    Parameters
    ----------
    config : Config
    directory : Path
        Made, with its parents. A folder that this function wrote before is replaced.
    force : bool
        Replace a folder that holds other files as well.
    where : str
        What error messages call the configuration.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    PezoError
        If the folder cannot be written or holds files that would be lost.
    """
    _check_target(directory, force=force)
    board = resolve(config.board_reference)
    texts = contents(build(config, where=where), board=board)
    write_folder(directory, _encoded(texts))
    result: dict[str, Any] = json.loads(texts[MANIFEST])
    return result


def _check_target(directory: Path, *, force: bool) -> None:
    if force and directory.is_dir():
        return
    sums: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        sums = dict(read(directory)["sha256"])
    hint = " or give --force"
    check_folder(directory, known={MANIFEST, *sums} if sums else (), hint=hint)
    for path, expected in sums.items():
        file = directory / path
        if file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            raise PezoError(
                f"--output {directory} must hold files as they were generated, but {path} has been "
                f"edited since; choose another folder{hint}"
            )


def _encoded(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in texts.items()}
