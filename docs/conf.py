"""Sphinx configuration. Everything is local: no remote fonts, badges, scripts or inventories."""

import os
import sys
from pathlib import Path

import forecast

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "lawcast"
author = "The lawcast authors"
copyright = author
version = release = forecast.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "lawcast_docs"]
exclude_patterns = ["_build", "_ext", "jupyter_execute"]
nitpicky = True
default_role = "soft"  # numpydoc's single backticks: a link where there is such an object, else code

# The tutorial runs when the pages are built, and a cell that raises is a warning, which is an error.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # its default is fetched from a remote host
os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say them in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, as for parameters
#: Types in docstrings are prose ("mapping of str to float"), and those of others are not linked: no inventories.
nitpick_ignore_regex = [("py:.*", r"[^.]*"), ("py:.*", r"(numpy|xarray|pandas|matplotlib|pathlib|collections)\..*")]

html_theme = "furo"
html_title = f"lawcast {release}"
html_static_path = ["_static"]
html_css_files = ["lawcast.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    # what a command prints is up to 96 characters wide
    "light_css_variables": {"code-font-size": "75%"},
    "dark_css_variables": {"code-font-size": "75%"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
