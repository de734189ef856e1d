"""Multicast groups and clone sessions."""

from __future__ import annotations

import pytest
from support.p4runtime_support import CPU_PORT, Switch, ethernet, one_packet_in

from p4mesh.p4runtime import Client, WriteError


def test_a_multicast_group_copies_frames_to_its_ports(switch: Switch, client: Client) -> None:
    s = client.schema
    group = s.multicast_group(5, [(1, 10), (2, 20), (3, 30)])
    client.insert([group, s.table_entry("forward", {"destination": 7}, "multicast", {"group": 5})])
    switch.send(0, ethernet(7))
    switch.run()
    assert sorted(port for port, _ in switch.received()) == [1, 2, 3]
    client.modify([s.multicast_group(5, [(2, 1)])])
    switch.send(0, ethernet(7))
    switch.run()
    assert [port for port, _ in switch.received()] == [2]
    client.delete([s.multicast_group(5)])
    switch.send(0, ethernet(7))
    switch.run()
    assert switch.received() == []


def test_groups_come_back_as_written(client: Client) -> None:
    s = client.schema
    groups = [s.multicast_group(number, [(1, 1), (2, number)]) for number in (3, 1, 32767)]
    groups[0].packet_replication_engine_entry.multicast_group_entry.metadata = b"mine"
    # The deprecated numeric port field is kept where it was used.
    numeric = s.multicast_group(2)
    numeric.packet_replication_engine_entry.multicast_group_entry.replicas.add(egress_port=3, instance=1)
    client.insert([*groups, numeric])
    assert sorted(client.read(s.multicast_group(0)), key=str) == sorted([*groups, numeric], key=str)
    assert list(client.read(s.multicast_group(3))) == [groups[0]]


def test_a_clone_session_mirrors_and_truncates(switch: Switch, client: Client) -> None:
    s = client.schema
    session = s.clone_session(1, [(CPU_PORT, 3)], packet_length_bytes=20)
    client.insert([session])
    switch.send(2, ethernet(1, 0x88CC))
    # As on simple_switch, the length counts the frame as it leaves, with its 4 bytes of packet_in.
    assert one_packet_in(switch, client).payload == ethernet(1, 0x88CC)[:16]
    assert list(client.read(s.clone_session(0))) == [session]
    client.delete([session])
    assert list(client.read(s.clone_session(0))) == []


def test_limits(client: Client) -> None:
    s = client.schema
    refused = [
        s.multicast_group(0, [(1, 1)]),
        s.multicast_group(1, [(1, 1), (1, 1)]),
        s.multicast_group(1, [(1, 65536)]),
        s.multicast_group(1, [(77, 1)]),
        s.clone_session(0, [(1, 1)]),
        s.clone_session(1, [(1, 1)], class_of_service=8),
        s.clone_session(1, [(1, 1)], packet_length_bytes=-1),
    ]
    with pytest.raises(WriteError) as caught:
        client.insert(refused)
    assert [failure.code for failure in caught.value.failures] == ["INVALID_ARGUMENT"] * len(refused)
    with pytest.raises(WriteError) as caught:
        client.insert([s.multicast_group(32768, [(1, 1)]), s.clone_session(32768, [(1, 1)])])
    assert [failure.code for failure in caught.value.failures] == ["OUT_OF_RANGE"] * 2
    client.insert([s.multicast_group(1, [(1, 1)]), s.clone_session(1, [(1, 1)])])
    with pytest.raises(WriteError) as caught:
        client.insert([s.multicast_group(1, [(1, 1)]), s.clone_session(1, [(1, 1)])])
    assert [failure.code for failure in caught.value.failures] == ["ALREADY_EXISTS"] * 2
    with pytest.raises(WriteError) as caught:
        client.modify([s.multicast_group(2, [(1, 1)]), s.clone_session(2, [(1, 1)])])
    assert [failure.code for failure in caught.value.failures] == ["NOT_FOUND"] * 2
    with pytest.raises(WriteError) as caught:
        client.delete([s.multicast_group(2), s.clone_session(2)])
    assert [failure.code for failure in caught.value.failures] == ["NOT_FOUND"] * 2
