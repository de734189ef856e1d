#!/usr/bin/env python3
"""Writes the keys of a traffic file: its JSON Schema for editors, and the table in docs/TRAFFIC.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from p4mesh.config_files.validation import valid_values
from p4mesh.traffic_file.schema import schema

_ROOT = Path(__file__).resolve().parents[1]
SCHEMA = _ROOT / "traffic" / "schema.json"
DOCUMENT = _ROOT / "docs" / "TRAFFIC.md"
_BEGIN, _END = "<!-- keys: made by scripts/describe_traffic.py -->\n", "<!-- end of the keys -->\n"


def schema_text() -> str:
    """Return the schema as it is published."""
    return json.dumps(schema(), indent=1) + "\n"


def document() -> str:
    """Return the document with the table of all keys."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return f"{before}{_BEGIN}\n{_table()}\n{_END}{after}"


def _table() -> str:
    rows = ["| key | meaning | valid | default |", "|---|---|---|---|"]
    for name, rule, required in _keys("TrafficFile", ""):
        default = "needed" if required else _default(rule)
        rows.append(f"| `{name}` | {rule['title']} | {_valid(rule)} | {default} |")
    return "\n".join(rows) + "\n"


def _keys(kind: str, prefix: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    rule = schema()["$defs"][kind]
    for key, value in rule["properties"].items():
        yield f"{prefix}{key}", value, key in rule.get("required", ())
        for place, inner in (
            ("", value),
            ("[]", value.get("items", {})),
            (".NAME", value.get("additionalProperties", {})),
            *(("[]", part["items"]) for part in value.get("anyOf", ()) if "items" in part),
        ):
            if "$ref" in inner:
                yield from _keys(inner["$ref"].rpartition("/")[2], f"{prefix}{key}{place}.")


def _valid(rule: dict[str, Any]) -> str:
    if "$ref" in rule or "additionalProperties" in rule:
        return "a mapping"
    if "enum" in rule.get("items", {}):
        return "a list of " + ", ".join(rule["items"]["enum"])
    return valid_values(rule)


def _default(rule: dict[str, Any]) -> str:
    value = rule.get("default")
    return "-" if value in (None, "", [], {}) else json.dumps(value).strip('"')


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    DOCUMENT.write_text(document(), encoding="utf-8")
