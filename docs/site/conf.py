# SPDX-License-Identifier: MIT
# How Sphinx makes the documentation site (make site, scripts/site). The version comes from the environment.
import os

project = "verge"
author = "verge developers"
copyright = "verge developers, MIT licence"
version = release = os.environ["VERGE_VERSION"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_heading_anchors = 4  # the anchors of headings are those that code hosting sites give them
highlight_language = "none"

html_theme = "furo"
html_title = f"verge {version}"
html_static_path = ["verge.css"]
html_css_files = ["verge.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which a browser does not do for files
