"""Entities that a P4Runtime server refuses, by the names of their golden texts."""

from __future__ import annotations

from collections.abc import Callable

from support.golden import GoldenTable

from p4mesh.p4runtime import CounterData, MeterConfig, Schema
from p4mesh.p4runtime.stubs import Entity, p4d, p4r

GOLDEN = GoldenTable("p4runtime")

Case = tuple[str, Entity]


def _with(entity: Entity, edit: Callable[[Entity], object]) -> Entity:
    edit(entity)
    return entity


def _forward(s: Schema) -> Entity:
    return s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 1})


def _acl(s: Schema) -> Entity:
    return s.table_entry("acl", {"port": 1, "ttl": (1, 2), "protocol": 1, "ipv4_valid": 0}, "deny", priority=1)


def _route(s: Schema) -> Entity:
    return s.table_entry("route", {"destination": "10.0.0.0/8"}, "rewrite", {"destination": 1, "port": 1})


def table_cases(s: Schema) -> dict[str, Case]:
    """Wrong table entries."""

    def match(entity: Entity, index: int = 0) -> p4r.FieldMatch:
        return entity.table_entry.match[index]

    def wrong_kind(entity: Entity) -> None:
        match(entity).lpm.value = b"\1"
        match(entity).lpm.prefix_len = 8

    def other_action(entity: Entity) -> None:
        entity.table_entry.action.action.action_id = s.info.actions["deny"].preamble.id

    def unknown_action(entity: Entity) -> None:
        entity.table_entry.action.action.action_id = 1

    def param(entity: Entity) -> p4r.Action.Param:
        return entity.table_entry.action.action.params[0]

    insert = "INSERT"
    return {
        "table_unknown": (insert, _with(_forward(s), lambda e: setattr(e.table_entry, "table_id", 0x02FFFFFF))),
        "table_id_of_another_kind": (
            insert,
            _with(_forward(s), lambda e: setattr(e.table_entry, "table_id", s.info.actions["drop"].preamble.id)),
        ),
        "table_key_missing": (insert, _with(_forward(s), lambda e: e.table_entry.ClearField("match"))),
        "table_key_unknown": (insert, _with(_forward(s), lambda e: e.table_entry.match.add(field_id=9))),
        "table_key_twice": (insert, _with(_forward(s), lambda e: e.table_entry.match.append(match(e)))),
        "table_key_empty_value": (insert, _with(_forward(s), lambda e: setattr(match(e).exact, "value", b""))),
        "table_key_too_wide": (
            insert,
            _with(_forward(s), lambda e: setattr(match(e).exact, "value", b"\1" + bytes(6))),
        ),
        "table_key_wrong_kind": (insert, _with(_forward(s), wrong_kind)),
        "table_key_unset": (insert, _with(_forward(s), lambda e: match(e).ClearField("exact"))),
        "table_action_missing": (insert, _with(_forward(s), lambda e: e.table_entry.ClearField("action"))),
        "table_action_unset": (insert, _with(_forward(s), lambda e: e.table_entry.action.ClearField("action"))),
        "table_action_unknown": (insert, _with(_forward(s), unknown_action)),
        "table_action_of_another_table": (insert, _with(_forward(s), other_action)),
        "table_action_default_only": (insert, s.table_entry("forward", {"destination": 1}, "miss", {"reason": 1})),
        "table_param_missing": (
            insert,
            _with(_forward(s), lambda e: e.table_entry.action.action.ClearField("params")),
        ),
        "table_param_unknown": (insert, _with(_forward(s), lambda e: setattr(param(e), "param_id", 9))),
        "table_param_extra": (
            insert,
            _with(_forward(s), lambda e: e.table_entry.action.action.params.add(param_id=9, value=b"\1")),
        ),
        "table_param_twice": (
            insert,
            _with(_forward(s), lambda e: e.table_entry.action.action.params.append(param(e))),
        ),
        "table_param_empty": (insert, _with(_forward(s), lambda e: setattr(param(e), "value", b""))),
        "table_param_too_wide": (insert, _with(_forward(s), lambda e: setattr(param(e), "value", b"\2\0"))),
        "table_no_entry_to_modify": ("MODIFY", _forward(s)),
        "table_no_entry_to_delete": ("DELETE", _forward(s)),
        "table_priority_missing": (insert, _with(_acl(s), lambda e: setattr(e.table_entry, "priority", 0))),
        "table_priority_superfluous": (insert, _with(_forward(s), lambda e: setattr(e.table_entry, "priority", 3))),
        "table_priority_negative": (insert, _with(_acl(s), lambda e: setattr(e.table_entry, "priority", -1))),
        "table_is_const": (insert, _with(_forward(s), lambda e: setattr(e.table_entry, "is_const", True))),
        "table_is_const_deleted": ("DELETE", _with(_forward(s), lambda e: setattr(e.table_entry, "is_const", True))),
        "table_time_since_last_hit": (
            insert,
            _with(_forward(s), lambda e: e.table_entry.time_since_last_hit.SetInParent()),
        ),
        "table_no_idle_timeout": (insert, _with(_acl(s), lambda e: setattr(e.table_entry, "idle_timeout_ns", 1))),
        "table_idle_timeout_negative": (
            insert,
            _with(_forward(s), lambda e: setattr(e.table_entry, "idle_timeout_ns", -1)),
        ),
        "table_no_direct_counter": (insert, _with(_forward(s), lambda e: e.table_entry.counter_data.SetInParent())),
        "table_no_direct_meter": (insert, _with(_forward(s), lambda e: e.table_entry.meter_config.SetInParent())),
        "table_meter_counters": (
            insert,
            _with(_acl(s), lambda e: setattr(e.table_entry.meter_counter_data.red, "packet_count", 1)),
        ),
        "table_no_meter_counters": (
            insert,
            _with(_forward(s), lambda e: e.table_entry.meter_counter_data.SetInParent()),
        ),
        "table_counter_negative": (
            insert,
            _with(_acl(s), lambda e: setattr(e.table_entry.counter_data, "packet_count", -1)),
        ),
        "table_without_key": (insert, s.table_entry("always", {}, "forward_to", {"port": 1})),
        "table_const": (insert, s.table_entry("classify", {"ether_type": 1}, "NoAction")),
        "table_const_modify": ("MODIFY", s.table_entry("classify", {"ether_type": 0x9000}, "NoAction")),
        "table_const_delete": ("DELETE", s.table_entry("classify", {"ether_type": 0x9000})),
        "table_const_default": ("MODIFY", s.default_entry("route", "NoAction")),
        "table_default_insert": (insert, s.default_entry("forward", "drop")),
        "table_default_delete": ("DELETE", s.default_entry("forward", "drop")),
        "table_default_with_match": (
            "MODIFY",
            _with(_forward(s), lambda e: setattr(e.table_entry, "is_default_action", True)),
        ),
        "table_default_with_idle_timeout": (
            "MODIFY",
            _with(s.default_entry("forward", "drop"), lambda e: setattr(e.table_entry, "idle_timeout_ns", 1)),
        ),
        "table_member_for_direct": (insert, s.table_entry("forward", {"destination": 1}, member=1)),
        "table_action_for_indirect": (insert, s.table_entry("by_port", {"port": 1}, "drop")),
        "table_group_without_selector": (insert, s.table_entry("by_port", {"port": 1}, group=1)),
        "table_set_without_selector": (insert, s.table_entry("by_port", {"port": 1}, action_set=[("drop", {}, 1)])),
        "table_member_unknown": (insert, s.table_entry("by_port", {"port": 1}, member=1)),
        "table_group_unknown": (insert, s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, group=1)),
        "table_default_of_indirect": ("MODIFY", s.default_entry("by_port", "drop")),
        "table_set_weight_zero": (
            insert,
            s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 1}, 0)]),
        ),
        "table_set_too_large": (
            insert,
            s.table_entry("ecmp", {"destination": "10.0.0.0/8"}, action_set=[("forward_to", {"port": 1}, 9)]),
        ),
        "lpm_prefix_zero": (insert, _with(_route(s), lambda e: setattr(match(e).lpm, "prefix_len", 0))),
        "lpm_prefix_too_long": (insert, _with(_route(s), lambda e: setattr(match(e).lpm, "prefix_len", 33))),
        "lpm_bits_below_prefix": (insert, _with(_route(s), lambda e: setattr(match(e).lpm, "value", b"\x0a\0\0\1"))),
        "ternary_mask_zero": (insert, _with(_acl(s), lambda e: setattr(match(e).ternary, "mask", b"\0"))),
        "ternary_bits_outside_mask": (insert, _with(_acl(s), lambda e: setattr(match(e).ternary, "mask", b"\2"))),
        "range_reversed": (insert, _with(_acl(s), lambda e: setattr(match(e, 1).range, "low", b"\x09"))),
        "range_everything": (
            insert,
            _with(_acl(s), lambda e: match(e, 1).range.MergeFrom(p4r.FieldMatch.Range(low=b"\0", high=b"\xff"))),
        ),
    }


def other_cases(s: Schema) -> dict[str, Case]:
    """Wrong entities of other kinds."""

    def profile(entity: Entity) -> Entity:
        return _with(entity, lambda e: setattr(e.action_profile_member, "action_profile_id", 7))

    def register(data: p4r.RegisterEntry) -> Entity:
        data.register_id = s.info.registers["last_seen"].preamble.id
        data.index.index = 0
        return Entity(register_entry=data)

    return {
        "member_profile_unknown": ("INSERT", profile(s.member("ports", 1, "drop"))),
        "member_id_zero": ("INSERT", s.member("ports", 0, "drop")),
        "member_id_reserved": ("INSERT", s.member("ports", 1 << 31, "drop")),
        "member_without_action": ("INSERT", s.member("ports", 1)),
        "member_action_of_another_table": ("INSERT", s.member("ports", 1, "rewrite", {"destination": 1, "port": 1})),
        "member_unknown": ("MODIFY", s.member("ports", 9, "drop")),
        "group_member_unknown": ("INSERT", s.group("next_hops", 1, {9: 1}, 4)),
        "group_weight_zero": ("INSERT", s.group("next_hops", 1, {9: 0}, 4)),
        "group_max_size": ("INSERT", s.group("next_hops", 1, {}, 9)),
        "group_unknown": ("MODIFY", s.group("next_hops", 1, {})),
        "group_without_selector": ("INSERT", s.group("ports", 1, {})),
        "counter_index": ("MODIFY", s.counter("port_counter", 512, CounterData(1, 1))),
        "counter_index_negative": ("MODIFY", s.counter("port_counter", -1, CounterData(1, 1))),
        "counter_insert": ("INSERT", s.counter("port_counter", 1, CounterData(1, 1))),
        "counter_unknown": (
            "MODIFY",
            _with(s.counter("port_counter"), lambda e: setattr(e.counter_entry, "counter_id", 1)),
        ),
        "meter_index": ("MODIFY", s.meter("rate", 64)),
        "meter_negative": ("MODIFY", s.meter("rate", 1, MeterConfig(-1, 0, 0, 0))),
        "meter_peak_below_committed": ("MODIFY", s.meter("rate", 1, MeterConfig(2, 1, 1, 1))),
        "meter_eburst": (
            "MODIFY",
            _with(s.meter("rate", 1, MeterConfig(1, 1, 1, 1)), lambda e: setattr(e.meter_entry.config, "eburst", 1)),
        ),
        "meter_counter_data": (
            "MODIFY",
            _with(s.meter("rate", 1), lambda e: setattr(e.meter_entry.counter_data.green, "byte_count", 1)),
        ),
        "register_index": ("MODIFY", s.register("last_seen", 128, 1)),
        "register_without_data": ("MODIFY", s.register("last_seen", 1)),
        "register_wrong_data": ("MODIFY", register(p4r.RegisterEntry(data=p4d.P4Data(bool=True)))),
        "register_too_wide": (
            "MODIFY",
            register(p4r.RegisterEntry(data=p4d.P4Data(bitstring=b"\1" + bytes(6)))),
        ),
        "direct_counter_without_entry": ("MODIFY", Entity(direct_counter_entry=p4r.DirectCounterEntry())),
        "direct_counter_no_such_table_counter": (
            "MODIFY",
            s.direct_counter("forward", {"destination": 1}, CounterData(1, 1)),
        ),
        "direct_counter_no_entry": (
            "MODIFY",
            s.direct_counter("acl", {"ipv4_valid": 0}, CounterData(1, 1), priority=1),
        ),
        "direct_meter_no_entry": ("MODIFY", s.direct_meter("acl", {"ipv4_valid": 0}, priority=1)),
        "multicast_group_zero": ("INSERT", s.multicast_group(0, [(1, 1)])),
        "multicast_group_too_large": ("INSERT", s.multicast_group(32768, [(1, 1)])),
        "multicast_replica_twice": ("INSERT", s.multicast_group(1, [(1, 1), (1, 1)])),
        "multicast_port_unknown": ("INSERT", s.multicast_group(1, [(400, 1)])),
        "multicast_port_too_large": ("INSERT", s.multicast_group(1, [(70_000, 1)])),
        "multicast_instance_too_large": ("INSERT", s.multicast_group(1, [(1, 70_000)])),
        "multicast_unknown": ("DELETE", s.multicast_group(7)),
        "clone_session_zero": ("INSERT", s.clone_session(0, [(1, 1)])),
        "clone_session_class": ("INSERT", s.clone_session(1, [(1, 1)], class_of_service=8)),
        "clone_session_length": ("INSERT", s.clone_session(1, [(1, 1)], packet_length_bytes=-1)),
        "clone_session_unknown": ("MODIFY", s.clone_session(9, [(1, 1)])),
        "replication_unset": ("INSERT", Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry())),
        "value_set_insert": ("INSERT", s.value_set("special_types")),
        "value_set_too_large": ("MODIFY", s.value_set("special_types", [{"": value} for value in range(5)])),
        "value_set_twice": ("MODIFY", s.value_set("special_types", [{"": 1}, {"": 1}])),
        "digest_not_enabled": ("MODIFY", s.digest("learn_t")),
        "digest_negative": ("INSERT", s.digest("learn_t", max_timeout_ns=-1)),
        "digest_without_config": (
            "INSERT",
            _with(s.digest("learn_t"), lambda e: e.digest_entry.ClearField("config")),
        ),
        "extern": ("INSERT", Entity(extern_entry=p4r.ExternEntry(extern_type_id=0x81))),
    }


def read_cases(s: Schema) -> dict[str, Entity]:
    """Wrong requests to read."""
    return {
        "read_unset": Entity(),
        "read_table_unknown": _with(s.table("acl"), lambda e: setattr(e.table_entry, "table_id", 9)),
        "read_no_idle_timeout": s.table("acl", idle=True),
        "read_counter_index": s.counter("port_counter", 512),
        "read_direct_counter_no_entry": s.direct_counter("acl", {"ipv4_valid": 0}, priority=1),
        "read_direct_meter_of_table_without": s.direct_meter("forward"),
        "read_multicast_unknown": s.multicast_group(9),
        "read_clone_session_unknown": s.clone_session(9),
        "read_extern": Entity(extern_entry=p4r.ExternEntry(extern_type_id=0x81)),
    }
