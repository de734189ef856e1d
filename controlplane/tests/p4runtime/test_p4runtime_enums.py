"""Values that P4Runtime gives by name (section 8.5.3): enums and errors in digests and registers.

The program is ``enums.p4``: RED is what it makes of kinds above 1, and register ``colours[1]`` RED
sends frames to port 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.p4runtime_support import DEVICE_ID, PROGRAMS, Switch

from p4mesh.p4runtime import Client, WriteError
from p4mesh.p4runtime.stubs import Entity, p4d, p4r


@pytest.fixture
def controller(switch: Switch) -> Iterator[Client]:
    with Client(switch.address, DEVICE_ID) as client:
        client.set_pipeline(PROGRAMS / "enums.p4info.txtpb", PROGRAMS / "enums.json")
        yield client


def frame(kind: int, change: int = 0) -> bytes:
    return (bytes([kind]) + ((change & 0xFFF) << 4).to_bytes(2, "big")).ljust(60, b"\0")


def test_digests_name_enums_and_errors(switch: Switch, controller: Client) -> None:
    controller.insert([controller.schema.digest("seen_t", max_list_size=1)])
    switch.send(0, frame(9, change=-7))
    switch.run()
    (message,) = controller.next_digest(timeout_s=5).data
    colour, level, error, large, change = message.struct.members
    assert colour.enum == "RED"
    assert level.enum_value == b"\x09"
    assert error.error == "BadKind"
    assert large.WhichOneof("data") == "bool" and not large.bool
    # int<12> -7 in the shortest two's complement (section 8.4).
    assert change.bitstring == b"\xf9"


def test_registers_of_enums(switch: Switch, controller: Client) -> None:
    s = controller.schema

    def colour(index: int, name: str = "") -> Entity:
        entity = s.register("colours", index)
        if name:
            entity.register_entry.data.enum = name
        return entity

    switch.send(0, frame(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [1]
    assert list(controller.read(colour(0))) == [colour(0, "YELLOW")]
    (level,) = controller.read(s.register("levels", 0))
    assert level.register_entry.data == p4d.P4Data(enum_value=b"\x01")
    controller.modify([colour(1, "RED")])
    switch.send(0, frame(0))
    switch.run()
    assert [port for port, _ in switch.received()] == [2]
    with pytest.raises(WriteError, match="no member 'PURPLE'; valid: GREEN, YELLOW, RED") as caught:
        controller.modify([colour(1, "PURPLE")])
    assert [failure.code for failure in caught.value.failures] == ["INVALID_ARGUMENT"]
    wrong = s.register("colours", 1)
    wrong.register_entry.data.bitstring = b"\1"
    with pytest.raises(WriteError, match="data must be an enum"):
        controller.modify([wrong])


def test_a_const_default_action_counts_as_any_other(switch: Switch, controller: Client) -> None:
    """Sections 9.1.3 and 9.3.1: the default entry of a table without key has its direct counter."""
    for number in range(3):
        switch.send(0, frame(number))
    switch.run()
    table = controller.schema.info.tables["always"]
    wanted = p4r.DirectCounterEntry(
        table_entry=p4r.TableEntry(table_id=table.preamble.id, is_default_action=True), data=p4r.CounterData()
    )
    (found,) = controller.read(Entity(direct_counter_entry=wanted))
    assert found.direct_counter_entry.data == p4r.CounterData(packet_count=3, byte_count=180)
