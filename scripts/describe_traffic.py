#!/usr/bin/env python3
"""Writes the keys of a traffic file: its JSON Schema for editors, and the table in docs/TRAFFIC.md."""

from __future__ import annotations

import json
from pathlib import Path

from keys_table import with_table

from p4mesh.traffic_file.schema import schema

_ROOT = Path(__file__).resolve().parents[1]
SCHEMA = _ROOT / "traffic" / "schema.json"
DOCUMENT = _ROOT / "docs" / "TRAFFIC.md"


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(schema(), indent=1) + "\n"


def document() -> str:
    """The document with the table of all keys."""
    return with_table(DOCUMENT.read_text(encoding="utf-8"), Path(__file__).name, schema(), "TrafficFile")


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    DOCUMENT.write_text(document(), encoding="utf-8")
