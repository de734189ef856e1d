"""Shared vectors of the transmission controls, on the program for v1model.

Method: one seed circulates in a simulated tester whose stream has the transmitters of a vector; hosts on the ports
take what leaves. Frames, records and counters are compared with the vectors, which follow from the definitions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from support.simulated_tester import SimulatedTester
from support.transmission_vectors import FIELDS, FILE, PORTS, made, text, unstamped

from p4mesh.tester.contract import load_contract

VECTORS: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {"vectors": []}
GROUP = 7
INTERVAL_TICKS = 2_000
LEAD_TICKS = 10_000
TICKS_OF_A_ROUND = 120
CELLS = 512


def test_the_vectors_are_those_of_the_definitions() -> None:
    if os.environ.get("P4MESH_UPDATE_GOLDEN"):
        FILE.write_text(text(made()))
    assert FILE.read_text() == text(made())


def test_controls_that_a_departure_goes_through_have_vectors() -> None:
    of_controls = {vector["control"] for vector in VECTORS["vectors"]}
    assert of_controls == {
        *("Transmission", "DepartureCount", "ListPosition", "FlowSequence"),
        *("Modifier", "FieldAdders", "Parser"),
    }
    contract = load_contract()
    assert {name: contract[f"FIELD_{name.upper()}"] for name in FIELDS} == FIELDS


@pytest.fixture(scope="module")
def tester() -> Iterator[SimulatedTester]:
    running = SimulatedTester(load_contract())
    running.client.insert(entities_of(VECTORS["stations"], running))
    yield running
    running.close()


def entities_of(entries: list[dict[str, Any]], tester: SimulatedTester) -> list[Any]:
    return [
        tester.client.schema.table_entry(entry["table"], entry["match"], entry["action"], entry["params"])
        for entry in entries
    ]


def stream_of(vector: dict[str, Any], tester: SimulatedTester) -> list[Any]:
    stream = {
        "interval_ticks": INTERVAL_TICKS,
        "interval_fraction_q32": 0,
        "departure_count": vector["departures"],
        "start_offset_ticks": 0,
        "last_slot": 0,
        "burst_slots": 1,
        "multicast_group": GROUP,
        "queue": 0,
    }
    replicas = [(tester.contract["PORT_LOOP"], 0), *((one["port"], one["id"]) for one in vector["transmitters"])]
    schema = tester.client.schema
    return [
        schema.multicast_group(GROUP, replicas),
        schema.table_entry("stream", {"stream": 0}, "set_stream", stream),
        *entities_of(vector["entries"], tester),
    ]


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_v1model_sends_what_the_vector_says(vector: dict[str, Any], tester: SimulatedTester) -> None:
    client, dataplane = tester.client, tester.dataplane
    client.modify([client.schema.default_entry("transmit_run", "set_transmit_run", {"run_id": vector["run"]})])
    entries = stream_of(vector, tester)
    client.insert(entries)
    dataplane.clear(CELLS, tester.wait)
    reasons = dataplane.reason_counts(PORTS)
    counted = dict(client.read_counters("flow_transmit", range(CELLS)))
    dataplane.hold(range(1), tester.wait)
    dataplane.inject_seed(0, bytes.fromhex(vector["seed"]), 0, 1)
    dataplane.start(range(1), LEAD_TICKS)
    tester.wait(10 + (LEAD_TICKS + vector["departures"] * INTERVAL_TICKS) // 1_000)

    sent: dict[str, list[str]] = {str(one["port"]): [] for one in vector["transmitters"]}
    for port, frame in tester.hosted.received():
        plain = unstamped(frame, vector["headers_bytes"])
        assert plain is not None, f"the check of {frame.hex()} is wrong"
        sent[str(port)].append(plain.hex())
    assert sent == vector["frames"]
    records = dataplane.read(CELLS, tester.wait)
    for one in vector["transmitters"]:
        record, first_last = records[one["id"]], vector["departures_of_times"][str(one["id"])]
        assert record["departures"] == vector["departures"]
        if first_last:
            distance = int(record["last_departure"]) - int(record["first_departure"])
            assert abs(distance - (first_last[1] - first_last[0]) * INTERVAL_TICKS) <= TICKS_OF_A_ROUND
        assert (record["first_departure"] == 0) == (not first_last)
    sequences = {str(cell): int(records[cell]["flow_sequence"]) for cell in range(CELLS)}
    assert {cell: count for cell, count in sequences.items() if count} == vector["flow_sequence"]
    now = {
        cell: data.packets - counted[cell].packets for cell, data in client.read_counters("flow_transmit", range(CELLS))
    }
    assert {str(cell): count for cell, count in now.items() if count} == vector["flow_sequence"]
    of_reasons = {
        key: count - reasons[key] for key, count in dataplane.reason_counts(PORTS).items() if count > reasons[key]
    }
    assert of_reasons == {(entry["port"], entry["reason"]): entry["frames"] for entry in vector["reasons"]}
    client.delete(entries[::-1])
    tester.wait(2)
