"""Types with @p4runtime_translation: strings and wider numbers in every place that has a type name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.p4runtime_support import DEVICE_ID, PROGRAMS, Switch

from p4mesh.p4runtime import Client, WriteError
from p4mesh.p4runtime.stubs import Entity, p4r


@pytest.fixture
def controller(switch: Switch) -> Iterator[Client]:
    with Client(switch.address, DEVICE_ID) as client:
        client.set_pipeline(PROGRAMS / "translated.p4info.txtpb", PROGRAMS / "translated.json")
        yield client


def tagged(vrf: int, wide: int = 0) -> bytes:
    return (vrf << 16 | wide).to_bytes(3, "big").ljust(60, b"\0")


def test_strings_are_given_back_as_they_were_written(switch: Switch, controller: Client) -> None:
    """Goal: keys and parameters. Numbers as text stand for themselves, so a port is named by its number."""
    s = controller.schema
    entries = [
        s.table_entry("by_vrf", {"vrf": "management", "wide": 0xABC}, "forward_to", {"port": "2"}, priority=2),
        s.table_entry("by_vrf", {"vrf": ""}, "forward_to", {"port": "1"}, priority=1),
        s.table_entry("by_vrf", {"vrf": "3"}, "forward_to", {"port": "3"}, priority=1),
        s.table_entry("by_vrf", {"vrf": "blue"}, "forward_to", {"port": "3"}, priority=1),
        s.table_entry("optional_vrf", {"vrf": "blue"}, "drop", priority=1),
    ]
    controller.insert(entries)
    found = list(controller.read(s.table("by_vrf"))) + list(controller.read(s.table("optional_vrf")))
    assert sorted(entity.SerializeToString() for entity in found) == sorted(
        entity.SerializeToString() for entity in entries
    )
    # "management" is 7 by the program's annotation, "" is 0; "blue" is the first of the upper half.
    for frame in (tagged(7, 0xABC), tagged(0), tagged(3), tagged(8)):
        switch.send(0, frame)
    switch.run()
    assert sorted(port for port, _ in switch.received()) == [1, 2, 3]
    controller.delete([entries[3]])
    assert len(list(controller.read(s.table("by_vrf", {"vrf": "management", "wide": 0xABC}, priority=2)))) == 1


def test_strings_in_packets_digests_and_registers(switch: Switch, controller: Client) -> None:
    s = controller.schema
    controller.insert(
        [s.table_entry("by_vrf", {"vrf": "blue"}, "to_controller", priority=1), s.digest("seen_t", max_list_size=1)]
    )
    switch.send(2, tagged(8))
    switch.run()
    (packet,) = controller.take_packet_ins(1, timeout_s=5)
    assert {name: packet.metadata[name].to_bytes(4, "big").strip(b"\0") for name in ("ingress_port", "vrf")} == {
        "ingress_port": b"2",
        "vrf": b"blue",
    }
    (message,) = controller.next_digest(timeout_s=5).data
    assert [member.bitstring for member in message.struct.members] == [b"2", b"blue"]
    (cell,) = controller.read(s.register("last_vrf", 0))
    assert cell.register_entry.data.bitstring == b"blue"
    controller.modify([s.register("last_vrf", 1, b"blue")])
    (cell,) = controller.read(s.register("last_vrf", 1))
    assert cell.register_entry.data.bitstring == b"blue"
    controller.packet_out(b"x" * 60, egress_port="3")
    switch.run(packet_outs=controller.packet_outs_sent)
    assert [port for port, _ in switch.received()] == [3]


def refusal(client: Client, entity: Entity) -> str:
    with pytest.raises(WriteError) as caught:
        client.insert([entity])
    (failure,) = caught.value.failures
    return f"{failure.code}: {failure.reason}"


def test_strings_that_are_refused(controller: Client) -> None:
    """Goal: the code and text of each refusal."""
    s = controller.schema
    table = "table 'IngressPass.by_vrf': key field 'vrf'"
    entry = s.table_entry("by_vrf", {"vrf": "x"}, "to_controller", priority=1)
    for text in [b"\xff", b"n" * 1025]:
        entry.table_entry.match[0].exact.value = text
        assert refusal(controller, entry) == f"INVALID_ARGUMENT: {table}: a string is UTF-8 of at most 1024 bytes"
    names = [f"name{number}" for number in range(8)]
    controller.insert([s.table_entry("by_vrf", {"vrf": name}, "to_controller", priority=1) for name in names])
    full = s.table_entry("by_vrf", {"vrf": "one more"}, "to_controller", priority=1)
    assert refusal(controller, full) == f"RESOURCE_EXHAUSTED: {table}: there is no number for another string"
    taken = s.table_entry("by_vrf", {"vrf": "8"}, "to_controller", priority=1)
    assert refusal(controller, taken) == f"ALREADY_EXISTS: {table}: the string 'name0' stands for 8 already"
    ternary = p4r.TableEntry(table_id=s.table("ternary_vrf").table_entry.table_id, priority=1)
    ternary.match.add(field_id=1).ternary.value = b"x"
    ternary.action.action.action_id = s.info.actions["NoAction"].preamble.id
    assert refusal(controller, Entity(table_entry=ternary)) == (
        "UNIMPLEMENTED: table 'IngressPass.ternary_vrf': key field 'vrf': strings match as exact or optional only"
    )
