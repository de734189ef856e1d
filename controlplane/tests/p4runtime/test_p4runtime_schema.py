"""Entities by name: the encoding is that of the protobuf classes, and wrong names are told apart."""

from __future__ import annotations

import pytest
from support.p4runtime_support import P4INFO

from p4mesh.p4runtime import CounterData, Entity, MeterConfig, Schema, SchemaError, load_p4info
from p4mesh.p4runtime.describe import describe
from p4mesh.p4runtime.stubs import p4d, p4r
from p4mesh.p4runtime.wire import varint
from p4mesh.tester.contract import P4SRC


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema(load_p4info(P4INFO))


def test_a_table_entry_is_what_the_classes_would_build(schema: Schema) -> None:
    entry = schema.table_entry(
        "acl",
        {"port": (3, 0x1FF), "ether_type": 0x800, "ttl": (2, 9), "protocol": 17, "ipv4_valid": 1},
        "count_only",
        priority=70_000,
        counter=CounterData(packets=3, bytes=1 << 40),
        meter=MeterConfig(1, 2, 3, 4),
        metadata=b"cookie",
    )
    table = schema.info.tables["acl"]
    ids = {field.name: field.id for field in table.match_fields}
    fm = p4r.FieldMatch
    expected = p4r.TableEntry(
        table_id=table.preamble.id,
        match=[
            fm(field_id=ids["port"], ternary=fm.Ternary(value=b"\x03", mask=b"\x01\xff")),
            fm(field_id=ids["ether_type"], ternary=fm.Ternary(value=b"\x08\x00", mask=b"\xff\xff")),
            fm(field_id=ids["ttl"], range=fm.Range(low=b"\x02", high=b"\x09")),
            fm(field_id=ids["protocol"], optional=fm.Optional(value=b"\x11")),
            fm(field_id=ids["ipv4_valid"], exact=fm.Exact(value=b"\x01")),
        ],
        action=p4r.TableAction(action=p4r.Action(action_id=schema.info.actions["count_only"].preamble.id)),
        priority=70_000,
        counter_data=p4r.CounterData(packet_count=3, byte_count=1 << 40),
        meter_config=p4r.MeterConfig(cir=1, cburst=2, pir=3, pburst=4),
        metadata=b"cookie",
    )
    assert entry == Entity(table_entry=expected)
    assert entry.SerializeToString() == Entity(table_entry=expected).SerializeToString()


def test_values_that_match_anything_are_left_out(schema: Schema) -> None:
    wild = {"port": (0, 0), "ether_type": None, "ttl": (0, 255), "ipv4_valid": 0}
    entry = schema.table_entry("acl", wild, "deny", priority=1).table_entry
    assert [match.WhichOneof("field_match_type") for match in entry.match] == ["exact"]
    assert not schema.table_entry(
        "route", {"destination": "0.0.0.0/0"}, "rewrite", {"destination": 1, "port": 1}
    ).table_entry.match


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, b"\0"), (255, b"\xff"), ("00:00:00:00:01:02", b"\x01\x02"), (b"\0\0\x07", b"\x07"), ("0x10", b"\x10")],
)
def test_values_are_encoded_in_the_shortest_form(schema: Schema, value: object, encoded: bytes) -> None:
    entry = schema.table_entry("forward", {"destination": value}, "drop").table_entry  # type: ignore[dict-item]
    assert entry.match[0].exact.value == encoded


def test_prefixes_can_be_written_as_text(schema: Schema) -> None:
    params = {"destination": 1, "port": 2}
    text = schema.table_entry("route", {"destination": "10.0.0.0/8"}, "rewrite", params)
    assert text == schema.table_entry("route", {"destination": (0x0A000000, 8)}, "rewrite", params)
    assert text.table_entry.match[0].lpm.prefix_len == 8


def test_signed_registers_have_the_shortest_twos_complement(schema: Schema) -> None:
    assert schema.register("balance", 1, -1).register_entry.data == p4d.P4Data(bitstring=b"\xff")
    assert schema.register("balance", 1, 128).register_entry.data == p4d.P4Data(bitstring=b"\x00\x80")
    with pytest.raises(SchemaError, match="does not fit in 16 bits"):
        schema.register("balance", 1, 1 << 15)


def test_varints_are_those_of_protobuf() -> None:
    for number in (0, 1, 127, 128, 300, 1 << 32, (1 << 64) - 1):
        assert p4r.Uint128(low=number).SerializeToString() == (b"\x10" + varint(number) if number else b"")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("nowhere",), "no table named 'nowhere'", "valid: acl, always, by_port, classify, ecmp, forward, route"),
        (("forward", {"dst": 1}, "drop"), "table 'forward' has no key field 'dst'", ""),
        (("forward", {"destination": 1, "dst": 1}, "drop"), "no key field 'dst'", "valid: destination"),
        (("forward", {"destination": 1 << 48}, "drop"), "0x1000000000000 does not fit in 48 bits", ""),
        (("forward", {"destination": (1, 2)}, "drop"), "is matched as exact, got a pair", "give one value"),
        (("forward", {"destination": 1}, "fly"), "table 'forward' has no action 'fly'", "valid: drop, forward_to"),
        (("forward", {"destination": 1}, "forward_to"), "action 'forward_to': parameter 'port' is missing", ""),
        (("forward", {"destination": 1}, "drop", {"port": 1}), "action 'drop' has no parameter 'port'", "valid: none"),
        (("forward", {"destination": "here"}, "drop"), "'here' is not a value", "use a number"),
        (("route", {"destination": (1, 33)}, "rewrite"), "prefix length 33 is not in 0 to 32", ""),
        (("route", {"destination": "10.0.0.0/+8"}, "rewrite"), "prefix length '+8' is not in 0 to 32", ""),
        (("route", {"destination": "10.0.0.0/1_0"}, "rewrite"), "prefix length '1_0' is not in 0 to 32", ""),
    ],
)
def test_wrong_names_and_values_are_explained(
    schema: Schema, arguments: tuple[object, ...], message: str, hint: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        schema.table_entry(*arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_entities_are_described_by_names(schema: Schema) -> None:
    entry = schema.table_entry("acl", {"port": (1, 3), "ttl": (1, 2), "ipv4_valid": 1}, "deny", priority=5)
    assert describe(schema.info, entry) == "table acl [port=0x1&0x3, ttl=0x1..0x2, ipv4_valid=0x1, priority 5]"
    assert describe(schema.info, schema.default_entry("acl")) == "the default entry of table acl"
    assert describe(schema.info, schema.counter("port_counter", 3)) == "counter port_counter[3]"
    assert describe(schema.info, schema.multicast_group(9)) == "multicast group 9"
    assert describe(schema.info, schema.group("next_hops", 4, {})) == "group 4 of next_hops"


@pytest.mark.parametrize("program", ["p4mesh", "p4mesh.tofino1", "p4mesh.tofino2"])
def test_the_rules_of_hosts_have_an_action_in_every_tester_program(program: str) -> None:
    """The alias of an action is longer where a program has two actions of its name, in different tables."""
    schema = Schema(load_p4info(P4SRC / "compiled" / f"{program}.p4info.txtpb"))
    entry = schema.table_entry("punt", {"ether_type": (0x0806, 0xFFFF)}, "to_controller", priority=1).table_entry
    action = schema.info.actions_by_id[entry.action.action.action_id]
    assert action.preamble.name == "TesterIngress.reception.to_controller"
