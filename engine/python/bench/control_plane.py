"""The control plane of the engine, seen from the Python client: processor time of both."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.engine_paths import Server, network_of
from bench.workload import program_router, route, tester_workload
from p4mesh import _engine
from p4mesh.p4runtime.stubs import Entity, p4r

_ENGINE = Path(__file__).parents[2]
_LOOP_ROUND_PS = 520_000
_ATTEMPTS = 3


def table_entries(count: int) -> dict[str, Any]:
    """Insert routes in batches, messages built by the client included; and only build and encode their messages."""
    network = _engine.SimNetwork(json.dumps(network_of(10**9, 2, hosts=())))
    inserted, encoded = [], []
    with Server(network) as client:

        def routes() -> Iterator[Entity]:
            return (route(client, 11 << 24 | number << 4, 28, 1) for number in range(count))

        for _ in range(_ATTEMPTS):
            program_router(client)
            inserted.append(_seconds(lambda: client.insert(routes())))
            encoded.append(_seconds(lambda: [entity.SerializeToString() for entity in routes()]))
    return {
        "entries": count,
        "entries_per_s": round(count / min(inserted)),
        "encoded_per_s": round(count / min(encoded)),
    }


def flow_records(count: int) -> dict[str, Any]:
    """Read flows out in band: a reading frame in the loop, one record per flow to the client."""
    workload = tester_workload()
    network = _engine.SimNetwork(json.dumps(network_of(10**9, 18, hosts=())))
    with Server(network) as client:
        dataplane = workload.program(client)
        records: list[object] = []

        def wait(passes: int) -> None:
            network.advance(passes * _LOOP_ROUND_PS + 1_000_000, dataplane.packet_outs_sent)

        seconds = _seconds(lambda: records.extend(dataplane.read(count, wait)))
        assert len(records) == count
    return {"flows": count, "seconds": round(seconds, 3)}


def counters() -> dict[str, Any]:
    """Read every cell of the flow counter; and only decode a message with as many cells."""
    workload = tester_workload()
    network = _engine.SimNetwork(json.dumps(network_of(10**9, 18, hosts=())))
    read, decoded = [], []
    with Server(network) as client:
        workload.program(client)
        cells = list(client.read(client.schema.counter("flow_transmit")))
        answer = p4r.ReadResponse(entities=cells).SerializeToString()
        for _ in range(_ATTEMPTS):
            read.append(_seconds(lambda: client.read_counter_array("flow_transmit")))
            decoded.append(_seconds(lambda: p4r.ReadResponse.FromString(answer)))
    count = len(cells)
    return {"cells": count, "cells_per_s": round(count / min(read)), "decoded_per_s": round(count / min(decoded))}


def event_queue() -> dict[str, Any]:
    """Nanoseconds of an event by the number of pending ones, from the example ``speed`` of the simulator."""
    command = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "p4mesh-sim", "--example", "speed"]
    done = subprocess.run(command, cwd=_ENGINE, capture_output=True, text=True, check=True)
    costs = re.findall(r"event queue, (\d+) pending: ([\d.]+) ns per event, binary heap ([\d.]+) ns", done.stdout)
    return {pending: {"queue_ns": float(queue), "heap_ns": float(heap)} for pending, queue, heap in costs}


def _seconds(work: Callable[[], object]) -> float:
    """Processor time of client and server, which other work on the machine does not lengthen."""
    start = time.process_time()
    work()
    return time.process_time() - start
