"""Where the files that travel with the package are.

In a checkout `boards/` and `sim/` lie beside the package; in an installed wheel they lie in
`pezo_hw/_bundled/`.  Presets are always inside the package.
"""

from __future__ import annotations

from pathlib import Path

from pezo_hw.errors import PezoError

_PACKAGE = Path(__file__).resolve().parent


def presets_dir() -> Path:
    """Return the folder of the preset files, ``<name>.toml``.

    Raises
    ------
    PezoError
        If the installation is incomplete.
    """
    return _existing(_PACKAGE / "presets")


def boards_dir() -> Path:
    """Return the folder of the board descriptions, ``<board>.py``.

    Raises
    ------
    PezoError
        If the installation is incomplete.
    """
    return _travelling("boards")


def sim_dir() -> Path:
    """Return the folder of the simulation benches.

    Raises
    ------
    PezoError
        If the installation is incomplete.
    """
    return _travelling("sim")


def preset_paths() -> dict[str, Path]:
    """Return the preset files by preset name, sorted by name."""
    return {path.stem: path for path in sorted(presets_dir().glob("*.toml"))}


def board_names() -> list[str]:
    """Return the names of the board descriptions that come with pezo-hw, sorted."""
    return sorted(
        path.stem for path in boards_dir().glob("*.py") if not path.name.startswith(("_", "."))
    )


def _travelling(name: str) -> Path:
    # A wheel is recognised by its own _bundled folder and not by what lies beside the package:
    # another distribution may well have put a folder "sim" into site-packages.
    bundled = _PACKAGE / "_bundled"
    return _existing((bundled if bundled.is_dir() else _PACKAGE.parent) / name)


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise PezoError(
            f'the folder "{folder.name}" must come with pezo-hw, but {folder} does not exist; '
            "install pezo-hw again or use a complete checkout"
        )
    return folder
