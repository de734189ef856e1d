"""The stream: packet-outs and packet-ins, digests, idle notifications, stream errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc
import pytest
from support.p4runtime_support import DEVICE_ID, JSON, P4INFO, Switch, ethernet, one_packet_in

from p4mesh.p4runtime import Client, PacketOutError, SchemaError, WaitError, WriteError
from p4mesh.p4runtime.stubs import p4r


def test_a_packet_out_leaves_by_the_port_in_its_header(switch: Switch, client: Client) -> None:
    client.packet_out(ethernet(1), egress_port=3)
    switch.run(packet_outs=client.packet_outs_sent)
    assert switch.received() == [(3, ethernet(1))]


def test_a_packet_in_carries_its_header_fields(switch: Switch, client: Client) -> None:
    client.insert([client.schema.table_entry("forward", {"destination": 7}, "to_controller", {"tag": 0xABC})])
    switch.send(2, ethernet(7))
    packet = one_packet_in(switch, client)
    assert packet.payload == ethernet(7)
    assert packet.metadata == {"ingress_port": 2, "_pad": 0, "tag": 0xABC}


@pytest.mark.parametrize("taken_at_once", [6, 3000])
def test_many_packets_keep_their_order(switch: Switch, client: Client, taken_at_once: int) -> None:
    client.insert([client.schema.table_entry("forward", {"destination": 7}, "to_controller", {"tag": 1})])
    for number in range(3000):
        client.packet_out(ethernet(7, source=number), submit=1)
    switch.run(100_000, packet_outs=client.packet_outs_sent)
    packets = [packet for _ in range(0, 3000, taken_at_once) for packet in client.take_packet_ins(taken_at_once)]
    assert [int.from_bytes(packet.payload[6:12], "big") for packet in packets] == list(range(3000))


@pytest.mark.parametrize("batches", [True, False])
def test_packet_outs_go_one_by_one_or_in_batches(switch: Switch, client: Client, batches: bool) -> None:
    assert client._stream._batches, "a server of ours agrees to batches"
    client._stream._batches = batches
    for number in range(500):
        client.packet_out(ethernet(1, source=number), egress_port=1)
    switch.run(10_000, packet_outs=client.packet_outs_sent)
    assert [frame[6:12] for _, frame in switch.received()] == [number.to_bytes(6, "big") for number in range(500)]


def test_a_batch_that_cannot_be_read_is_reported(switch: Switch, client: Client) -> None:
    message = p4r.StreamMessageRequest()
    message.other.type_url = "type.googleapis.com/p4mesh.v1.PacketOutBatch"
    message.other.value = b"\x05\x0a"
    client._stream.send(message)
    with pytest.raises(PacketOutError, match="packet-out 0 of the batch"):
        client.take_packet_ins(1, timeout_s=1)
    message.other.type_url = "something"
    client._stream.send(message)
    with pytest.raises(PacketOutError, match=r"message type 'something' is not supported \(UNIMPLEMENTED\)"):
        client.take_packet_ins(1, timeout_s=1)


def test_controllers_that_do_not_ask_for_batches_get_single_packet_ins(switch: Switch, client: Client) -> None:
    client.insert([client.schema.table_entry("forward", {"destination": 7}, "to_controller", {"tag": 1})])
    channel = grpc.insecure_channel(switch.address)
    call = channel.stream_stream(
        "/p4.v1.P4Runtime/StreamChannel",
        request_serializer=p4r.StreamMessageRequest.SerializeToString,
        response_deserializer=p4r.StreamMessageResponse.FromString,
    )
    message = p4r.StreamMessageRequest()
    message.arbitration.device_id = DEVICE_ID
    message.arbitration.election_id.low = 2
    forever: list[p4r.StreamMessageRequest] = [message]

    def requests() -> Iterator[p4r.StreamMessageRequest]:
        yield from forever
        import threading

        threading.Event().wait(2)

    responses = call(requests())
    assert next(responses).arbitration.status.code == 0
    for _ in range(5):
        switch.send(1, ethernet(7))
    switch.run()
    packets = [next(responses).packet for _ in range(5)]
    assert [packet.payload for packet in packets] == [ethernet(7)] * 5
    assert [field.metadata_id for field in packets[0].metadata] == [1, 2, 3]
    responses.cancel()
    channel.close()


def test_a_wrong_packet_out_is_reported_and_counted(switch: Switch, client: Client) -> None:
    client._stream.send(p4r.PacketOut(payload=b"x").SerializeToString())
    client.packet_outs_sent += 1
    switch.run(packet_outs=client.packet_outs_sent)
    with pytest.raises(PacketOutError, match=r"metadata 'egress_port' is missing \(INVALID_ARGUMENT\)"):
        client.take_packet_ins(1, timeout_s=1)
    with pytest.raises(SchemaError, match="packet_out has no field 'port'"):
        client.packet_out(b"", port=1)
    with pytest.raises(SchemaError, match="does not fit in 9 bits"):
        client.packet_out(b"", egress_port=512)


def learn(client: Client, **config: int) -> None:
    client.insert([client.schema.digest("learn_t", **config)])


def test_a_wait_of_a_microsecond_ends(client: Client) -> None:
    """Goal: the time may pass while the wait begins. An empty arrival lets the stream wait for the rest."""

    def wait_often() -> None:
        for number in range(30_000):
            client._stream._packet_ins.put([])
            client.take_packet_ins(1, timeout_s=(1 + number % 40) * 1e-7)
        ends.set()

    ends = threading.Event()
    threading.Thread(target=wait_often, daemon=True).start()
    assert ends.wait(20), "a wait does not end"


def test_digests_report_distinct_messages(switch: Switch, client: Client) -> None:
    learn(client, max_list_size=2, max_timeout_ns=10**9, ack_timeout_ns=10**9)
    for source in (5, 5, 6):
        switch.send(1, ethernet(1, 0x9000, source=source))
    switch.run()
    digest = client.next_digest()
    assert [[m.bitstring for m in data.struct.members] for data in digest.data] == [[b"\5", b"\1"], [b"\6", b"\1"]]
    # The same messages are not sent again before they are acknowledged.
    switch.send(1, ethernet(1, 0x9000, source=5))
    switch.send(1, ethernet(1, 0x9000, source=7))
    switch.send(1, ethernet(1, 0x9000, source=8))
    switch.run()
    second = client.next_digest()
    assert [data.struct.members[0].bitstring for data in second.data] == [b"\7", b"\10"]
    assert second.list_id != digest.list_id
    client.acknowledge_digest(digest)
    # Nothing answers an acknowledgement, so try until it has been handled.
    for _ in range(100):
        for source in (5, 6):
            switch.send(1, ethernet(1, 0x9000, source=source))
        switch.run()
        try:
            third = client.next_digest(timeout_s=0.05)
        except WaitError:
            continue
        assert len(third.data) == 2
        return
    pytest.fail("the acknowledgement had no effect")


def test_a_digest_list_is_sent_when_its_time_is_up(switch: Switch, client: Client) -> None:
    learn(client, max_list_size=100, max_timeout_ns=1_000_000, ack_timeout_ns=0)
    switch.send(1, ethernet(1, 0x9000, source=5))
    switch.run(500)
    switch.run(1100)
    assert len(client.next_digest().data) == 1


@pytest.mark.parametrize("max_list_size", [1, 2])
def test_a_digest_that_is_enabled_anew_remembers_nothing(switch: Switch, client: Client, max_list_size: int) -> None:
    """Goal: neither what was sent and not acknowledged nor what waited counts after a DELETE and an INSERT."""
    config = {"max_list_size": max_list_size, "max_timeout_ns": 10**9, "ack_timeout_ns": 30 * 10**9}
    learn(client, **config)
    known = range(5, 5 + max_list_size)
    for source in (*known, 9)[: 3 if max_list_size > 1 else 1]:
        switch.send(1, ethernet(1, 0x9000, source=source))
    switch.run()
    first = client.next_digest()
    client.delete([client.schema.digest("learn_t")])
    client.insert([client.schema.digest("learn_t", **config)])
    for source in known:
        switch.send(1, ethernet(1, 0x9000, source=source))
    switch.run()
    second = client.next_digest()
    assert [list(data.struct.members) for data in second.data] == [list(data.struct.members) for data in first.data]
    assert second.list_id > first.list_id


def test_list_ids_go_on_with_another_program(switch: Switch, client: Client) -> None:
    """Goal: an acknowledgement that comes late means no list of the new program."""
    ids = []
    for _ in range(2):
        learn(client, max_list_size=1, ack_timeout_ns=10**9)
        switch.send(1, ethernet(1, 0x9000, source=5))
        switch.run()
        ids.append(client.next_digest().list_id)
        client.set_pipeline(P4INFO, JSON)
    assert ids[1] > ids[0]


def test_digests_are_configured_and_switched_off(switch: Switch, client: Client) -> None:
    s = client.schema
    config = s.digest("learn_t", max_list_size=1)
    client.insert([config])
    assert list(client.read(config)) == [config]
    with pytest.raises(WriteError) as caught:
        client.insert([config])
    assert caught.value.failures[0].code == "ALREADY_EXISTS"
    client.delete([config])
    with pytest.raises(WriteError) as caught:
        client.write([("MODIFY", config), ("DELETE", config)])
    assert [failure.code for failure in caught.value.failures] == ["NOT_FOUND"] * 2
    switch.send(1, ethernet(1, 0x9000))
    switch.run()
    assert list(client.read(config)) == []


def test_idle_entries_are_reported_again_and_again(switch: Switch, client: Client) -> None:
    s = client.schema
    ttl_ns = 50_000_000
    entry = s.table_entry("forward", {"destination": 7}, "drop", idle_timeout_ns=ttl_ns, metadata=b"me")
    client.insert([entry, s.table_entry("forward", {"destination": 8}, "drop")])
    for _ in range(2):
        for _ in range(6):
            switch.run(10_000)
        notification = client.next_idle_notification()
        (found,) = notification.table_entry
        assert found.match == entry.table_entry.match
        assert found.idle_timeout_ns == ttl_ns and found.metadata == b"me"
    switch.send(0, ethernet(7))
    switch.run(10)
    (idle,) = client.read(s.table("forward", {"destination": 7}, idle=True))
    assert idle.table_entry.time_since_last_hit.elapsed_ns <= 10_000


def test_the_default_entry_has_no_idle_timeout(client: Client) -> None:
    entry = client.schema.default_entry("forward", "drop")
    entry.table_entry.idle_timeout_ns = 1
    with pytest.raises(WriteError) as caught:
        client.modify([entry])
    assert caught.value.failures[0].code == "INVALID_ARGUMENT"
