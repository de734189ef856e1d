"""Table entries of one table, encoded from names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p4mesh import numerals
from p4mesh.p4runtime.errors import SchemaError
from p4mesh.p4runtime.info import Info, full_name
from p4mesh.p4runtime.stubs import p4i
from p4mesh.p4runtime.values import MAX_TEXT_BYTES, Value, encode
from p4mesh.p4runtime.wire import delimited, heads, number, tag, varint

MatchValue = Value | tuple[Value, Value] | None
"""Exact and optional: a value. LPM: (value, prefix length) or "10.0.0.0/8". Ternary: (value, mask)
or a value. Range: (low, high). ``None`` and a field that is left out match anything."""

_KINDS = {
    p4i.MatchField.EXACT: ("exact", 2),
    p4i.MatchField.TERNARY: ("ternary", 3),
    p4i.MatchField.LPM: ("lpm", 4),
    p4i.MatchField.RANGE: ("range", 6),
    p4i.MatchField.OPTIONAL: ("optional", 7),
}


class FieldEncoder:
    """One key field."""

    def __init__(self, owner: str, field: p4i.MatchField) -> None:
        kind = _KINDS.get(field.match_type)
        if kind is None:
            raise SchemaError(f"{owner}: key field {field.name!r} has an unknown match type")
        self.kind, number_of_kind = kind
        self.name = field.name
        self.width_bits = field.bitwidth
        self.what = f"{owner}: key field {field.name!r}"
        self._head = number(1, field.id)
        self._tag = tag(number_of_kind, 2)
        self._one_value = self.kind in ("exact", "optional")
        self._heads = []
        if self._one_value:
            for n in range((field.bitwidth + 7) // 8 + 2 if field.bitwidth else MAX_TEXT_BYTES + 1):
                # Field 2 of TableEntry, a FieldMatch; the value is field 1 of the message of its kind.
                message = self._head + self._tag + varint(n + 1 + len(varint(n))) + b"\x0a" + varint(n)
                self._heads.append(b"\x12" + varint(len(message) + n) + message)

    def element(self, value: MatchValue) -> bytes:
        """Encodes the field as an element of ``match``; empty for a value that matches anything."""
        if self._one_value:
            if value.__class__ is int and not value >> self.width_bits:
                n = (value.bit_length() + 7) >> 3 or 1
                return self._heads[n] + value.to_bytes(n, "big")
            if value is None:
                if self.kind == "optional":
                    return b""
                raise SchemaError(f"{self.what} is matched as exact and must be given")
            if value.__class__ is tuple:
                raise SchemaError(f"{self.what} is matched as {self.kind}, got a pair", hint="give one value")
            encoded = encode(value, self.width_bits, self.what)  # type: ignore[arg-type]
            return self._heads[len(encoded)] + encoded
        body = self._pair(value)
        return delimited(2, self._head + self._tag + varint(len(body)) + body) if body else b""

    def value_set_element(self, value: MatchValue) -> bytes:
        """Encodes the field as an element of a value set member's ``match``."""
        element = self.element(value)
        # ValueSetMember.match is field 1, TableEntry.match is field 2.
        return b"\x0a" + element[1:] if element else b""

    def _pair(self, value: MatchValue) -> bytes:
        if value is None:
            return b""
        if self.kind == "lpm":
            if isinstance(value, str) and "/" in value:
                address, _, length = value.rpartition("/")
                # A text that is no number is refused below.
                value = (address, int(length) if numerals.is_digits(length) else length)
            first, prefix = value if isinstance(value, tuple) else (value, self.width_bits)
            if not isinstance(prefix, int) or not 0 <= prefix <= self.width_bits:
                raise SchemaError(f"{self.what}: prefix length {prefix!r} is not in 0 to {self.width_bits}")
            return delimited(1, encode(first, self.width_bits, self.what)) + number(2, prefix) if prefix else b""
        everything = (1 << self.width_bits) - 1
        if self.kind == "ternary":
            first, mask = value if isinstance(value, tuple) else (value, everything)
            encoded = encode(mask, self.width_bits, self.what)
            if not any(encoded):
                return b""
            return delimited(1, encode(first, self.width_bits, self.what)) + delimited(2, encoded)
        if not isinstance(value, tuple):
            value = (value, value)
        low, high = (encode(bound, self.width_bits, self.what) for bound in value)
        if not any(low) and int.from_bytes(high, "big") == everything:
            return b""
        return delimited(1, low) + delimited(2, high)


class ActionEncoder:
    """One action: parameters by name to an encoded Action message."""

    def __init__(self, action: p4i.Action) -> None:
        self.name = action.preamble.alias or action.preamble.name
        # Fields of Action: 1 is its id, 4 a parameter, which has its id in 2 and its value in 3.
        self._head = number(1, action.preamble.id)
        self._params = [
            (
                param.name,
                heads(b"\x22", number(2, param.id) + b"\x1a", param.bitwidth),
                param.bitwidth,
                f"action {self.name!r}: parameter {param.name!r}",
            )
            for param in action.params
        ]

    def __call__(self, params: Mapping[str, Value]) -> bytes:
        """Encodes an Action."""
        parts = [self._head]
        for name, by_length, width_bits, what in self._params:
            try:
                value = params[name]
            except KeyError:
                raise SchemaError(f"{what} is missing") from None
            if value.__class__ is int and not value >> width_bits:
                n = (value.bit_length() + 7) >> 3 or 1
                parts += (by_length[n], value.to_bytes(n, "big"))
            else:
                encoded = encode(value, width_bits, what)
                parts += (by_length[len(encoded)], encoded)
        if len(params) != len(self._params):
            known = [name for name, *_ in self._params]
            unknown = sorted(set(params) - set(known))
            raise SchemaError(
                f"action {self.name!r} has no parameter {unknown[0]!r}", hint=f"valid: {', '.join(known) or 'none'}"
            )
        return b"".join(parts)

    @property
    def params(self) -> tuple[str, ...]:
        """The names of the parameters in their order."""
        return tuple(name for name, *_ in self._params)


class TableEncoder:
    """One table: names to the encoded parts of a TableEntry."""

    def __init__(self, info: Info, table: p4i.Table) -> None:
        self.message = table
        self.name = table.preamble.alias or table.preamble.name
        self.head = number(1, table.preamble.id)
        self._fields = [FieldEncoder(f"table {self.name!r}", field) for field in table.match_fields]
        self._names = {field.name for field in self._fields}
        self._actions: dict[str, ActionEncoder] = {}
        self._full_names = [info.actions_by_id[reference.id].preamble.name for reference in table.action_refs]
        for reference in table.action_refs:
            action = info.actions_by_id[reference.id]
            encoder = self._actions[action.preamble.name] = ActionEncoder(action)
            self._actions.setdefault(action.preamble.alias, encoder)

    def key(self, match: Mapping[str, MatchValue]) -> bytes:
        """Encodes the match fields."""
        if not match.keys() <= self._names:
            match = self._with_full_names(match)
        return b"".join([field.element(match.get(field.name)) for field in self._fields])

    def _with_full_names(self, match: Mapping[str, MatchValue]) -> dict[str, MatchValue]:
        found: dict[str, MatchValue] = {}
        for name, value in match.items():
            full = full_name(self._names, name, "key field", f"table {self.name!r}")
            if full in found:
                raise SchemaError(f"table {self.name!r}: key field {full!r} is given twice", hint="name it once")
            found[full] = value
        return found

    def action(self, name: str, params: Mapping[str, Value]) -> bytes:
        """Encodes an Action of the table."""
        return self._action(name)(params)

    def action_params(self, name: str) -> tuple[str, ...]:
        """The names of an action's parameters in their order."""
        return self._action(name).params

    def _action(self, name: str) -> ActionEncoder:
        encoder = self._actions.get(name)
        if encoder is None:
            full = full_name(self._full_names, name, "action", f"table {self.name!r}")
            encoder = self._actions[name] = self._actions[full]
        return encoder


def table_action(**kind: Any) -> bytes:
    """Encodes the field ``action`` of a TableEntry: one of action, member, group, action_set."""
    ((name, value),) = kind.items()
    if name == "action":
        return delimited(3, delimited(1, value))
    if name == "action_set":
        return delimited(3, delimited(4, value))
    return delimited(3, tag(2 if name == "member" else 3, 0) + varint(value))
