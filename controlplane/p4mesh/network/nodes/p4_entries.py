"""Table entries of a topology file as P4Runtime has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p4mesh.errors import TopologyError
from p4mesh.p4runtime.client import Client
from p4mesh.p4runtime.stubs import Entity, p4i
from p4mesh.p4runtime.table_encoder import MatchValue
from p4mesh.p4runtime.values import Value

_WITH_PRIORITY = {p4i.MatchField.TERNARY, p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL}
_PAIRS = (("value", "prefix_bits"), ("value", "mask"), ("low", "high"))


def table_entry(client: Client, entry: Mapping[str, Any]) -> Entity:
    """Return an entry of the topology file as P4Runtime has it; without an action it names one that is deleted."""
    schema = client.schema
    key: dict[str, MatchValue] = {name: _match(value) for name, value in entry["key"].items()}
    kinds = {field.match_type for field in schema.info.tables[entry["table"]].match_fields}
    # P4Runtime counts from 1 where entries have a priority, and takes none elsewhere.
    priority = entry.get("priority", 0) + 1 if kinds & _WITH_PRIORITY else 0
    if "action" not in entry:
        return schema.table_entry(entry["table"], key, priority=priority)
    names = [param.name for param in schema.info.actions[entry["action"]].params]
    given = entry.get("params", ())
    if len(names) != len(given):
        raise TopologyError(
            f"entry of table {entry['table']}: {len(given)} parameters for action {entry['action']}",
            hint=f"valid: {', '.join(names) or 'none'}",
        )
    params: dict[str, Value] = dict(zip(names, given, strict=True))
    return schema.table_entry(entry["table"], key, entry["action"], params, priority=priority)


def _match(value: Any) -> MatchValue:
    if not isinstance(value, dict):
        found: Value = value
        return found
    first, second = next(pair for pair in _PAIRS if pair[0] in value and pair[1] in value)
    return (value[first], value[second])
