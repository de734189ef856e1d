"""The JSON Schema of traffic files, made from the classes that read them."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from p4mesh.traffic_file.model import TrafficFile


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema; ``traffic/schema.json`` holds its text for editors."""
    made = msgspec.json.schema(TrafficFile)
    for rule in made["$defs"].values():
        # The title of a mapping gives its purpose; a description gives the valid values.
        rule["title"] = rule.pop("description").partition("\n")[0].rstrip(".")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "P4Mesh traffic file", **made}
