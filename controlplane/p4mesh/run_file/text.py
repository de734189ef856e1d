"""Reads the text of a run file."""

from __future__ import annotations

from pathlib import Path

from p4mesh.config_files.text import text_of
from p4mesh.errors import RunFileError

EXAMPLES = "p4mesh init writes a complete example"


def read_run_text(path: str | Path) -> str:
    """The text of the file; raises RunFileError where there is none."""
    return text_of(path, "run file", RunFileError, EXAMPLES)
