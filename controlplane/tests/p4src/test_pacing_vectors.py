"""Shared vectors of the controls that pace seeds, on both programs.

Method: seeds and starts come by packet-out, to a simulated tester with the program for v1model, and to an interpreted
pipe of a Tofino (tna_pipe.py). When frames left is in their signatures.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.p4_interpreter import Entry, Program
from support.pacing_vectors import FILE, differences_of_times, made, text
from support.simulated_tester import SimulatedTester
from support.tna_pipe import CHIPS, EGRESS_TICKS, TnaPipe, program_of

from p4mesh.tester.contract import P4SRC, Contract, load_contract

VECTORS: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {"vectors": []}
PORTS = (1, 2, 3)
LOOP_REASONS = ("unknown_stream", "bad_request", "request_done")
STAMP = slice(24, 30)
SIM_ROUND_TICKS = 108
"""Latency of the loop, and the time of a seed on its wire."""
PIPE_ROUND_TICKS = 60
_AHEAD_TICKS = 4_000
"""Of a boundary of the clock, at which a vector begins."""
_ROUNDS_BEHIND = 8
_SOURCE_MAC, _STATION_MAC = 0x0200_0000_0009, 0x0200_0000_0001


def test_the_vectors_are_those_of_the_definitions() -> None:
    if os.environ.get("P4MESH_UPDATE_GOLDEN"):
        FILE.write_text(text(made()))
    assert FILE.read_text() == text(made())


def test_controls_that_pace_have_vectors() -> None:
    of_controls = {vector["control"] for vector in VECTORS["vectors"]}
    assert of_controls == {"DepartureClock", "SlotCounter", "Streams", "Pacing", "Requests"}


def transmitter_of(stream: int, end: int) -> dict[str, int]:
    """Parameters of the only transmitter of a stream, which sends to one station."""
    return {
        "first": 0,
        "last": 0,
        "length_entries": 1,
        "base_entry": VECTORS["station"] + stream,
        "flow": stream,
        "skipped": 0,
        "end_departure": end,
        "modified": 0,
        "mac": _SOURCE_MAC,
    }


def fields_of(step: dict[str, Any], constants: Any) -> dict[str, int]:
    """The header of the packet-out of a step."""
    kinds = {name: constants[f"KIND_{name}"] for name in ("SEED", "START", "READ", "SEND")} | {"NONE": 99}
    return {name: kinds[value] if name == "kind" else value for name, value in step.items() if name != "payload"}


def by_stream(vector: dict[str, Any], frames: list[tuple[int, bytes]]) -> tuple[list[list[int]], list[dict[str, Any]]]:
    """The times of test frames by stream, and the other frames."""
    times: list[list[int]] = [[] for _ in vector["streams"]]
    others = []
    for port, frame in frames:
        if frame[14:16] == b"PM":
            times[int.from_bytes(frame[18:20], "big")].append(int.from_bytes(frame[STAMP], "big"))
        else:
            others.append({"port": port, "hex": frame.hex()})
    return times, others


# v1model


class SimulatedPacer:
    """A simulated tester with transmitters and stations of a vector."""

    def __init__(self, contract: Contract, round_ticks: int) -> None:
        self.tester = SimulatedTester(contract, loop_latency_ns=round_ticks or 100)
        self.contract = contract
        entry = self.tester.client.schema.table_entry
        self.tester.client.insert(
            entry(
                "destination",
                {"entry": VECTORS["station"] + stream},
                "station_ethernet",
                {"mac": _STATION_MAC, "receiver_tag": 1},
            )
            for stream in range(len(PORTS))
        )

    def run(self, vector: dict[str, Any]) -> tuple[list[tuple[int, bytes]], dict[str, int]]:
        """Do the steps of a vector; return the frames that left, and the reasons of those that ended."""
        tester, client = self.tester, self.tester.client
        schema, round_ticks = client.schema, vector["round_ticks"] or SIM_ROUND_TICKS
        entries: list[Any] = []
        for stream, params in enumerate(vector["streams"]):
            transmitter = transmitter_of(stream, vector["end_departures"][stream])
            replicas = [(self.contract["PORT_LOOP"], 0), (PORTS[stream], 1 + stream)]
            entries += [
                schema.multicast_group(params["multicast_group"], replicas),
                schema.table_entry("stream", {"stream": stream}, "set_stream", params),
                schema.table_entry("transmitter", {"transmitter": 1 + stream}, "source_ethernet", transmitter),
            ]
        client.insert(entries)
        tester.dataplane.clear(8, lambda passes: self._advance(passes * (round_ticks + SIM_ROUND_TICKS)))
        if vector["near_ticks"]:
            tester.network.run_until((vector["near_ticks"] - _AHEAD_TICKS) * 1_000, client.packet_outs_sent)
        before = self._reasons()
        for step in vector["steps"]:
            if "wait_ticks" in step:
                self._advance(step["wait_ticks"])
            else:
                payload = bytes.fromhex(step.get("payload", ""))
                client.packet_out(payload, **fields_of(step, self.contract))
        self._advance(vector["lasts_ticks"] + _ROUNDS_BEHIND * round_ticks)
        frames = sorted(tester.hosted.received())
        reasons = {name: count - before[name] for name, count in self._reasons().items() if count > before[name]}
        client.delete(entries[::-1])
        self._advance(2 * round_ticks)
        return frames, reasons

    def _advance(self, ticks: int) -> None:
        self.tester.network.advance(ticks * 1_000, self.tester.client.packet_outs_sent)

    def _reasons(self) -> dict[str, int]:
        ports = (self.contract["PORT_LOOP"], self.contract["PORT_CPU"])
        found = {}
        for name in LOOP_REASONS:
            code = self.contract[f"REASON_{name.upper()}"]
            cells = self.tester.client.read_counters("receive_reason", [port << 5 | code for port in ports])
            found[name] = sum(data.packets for _, data in cells)
        return found


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_v1model_departs_when_the_vector_says(vector: dict[str, Any]) -> None:
    pacer = SimulatedPacer(load_contract(), vector["round_ticks"])
    with closing(pacer.tester):
        frames, reasons = pacer.run(vector)
    times, others = by_stream(vector, frames)
    assert differences_of_times(vector, times, vector["round_ticks"] + SIM_ROUND_TICKS) == []
    assert (others, reasons) == (vector["sent"], vector["reasons"])


# Tofino


def differences(program: Program, vector: dict[str, Any]) -> list[str]:
    """Places where a program for Tofino does something else than a vector says."""
    streams = enumerate(vector["streams"])
    entries: dict[str, list[Entry]] = {
        "TesterIngress.streams.stream": [
            ([(stream, 0xFF)], ("set_stream", list(params.values()))) for stream, params in streams
        ],
        "TesterEgress.transmission.transmitter": [
            ([(1 + stream, 0xFFFF)], ("source_ethernet", list(transmitter_of(stream, end).values())))
            for stream, end in enumerate(vector["end_departures"])
        ],
        "TesterEgress.transmission.destination": [
            ([(VECTORS["station"] + stream, 0xFFFF)], ("station_ethernet", [_STATION_MAC, 1]))
            for stream in range(len(PORTS))
        ],
    }
    round_ticks = vector["round_ticks"] or PIPE_ROUND_TICKS
    pipe = TnaPipe(program, entries, round_ticks=round_ticks)
    for stream, params in enumerate(vector["streams"]):
        pipe.groups[params["multicast_group"]] = [(PORTS[stream], 1 + stream)]
    pipe.run(max(0, vector["near_ticks"] - _AHEAD_TICKS))
    for step in vector["steps"]:
        if "wait_ticks" in step:
            pipe.run(pipe.now + step["wait_ticks"])
        else:
            pipe.packet_out(bytes.fromhex(step.get("payload", "")), **fields_of(step, program.constants))
    pipe.run(pipe.now + vector["lasts_ticks"] + _ROUNDS_BEHIND * (round_ticks + EGRESS_TICKS))
    times, others = by_stream(vector, sorted((sent.port, sent.frame) for sent in pipe.sent))
    found = differences_of_times(vector, times, round_ticks + EGRESS_TICKS)
    found += [] if others == vector["sent"] else [f"frames: {others}"]
    counted = pipe.counter("TesterIngress.receive_reason")
    codes = {program.constants[f"REASON_{name.upper()}"]: name for name in LOOP_REASONS}
    reasons: dict[str, int] = {}
    for cell, count in counted.items():
        name = codes[cell & 31]
        reasons[name] = reasons.get(name, 0) + count
    return found + ([] if reasons == vector["reasons"] else [f"reasons: {reasons}, not {vector['reasons']}"])


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
@pytest.mark.parametrize("chip", CHIPS)
def test_tofino_departs_when_the_vector_says(chip: str, vector: dict[str, Any]) -> None:
    assert differences(program_of(chip), vector) == []


@pytest.mark.parametrize(
    ("file", "right", "wrong", "name"),
    [
        ("stream_registers.p4", "cell.low = cell.low + amount;", "cell.low = time;", "fractions_of_ticks_add_up"),
        (
            "stream_registers.p4",
            "cell >= slot_last, cell < burst",
            "cell >= slot_last, cell <= burst",
            "bursts_and_their_gaps",
        ),
        (
            "stream_registers.p4",
            "(int<32>)time - (int<32>)cell.low >= 0",
            "time >= cell.low",
            "departures_across_the_end_of_the_clock",
        ),
    ],
)
def test_a_mistake_in_the_sources_is_found(file: str, right: str, wrong: str, name: str, tmp_path: Path) -> None:
    for folder in ("include", "shared", "tna"):
        (tmp_path / folder).mkdir()
        for path in (P4SRC / folder).glob("*.p4"):
            changed = path.read_text()
            if folder == "tna" and path.name == file:
                assert right in changed
                changed = changed.replace(right, wrong)
            (tmp_path / folder / path.name).write_text(changed)
    vector = next(vector for vector in VECTORS["vectors"] if vector["name"] == name)
    assert differences(program_of("tofino1", tmp_path), vector)
