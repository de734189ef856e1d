"""Random requests over HTTP and gRPC: each is answered soon, none by an error of ours, and memory stays bounded.

Method: a configuration with all kinds of elements, whose JSON gets other values, other elements and other bytes, and
whose protobuf gets other bytes. P4MESH_OTG_REQUESTS=5000 tries as many.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
import requests
from google.protobuf import json_format
from snappi import otg_pb2 as pb2
from support.otg import OtgServer, serving_otg
from support.otg_configuration import NUMBERS, REALS, TEXTS, usual

COUNT = int(os.environ.get("P4MESH_OTG_REQUESTS", "150"))
LONGEST_S = 20
MOST_MORE_MIB = 200
WORDS = ("NaN", "\0", "\ud800", "x" * 5000)
JUNK: tuple[Any, ...] = (*WORDS, None, True, 1e308, 1 << 70, [], {}, [[]], [None], {"": {}}, {"choice": "x"})
PATHS = ("/config",) * 6 + (
    *("/config/append", "/config/delete", "/control/state", "/control/action"),
    *("/monitor/metrics", "/monitor/states", "/monitor/capture"),
)
CALLS = ("SetConfig", "SetConfig", "UpdateConfig", "SetControlState", "GetMetrics", "streamSetConfig")


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all values."""
    if path:
        yield path
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield from places(data[key], (*path, key))


def changed(data: Any, random: Random) -> Any:
    """JSON with other values, more or fewer elements, or very many or deep ones."""
    made = json.loads(json.dumps(data))
    for _ in range(random.randint(1, 3)):
        *path, key = random.choice(list(places(made)))
        parent = made
        for step in path:
            parent = parent[step]
        value, deep = parent[key], json.loads('{"a":' * (depth := random.choice((3, 70, 300))) + "1" + "}" * depth)
        many = value * random.choice((2, 50, 3000)) if isinstance(value, list) else value
        parent[key] = random.choice((random.choice(JUNK), random.choice((*TEXTS, *NUMBERS, *REALS)), deep, many))
    return made


def damaged(data: bytes, random: Random) -> bytes:
    """Bytes of which some are others, and the last ones may be missing."""
    made = bytearray(data)
    for _ in range(random.randint(1, 5)):
        made[random.randrange(len(made))] = random.randrange(256)
    return bytes(made[: random.choice((len(made), random.randrange(len(made))))])


def ask_http(server: OtgServer, random: Random) -> None:
    path = random.choice(PATHS)
    told = json.dumps(changed(json_format.MessageToDict(usual(), preserving_proto_field_name=True), random))
    body = told.encode()
    method = "PATCH" if path.startswith("/config/") else "POST"
    data = damaged(body, random) if random.random() < 0.5 else body
    answer = requests.request(method, server.places["http"] + path, data=data, timeout=LONGEST_S)
    assert answer.status_code in (200, 400, 413)
    assert answer.ok or all("bug" not in error for error in answer.json()["errors"])


def ask_grpc(channel: grpc.Channel, random: Random) -> None:
    call = random.choice(CALLS)
    known = pb2.SetConfigRequest(config=usual()).SerializeToString()
    data = random.randbytes(random.choice((0, 9, 999, 99_999))) if random.random() < 0.3 else damaged(known, random)
    parts = [data[place : place + 99] for place in range(0, len(data), 99)] if call.startswith("stream") else [data]
    if call.startswith("stream"):
        parts = [pb2.Data(datum=part, chunk_size=random.choice((0, 99))).SerializeToString() for part in parts]
    try:
        channel.stream_unary(f"/otg.Openapi/{call}")(iter(parts), timeout=LONGEST_S)
    except grpc.RpcError as error:
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error
        assert "bug" not in str(error.details())


def memory_mib(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def test_random_requests_are_answered(capfd: pytest.CaptureFixture[str]) -> None:
    random = Random(42)
    with serving_otg("back-to-back") as server, grpc.insecure_channel(server.places["grpc"]) as channel:
        before_mib = memory_mib(server.process.pid)
        for number in range(COUNT):
            began_s = time.monotonic()
            if number % 2:
                ask_http(server, random)
            else:
                ask_grpc(channel, random)
            assert time.monotonic() - began_s < LONGEST_S
        assert memory_mib(server.process.pid) < before_mib + MOST_MORE_MIB
        assert server.api().get_version().app_version == server.api("grpc").get_version().app_version
    assert "Traceback" not in capfd.readouterr().err
