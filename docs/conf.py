"""Builds the documentation as a site and as a manual page: ``make docs``. Nothing is taken from the network."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "controlplane"), str(ROOT / "scripts")]

from describe_commands import described  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from p4mesh.version import __version__  # noqa: E402

project = "P4Mesh"
author = "the P4Mesh authors"
copyright = "the P4Mesh authors, Apache License 2.0"
version = release = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
nitpicky = True
# Examples of a terminal, of JSON lines and of P4 have no lexer that knows them.
highlight_language = "none"

html_theme = "furo"
html_title = f"P4Mesh {__version__}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}

COMMANDS = "COMMANDS"
man_pages = [(COMMANDS, "p4mesh", "network tester made from a programmable switch", "", 1)]


def _complete(app: Sphinx, name: str, content: list[str]) -> None:
    """Put the description of every command, from the parser of the command line, into its page."""
    if name == COMMANDS:
        content[0] += f"\n{described()}"


def setup(app: Sphinx) -> None:
    """Let Sphinx ask for the page of the commands."""
    app.connect("source-read", _complete)
