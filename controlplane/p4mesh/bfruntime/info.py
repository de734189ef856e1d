"""bfrt.json as an index of names: tables with their keys, actions and data, and how each value is encoded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from p4mesh.bfruntime.errors import BfSchemaError
from p4mesh.bfruntime.messages import DataField, KeyField
from p4mesh.p4runtime.values import Value, encode

MATCH_PRIORITY = "$MATCH_PRIORITY"
REGISTER_INDEX = "$REGISTER_INDEX"
COUNTER_INDEX = "$COUNTER_INDEX"
LOWEST_PRIORITY = (1 << 24) - 1
"""The entry with the smaller number wins, unlike in P4Runtime."""
_INTEGERS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "int32": 32}

_OF_COMPILERS = frozenset({"SnapshotCfg", "SnapshotTrigger", "SnapshotData", "SnapshotLiveness", "TblDbgCnt"})
"""Kinds of tables that compilers add for debugging: with names of their variables, in another order each time."""
_CONTAINER = {"type": "container"}
"""Type of a field that is made of others, which tables of the tester do not have."""

MatchValue = Value | tuple[Value, Value] | None
"""Exact: a value. Ternary: (value, mask) or a value. None and a field that is left out match anything."""
_Named = TypeVar("_Named")
DataValue = Value | bool | list[int] | list[bool]


@dataclass(frozen=True)
class FieldInfo:
    """A field of a key, of an action, or of the data of a table."""

    id: int
    name: str
    kind: str
    """``bytes``, ``uint8`` to ``uint64``, ``bool``, ``string``, ``float``, ``container``."""
    width_bits: int
    match: str = ""
    """``Exact``, ``Ternary``, ... of a field of a key."""
    repeated: bool = False
    choices: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Length of a value in a message; the server takes no other."""
        return (self.width_bits + 7) // 8

    def bytes_of(self, value: Value, table: str) -> bytes:
        """A number in the length that the server takes; raises BfSchemaError for one that does not fit."""
        what = f"table {table!r}: field {self.name!r}"
        if isinstance(value, int) and (value < 0 or value >> self.width_bits):
            raise BfSchemaError(f"{what}: {value:#x} does not fit in {self.width_bits} bits")
        return encode(value, self.width_bits, what).rjust(self.size_bytes, b"\0")

    def key(self, value: MatchValue, table: str) -> Any:
        """The field of a key."""
        message = KeyField(field_id=self.id)
        if self.match == "Exact":
            if value is None or isinstance(value, tuple):
                raise BfSchemaError(f"table {table!r}: key field {self.name!r} is matched as exact: give one value")
            message.exact.value = self._exact(value, table)
        elif self.match == "Ternary":
            everything = (1 << self.width_bits) - 1
            first, mask = value if isinstance(value, tuple) else (value or 0, 0 if value is None else everything)
            message.ternary.value = self.bytes_of(first, table)
            message.ternary.mask = self.bytes_of(mask, table)
        else:
            raise BfSchemaError(f"table {table!r}: key field {self.name!r} is matched as {self.match}, not supported")
        return message

    def _exact(self, value: Value, table: str) -> bytes:
        return value.encode() if self.kind == "string" and isinstance(value, str) else self.bytes_of(value, table)

    def data(self, value: DataValue, table: str) -> Any:
        """The field of an entry's data."""
        message = DataField(field_id=self.id)
        what = f"table {table!r}: data field {self.name!r}"
        if self.choices and value not in self.choices:
            raise BfSchemaError(f"{what}: no choice {value!r}", hint=f"valid: {', '.join(self.choices)}")
        if self.repeated:
            if not isinstance(value, list):
                raise BfSchemaError(f"{what}: is a list")
            values = message.bool_arr_val if self.kind == "bool" else message.int_arr_val
            values.SetInParent()
            values.val.extend(value)
        elif self.kind == "bool":
            message.bool_val = bool(value)
        elif self.kind == "string":
            message.str_val = str(value)
        elif isinstance(value, list):
            raise BfSchemaError(f"{what}: is no list")
        else:
            message.stream = self.bytes_of(value, table)
        return message


@dataclass(frozen=True)
class ActionInfo:
    """An action of a table."""

    id: int
    name: str
    fields: Mapping[str, FieldInfo]


@dataclass(frozen=True)
class TableInfo:
    """A table of the program, or a fixed one such as ``$PORT``."""

    id: int
    name: str
    kind: str
    """``MatchAction_Direct``, ``Register``, ``Counter``, ``ParserValueSet``, ..."""
    size: int
    key: Mapping[str, FieldInfo]
    data: Mapping[str, FieldInfo]
    actions: Mapping[str, ActionInfo] = field(default_factory=dict)
    """Actions by full name."""

    def action(self, name: str) -> ActionInfo:
        """An action by its name, or the end of it."""
        return _by_end(self.actions, f"table {self.name!r}: action", name)

    def data_field(self, name: str) -> FieldInfo:
        """A field of the data; names of registers may be the end of what bfrt.json has."""
        return _by_end(self.data, f"table {self.name!r}: data field", name)

    @cached_property
    def data_by_id(self) -> Mapping[int, FieldInfo]:
        """Fields of the data that have no action."""
        return {known.id: known for known in self.data.values()}


class BfrtInfo:
    """The tables of one or more bfrt.json."""

    def __init__(self, *documents: bytes) -> None:
        """Parse documents; raise BfSchemaError for one that is no bfrt.json."""
        self.tables: dict[str, TableInfo] = {}
        for document in documents:
            try:
                found = [_table(table) for table in json.loads(document)["tables"]]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BfSchemaError(f"this is no bfrt.json: {type(error).__name__}: {error}") from None
            self.tables |= {table.name: table for table in found}
        self._known: dict[str, TableInfo] = {}

    def table(self, name: str) -> TableInfo:
        """A table by its name, or the end of it that no other table has."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = _by_end(self.tables, "table", name)
        return found

    def missing_from(self, other: BfrtInfo) -> list[str]:
        """Differences from the tables of ``other``, in words: those that are missing there; numbers may differ."""
        found = []
        for name, table in sorted(self.tables.items()):
            theirs = other.tables.get(name)
            if theirs is None:
                found.append(f"table {name}")
                continue
            if table.size > theirs.size:
                found.append(f"{table.size} entries of {name}, which has {theirs.size}")
            found += [f"{name}: {what}" for what in _shape(table) if what not in _shape(theirs)]
        return found


def tables_of_program(document: bytes) -> list[dict[str, Any]]:
    """The tables of a bfrt.json as it has them, without those that compilers add for debugging."""
    return [table for table in json.loads(document)["tables"] if table["table_type"] not in _OF_COMPILERS]


def digest_of(document: bytes) -> str:
    """The SHA-256 of the tables of the program in a bfrt.json, however it is laid out."""
    tables = sorted(tables_of_program(document), key=lambda table: str(table["name"]))
    return sha256(json.dumps(tables, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _shape(table: TableInfo) -> list[str]:
    """The fields of a table in words, without the numbers that compilers choose."""
    return [
        *(f"key field {one.name} ({one.match}, {one.width_bits} bits)" for one in table.key.values()),
        *(f"data field {one.name} ({one.width_bits} bits)" for one in table.data.values()),
        *(
            f"action {action.name}({', '.join(f'{one.name} {one.width_bits}' for one in action.fields.values())})"
            for action in table.actions.values()
        ),
    ]


def _table(table: dict[str, Any]) -> TableInfo:
    return TableInfo(
        table["id"],
        table["name"],
        table["table_type"],
        table["size"],
        _fields(table["key"]),
        _fields(_plain(table.get("data", []))),
        {
            action["name"]: ActionInfo(action["id"], action["name"], _fields(_plain(action["data"])))
            for action in table.get("action_specs", [])
        },
    )


def _plain(items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the fields in a list of data, without those that are one of several.

    Data of tables, and of actions of some fixed tables of the drivers, has a field in ``singleton``; data of other
    actions is the field itself.
    """
    for item in items:
        found = item.get("singleton", item)
        if "name" in found:
            yield found


def _fields(found: Iterable[dict[str, Any]]) -> dict[str, FieldInfo]:
    return {one["name"]: _field(one, one.get("type", _CONTAINER)) for one in found}


def _field(one: dict[str, Any], form: dict[str, Any]) -> FieldInfo:
    return FieldInfo(
        one["id"],
        one["name"],
        form["type"],
        form.get("width") or _INTEGERS.get(form["type"], 1),
        one.get("match_type", ""),
        one.get("repeated", False),
        tuple(form.get("choices", ())),
    )


def _by_end(items: Mapping[str, _Named], kind: str, name: str) -> _Named:
    """The object with a name; the name may lack what is in front of one of its dots."""
    if name in items:
        return items[name]
    fitting = [full for full in items if full.endswith(f".{name}")]
    if len(fitting) == 1:
        return items[fitting[0]]
    if fitting:
        raise BfSchemaError(f"{kind} {name!r} is one of {len(fitting)}", hint=f"valid: {', '.join(sorted(fitting))}")
    valid = ", ".join(sorted(items)) or "none"
    raise BfSchemaError(f"no {kind} named {name!r}", hint=f"valid: {valid}")
