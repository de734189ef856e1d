"""Table entries of a topology file as P4Runtime has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from p4mesh.errors import TopologyError
from p4mesh.p4runtime.client import Client
from p4mesh.p4runtime.stubs import Entity, p4i
from p4mesh.p4runtime.table_encoder import MatchValue
from p4mesh.p4runtime.values import Value

_WITH_PRIORITY = {p4i.MatchField.TERNARY, p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL}
_PAIRS = (("value", "prefix_bits"), ("value", "mask"), ("low", "high"))


def member(client: Client, given: Mapping[str, Any]) -> Entity:
    """A member of an action profile as P4Runtime has it."""
    schema, action = client.schema, given["action"]
    params = _params(schema.action_params(action), given, f"member {given['member']}")
    return schema.member(given["profile"], given["member"], action, params)


def member_group(client: Client, given: Mapping[str, Any]) -> Entity:
    """A group of members, all with the same weight, as P4Runtime has it."""
    return client.schema.group(given["profile"], given["group"], dict.fromkeys(given["members"], 1))


def table_entry(client: Client, entry: Mapping[str, Any]) -> Entity:
    """An entry of the topology file as P4Runtime has it; without an action, member or group it names one to delete."""
    schema, table = client.schema, entry["table"]
    described = schema.described(table)
    key: dict[str, MatchValue] = {name: _match(value) for name, value in entry["key"].items()}
    kinds = {field.match_type for field in described.message.match_fields}
    # P4Runtime counts from 1 where entries have a priority, and takes none elsewhere.
    priority = entry.get("priority", 0) + 1 if kinds & _WITH_PRIORITY else 0
    action = entry.get("action")
    if action is None:
        return schema.table_entry(table, key, priority=priority, member=entry.get("member"), group=entry.get("group"))
    params = _params(described.action_params(action), entry, f"entry of table {table}")
    if described.message.implementation_id:
        # An action of its own in a table of members: a set of one.
        return schema.table_entry(table, key, priority=priority, action_set=[(action, params, 1)])
    return schema.table_entry(table, key, action, params, priority=priority)


def _params(names: Sequence[str], given: Mapping[str, Any], owner: str) -> dict[str, Value]:
    values = given.get("params", ())
    if len(names) != len(values):
        raise TopologyError(
            f"{owner}: {len(values)} parameters for action {given['action']}",
            hint=f"valid: {', '.join(names) or 'none'}",
        )
    return dict(zip(names, values, strict=True))


def _match(value: Any) -> MatchValue:
    if not isinstance(value, dict):
        found: Value = value
        return found
    first, second = next(pair for pair in _PAIRS if pair[0] in value and pair[1] in value)
    return (value[first], value[second])
