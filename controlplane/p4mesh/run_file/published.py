"""Where the JSON Schema of run files is published: for editors, and for what checks a setting before a test loads."""

from __future__ import annotations

from pathlib import Path


def published_path() -> Path:
    """The file with the schema, which has the parameters of every test, too."""
    return Path(__file__).with_name("schema.json")
