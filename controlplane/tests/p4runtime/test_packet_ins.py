"""Packet-ins of a batch: runs of one form and single ones are the same packets, as objects and in columns."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from support.p4runtime_support import P4INFO, Switch, ethernet

from p4mesh.p4runtime import Client, PacketColumns, PacketIn, columns_of, load_p4info
from p4mesh.p4runtime.info import Info
from p4mesh.p4runtime.packet_ins import PacketRun, split_batch
from p4mesh.p4runtime.packet_io import PacketCodec
from p4mesh.p4runtime.stubs import p4r
from p4mesh.p4runtime.wire import varint

LONGEST_PAYLOAD = bytes(range(200))


def message(payload: bytes, *values: bytes, ids: Sequence[int] = (1, 2, 3)) -> p4r.PacketIn:
    packet = p4r.PacketIn(payload=payload)
    for number, value in zip(ids, values, strict=False):
        packet.metadata.add(metadata_id=number, value=value)
    return packet


def batch(packets: Iterable[p4r.PacketIn]) -> AnyMessage:
    encoded = [packet.SerializeToString() for packet in packets]
    value = b"".join(varint(len(packet)) + packet for packet in encoded)
    return AnyMessage(type_url="type.googleapis.com/p4mesh.v1.PacketInBatch", value=value)


def by_hand(packet: p4r.PacketIn) -> PacketIn:
    names = {1: "ingress_port", 2: "_pad", 3: "tag"}
    metadata = {
        names.get(field.metadata_id, str(field.metadata_id)): int.from_bytes(field.value, "big")
        for field in packet.metadata
    }
    return PacketIn(packet.payload, metadata)


def flat(columns: Iterable[PacketColumns]) -> list[PacketIn]:
    return [packet for part in columns for packet in part]


@pytest.fixture(scope="module")
def codec() -> PacketCodec:
    return PacketCodec(Info(load_p4info(P4INFO)))


EQUAL = [
    message(number.to_bytes(150, "big"), b"\x02", b"\0", (0x100 + number).to_bytes(2, "big")) for number in range(40)
]


BATCHES = {
    "nothing": [],
    "equal": EQUAL,
    "few": EQUAL[:3],
    "a shorter one between": [*EQUAL, message(b"short", b"\1"), *EQUAL],
    "longer values": [*EQUAL, *(message(packet.payload, b"\2", b"\0", b"\1\1\1") for packet in EQUAL), *EQUAL],
    "no payload": [message(b"", b"\1", b"\2")] * 20,
    "payload alone": [message(b"payload alone")] * 20,
    "too many bytes for a number": [message(b"", (1 << 70).to_bytes(9, "big"), b"\2")] * 20,
    "empty value": [message(b"no value", b"")] * 20,
    "long length and unknown field": [message(LONGEST_PAYLOAD, b"\1", ids=(200,))] * 20,
    "equal lengths, other fields": [message(b"abcd", b"\1\2", b"\3")] * 30 + [message(b"abcd", b"\1", b"\2\3")] * 30,
}


@pytest.mark.parametrize("packets", BATCHES.values(), ids=BATCHES)
def test_a_batch_is_the_packets_that_were_put_into_it(codec: PacketCodec, packets: list[p4r.PacketIn]) -> None:
    expected = list(map(by_hand, packets))
    arrived = list(split_batch(batch(packets)))
    assert codec.packet_ins(arrived) == expected
    assert flat(codec.packet_columns(arrived)) == expected


def test_random_batches_keep_order_and_content(codec: PacketCodec) -> None:
    chance = random.Random(3)
    packets: list[p4r.PacketIn] = []
    while len(packets) < 4000:
        lengths = [chance.choice([0, 1, 2, 8]) for _ in range(chance.randrange(4))]
        size, count = chance.choice([0, 4, 130, 300]), chance.choice([1, 3, 15, 16, 17, 200])
        packets += [
            message(chance.randbytes(size), *map(chance.randbytes, lengths), ids=(1, 2, 3)) for _ in range(count)
        ]
    arrived = list(split_batch(batch(packets)))
    assert any(isinstance(item, PacketRun) for item in arrived)
    assert codec.packet_ins(arrived) == flat(codec.packet_columns(arrived)) == list(map(by_hand, packets))


def test_packets_of_one_form_are_one_run() -> None:
    (run,) = split_batch(batch(EQUAL))
    assert isinstance(run, PacketRun) and len(run) == len(EQUAL)
    assert [len(run.part(slice(3))), len(run.part(slice(3, None)))] == [3, len(EQUAL) - 3]


def test_messages_of_other_types_are_no_packets() -> None:
    other = batch(EQUAL)
    other.type_url = "type.googleapis.com/something.else"
    assert list(split_batch(other)) == []


def test_columns_of_packets_hold_each_packet_once() -> None:
    packets = [PacketIn(b"ab", {"port": 1, "tag": 1 << 70}), PacketIn(b"cd", {"port": 2, "tag": 5}), PacketIn(b"", {})]
    found = columns_of(packets)
    assert [len(part) for part in found] == [2, 1]
    assert flat(found) == packets
    assert list(found[0].some(found[0].metadata["port"] == 2)) == packets[1:2]
    assert columns_of([]) == []


def test_packets_are_taken_in_columns_and_one_by_one_in_their_order(switch: Switch, client: Client) -> None:
    client.insert([client.schema.table_entry("forward", {"destination": 7}, "to_controller", {"tag": 0xABC})])
    for number in range(1000):
        client.packet_out(ethernet(7, source=number), submit=1)
    switch.run(100_000, packet_outs=client.packet_outs_sent)
    before = client.packet_ins_taken
    packets = client.take_packet_ins(5)
    packets += flat(client.take_packet_columns(700))
    packets += client.take_packet_ins(1)
    packets += flat(client.take_packet_columns(400, timeout_s=0.2))
    assert [int.from_bytes(packet.payload[6:12], "big") for packet in packets] == list(range(1000))
    assert {packet.metadata["tag"] for packet in packets} == {0xABC}
    assert client.packet_ins_taken - before == 1000
    assert client.take_packet_columns(1, timeout_s=0) == []
