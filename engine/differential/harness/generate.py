"""Scenarios from a seed: random entries that fit P4Info, and random frames."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from harness.layout import Pools, build_frame, edge_value
from harness.scenario import Frame, PacketOut, Scenario, Write
from p4mesh.p4runtime.stubs import p4i

PORTS = (1, 2, 3, 4)
_CUT = 12
"""One frame in so many is cut short somewhere."""


class Generator:
    """Adds steps to one scenario; everything random comes from its seed."""

    def __init__(self, program: str, name: str, seed: int, info: p4i.P4Info) -> None:
        self.rng = random.Random(f"{program}/{name}/{seed}")
        self.scenario = Scenario(name, program, seed)
        self._tables = {table.preamble.alias: table for table in info.tables}
        self._actions = {action.preamble.id: action for action in info.actions}
        self._used: dict[str, set[Any]] = {}
        self.entries: list[dict[str, Any]] = []
        """Arguments of the table entries inserted so far."""

    # Values

    def values(self, count: int, width: int) -> list[int]:
        """A pool of different values."""
        found: set[int] = set()
        while len(found) < min(count, 1 << width):
            found.add(edge_value(self.rng, width))
        return sorted(found)

    # Frames

    def frames(
        self,
        count: int,
        layout: str,
        pools: Pools | None = None,
        *,
        ports: Sequence[int] = PORTS,
        cut: int = _CUT,
        **named: Sequence[int],
    ) -> None:
        """Add frames of a layout; one in ``cut`` is cut short (0: none). Pools come by name or together."""
        known = {**(pools or {}), **named}
        for _ in range(count):
            self.scenario.steps.append(Frame(self.rng.choice(ports), self._data(layout, known, cut)))

    def packet_outs(
        self, count: int, layout: str, metadata: Mapping[str, Sequence[int]], **pools: Sequence[int]
    ) -> None:
        """Add frames from the controller."""
        for _ in range(count):
            fields = {name: self.rng.choice(values) for name, values in metadata.items()}
            self.scenario.steps.append(PacketOut(self._data(layout, pools, _CUT), fields))

    def _data(self, layout: str, pools: Pools, cut: int) -> bytes:
        data = build_frame(self.rng, layout, pools)
        if cut and len(data) > 1 and self.rng.randrange(cut) == 0:
            data = data[: self.rng.randint(1, len(data) - 1)]
        return data

    # Entities

    def write(self, kind: str, method: str, **arguments: Any) -> None:
        """Add any update."""
        self.scenario.steps.append(Write(kind, method, arguments))

    def insert(self, method: str, **arguments: Any) -> None:
        """Add an insertion."""
        self.write("INSERT", method, **arguments)

    def fill(
        self,
        table: str,
        count: int,
        *,
        keys: Mapping[str, Sequence[int]] | None = None,
        params: Mapping[str, Sequence[int]] | None = None,
        actions: Sequence[str] = (),
        target: Mapping[str, Sequence[int]] | None = None,
        **extra: Any,
    ) -> None:
        """Insert up to ``count`` random entries; values come from pools by the name of key or parameter.

        ``target`` is {"member": numbers} or {"group": numbers} for tables with an action profile.
        """
        message = self._tables[table]
        for _ in range(count):
            match = self._match(message, keys or {})
            arguments: dict[str, Any] = {"table": table, "match": match, **extra}
            ordered = any(field.match_type in _NEEDS_PRIORITY for field in message.match_fields)
            if ordered:
                arguments["priority"] = self.rng.randint(1, 10_000)
            if not self._is_new(table, match, arguments.get("priority")):
                continue
            if target is not None:
                kind = self.rng.choice(list(target))
                arguments[kind] = self.rng.choice(target[kind])
            else:
                arguments |= self.action(table, params or {}, actions)
            self.insert("table_entry", **arguments)
            self.entries.append(arguments)

    def action(self, table: str, params: Mapping[str, Sequence[int]], actions: Sequence[str] = ()) -> dict[str, Any]:
        """A random action of a table with random parameters."""
        choices = [
            self._actions[reference.id]
            for reference in self._tables[table].action_refs
            if reference.scope != p4i.ActionRef.DEFAULT_ONLY
        ]
        if actions:
            choices = [action for action in choices if action.preamble.alias in actions]
        action = self.rng.choice(choices)
        values = {
            param.name: self.rng.choice(params[param.name])
            if param.name in params
            else edge_value(self.rng, param.bitwidth)
            for param in action.params
        }
        return {"action": action.preamble.alias, "params": values}

    def churn(self, count: int, params: Mapping[str, Sequence[int]] | None = None) -> None:
        """Modify or delete some of the entries inserted so far."""
        for _ in range(min(count, len(self.entries))):
            entry = self.entries.pop(self.rng.randrange(len(self.entries)))
            if self.rng.random() < 0.5 and "action" in entry:
                entry = entry | self.action(entry["table"], params or {})
                self.write("MODIFY", "table_entry", **entry)
                self.entries.insert(0, entry)
            else:
                self.write("DELETE", "table_entry", **entry)

    def set_default(self, table: str, params: Mapping[str, Sequence[int]] | None = None) -> None:
        """Set the default action of a table to any of its actions."""
        self.write("MODIFY", "default_entry", table=table, **self.action(table, params or {}))

    def _match(self, table: p4i.Table, pools: Mapping[str, Sequence[int]]) -> dict[str, Any]:
        match: dict[str, Any] = {}
        for field in table.match_fields:
            width = field.bitwidth
            top = (1 << width) - 1
            pool = pools.get(field.name)

            def value(pool: Sequence[int] | None = pool, width: int = width) -> int:
                return self.rng.choice(pool) if pool is not None else edge_value(self.rng, width)

            kind = field.match_type
            if kind == p4i.MatchField.EXACT:
                match[field.name] = value()
            elif kind == p4i.MatchField.OPTIONAL:
                if self.rng.random() < 0.7:
                    match[field.name] = value()
            elif kind == p4i.MatchField.LPM:
                length = self.rng.choice([0, width, width, self.rng.randint(0, width), width - min(width, 8)])
                if length:
                    match[field.name] = (value() >> (width - length) << (width - length), length)
            elif kind == p4i.MatchField.TERNARY:
                mask = self.rng.choice([0, top, top, top >> width // 2, top >> width // 2 << width // 2])
                mask = self.rng.choice([mask, mask, self.rng.getrandbits(width)])
                if mask:
                    match[field.name] = (value() & mask, mask)
            elif kind == p4i.MatchField.RANGE:
                low, high = sorted((value(), value()))
                if self.rng.random() < 0.8 and (low, high) != (0, top):
                    match[field.name] = (low, high)
        return match

    def _is_new(self, table: str, match: dict[str, Any], priority: int | None) -> bool:
        used = self._used.setdefault(table, set())
        signs = {("match", tuple(sorted(match.items()))), ("priority", priority)}
        if priority is None:
            signs = {("match", tuple(sorted(match.items())))}
        if signs & used:
            return False
        used |= signs
        return True


_NEEDS_PRIORITY = (p4i.MatchField.TERNARY, p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL)
