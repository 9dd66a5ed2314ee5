"""Sphinx configuration."""

from __future__ import annotations

import mobai

project = "mobai"
author = "The mobai developers"
copyright = "2026, The mobai developers"
version = release = mobai.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx_click"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"mobai {version}"
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
# Links to files of the source that are no pages.
myst_url_schemes = ["http", "https", "mailto"]
