"""Entities in words, by names of P4Info, for error messages."""

from __future__ import annotations

from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.stubs import Entity, p4r

_ARRAYS = {
    "counter_entry": ("counter", "counter_id"),
    "meter_entry": ("meter", "meter_id"),
    "register_entry": ("register", "register_id"),
}


def describe(info: Info, entity: Entity) -> str:
    """Names an entity in one line."""
    kind = entity.WhichOneof("entity")
    if kind is None:
        return "an entity without content"
    body = getattr(entity, kind)
    if kind == "table_entry":
        return _table_entry(info, body)
    if kind in ("direct_counter_entry", "direct_meter_entry"):
        return f"the direct {kind.split('_')[1]} of {_table_entry(info, body.table_entry)}"
    if kind in _ARRAYS:
        name, field = _ARRAYS[kind]
        index = f"[{body.index.index}]" if body.HasField("index") else ""
        return f"{name} {info.name_of(getattr(body, field))}{index}"
    if kind == "action_profile_member":
        return f"member {body.member_id} of {info.name_of(body.action_profile_id)}"
    if kind == "action_profile_group":
        return f"group {body.group_id} of {info.name_of(body.action_profile_id)}"
    if kind == "packet_replication_engine_entry":
        if body.HasField("multicast_group_entry"):
            return f"multicast group {body.multicast_group_entry.multicast_group_id}"
        return f"clone session {body.clone_session_entry.session_id}"
    if kind == "value_set_entry":
        return f"value set {info.name_of(body.value_set_id)}"
    if kind == "digest_entry":
        return f"digest {info.name_of(body.digest_id)}"
    return kind.replace("_", " ")


def _table_entry(info: Info, entry: p4r.TableEntry) -> str:
    name = info.name_of(entry.table_id)
    if entry.is_default_action:
        return f"the default entry of table {name}"
    table = info.tables_by_id.get(entry.table_id)
    fields = {field.id: field.name for field in table.match_fields} if table else {}
    keys = [f"{fields.get(match.field_id, match.field_id)}={_match(match)}" for match in entry.match]
    if entry.priority:
        keys.append(f"priority {entry.priority}")
    return f"table {name} [{', '.join(keys) or 'any'}]"


def _match(match: p4r.FieldMatch) -> str:
    kind = match.WhichOneof("field_match_type")
    if kind == "exact":
        return _hex(match.exact.value)
    if kind == "ternary":
        return f"{_hex(match.ternary.value)}&{_hex(match.ternary.mask)}"
    if kind == "lpm":
        return f"{_hex(match.lpm.value)}/{match.lpm.prefix_len}"
    if kind == "range":
        return f"{_hex(match.range.low)}..{_hex(match.range.high)}"
    if kind == "optional":
        return _hex(match.optional.value)
    return "?"


def _hex(value: bytes) -> str:
    return hex(int.from_bytes(value, "big"))
