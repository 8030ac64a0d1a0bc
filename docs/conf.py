"""How Sphinx makes the site; scripts/site_builder.py calls it (`make docs`)."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("", "python", "build/python")]

project = "Meshwright"
author = "The Meshwright authors"
copyright = "The Meshwright authors, Apache-2.0"
release = re.search(
    r'__version__ = "(.*)"', (ROOT / "python/meshwright/core/version.py").read_text()
)[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
extensions += ["scripts.site_navigation"]
exclude_patterns = ["_build", "examples"]
source_suffix = {".md": "markdown"}
# A link that leads nowhere is an error; names of other packages are no links, so
# that the site needs no network, neither to be built nor to be read.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!meshwright\b).*"),
    ("py:.*", r".*\.[A-Z]"),  # Type variables.
    ("py:class", r"meshwright\..*"),  # Types of arguments that are internal.
]

# Pages are read in an editor as well: plain Markdown, headings are anchors.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "fieldlist"]
suppress_warnings = [
    # MLIR's generator starts the sections of passes and operations one level low.
    "myst.header",
    # It also ends some blocks of code with what Pygments has no lexer for.
    "misc.highlighting_failure",
]

# In docstrings, backticks are code and sections are Google's.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"Meshwright {release}"
html_copy_source = False
html_show_search_summary = False  # Fetches pages, which a browser refuses for files.
html_show_sourcelink = False
html_theme_options = {"source_repository": "", "top_of_page_buttons": []}


def as_rst(app, what, name, obj, options, lines):
    """Docstrings write code between single backticks, as Markdown does."""
    lines[:] = [
        re.sub(r"(?<![:`\w])`([^`]+)`(?!`)(\w)?", _as_literal, line) for line in lines
    ]


def _as_literal(match):
    text = f"``{match[1]}``"
    return f"{text}\\ {match[2]}" if match[2] else text


def draw_schedules(app, page, text):
    """The page on schedules draws them as text; on the site an image comes first."""
    if page == "schedules":
        for image in sorted((ROOT / "docs/reference/schedules").glob("*.svg")):
            heading = f"\n## {image.stem}\n"
            drawing = f"\n![{image.stem}](reference/schedules/{image.name})\n"
            text[0] = text[0].replace(heading, heading + drawing)


def setup(app):
    app.connect("source-read", draw_schedules)
    app.connect("autodoc-process-docstring", as_rst, priority=100)
    # Napoleon's own choice of members fails on classes that other libraries bind.
    for listener in list(app.events.listeners["autodoc-skip-member"]):
        app.disconnect(listener.id)
