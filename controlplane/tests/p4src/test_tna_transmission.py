"""Shared vectors of the transmission controls, on the program for Tofino.

Method: an interpreter executes the egress control of the sources for every copy of every
departure, as the parser would hand it over, and reads cells as reading frames do. Modifiers are not in the vectors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.p4_interpreter import Control, Entries, Program
from support.tna_program import CHIPS, program_of
from support.transmission_vectors import FILE

from p4mesh.tester.contract import P4SRC

VECTORS: dict[str, Any] = json.loads(FILE.read_text())
_FIRST_TIME = (5 << 32) + 1_000
_STEP_TICKS = 3_000_000_000
"""Times of departures differ in their upper words, too."""


class Egress:
    """The egress control of one pipe."""

    def __init__(self, program: Program, vector: dict[str, Any]) -> None:
        self.program = program
        names = [name for name in vector["transmitters"][0] if name not in ("port", "id")]
        entries: Entries = {
            "transmit_run": [([], ("set_transmit_run", [vector["run"]]))],
            "transmitter": [
                ([(one["id"], 0xFFFF)], ("source_ethernet", [one[name] for name in names]))
                for one in vector["transmitters"]
            ],
            "destination": [
                ([(one["entry"], 0xFFFF_FFFF)], ("station_ethernet", [one["mac"], one["receiver_tag"]]))
                for one in VECTORS["destinations"]
            ],
            "modifier": [],
            "list_value": [],
        }
        self.control = Control(program, program.tree.controls["TesterEgress"], entries)

    def copy(self, port: int, transmitter: int, at_ticks: int) -> dict[str, int] | None:
        """Do what the parser does with a copy of a seed, execute egress, and return what leaves; None: nothing."""
        headers, local = self.program.struct("egress_headers_t"), self.program.struct("egress_t")
        headers.members["ethernet"].is_valid = True
        local.set("cell", transmitter)
        local.set("reason", self.program.constants["REASON_UNKNOWN_TRANSMITTER"])
        verdict = self._execute(headers, local, port, transmitter, at_ticks)
        if verdict.members["drop_ctl"].value:
            return None
        signature = {name: number.value for name, number in headers.members["signature"].members.items()}
        assert headers.members["signature"].is_valid
        assert (signature["magic"], signature["transmit_time"]) == (self.program.constants["SIGNATURE_MAGIC"], at_ticks)
        assert headers.members["ethernet"].members["src"].value == VECTORS["source_mac"]
        return {
            "destination_mac": headers.members["ethernet"].members["dst"].value,
            "receiver_tag": signature["receiver"],
            "flow": signature["flow"],
            "sequence": signature["sequence"],
            "run": signature["run"],
        }

    def record(self, cell: int) -> dict[str, int]:
        """Return the numbers that two reading passes bring of a cell."""
        low, high = (self._read(cell, kind) for kind in ("KIND_READ", "KIND_READ_HIGH"))
        return {name: high[name] << 32 | value for name, value in low.items()}

    def _read(self, cell: int, kind: str) -> dict[str, int]:
        headers, local = self.program.struct("egress_headers_t"), self.program.struct("egress_t")
        loop = headers.members["loop"]
        loop.is_valid = True
        for name, value in (("kind", self.program.constants[kind]), ("value", cell), ("count", 2)):
            loop.set(name, value)
        local.set("cell", cell)
        self._execute(headers, local, self.program.constants["PORT_LOOP"], 0, 0)
        return {name: word.value for name, word in headers.members["half"].members.items()}

    def _execute(self, headers: Any, local: Any, port: int, replica: int, at_ticks: int) -> Any:
        standard = self.program.struct("egress_intrinsic_metadata_t")
        standard.set("egress_port", port)
        standard.set("egress_rid", replica)
        parsed = self.program.struct("egress_intrinsic_metadata_from_parser_t")
        parsed.set("global_tstamp", at_ticks)
        verdict = self.program.struct("egress_intrinsic_metadata_for_deparser_t")
        output = self.program.struct("egress_intrinsic_metadata_for_output_port_t")
        handed = (headers, local, standard, parsed, verdict, output)
        self.control.apply([lambda struct=struct: struct for struct in handed])
        return verdict


def differences(program: Program, vector: dict[str, Any]) -> list[str]:
    """Return where a program does something else than a vector says."""
    egress = Egress(program, vector)
    sent: dict[str, list[dict[str, int]]] = {str(one["port"]): [] for one in vector["transmitters"]}
    times = [_FIRST_TIME + departure * _STEP_TICKS for departure in range(vector["departures"])]
    for time in times:
        for one in vector["transmitters"]:
            frame = egress.copy(one["port"], one["id"], time)
            if frame is not None:
                sent[str(one["port"])].append(frame)
    with_run = {port: [frame | {"run": vector["run"]} for frame in of] for port, of in vector["frames"].items()}
    found = [] if sent == with_run else [f"frames: {sent}, not {with_run}"]
    for one in vector["transmitters"]:
        first_last = vector["departures_of_times"][str(one["id"])]
        wanted = {
            "departures": vector["departures"],
            "first_departure": times[first_last[0]] if first_last else 0,
            "last_departure": times[first_last[1]] if first_last else 0,
        }
        record = egress.record(one["id"])
        found += [f"{name} of {one['id']}: {record[name]}, not {n}" for name, n in wanted.items() if record[name] != n]
    counted = egress.control.counter("transmission", "flow_transmit")
    for flow, count in vector["flow_sequence"].items():
        of_flow = (egress.record(int(flow))["flow_sequence"], counted.get(int(flow), 0))
        found += [] if of_flow == (count, count) else [f"flow {flow}: {of_flow}, not {count}"]
    codes = {
        value: name.removeprefix("REASON_").lower() for name, value in program.constants.items() if "REASON_" in name
    }
    reasons = {
        (cell >> 5, codes[cell & 31]): count for cell, count in egress.control.counter("transmit_reason").items()
    }
    wanted_reasons = {(entry["port"], entry["reason"]): entry["frames"] for entry in vector["reasons"]}
    return found + ([] if reasons == wanted_reasons else [f"reasons: {reasons}, not {wanted_reasons}"])


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
@pytest.mark.parametrize("chip", CHIPS)
def test_tofino_sends_what_the_vector_says(chip: str, vector: dict[str, Any]) -> None:
    assert differences(program_of(chip), vector) == []


def test_the_sequence_of_a_flow_goes_on_beyond_32_bits() -> None:
    """Goal: the carry into the upper register, near which no vector can come by sending."""
    vector = VECTORS["vectors"][0]
    egress = Egress(program_of("tofino1"), vector)
    (one,) = vector["transmitters"]
    low = egress.control.instances["transmission"].instances["flow_sequence"].instances["low_cells"]
    assert egress.copy(one["port"], one["id"], 1) is not None
    low.cells[one["flow"]] = type(low.cells[one["flow"]])(0xFFFF_FFFF, 32)
    frames = [egress.copy(one["port"], one["id"], at) for at in (2, 3)]
    assert [frame and frame["sequence"] for frame in frames] == [0xFFFF_FFFF, 0]
    assert egress.record(one["flow"])["flow_sequence"] == (1 << 32) + 1


def test_a_copy_of_an_unknown_transmitter_is_dropped_and_counted() -> None:
    program = program_of("tofino1")
    egress = Egress(program, VECTORS["vectors"][0])
    assert egress.copy(2, 99, 1) is None
    assert egress.control.counter("transmit_reason") == {2 << 5 | program.constants["REASON_UNKNOWN_TRANSMITTER"]: 1}


MISTAKES: Sequence[tuple[str, str, str, str]] = (
    ("tna", "if (skipped < first) {", "if (skipped <= first) {", "sent_from_the_third_departure_on"),
    ("tna", "if (position >= last) {", "if (position > last) {", "a_list_is_gone_through_in_turns"),
    ("tna", "low = low + 1;", "low = low + 2;", "one_destination"),
    ("shared", "beyond = straight_place - list_length;", "beyond = straight_place;", "a_list_may_begin_in_its_middle"),
    ("shared", "flow_cell = flow_cell + offset;", "flow_cell = flow_cell;", "a_list_is_gone_through_in_turns"),
)


@pytest.mark.parametrize(("folder", "right", "wrong", "name"), MISTAKES, ids=[mistake[1] for mistake in MISTAKES])
def test_a_mistake_in_the_sources_is_found(folder: str, right: str, wrong: str, name: str, tmp_path: Path) -> None:
    changed = 0
    for each in ("include", "shared", "tna"):
        (tmp_path / each).mkdir()
        for path in (P4SRC / each).glob("*.p4"):
            text = path.read_text()
            if each == folder and path.name in ("transmit_registers.p4", "transmission.p4") and right in text:
                text, changed = text.replace(right, wrong, 1), changed + 1
            (tmp_path / each / path.name).write_text(text)
    assert changed == 1
    vector = next(vector for vector in VECTORS["vectors"] if vector["name"] == name)
    assert differences(program_of("tofino1", tmp_path), vector)
