"""Requests that try to take the memory of the server, each to a ``p4mesh switch`` that may take 64 MiB for them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import grpc
import pytest
from support.p4runtime_load import (
    MIB,
    Server,
    call,
    call_without_end,
    empty_matches,
    empty_updates,
    large_update,
    large_value,
    many_reads,
    parallel,
    pipeline_config,
    unread,
)

LIMIT_MIB = 64
AROUND_MIB = 40
"""Buffers of connections, threads and the program."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server("--request-memory", str(LIMIT_MIB))
    yield server
    server.stop()


def test_a_request_from_nobody_is_refused_before_it_is_taken_apart(server: Server) -> None:
    """Goal: 2 million empty updates take no more than their bytes."""
    for size in (4 * MIB, 30 * MIB):
        assert call(server.address, "Write", empty_updates(size)).startswith("PERMISSION_DENIED: there is no primary")
    assert server.taken_mib() < 30 + AROUND_MIB


def test_a_request_of_more_than_half_of_the_memory_is_refused_at_once(server: Server) -> None:
    answer = call(server.address, "Write", large_update(33 * MIB))
    assert answer.startswith("RESOURCE_EXHAUSTED: a message of 34603")
    assert answer.endswith(f"bytes; at most {LIMIT_MIB * MIB // 2} bytes are taken")
    assert server.taken_mib() < AROUND_MIB


def test_requests_beyond_the_memory_are_refused_and_it_comes_back(server: Server) -> None:
    """Goal: the sum is bounded. Method: six clients with 30 MiB each that do not end their request."""
    request = large_update(30 * MIB)
    answers = parallel(6, lambda: call_without_end(server.address, "Write", request, 3))
    codes = [answer.split(":")[0] for answer in answers]
    assert sorted(codes) == ["PERMISSION_DENIED"] * 2 + ["RESOURCE_EXHAUSTED"] * 4
    assert server.taken_mib() < LIMIT_MIB + AROUND_MIB
    assert call(server.address, "Write", request).startswith("PERMISSION_DENIED")


def test_a_request_that_stalls_is_ended(server: Server) -> None:
    """Goal: nobody keeps the memory of requests for ever. Method: a client that does not end its request."""
    start = time.monotonic()
    answer = call_without_end(server.address, "Write", large_update(30 * MIB), 20)
    assert answer == "DEADLINE_EXCEEDED: nothing more of the request came for 10 s"
    assert time.monotonic() - start < 30


def test_answers_are_made_as_the_client_takes_them(server: Server) -> None:
    """Goal: a Read whose answer is 1 GB takes a few messages. Method: 20,000 times a table, a part of it taken."""
    with server.primary(entries=1_000) as client:
        wanted = client.schema.table("exact_table")
        request = many_reads(wanted.table_entry.table_id, 20_000)
        with unread(server.address, request) as answers:
            time.sleep(2)
            assert server.taken_mib() < AROUND_MIB
            assert all(len(next(answers)) >= MIB for _ in range(20))
        assert server.taken_mib() < AROUND_MIB
        # The whole answer of a Read that rests now and then: nothing is left out, nothing comes twice.
        entities = [entity.SerializeToString() for entity in client.read(*[wanted] * 60)]
    assert len(entities) == 60 * 1_000
    assert len(set(entities)) == 1_000


def test_a_read_ends_when_the_program_is_replaced(server: Server) -> None:
    with server.primary(entries=1_000) as client:
        table_id = client.schema.table("exact_table").table_entry.table_id
        with unread(server.address, many_reads(table_id, 20_000)) as answers:
            next(answers)
            found = client.get_pipeline()
            again = pipeline_config(found.p4info.SerializeToString(), found.p4_device_config, action=3)
            assert call(server.address, "SetForwardingPipelineConfig", again).startswith("OK")
            with pytest.raises(grpc.RpcError) as caught:
                list(answers)
    assert caught.value.code() is grpc.StatusCode.ABORTED
    assert caught.value.details() == "the pipeline config was replaced during the read"


def test_a_long_value_is_refused_at_once(server: Server) -> None:
    with server.primary() as client:
        table_id = client.schema.table("exact_table").table_entry.table_id
        start = time.monotonic()
        answer = call(server.address, "Write", large_value(table_id, 20 * 10**6))
    assert answer.startswith("UNKNOWN: 1 of 1 updates failed; first: number 0: ")
    assert "... (20000000 bytes) does not fit" in answer
    assert time.monotonic() - start < 5
    assert server.taken_mib() < LIMIT_MIB + AROUND_MIB


def test_elements_without_content_are_refused_before_they_are_made(server: Server) -> None:
    """Goal: what an update, a P4Info or a program takes when it is decoded counts too."""
    with server.primary() as client:
        table_id = client.schema.table("exact_table").table_entry.table_id
        answer = call(server.address, "Write", empty_matches(table_id, 4 * MIB))
        assert "bytes are needed; requests and answers" in answer
        for config in (
            pipeline_config(b"\x12\x00" * MIB, b"{}"),
            pipeline_config(b"", b"[" + b"{}," * MIB + b"0]"),
        ):
            assert call(server.address, "SetForwardingPipelineConfig", config).startswith("RESOURCE_EXHAUSTED")
        # Smaller bodies are looked at.
        answer = call(server.address, "Write", empty_matches(table_id, 10_000))
        assert answer.startswith("UNKNOWN: 1 of 1 updates failed") and "are needed" not in answer
    assert server.taken_mib() < LIMIT_MIB + AROUND_MIB


@pytest.mark.parametrize(("open_files", "count"), [(1024, 600), (60, 120)])
def test_more_connections_than_there_is_room_for_do_not_end_the_server(open_files: int, count: int) -> None:
    """Goal: idle connections take one another's places only. Method: many, with and without files for them."""
    server = Server("--request-memory", str(LIMIT_MIB), open_files=open_files)
    try:
        host, _, port = server.address.rpartition(":")
        idle = [socket.create_connection((host, int(port))) for _ in range(count)]
        for one in idle:
            one.close()
        end = time.monotonic() + 20
        while not (answer := call(server.address, "Write", b"")).startswith("PERMISSION_DENIED"):
            assert time.monotonic() < end, answer
            time.sleep(0.1)
    finally:
        server.stop()
