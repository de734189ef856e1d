"""Shared vectors of the transmission controls, on the program for Tofino.

Method: a seed comes to an interpreted pipe (tna_pipe.py) by packet-out and goes round; frames that leave its ports,
records that reading frames bring, and counters are compared with the vectors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.p4_interpreter import Entry, Program
from support.tna_pipe import CHIPS, TnaPipe, program_of
from support.transmission_vectors import FILE, unstamped

from p4mesh.tester.contract import P4SRC, load_contract
from p4mesh.tester.halves import records_of_halves

VECTORS: dict[str, Any] = json.loads(FILE.read_text())
GROUP = 7
ROUND_TICKS = 900
INTERVAL_TICKS = 1_000
"""So long that the seed has one pass between two departures."""
_TABLES = "TesterEgress.transmission"
LOW_CELLS = f"{_TABLES}.flow_sequence.low_cells"


class Sender:
    """A pipe with one stream, whose transmitters are those of a vector."""

    def __init__(self, program: Program, vector: dict[str, Any]) -> None:
        self.vector = vector
        self.constants = program.constants
        stream = [INTERVAL_TICKS, 0, vector["departures"], 0, 0, 1, GROUP, 0]
        entries: dict[str, list[Entry]] = {
            f"{_TABLES}.transmit_run": [([], ("set_transmit_run", [vector["run"]]))],
            "TesterIngress.streams.stream": [([(0, 0xFF)], ("set_stream", stream))],
        }
        for letter in "ab":
            entries |= {f"{_TABLES}.modifier_{letter}.{name}": [] for name in ("modifier", "list_value")}
        for entry in (*VECTORS["stations"], *vector["entries"]):
            entries.setdefault(entry["table"], []).append(self._entry(program, entry))
        self.pipe = TnaPipe(program, entries, round_ticks=ROUND_TICKS)
        self.pipe.groups[GROUP] = [(one["port"], one["id"]) for one in vector["transmitters"]]

    @staticmethod
    def _entry(program: Program, entry: dict[str, Any]) -> Entry:
        (key,) = entry["match"].values()
        control = (
            "ModifierA" if "modifier_a" in entry["table"] else "ModifierB" if "modifier_b" in entry["table"] else ""
        )
        action = entry["action"].rpartition(".")[2]
        parameters, _ = program.tree.controls[control or "Transmission"].actions[action]
        return [(key, 0xFFFF_FFFF)], (action, [entry["params"][name] for _, _, name in parameters])

    def send(self, departures: int) -> None:
        """Let a seed depart so often, from a start that all streams have."""
        constants = self.constants
        self.pipe.packet_out(bytes.fromhex(self.vector["seed"]), kind=constants["KIND_SEED"])
        self.pipe.packet_out(kind=constants["KIND_START"], value=3 * INTERVAL_TICKS, count=1)
        self.pipe.run(self.pipe.now + (departures + 6) * INTERVAL_TICKS)

    def frames(self) -> dict[str, list[str]]:
        """Take what has left the ports of the vector."""
        found: dict[str, list[str]] = {str(one["port"]): [] for one in self.vector["transmitters"]}
        for sent in self.pipe.sent:
            place = self.vector["headers_bytes"] + 10
            is_stamped = int.from_bytes(sent.frame[place : place + 6], "big") == sent.at
            frame = unstamped(sent.frame, self.vector["headers_bytes"]) if is_stamped else None
            found[str(sent.port)].append(frame.hex() if frame else f"{sent.frame.hex()} at {sent.at}")
        return found

    def record(self, cell: int) -> Any:
        """The record of a cell."""
        return records_of_halves(self.pipe.read(cell), load_contract())[0]


def differences(program: Program, vector: dict[str, Any]) -> list[str]:
    """Places where a program does something else than a vector says."""
    sender = Sender(program, vector)
    sender.send(vector["departures"])
    sent = sender.frames()
    found = [
        f"port {port}: {frames}, not {wanted}"
        for port, wanted in vector["frames"].items()
        if (frames := sent[port]) != wanted
    ]
    for one in vector["transmitters"]:
        record, first_last = sender.record(one["id"]), vector["departures_of_times"][str(one["id"])]
        if record["departures"] != vector["departures"]:
            found.append(f"departures of {one['id']}: {record['departures']}")
        times = [int(record["first_departure"]), int(record["last_departure"])]
        if not first_last:
            found += [f"times of {one['id']}: {times}"] if any(times) else []
        elif not _apart(times, (first_last[1] - first_last[0]) * INTERVAL_TICKS):
            found.append(f"times of {one['id']}: {times}")
    counted = sender.pipe.counter(f"{_TABLES}.flow_transmit")
    for flow, count in vector["flow_sequence"].items():
        of_flow = (int(sender.record(int(flow))["flow_sequence"]), counted.get(int(flow), 0))
        found += [] if of_flow == (count, count) else [f"flow {flow}: {of_flow}, not {count}"]
    codes = {
        value: name.removeprefix("REASON_").lower() for name, value in program.constants.items() if "REASON_" in name
    }
    counters = sender.pipe.counter("TesterEgress.transmit_reason")
    reasons = {(cell >> 5, codes[cell & 31]): count for cell, count in counters.items()}
    wanted_reasons = {(entry["port"], entry["reason"]): entry["frames"] for entry in vector["reasons"]}
    return found + ([] if reasons == wanted_reasons else [f"reasons: {reasons}, not {wanted_reasons}"])


def _apart(times: list[int], ticks: int) -> bool:
    """Whether two departures are so many ticks apart, less or more a round."""
    return min(times) > 0 and abs(times[1] - times[0] - ticks) <= ROUND_TICKS + 100


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
@pytest.mark.parametrize("chip", CHIPS)
def test_tofino_sends_what_the_vector_says(chip: str, vector: dict[str, Any]) -> None:
    assert differences(program_of(chip), vector) == []


def test_the_sequence_of_a_flow_goes_on_beyond_32_bits() -> None:
    """Goal: the carry into the upper register, near which no vector can come by sending."""
    vector = VECTORS["vectors"][0]
    sender = Sender(program_of("tofino1"), vector)
    flow = next(int(flow) for flow in vector["flow_sequence"])
    sender.pipe.cells_of(LOW_CELLS).cells[flow] = 0xFFFF_FFFE
    sender.send(vector["departures"])
    place = vector["headers_bytes"] + 6
    sequences = [int.from_bytes(sent.frame[place : place + 4], "big") for sent in sender.pipe.sent]
    assert sequences == [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1, 2]
    assert sender.record(flow)["flow_sequence"] == (1 << 32) + 3


def test_a_copy_of_an_unknown_transmitter_is_dropped_and_counted() -> None:
    program = program_of("tofino1")
    sender = Sender(program, VECTORS["vectors"][0])
    sender.pipe.groups[GROUP] = [(2, 99)]
    sender.send(5)
    assert sender.pipe.sent == []
    unknown = program.constants["REASON_UNKNOWN_TRANSMITTER"]
    assert sender.pipe.counter("TesterEgress.transmit_reason") == {2 << 5 | unknown: 5}


@pytest.mark.parametrize("chip", CHIPS)
def test_copies_alone_are_replicated_and_the_seed_goes_round_beside_them(chip: str) -> None:
    """Goal: each departure makes one copy for each port of its group, and there is one seed before and behind it."""
    vector = VECTORS["vectors"][0]
    sender = Sender(program_of(chip), vector)
    sender.pipe.groups[GROUP] = [(port, vector["transmitters"][0]["id"]) for port in (2, 3, 4)]
    sender.send(5)
    assert sorted(sent.port for sent in sender.pipe.sent) == [2] * 5 + [3] * 5 + [4] * 5
    assert sender.pipe.seeds() == 1


def test_a_seed_returns_whatever_becomes_of_its_copies() -> None:
    """Goal: all copies are lost on their way; the seed goes on."""
    sender = Sender(program_of("tofino1"), VECTORS["vectors"][0])
    sender.pipe.groups[GROUP] = []
    sender.send(5)
    assert (sender.pipe.sent, sender.pipe.seeds()) == ([], 1)


MISTAKES: Sequence[tuple[str, str, str, str]] = (
    (
        "tna/transmit_registers.p4",
        "if (skipped < first) {",
        "if (skipped <= first) {",
        "sent_from_the_third_departure_on",
    ),
    (
        "tna/transmit_registers.p4",
        "if (position >= last) {",
        "if (position > last) {",
        "a_list_is_gone_through_in_turns",
    ),
    ("tna/arch.p4", "#define SEED_BESIDE_COPIES again();", "#define SEED_BESIDE_COPIES", "one_destination"),
    ("tna/transmit_registers.p4", "low = low + 1;", "low = low + 2;", "one_destination"),
    ("tna/transmit_registers.p4", "HashAlgorithm_t.CRC32", "HashAlgorithm_t.IDENTITY", "random_values"),
    (
        "shared/transmission.p4",
        "beyond = straight_place - list_length;",
        "beyond = straight_place;",
        "a_list_may_begin_in_its_middle",
    ),
    (
        "shared/transmission.p4",
        "flow_cell = flow_cell + offset;",
        "flow_cell = flow_cell;",
        "each_port_begins_at_another_place",
    ),
    ("shared/modifiers.p4", "entry = start + sum;", "entry = start;", "a_list_of_values"),
    ("tna/fields.p4", "hdr.outer_vlan.id = outer_id[11:0];", "hdr.outer_vlan.id = inner_id[11:0];", "vlan_identifiers"),
    ("tna/parser.p4", "(PROTOCOL_UDP, 2) : extension_0_last_3;", "", "ipv6_with_routing"),
    ("tna/parser.p4", "(0, _) : parse_second_label;", "", "ipv6_behind_two_labels"),
    ("tna/parser.p4", "subtract({ hdr.udp.src, ", "subtract({ hdr.udp.length_bytes, ", "ports_of_ipv6"),
    ("tna/deparser.p4", "hdr.ipv4.dst });", "hdr.ipv4.src });", "ipv4"),
)


@pytest.mark.parametrize(("file", "right", "wrong", "name"), MISTAKES, ids=[mistake[1] for mistake in MISTAKES])
def test_a_mistake_in_the_sources_is_found(file: str, right: str, wrong: str, name: str, tmp_path: Path) -> None:
    changed = 0
    for folder in ("include", "shared", "tna"):
        (tmp_path / folder).mkdir()
        for path in (P4SRC / folder).glob("*.p4"):
            text = path.read_text()
            if f"{folder}/{path.name}" == file and right in text:
                text, changed = text.replace(right, wrong, 1), changed + 1
            (tmp_path / folder / path.name).write_text(text)
    assert changed == 1
    vector = next(vector for vector in VECTORS["vectors"] if vector["name"] == name)
    assert differences(program_of("tofino1", tmp_path), vector)
