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
from support.hosted_network import HostedNetwork
from support.measurement_vectors import FILE, PORTS, made, text

from p4mesh.p4runtime import Client
from p4mesh.tester.contract import Contract, load_contract
from p4mesh.tester.dataplane import DataPlane

RATE_BPS = 100_000_000_000
CELLS = 256
VECTORS: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {"vectors": []}


def test_the_vectors_are_those_of_the_definitions() -> None:
    assert text(made()) == golden_text(FILE, text(made()))


def test_every_control_of_the_measurement_has_vectors() -> None:
    of_controls = {vector["control"] for vector in VECTORS["vectors"]}
    assert of_controls == {
        *("Parser", "Reception", "Classification"),
        *("FlowMeasurement", "Histograms", "ArrivalSpacing"),
    }


class SimulatedTester:
    """The tester in virtual time, with a host that sends on each port."""

    def __init__(self, contract: Contract, loop_latency_ns: int = 100) -> None:
        self.contract = contract
        tester = {
            "loop": {"port": contract["PORT_LOOP"], "rate_bps": RATE_BPS, "latency_ns": loop_latency_ns},
            "cpu_port": contract["PORT_CPU"],
            "clock_tick_ps": 1000,
        }
        self.hosted = HostedNetwork(PORTS, RATE_BPS, tester=tester)
        self.network = self.hosted.network
        self.client = Client(self.hosted.serve(), 1).__enter__()
        self.dataplane = DataPlane(self.client, contract)
        self.dataplane.load_program()
        self._install()

    def close(self) -> None:
        self.client.__exit__(None, None, None)
        self.network.stop()

    def arrive(self, port: int, at_ticks: int, frame: bytes) -> None:
        self.network.run_until(at_ticks * 1000, self.client.packet_outs_sent)
        self.hosted.send(port, frame)

    def wait(self, passes: int) -> None:
        self.network.advance(passes * 1_000_000, self.client.packet_outs_sent)

    def set_run(self, run: int) -> None:
        self.client.modify([self.client.schema.default_entry("receive_run", "set_receive_run", {"run_id": run})])

    def bins(self) -> dict[int, int]:
        first = VECTORS["histogram"]["first_cell"]
        cells = list(range(first, first + self.contract["HISTOGRAM_BINS"]))
        return {cell: data.packets for cell, data in self.client.read_counters("latency_histogram", cells)}

    def _install(self) -> None:
        entry = self.client.schema.table_entry
        for receiver in VECTORS["receivers"]:
            match = {"port": receiver["port"], "destination_mac": (receiver["destination_mac"], (1 << 48) - 1)}
            params = {name: receiver[name] for name in ("flow_offset", "receiver_tag")}
            self.client.insert([entry("receiver", match=match, action="expected", params=params, priority=1)])
        use = VECTORS["histogram"]
        match = {"port": use["port"], "flow": (0, 0)}
        params = {"first_cell": use["first_cell"]}
        self.client.insert([entry("histogram", match=match, action="use_histogram", params=params, priority=1)])


@pytest.fixture(scope="module")
def tester() -> Iterator[SimulatedTester]:
    running = SimulatedTester(load_contract())
    yield running
    running.close()


def of_this_program(vector: dict[str, Any]) -> bool:
    return vector["window_places"] in (None, 1 << load_contract()["WINDOW_BITS"])


@pytest.mark.parametrize("vector", [*filter(of_this_program, VECTORS["vectors"])], ids=lambda vector: vector["name"])
def test_v1model_holds_what_the_vector_says(vector: dict[str, Any], tester: SimulatedTester) -> None:
    tester.set_run(vector["run"])
    tester.dataplane.clear(CELLS, tester.wait)
    reasons, bins = tester.dataplane.reason_counts(PORTS), tester.bins()
    for frame in vector["frames"]:
        tester.arrive(frame["port"], frame["arrival_ticks"], bytes.fromhex(frame["hex"]))
    tester.wait(1)

    records = tester.dataplane.read(CELLS, tester.wait)
    touched = {str(cell): records[cell] for cell in range(CELLS) if records[cell]["frames"]}
    found = {cell: {name: int(record[name]) for name in vector["records"][cell]} for cell, record in touched.items()}
    assert found == vector["records"]
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
