"""The schema of topology files, and validation against it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from p4mesh.config_files.validation import require_valid
from p4mesh.config_files.yaml_source import FileKind, YamlSource
from p4mesh.errors import TopologyError

TOPOLOGY_FILE = FileKind(TopologyError, "see topologies/ for complete examples")


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of a topology file."""
    loaded: dict[str, Any] = json.loads(files(__package__).joinpath("schema.json").read_text(encoding="utf-8"))
    return loaded


def with_defaults(data: dict[str, Any], *place: str) -> dict[str, Any]:
    """Return the mapping at ``place`` of a file with the defaults of the keys that it leaves out."""
    rule = schema()
    for key in place:
        rule = rule["properties"][key]
        rule = rule.get("items", rule)
    defaults = {key: value["default"] for key, value in rule["properties"].items() if "default" in value}
    return defaults | data


def validate(source: YamlSource) -> None:
    """Raise TopologyError for the first fault in file order."""
    require_valid(source, schema())
