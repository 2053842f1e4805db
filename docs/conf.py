"""Configuration of the documents: ``python -m sphinx -W -b html docs build/docs``."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "sim"), str(HERE.parent)]

from pezo_hw import __version__  # noqa: E402 - the path comes first

project = "pezo-hw"
author = "pezo-hw contributors"
copyright = author  # noqa: A001 - Sphinx wants this name
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "pezo_experiments",
    "pezo_mutants",
    "pezo_registers",
    "pezo_schedules",
    "pezo_tables",
    "pezo_training",
]
exclude_patterns = ["_ext", "results", "examples"]
# Single backquotes in docstrings name Python objects; those that are documented become links.
default_role = "py:obj"
# A model and its gateware have the same name, which a docstring in one of them need not qualify.
suppress_warnings = ["ref.python"]

# An extra that the documents can be built without.
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
# The docstrings state types, with shapes and ranges.
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
# Ports of gateware.
napoleon_custom_sections = [("Members", "params_style")]

html_theme = "alabaster"
html_title = f"pezo-hw {release}"
html_static_path = ["_static"]
html_show_sourcelink = False
html_theme_options = {
    "description": "Hardware perturbations for zeroth-order training",
    "page_width": "1080px",
    "fixed_sidebar": True,
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
