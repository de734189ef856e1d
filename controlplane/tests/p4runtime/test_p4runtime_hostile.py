"""Clients that break off, send rubbish or do not read: the server goes on for all others."""

from __future__ import annotations

import os
import queue
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator

import grpc
import pytest
from support.p4runtime_load import Server, many_reads, unread
from support.p4runtime_support import DEVICE_ID, PROGRAMS, Switch

from p4mesh.p4runtime import Client
from p4mesh.p4runtime.service import Service
from p4mesh.p4runtime.stubs import p4r

FUZZ_S = float(os.environ.get("P4MESH_FUZZ_SECONDS", "3"))
SEED = int(os.environ.get("P4MESH_FUZZ_SEED", "1"))
HIGHEST_ELECTION_ID = 2**128 - 1


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server("--request-memory", "64")
    yield server
    server.stop()


def recorded_session(server: Server) -> bytes:
    """Bytes of a controller that programs the switch, writes and reads."""
    host, _, port = server.address.rpartition(":")
    sent = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def forward() -> None:
            near, _ = proxy.accept()
            far = socket.create_connection((host, int(port)))

            def back() -> None:
                while data := far.recv(65_536):
                    near.sendall(data)

            threading.Thread(target=back, daemon=True).start()
            while data := near.recv(65_536):
                sent.extend(data)
                far.sendall(data)
            far.close()

        threading.Thread(target=forward, daemon=True).start()
        with Client(f"127.0.0.1:{proxy.getsockname()[1]}", 0) as client:
            client.set_pipeline(PROGRAMS / "large.p4info.txtpb", PROGRAMS / "large.json")
            s = client.schema
            client.insert([s.table_entry("exact_table", {"destination": 1}, "set", {"port": 1, "flow": 1})])
            assert len(list(client.read(s.table("exact_table")))) == 1
    return bytes(sent)


def mutated(session: bytes, generator: random.Random) -> bytes:
    data = bytearray(session)
    for _ in range(generator.randrange(1, 9)):
        if not data:
            break
        # The frames of the stream, and the beginnings of the others, more often than the long config.
        place = generator.randrange(min(len(data), generator.choice((200, 1_000, len(data)))))
        match generator.randrange(5):
            case 0:
                data[place] ^= 1 << generator.randrange(8)
            case 1:
                data[place : place + 1] = generator.randbytes(generator.randrange(4))
            case 2:
                del data[place : place + generator.randrange(64)]
            case 3:
                data[place:place] = data[place // 2 : place // 2 + generator.randrange(64)]
            case _:
                del data[max(1, place) :]
    return bytes(data)


def test_damaged_sessions_hurt_nobody_else(server: Server) -> None:
    """Goal: no bytes end the server or take its memory. Method: a recorded session, damaged; ends of every kind."""
    session = recorded_session(server)
    generator = random.Random(SEED)
    host, _, port = server.address.rpartition(":")
    end, count = time.monotonic() + FUZZ_S, 0
    while time.monotonic() < end:
        count += 1
        with socket.create_connection((host, int(port))) as client:
            client.settimeout(0.02)
            try:
                client.sendall(mutated(session, generator))
                if generator.random() < 0.5:
                    client.shutdown(socket.SHUT_WR)
                if generator.random() < 0.5:
                    client.recv(65_536)
            except OSError:
                pass
            if generator.random() < 0.3:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert count > 10
    assert server.taken_mib() < 100, f"seed {SEED}"
    # A damaged session may have had any election id, and the highest one counts until the end (P4Runtime 5.2).
    with Client(server.address, 0, HIGHEST_ELECTION_ID) as client:
        client.set_pipeline(PROGRAMS / "large.p4info.txtpb", PROGRAMS / "large.json")
        assert list(client.read(client.schema.table("exact_table"))) == []


def test_the_deadline_of_a_read_ends_its_work(server: Server) -> None:
    with server.primary(entries=1_000) as client:
        table_id = client.schema.table("exact_table").table_entry.table_id
        for _ in range(30):
            with unread(server.address, many_reads(table_id, 20_000), timeout_s=0.05) as answers:
                with pytest.raises(grpc.RpcError) as caught:
                    time.sleep(0.06)
                    list(answers)
                assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert len(list(client.read(client.schema.table("exact_table")))) == 1_000
    assert server.taken_mib() < 100


def controller(address: str, role: str, election_id: int) -> Iterator[p4r.StreamMessageResponse]:
    """Open a stream and arbitrate; whoever gets the answers reads them or not."""
    channel = grpc.insecure_channel(address)
    requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
    hello = p4r.StreamMessageRequest()
    hello.arbitration.device_id = DEVICE_ID
    hello.arbitration.role.name = role
    hello.arbitration.election_id.low = election_id
    requests.put(hello)
    answers: Iterator[p4r.StreamMessageResponse] = Service(channel).StreamChannel(iter(requests.get, None))
    return answers


def test_a_controller_of_a_role_that_does_not_read_delays_nobody(switch: Switch) -> None:
    """Goal: anyone can claim a role, so the packet-ins of others must not wait. Method: more than its queue holds."""
    count = 40_000
    with Client(switch.address, DEVICE_ID) as client:
        client.set_pipeline(PROGRAMS / "large.p4info.txtpb", PROGRAMS / "large.json")
        deaf = controller(switch.address, "deaf", 1)
        assert next(deaf).arbitration.status.code == 0
        start = time.monotonic()
        for flow in range(count):
            client.packet_out(b"", kind=1, flow=flow)
        switch.run(packet_outs=client.packet_outs_sent)
        assert len(client.take_packet_ins(count, timeout_s=30)) == count
        assert time.monotonic() - start < 9


def test_roles_and_streams_are_bounded(switch: Switch) -> None:
    with Client(switch.address, DEVICE_ID):
        streams = [controller(switch.address, f"role {number}", 1) for number in range(256)]
        codes = []
        for stream in streams:
            try:
                codes.append(next(stream).arbitration.status.code)
            except grpc.RpcError as error:
                codes.append(error.code())
    # With the default role there are 256.
    assert codes.count(0) == 255 and codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED) == 1
