"""Keys and data of BF Runtime entries by names, checked as bf_switchd checks them."""

from __future__ import annotations

from typing import Any

UNKNOWN, INVALID, NOT_FOUND, EXISTS, UNSUPPORTED = 2, 3, 5, 6, 12
"""Codes of gRPC."""
_SIZES = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}


class Refused(Exception):
    """An element of a request that the server refuses."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def key_of(table: dict[str, Any], entry: Any) -> dict[str, Any]:
    """The values of an entry's key by names; of a ternary field a function that matches."""
    known = {field["id"]: field for field in table["key"]}
    found: dict[str, Any] = {}
    for given in entry.key.fields:
        if given.field_id not in known:
            raise Refused(INVALID, f"Failed to create key for field:{given.field_id} table:{table['name']}")
        field = known[given.field_id]
        match = given.WhichOneof("match")
        if match is None or match.capitalize() != field["match_type"]:
            raise Refused(INVALID, f"Invalid match type table:{table['name']}")
        if match == "exact":
            found[field["name"]] = _value(field, given.exact.value, table)
        else:
            value, mask = (_value(field, part, table) for part in (given.ternary.value, given.ternary.mask))
            found[field["name"]] = lambda number, v=value, m=mask: number & m == v & m
    missing = [f["name"] for f in known.values() if f["match_type"] == "Exact" and f["name"] not in found]
    if missing:
        raise Refused(INVALID, f"Failed to create key for field {missing[0]} table:{table['name']}")
    return found


def data_of(table: dict[str, Any], entry: Any) -> dict[str, Any]:
    """The values of an entry's data by names."""
    outer = [item for item in table.get("data", []) if "singleton" in item]
    fields = [item["singleton"] | {"mandatory": item["mandatory"], "read_only": item["read_only"]} for item in outer]
    if actions := table.get("action_specs"):
        action = next((action for action in actions if action["id"] == entry.data.action_id), None)
        if action is None:
            raise Refused(INVALID, f"Table data allocation failed for table : {table['name']}")
        wrong = "TableOnly" if entry.is_default_entry else "DefaultOnly"
        if action.get("action_scope") == wrong:
            raise Refused(INVALID, f"action {action['name']} is not for this entry of {table['name']}")
        fields += [item.get("singleton", item) for item in action["data"]]
    elif entry.data.action_id:
        raise Refused(INVALID, f"Table data allocation failed for table : {table['name']}")
    known, found = {field["id"]: field for field in fields}, {}
    for given in entry.data.fields:
        field = known.get(given.field_id)
        if field is None or field.get("read_only"):
            raise Refused(INVALID, f"SetValue failed for field:{given.field_id} table:{table['name']}")
        found[field["name"]] = _field_value(field, given, table)
    missing = [field["name"] for field in fields if field.get("mandatory") and field["name"] not in found]
    if missing:
        raise Refused(INVALID, f"mandatory field {missing[0]} is missing table:{table['name']}")
    return found


def _field_value(field: dict[str, Any], given: Any, table: dict[str, Any]) -> Any:
    kind, form = given.WhichOneof("value"), field["type"]["type"]
    if field.get("repeated"):
        wanted = "bool_arr_val" if form == "bool" else "int_arr_val"
    else:
        wanted = {"bool": "bool_val", "string": "str_val", "float": "float_val"}.get(form, "stream")
    if kind != wanted:
        raise Refused(INVALID, f"SetValue failed for field:{given.field_id} table:{table['name']}")
    value = getattr(given, wanted)
    if kind == "stream":
        return _value(field, value, table)
    if kind == "str_val" and value not in field["type"].get("choices", [value]):
        raise Refused(INVALID, f"SetValue failed for field:{given.field_id} table:{table['name']}")
    return list(value.val) if field.get("repeated") else value


def _value(field: dict[str, Any], value: bytes, table: dict[str, Any]) -> int:
    width = field["type"].get("width") or 8 * _SIZES[field["type"]["type"]]
    number = int.from_bytes(value, "big")
    if len(value) != (width + 7) // 8 or number >> width:
        raise Refused(INVALID, f"Size of {field['name']} is {len(value)} bytes table:{table['name']}")
    return number


def put(entry: Any, table: dict[str, Any], values: dict[str, Any]) -> None:
    """Add every field of a table to the data of an entry."""
    for item in table["data"]:
        field = item["singleton"]
        added = entry.data.fields.add(field_id=field["id"])
        value = values.get(field["name"], 0)
        if field["type"]["type"] == "bool":
            added.bool_val = bool(value)
        elif field["type"]["type"] == "string":
            added.str_val = str(value)
        else:
            added.stream = value.to_bytes(_SIZES[field["type"]["type"]], "big")
