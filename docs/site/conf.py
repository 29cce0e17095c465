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

html_theme = "basic"
html_title = f"verge {version}"
html_static_path = ["verge.css", "search.js"]
html_css_files = ["verge.css"]
html_js_files = []
templates_path = ["templates"]
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {"globaltoc_maxdepth": 1, "globaltoc_includehidden": True, "nosidebar": False}
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
pygments_style = "default"


def add_dark_code(app, exception):
    """The colours of code in a dark system."""
    from pygments.formatters import HtmlFormatter

    if exception is None:
        with open(os.path.join(app.outdir, "_static", "pygments.css"), "a") as file:
            rules = HtmlFormatter(style="monokai").get_style_defs(".highlight")
            file.write("@media (prefers-color-scheme: dark) {\n" + rules + "\n}\n")


def setup(app):
    app.connect("build-finished", add_dark_code)
