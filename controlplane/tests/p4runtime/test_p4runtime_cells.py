"""Counters, meters, registers and value sets: single cells, whole arrays, and their limits."""

from __future__ import annotations

import pytest
from support.p4runtime_support import Switch, ethernet, one_packet_in

from p4mesh.p4runtime import Client, CounterData, MeterConfig, ReadError, WriteError
from p4mesh.p4runtime.stubs import Entity, p4r


def test_counters_count_frames_and_bytes(switch: Switch, client: Client) -> None:
    for _ in range(3):
        switch.send(2, ethernet(1))
    switch.run()
    assert client.read_counters("port_counter", [1, 2]) == [(1, CounterData(0, 0)), (2, CounterData(3, 180))]


def test_counters_can_be_set_one_by_one_or_all_at_once(client: Client) -> None:
    s = client.schema
    client.modify([s.counter("port_counter", 5, CounterData(7, 70))])
    assert client.read_counters("port_counter", [5]) == [(5, CounterData(7, 70))]
    client.modify([s.counter("port_counter", None, CounterData(1, 2))])
    packets, octets = client.read_counter_array("port_counter")
    assert len(packets) == 512 and set(packets) == {1} and set(octets) == {2}


def test_a_prepared_reading_gives_the_packets_of_cells_in_their_order(client: Client) -> None:
    s = client.schema
    read = client.packet_counts({"port_counter": [7, 5, 6]})
    assert read() == [0, 0, 0]
    client.modify([s.counter("port_counter", index, CounterData(index, 0)) for index in (5, 6, 7)])
    assert read() == [7, 5, 6]
    with pytest.raises(ReadError, match="512"):
        client.packet_counts({"port_counter": [1, 512]})()


def test_counter_zero_reads_all_counters(client: Client) -> None:
    cells = list(client.read(Entity(counter_entry=p4r.CounterEntry())))
    assert [cell.counter_entry.index.index for cell in cells] == list(range(512))


def test_meters_keep_their_configuration(client: Client) -> None:
    s = client.schema
    config = MeterConfig(1000, 100, 2000, 200)
    client.modify([s.meter("rate", 3, config)])
    found = {cell.meter_entry.index.index: cell.meter_entry for cell in client.read(s.meter("rate"))}
    assert len(found) == 64
    assert found[3].config == config.message() and not found[4].HasField("config")
    client.modify([s.meter("rate", 3)])
    (cell,) = client.read(s.meter("rate", 3))
    assert not cell.meter_entry.HasField("config")


def test_meters_count_by_colour(switch: Switch, client: Client) -> None:
    """Goal: frames and bytes of each colour, also of a cell without configuration; they can be set to 0."""
    s = client.schema
    frame = ethernet(1)
    client.insert([s.table_entry("forward", {"destination": 1}, "forward_to", {"port": 1})])
    client.modify([s.meter("rate", 1, MeterConfig(0, len(frame), 0, 3 * len(frame)))])
    for port in (0, 0, 1, 1, 1, 1):
        switch.send(port, frame)
    switch.run()
    cells = [cell.meter_entry.counter_data for cell in client.read(s.meter("rate", marked=True))][:2]
    assert [cell.green.packet_count for cell in cells] == [2, 1]
    assert (cells[1].yellow.packet_count, cells[1].red.packet_count) == (2, 1)
    assert cells[1].yellow.byte_count == 2 * len(frame)
    client.modify([s.meter("rate", 1, marked=True)])
    (cell,) = client.read(s.meter("rate", 1, marked=True))
    assert not cell.meter_entry.HasField("config") and cell.meter_entry.counter_data.red.packet_count == 0


def test_registers_are_written_by_frames_and_by_controllers(switch: Switch, client: Client) -> None:
    s = client.schema
    switch.send(1, ethernet(1, source=0x0000AABBCCDD))
    switch.run()
    assert client.read_registers("last_seen", 1) == [0xAABBCCDD]
    (cell,) = client.read(s.register("last_seen", 1))
    assert cell.register_entry.data.bitstring == b"\xaa\xbb\xcc\xdd"
    client.modify([s.register("last_seen", 1, 5)])
    assert client.read_registers("last_seen")[:3] == [0, 5, 0]
    client.modify([s.register("last_seen", None, 9)])
    assert client.read_registers("last_seen") == [9] * 128


def test_signed_registers_keep_their_sign(switch: Switch, client: Client) -> None:
    s = client.schema
    client.modify([s.register("balance", 0, 1)])
    for _ in range(3):
        switch.send(0, ethernet(1))
    switch.run()
    (cell,) = client.read(s.register("balance", 0))
    assert int.from_bytes(cell.register_entry.data.bitstring, "big", signed=True) == -2


def test_indices_out_of_range(client: Client) -> None:
    s = client.schema
    wanted = [s.counter("port_counter", 512), s.register("last_seen", 128), s.meter("rate", 64)]
    with pytest.raises(ReadError) as caught:
        list(client.read(*wanted))
    assert [failure.code for failure in caught.value.failures] == ["OUT_OF_RANGE"] * 3
    negative = s.counter("port_counter", -1, CounterData(1, 1))
    with pytest.raises(WriteError) as refused:
        client.modify([negative, s.counter("port_counter", 512, CounterData(1, 1))])
    assert [failure.code for failure in refused.value.failures] == ["INVALID_ARGUMENT", "OUT_OF_RANGE"]


def test_cells_can_only_be_modified(client: Client) -> None:
    s = client.schema
    cells = [
        s.counter("port_counter", 0, CounterData(1, 1)),
        s.meter("rate", 0),
        s.register("flags", 0, 1),
        s.value_set("special_types"),
        s.direct_counter("acl", {"ipv4_valid": 0}, priority=1),
        s.direct_meter("acl", {"ipv4_valid": 0}, priority=1),
    ]
    for change in (client.insert, client.delete):
        with pytest.raises(WriteError) as caught:
            change(cells)
        assert [failure.code for failure in caught.value.failures] == ["INVALID_ARGUMENT"] * len(cells)


def test_value_sets_steer_the_parser(switch: Switch, client: Client) -> None:
    s = client.schema
    values = s.value_set("special_types", [{"": 0x9999}, {"": 0x8888}])
    client.modify([values])
    assert list(client.read(s.value_set("special_types"))) == [values]
    switch.send(1, ethernet(1, 0x8888))
    assert one_packet_in(switch, client).metadata["tag"] == 0x55AA
    client.modify([s.value_set("special_types")])
    switch.send(1, ethernet(1, 0x8888))
    switch.run()
    assert client.take_packet_ins(1, timeout_s=0.2) == []


def test_limits_of_value_sets(client: Client) -> None:
    s = client.schema
    with pytest.raises(WriteError) as caught:
        client.modify([s.value_set("special_types", [{"": value} for value in range(5)])])
    assert caught.value.failures[0].code == "RESOURCE_EXHAUSTED"
    with pytest.raises(WriteError) as caught:
        client.modify([s.value_set("special_types", [{"": 1}, {"": 1}])])
    assert caught.value.failures[0].code == "ALREADY_EXISTS"
