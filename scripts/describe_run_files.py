#!/usr/bin/env python3
"""Writes the JSON Schema of run files for editors, and the table of their keys in docs/RUN_FILES.md."""

from __future__ import annotations

from pathlib import Path

from keys_table import with_table

from p4mesh.run.run_file_schema import published_text
from p4mesh.run_file.published import published_path
from p4mesh.run_file.schema import schema

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "RUN_FILES.md"


def document() -> str:
    """The document with the table of all keys."""
    return with_table(DOCUMENT.read_text(encoding="utf-8"), Path(__file__).name, schema(), "RunFile")


if __name__ == "__main__":
    published_path().write_text(published_text(), encoding="utf-8")
    DOCUMENT.write_text(document(), encoding="utf-8")
