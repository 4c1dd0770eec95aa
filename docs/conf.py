"""How Sphinx makes a site of these pages: `make site`. A link that leads nowhere, or to a heading that is not there, fails."""

from emulator import __version__

project = "replication-emulator"
author = "the replication-emulator project"
version = release = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
# The drawing in architecture.md is Mermaid's, which code hosts draw; the site shows its text.
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Replicated logs under trouble, millions at once, on Spark",
    "fixed_sidebar": True,
    "page_width": "1100px",
}
html_show_sphinx = False
