"""The table of all keys of a configuration file, from its JSON Schema, as a document has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from p4mesh.config_files.validation import valid_values

_END = "<!-- end of the keys -->\n"


def with_table(text: str, script: str, schema: dict[str, Any], root: str) -> str:
    """A document with the table of the keys of ``root``, between the marks that name ``script``."""
    begin = f"<!-- keys: made by scripts/{script} -->\n"
    before, _, rest = text.partition(begin)
    after = rest.partition(_END)[2]
    return f"{before}{begin}\n{_table(schema, root)}\n{_END}{after}"


def _table(schema: dict[str, Any], root: str) -> str:
    rows = ["| key | meaning | valid | default |", "|---|---|---|---|"]
    for name, rule, required in _keys(schema, root, ""):
        default = "needed" if required else _default(rule)
        rows.append(f"| `{name}` | {rule['title']} | {_valid(rule)} | {default} |")
    return "\n".join(rows) + "\n"


def _keys(schema: dict[str, Any], kind: str, prefix: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    rule = schema["$defs"][kind]
    for key, value in rule["properties"].items():
        yield f"{prefix}{key}", value, key in rule.get("required", ())
        for place, inner in (
            ("", value),
            ("[]", value.get("items", {})),
            (".NAME", value.get("additionalProperties", {})),
            *(("[]", part["items"]) for part in value.get("anyOf", ()) if "items" in part),
            *(("[]", part) for part in value.get("items", {}).get("anyOf", ())),
        ):
            if "$ref" in inner:
                yield from _keys(schema, inner["$ref"].rpartition("/")[2], f"{prefix}{key}{place}.")


def _valid(rule: dict[str, Any]) -> str:
    if "$ref" in rule or "additionalProperties" in rule:
        return "a mapping"
    if "enum" in rule.get("items", {}):
        return "a list of " + ", ".join(rule["items"]["enum"])
    return valid_values(rule)


def _default(rule: dict[str, Any]) -> str:
    value = rule.get("default")
    return "-" if value in (None, "", [], {}) else json.dumps(value).strip('"')
