"""What draws plots: an optional package, looked for before anything that takes long."""

from __future__ import annotations

import importlib

from pezo_hw.errors import PezoError


def require(need: str = "plots need", *, option: str = "--output") -> None:
    """Refuse to go on without the package that draws.

    Parameters
    ----------
    need : str
        How the message begins: who needs it.
    option : str
        What the user can leave out instead.

    Raises
    ------
    PezoError
        If matplotlib is missing.
    """
    try:
        importlib.import_module("matplotlib")
    except ModuleNotFoundError:
        raise PezoError(
            f"{need} the package matplotlib, which is not installed; "
            f"pip install 'pezo-hw[train]', or leave out {option}"
        ) from None
