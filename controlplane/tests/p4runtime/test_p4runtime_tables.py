"""Table entries through the wire: written, used by frames, read back as they were written."""

from __future__ import annotations

import pytest
from support.p4runtime_support import Switch, ethernet, ipv4

from p4mesh.p4runtime import Client, CounterData, MeterConfig, WriteError
from p4mesh.p4runtime.stubs import p4r


def test_an_exact_entry_forwards_until_it_is_deleted(switch: Switch, client: Client) -> None:
    entry = client.schema.table_entry("forward", {"destination": 7}, "forward_to", {"port": 2})
    frame = ethernet(7)
    client.insert([entry])
    switch.send(0, frame)
    switch.run()
    assert switch.received() == [(2, frame)]
    client.modify([client.schema.table_entry("forward", {"destination": 7}, "forward_to", {"port": 3})])
    switch.send(0, frame)
    switch.run()
    assert switch.received() == [(3, frame)]
    client.delete([entry])
    assert list(client.read(client.schema.table("forward"))) == []


def test_entries_of_every_match_kind_come_back_as_written(client: Client) -> None:
    s = client.schema
    entries = [
        s.table_entry("forward", {"destination": 0xFFFFFFFFFFFF}, "multicast", {"group": 1}),
        s.table_entry("forward", {"destination": 0}, "to_controller", {"tag": 0}),
        s.table_entry("route", {"destination": "10.0.0.0/8"}, "rewrite", {"destination": 5, "port": 1}),
        s.table_entry("route", {}, "rewrite", {"destination": 5, "port": 1}),
        s.table_entry(
            "acl",
            {"port": (1, 0x1FF), "ttl": (3, 200), "protocol": 6, "ipv4_valid": 1},
            "deny",
            priority=12,
        ),
        s.table_entry("acl", {"ether_type": (0x800, 0xF00), "ipv4_valid": 0}, "count_only", priority=11),
    ]
    client.insert(entries)
    for table in ("forward", "route", "acl"):
        expected = [e for e in entries if e.table_entry.table_id == s.info.tables[table].preamble.id]
        found = list(client.read(s.table(table)))
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_leading_zeros_are_accepted_and_not_returned(client: Client) -> None:
    entry = client.schema.table_entry("forward", {"destination": 9}, "forward_to", {"port": 1})
    entry.table_entry.match[0].exact.value = b"\0\0\0\0\0\0\0\x09"
    entry.table_entry.action.action.params[0].value = b"\0\0\0\x01"
    client.insert([entry])
    (found,) = client.read(client.schema.table("forward"))
    assert found.table_entry.match[0].exact.value == b"\x09"
    assert found.table_entry.action.action.params[0].value == b"\x01"


def test_metadata_and_cookies_come_back(client: Client) -> None:
    entry = client.schema.table_entry("forward", {"destination": 9}, "drop", metadata=b"anything\0")
    entry.table_entry.controller_metadata = 77
    client.insert([entry])
    assert list(client.read(client.schema.table("forward"))) == [entry]
    plain = client.schema.table_entry("forward", {"destination": 9}, "drop")
    client.modify([plain])
    assert list(client.read(client.schema.table("forward"))) == [plain]


def test_reads_can_be_filtered(client: Client) -> None:
    s = client.schema
    a = s.table_entry("acl", {"port": 1, "ipv4_valid": 0}, "deny", priority=5)
    b = s.table_entry("acl", {"port": 2, "ipv4_valid": 0}, "count_only", priority=5, metadata=b"b")
    c = s.table_entry("acl", {"port": 1, "ipv4_valid": 0}, "count_only", priority=6)
    client.insert([a, b, c])
    assert list(client.read(s.table("acl", {"port": 1, "ipv4_valid": 0}, priority=6))) == [c]
    assert sorted(map(str, client.read(s.table("acl", {"port": 1, "ipv4_valid": 0})))) == sorted(map(str, [a, c]))
    assert sorted(map(str, client.read(s.table("acl", priority=5)))) == sorted(map(str, [a, b]))
    by_metadata = s.table("acl")
    by_metadata.table_entry.metadata = b"b"
    assert list(client.read(by_metadata)) == [b]
    by_action = s.table("acl")
    by_action.table_entry.action.action.action_id = s.info.actions["deny"].preamble.id
    assert list(client.read(by_action)) == [a]
    assert list(client.read(s.table("acl", {"port": 3, "ipv4_valid": 0}, priority=1))) == []


def test_table_zero_reads_all_tables(client: Client) -> None:
    s = client.schema
    client.insert([s.table_entry("forward", {"destination": 9}, "drop")])
    everything = s.table("forward")
    everything.table_entry.table_id = 0
    tables = {s.info.name_of(entity.table_entry.table_id) for entity in client.read(everything)}
    assert tables == {"forward", "classify"}


@pytest.mark.parametrize("table", ["ecmp", "by_port"])
def test_the_default_entry_of_a_table_with_an_action_profile_is_that_of_p4info(client: Client, table: str) -> None:
    """Goal: it is read, const, as NoAction, which the program leaves to P4Info; by its table and by table 0."""
    s = client.schema
    wanted = s.table(table, default=True)
    (entry,) = client.read(wanted)
    assert entry.table_entry.action.action == s.default_entry(table, "NoAction").table_entry.action.action
    assert entry.table_entry.is_const and entry.table_entry.is_default_action
    every = p4r.Entity(table_entry=p4r.TableEntry(is_default_action=True))
    assert entry in list(client.read(every))
    with pytest.raises(WriteError) as caught:
        client.modify([s.default_entry(table, "NoAction")])
    assert caught.value.failures[0].code == "PERMISSION_DENIED"


def test_the_default_entry_can_be_changed_and_reset(switch: Switch, client: Client) -> None:
    s = client.schema
    default = s.table("forward", default=True)
    (initial,) = client.read(default)
    assert initial == s.default_entry("forward", "miss", {"reason": 7})
    client.modify([s.default_entry("forward", "forward_to", {"port": 1})])
    switch.send(0, ethernet(1))
    switch.run()
    assert [port for port, _ in switch.received()] == [1]
    (changed,) = client.read(default)
    assert changed == s.default_entry("forward", "forward_to", {"port": 1})
    client.modify([s.default_entry("forward")])
    assert list(client.read(default)) == [initial]


def test_const_entries_are_read_and_not_written(client: Client) -> None:
    s = client.schema
    found = list(client.read(s.table("classify")))
    assert len(found) == 2 and all(entity.table_entry.is_const for entity in found)
    with pytest.raises(WriteError) as caught:
        client.insert([s.table_entry("classify", {"ether_type": 1}, "NoAction")])
    assert caught.value.failures[0].code == "PERMISSION_DENIED"
    (default,) = client.read(s.table("classify", default=True))
    assert default.table_entry.is_const


def test_direct_counters_count_and_can_be_set(switch: Switch, client: Client) -> None:
    s = client.schema
    key = {"port": 0, "ipv4_valid": 1}
    client.insert([s.table_entry("acl", key, "count_only", priority=1, counter=CounterData(10, 1000))])
    frame = ipv4("10.1.1.1")
    switch.send(0, frame)
    switch.run()
    (entry,) = client.read(s.table("acl", counters=True))
    expected = CounterData(11, 1000 + len(frame))
    assert (
        CounterData(entry.table_entry.counter_data.packet_count, entry.table_entry.counter_data.byte_count) == expected
    )
    assert not next(iter(client.read(s.table("acl")))).table_entry.HasField("counter_data")
    (direct,) = client.read(s.direct_counter("acl", key, priority=1))
    assert direct.direct_counter_entry.data.packet_count == 11
    client.modify([s.direct_counter("acl", key, CounterData(0, 0), priority=1)])
    (direct,) = client.read(s.direct_counter("acl"))
    assert direct.direct_counter_entry.data.packet_count == 0
    client.modify([s.table_entry("acl", key, "deny", priority=1)])
    assert len(list(client.read(s.direct_counter("acl")))) == 1


def test_the_default_entry_has_direct_resources(switch: Switch, client: Client) -> None:
    """Goal: misses count, and are metered once the default entry has a meter, whichever entity configures it."""
    s = client.schema
    frame = ipv4("10.1.1.1")

    def misses() -> CounterData:
        (cell,) = client.read(s.direct_counter("acl", default=True))
        assert cell.direct_counter_entry.table_entry.is_default_action
        data = cell.direct_counter_entry.data
        return CounterData(data.packet_count, data.byte_count)

    for _ in range(2):
        switch.send(0, frame)
    switch.run()
    assert misses() == CounterData(2, 2 * len(frame))
    # A miss is counted by nothing but the default entry, and is no entry of the table.
    assert list(client.read(s.direct_counter("acl"))) == []
    client.modify([s.default_entry("acl", "count_only", counter=CounterData(7, 70), meter=MeterConfig(0, 1, 0, 2))])
    for _ in range(4):
        switch.send(0, frame)
    switch.run()
    assert misses() == CounterData(11, 70 + 4 * len(frame))
    (entry,) = client.read(s.table("acl", default=True, counters=True, meters=True, marked=True))
    assert entry.table_entry.counter_data.packet_count == 11
    assert entry.table_entry.meter_config == MeterConfig(0, 1, 0, 2).message()
    assert packets_by_colour(entry.table_entry.meter_counter_data) == (1, 1, 2)
    client.modify([s.direct_meter("acl", default=True), s.direct_counter("acl", data=CounterData(0, 0), default=True)])
    (entry,) = client.read(s.table("acl", default=True, counters=True, meters=True, marked=True))
    assert entry.table_entry.counter_data.packet_count == 0
    assert not entry.table_entry.HasField("meter_config")
    # A failed batch puts all of it back.
    with pytest.raises(WriteError):
        entities = [s.default_entry("acl", "deny", counter=CounterData(1, 1)), s.counter("port_counter", 1 << 20)]
        client.write([("MODIFY", entity) for entity in entities], "ROLLBACK_ON_ERROR")
    assert misses() == CounterData(0, 0)


def packets_by_colour(data: p4r.MeterCounterData) -> tuple[int, int, int]:
    return data.green.packet_count, data.yellow.packet_count, data.red.packet_count


def test_direct_meters_count_by_colour(switch: Switch, client: Client) -> None:
    s = client.schema
    key = {"port": 0, "ipv4_valid": 1}
    client.insert([s.table_entry("acl", key, "count_only", priority=1, meter=MeterConfig(0, 2, 0, 3))])
    frame = ipv4("10.1.1.1")
    for _ in range(6):
        switch.send(0, frame)
    switch.run()
    (entry,) = client.read(s.table("acl", marked=True))
    data = entry.table_entry.meter_counter_data
    assert packets_by_colour(data) == (2, 1, 3) and data.red.byte_count == 3 * len(frame)
    (meter,) = client.read(s.direct_meter("acl", key, priority=1, marked=True))
    assert meter.direct_meter_entry.counter_data == data
    (entry,) = client.read(s.table("acl"))
    assert not entry.table_entry.HasField("meter_counter_data")
    client.modify([s.direct_meter("acl", key, MeterConfig(0, 2, 0, 3), priority=1, marked=True)])
    (meter,) = client.read(s.direct_meter("acl", key, priority=1, marked=True))
    assert packets_by_colour(meter.direct_meter_entry.counter_data) == (0, 0, 0)


def test_direct_meters_are_configured_with_the_entry_or_alone(client: Client) -> None:
    s = client.schema
    key = {"port": 0, "ipv4_valid": 1}
    config = MeterConfig(10, 20, 30, 40)
    client.insert([s.table_entry("acl", key, "count_only", priority=1, meter=config)])
    (entry,) = client.read(s.table("acl", meters=True))
    assert entry.table_entry.meter_config == config.message()
    client.modify([s.direct_meter("acl", key, MeterConfig(1, 2, 3, 4), priority=1)])
    (meter,) = client.read(s.direct_meter("acl", key, priority=1))
    assert meter.direct_meter_entry.config.cir == 1
    client.modify([s.table_entry("acl", key, "count_only", priority=1)])
    (entry,) = client.read(s.table("acl", meters=True))
    assert not entry.table_entry.HasField("meter_config")


def test_a_full_table_says_so(client: Client) -> None:
    entries = [
        client.schema.table_entry("route", {"destination": (i << 8, 24)}, "rewrite", {"destination": 0, "port": 0})
        for i in range(17)
    ]
    with pytest.raises(WriteError) as caught:
        client.insert(entries)
    assert [(f.index, f.code) for f in caught.value.failures] == [(16, "RESOURCE_EXHAUSTED")]


def test_answers_are_split_into_messages(client: Client) -> None:
    s = client.schema
    entries = [s.table_entry("forward", {"destination": i}, "drop", metadata=bytes(8000)) for i in range(1000)]
    client.insert(entries)
    sizes = [response.ByteSize() for response in client._responses([s.table("forward")])]
    assert sum(sizes) > 8_000_000 and max(sizes) < 4 << 20 and len(sizes) > 4
    assert len(list(client.read(s.table("forward")))) == 1000
