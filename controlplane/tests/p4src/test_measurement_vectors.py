"""Shared vectors of the measurement controls, on the program for v1model.

Method: every frame arrives at its tick at a port of a simulated tester, on a clock of nanoseconds. Registers and
counters are then compared with the vectors, which follow from the definitions and not from a program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.golden import golden_text
from support.measurement_vectors import FILE, NOT_OF_V1MODEL, PORTS, made, message_record, text
from support.simulated_tester import SimulatedTester

from p4mesh.tester.contract import load_contract

CELLS = 256
VECTORS: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {"vectors": []}


def test_the_vectors_are_those_of_the_definitions() -> None:
    assert text(made()) == golden_text(FILE, text(made()))


def test_every_control_of_the_measurement_has_vectors() -> None:
    of_controls = {vector["control"] for vector in VECTORS["vectors"]}
    assert of_controls == {
        *("Parser", "Reception", "Classification"),
        *("FlowMeasurement", "Histograms", "ArrivalSpacing", "Messages"),
    }


@pytest.fixture
def tester() -> Iterator[SimulatedTester]:
    running = SimulatedTester(load_contract())
    yield running
    running.close()


WINDOW = f"newest {1 << load_contract()['WINDOW_BITS']}"


def of_this_program(vector: dict[str, Any]) -> bool:
    return vector["window"] in (None, WINDOW) and vector["name"] != NOT_OF_V1MODEL


@pytest.mark.parametrize("vector", [*filter(of_this_program, VECTORS["vectors"])], ids=lambda vector: vector["name"])
def test_v1model_holds_what_the_vector_says(vector: dict[str, Any], tester: SimulatedTester) -> None:
    tester.set_run(vector["run"])
    tester.dataplane.clear(CELLS, tester.wait)
    sources = 1 + max(source["source"] for source in VECTORS["messages"])
    tester.dataplane.clear_messages(sources, tester.wait)
    ipdv_before = [tester.ipdv_bins(half) for half in (0, 1)]
    reasons, bins = tester.dataplane.reason_counts(PORTS), tester.bins()
    for frame in vector["frames"]:
        tester.arrive(frame["port"], frame["arrival_ticks"], bytes.fromhex(frame["hex"]))
    tester.wait(1)

    records = tester.dataplane.read(CELLS, tester.wait)
    touched = {str(cell): records[cell] for cell in range(CELLS) if records[cell]["frames"]}
    found = {cell: {name: int(record[name]) for name in vector["records"][cell]} for cell, record in touched.items()}
    assert found == vector["records"]
    beyond = {cell: int(record["beyond_window"]) for cell, record in touched.items() if record["beyond_window"]}
    assert beyond == {cell: of["beyond_window"] for cell, of in found.items() if "beyond_window" in of}
    spacing = {str(port): int(records[port]["spacing_min_inverted"]) for port in PORTS}
    assert {port: value for port, value in spacing.items() if value} == vector["spacing_min_inverted"]
    counted = {
        key: count - reasons[key]
        for key, count in tester.dataplane.reason_counts(PORTS).items()
        if count > reasons[key]
    }
    assert counted == {(entry["port"], entry["reason"]): entry["frames"] for entry in vector["reasons"]}
    filled = {str(cell): count - bins[cell] for cell, count in tester.bins().items() if count > bins[cell]}
    assert filled == vector["latency_histogram"]
    for half, name in enumerate(("ipdv_increases", "ipdv_decreases")):
        before, now = ipdv_before[half], tester.ipdv_bins(half)
        assert {
            str(place): count - before[place] for place, count in now.items() if count > before[place]
        } == vector.get(name, {})
    messages = tester.dataplane.read_messages(sources, tester.wait)
    assert {
        str(source): message_record(record) for source, record in enumerate(messages) if record["arrived"]
    } == vector.get("messages", {})
