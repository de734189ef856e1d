"""Reads the text of a traffic file."""

from __future__ import annotations

from pathlib import Path

from p4mesh.config_files.text import text_of
from p4mesh.errors import TrafficFileError

EXAMPLES = "see traffic/ for complete examples"


def read_traffic_text(path: str | Path) -> str:
    """Text of the file; raises TrafficFileError where there is none."""
    return text_of(path, "traffic file", TrafficFileError, EXAMPLES)
