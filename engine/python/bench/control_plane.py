"""The control plane of the engine, seen from the Python client, on all cores of the machine."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.engine_paths import Server, network_of
from bench.workload import program_router, route, tester_workload
from p4mesh import _engine

_ENGINE = Path(__file__).parents[2]
_LOOP_ROUND_PS = 520_000
_ATTEMPTS = 3


def table_entries(count: int) -> dict[str, Any]:
    """Insert routes in batches; building the messages counts too. The best of three counts."""
    network = _engine.SimNetwork(json.dumps(network_of(10**9, 2, hosts=())))
    seconds, cpu_seconds = [], []
    with Server(network) as client:
        for _ in range(_ATTEMPTS):
            program_router(client)
            start, cpu_start = time.perf_counter(), time.process_time()
            client.insert(route(client, 11 << 24 | number << 4, 28, 1) for number in range(count))
            seconds.append(time.perf_counter() - start)
            cpu_seconds.append(time.process_time() - cpu_start)
    return {
        "entries": count,
        "seconds": round(min(seconds), 3),
        "cpu_seconds": round(min(cpu_seconds), 3),
        "entries_per_s": round(count / min(seconds)),
        "entries_per_cpu_s": round(count / min(cpu_seconds)),
    }


def flow_records(count: int) -> dict[str, Any]:
    """Read flows out in band: a reading frame in the loop, one record per flow to the client."""
    workload = tester_workload()
    network = _engine.SimNetwork(json.dumps(network_of(10**9, 18, hosts=())))
    with Server(network) as client:
        dataplane = workload.program(client)

        def wait(passes: int) -> None:
            network.advance(passes * _LOOP_ROUND_PS + 1_000_000, dataplane.packet_outs_sent)

        start = time.perf_counter()
        records = dataplane.read(count, wait)
        seconds = time.perf_counter() - start
        assert len(records) == count
    return {"flows": count, "seconds": round(seconds, 3)}


def counters() -> dict[str, Any]:
    """Read every cell of the flow counter."""
    workload = tester_workload()
    network = _engine.SimNetwork(json.dumps(network_of(10**9, 18, hosts=())))
    with Server(network) as client:
        workload.program(client)
        best, cells = 0.0, 0
        for _ in range(_ATTEMPTS):
            start = time.perf_counter()
            packets, _ = client.read_counter_array("flow_transmit")
            cells = len(packets)
            best = max(best, cells / (time.perf_counter() - start))
    return {"cells": cells, "cells_per_s": round(best)}


def event_queue() -> dict[str, Any]:
    """Cost of an event, from the example ``speed`` of the simulator."""
    command = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "p4mesh-sim", "--example", "speed"]
    done = subprocess.run(command, cwd=_ENGINE, capture_output=True, text=True, check=True)
    costs = re.findall(r"event queue, (\d+) pending: ([\d.]+) ns", done.stdout)
    return {f"ns_per_event_{pending}_pending": float(cost) for pending, cost in costs}
