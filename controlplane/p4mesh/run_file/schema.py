"""The JSON Schema of run files, made from the classes that read them."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from p4mesh.run_file.model import RunFile


@cache
def schema() -> dict[str, Any]:
    """JSON Schema of run files; parameters are those of their tests and not in it."""
    made = msgspec.json.schema(RunFile)
    for rule in made["$defs"].values():
        # The title of a mapping gives its purpose; a description gives the valid values.
        rule["title"] = rule.pop("description").partition("\n")[0].rstrip(".")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "P4Mesh run file", **made}
