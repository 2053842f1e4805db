"""What a simulator needs to know of a generated folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pezo_hw.errors import PezoError

MANIFEST = "pezo.json"


@dataclass(frozen=True)
class Design:
    """The RTL of a generated folder.

    Attributes
    ----------
    folder : Path
        The generated folder, absolute.
    top : str
        Name of the top module.
    sources : tuple of Path
        Verilog files in the order in which they are compiled.
    waivers : tuple of Path
        Verilator's waiver files.
    """

    folder: Path
    top: str
    sources: tuple[Path, ...]
    waivers: tuple[Path, ...]

    @classmethod
    def read(cls, folder: Path) -> Design:
        """Read the manifest of a generated folder.

        Raises
        ------
        PezoError
            If the manifest is missing or damaged, or names a file that does not exist.
        """
        path = Path(folder).resolve() / MANIFEST
        try:
            manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            top, files = str(manifest["top"]), manifest["files"]
            sources = tuple(path.parent / name for name in files["rtl"])
            waivers = tuple(path.parent / name for name in files.get("waivers", ()))
        except FileNotFoundError:
            raise PezoError(
                f"{folder} must be a folder written by `pezo generate`, but holds no {MANIFEST}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PezoError(
                f"{path} must be a manifest with the keys top and files.rtl, but reading it gives "
                f"{type(error).__name__}: {error}; generate the folder again"
            ) from None
        for file in (*sources, *waivers):
            if not file.is_file():
                raise PezoError(f"{path} names {file.name}, which is not there; generate again")
        if not sources:
            raise PezoError(f"{path} names no files under files.rtl; generate the folder again")
        return cls(folder=path.parent, top=top, sources=sources, waivers=waivers)
