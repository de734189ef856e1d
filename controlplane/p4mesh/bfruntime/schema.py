"""Entities by the names of bfrt.json, in the words of :class:`p4mesh.p4runtime.Schema`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from p4mesh.bfruntime.errors import BfSchemaError
from p4mesh.bfruntime.info import LOWEST_PRIORITY, MATCH_PRIORITY, BfrtInfo, DataValue, MatchValue, TableInfo
from p4mesh.bfruntime.messages import TableEntry
from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.values import Value


@dataclass(frozen=True)
class Entry:
    """An entry of a table: its key, and what is in it."""

    table: TableInfo
    message: Any
    """TableEntry."""

    @property
    def key_alone(self) -> Any:
        """TableEntry without data, for a deletion."""
        message = TableEntry()
        message.CopyFrom(self.message)
        message.ClearField("data")
        return message


@dataclass(frozen=True)
class Group:
    """A multicast group: (device port, replication id) of each copy."""

    number: int
    replicas: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ValueSet:
    """All members of a parser value set."""

    table: TableInfo
    members: tuple[Entry, ...]


BfEntity = Entry | Group | ValueSet


class BfSchema:
    """Builds entities. Names of tables and actions are those of bfrt.json, or their ends."""

    def __init__(self, bfrt: BfrtInfo, info: Info) -> None:
        self.bfrt = bfrt
        self.info = info
        """P4Info of the same program: the headers of packet I/O, which bfrt.json does not have."""

    def table_entry(
        self,
        table: str,
        match: Mapping[str, MatchValue] | None = None,
        action: str | None = None,
        params: Mapping[str, Value] | None = None,
        *,
        priority: int = 0,
    ) -> Entry:
        """A table entry; of two that match, the one with the larger priority wins, as in P4Runtime."""
        found = self.bfrt.table(table)
        given = dict(match or {})
        if MATCH_PRIORITY in found.key:
            given[MATCH_PRIORITY] = LOWEST_PRIORITY - priority
        return entry_of(found, given, action, params or {})

    def default_entry(self, table: str, action: str, params: Mapping[str, Value] | None = None) -> Entry:
        """The default entry with a new action."""
        entry = entry_of(self.bfrt.table(table), None, action, params or {})
        entry.message.is_default_entry = True
        return entry

    def multicast_group(
        self, group: int, replicas: Iterable[tuple[int, int]] = (), *, numeric_ports: bool = True
    ) -> Group:
        """A multicast group of (device port, replication id) pairs; ports have no other form here."""
        assert numeric_ports, "BF Runtime has numbers of ports only"
        return Group(group, tuple(replicas))

    def value_set(self, name: str, members: Iterable[Mapping[str, MatchValue]] = ()) -> ValueSet:
        """A parser value set with all its members; a match by field name, or "" for the only field."""
        table = self.bfrt.table(name)
        (only, *others) = table.key
        return ValueSet(
            table,
            tuple(
                entry_of(table, {only: member[""]} if not others and "" in member else member, None, {})
                for member in members
            ),
        )


def entry_of(
    table: TableInfo, match: Mapping[str, MatchValue] | None, action: str | None, values: Mapping[str, DataValue]
) -> Entry:
    """An entry of a table by names; raises BfSchemaError for names and values that it does not have.

    ``match`` None: no key, as default entries have none. Without an action, ``values`` are the data of the table.
    """
    message = TableEntry(table_id=table.id)
    if match is not None:
        message.key.SetInParent()
        if unknown := sorted(match.keys() - table.key.keys()):
            raise BfSchemaError(
                f"table {table.name!r} has no key field {unknown[0]!r}", hint=f"valid: {', '.join(table.key) or 'none'}"
            )
        message.key.fields.extend(
            field.key(match.get(name), table.name)
            for name, field in table.key.items()
            if name in match or field.match == "Exact"
        )
    message.data.SetInParent()
    if action is None:
        found = {name: table.data_field(name) for name in values}
    else:
        known = table.action(action)
        message.data.action_id = known.id
        if unknown := sorted(values.keys() - known.fields.keys()):
            raise BfSchemaError(
                f"action {known.name!r} has no parameter {unknown[0]!r}",
                hint=f"valid: {', '.join(known.fields) or 'none'}",
            )
        if missing := [name for name in known.fields if name not in values]:
            raise BfSchemaError(f"action {known.name!r}: parameter {missing[0]!r} is missing")
        found = dict(known.fields)
    message.data.fields.extend(field.data(values[name], table.name) for name, field in found.items())
    return Entry(table, message)
