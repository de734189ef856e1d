"""Shared vectors of the measurement controls, on the program for Tofino.

Method: an interpreter executes the ingress control of the sources, as the parser would hand frames to it, and reads
cells as reading frames do. It does not model the chip: the limits of a stage, and the comparison in a stateful ALU, are
not in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.utils import checksum
from support.measurement_oracle import TEST
from support.measurement_vectors import FILE, PORTS
from support.p4_interpreter import Control, Entries, Program, Struct
from support.tna_program import CHIPS, program_of

from p4mesh.tester.contract import P4SRC, load_contract
from p4mesh.tester.halves import records_of_halves

VECTORS: dict[str, Any] = json.loads(FILE.read_text())
EXACT_MAC = (1 << 48) - 1
EXACT_PORT = (1 << 9) - 1
SIGNATURE = slice(14, 32)


class Ingress:
    """The ingress control of one pipe."""

    def __init__(self, program: Program, run: int) -> None:
        self.program = program
        use = VECTORS["histogram"]
        entries: Entries = {
            "receive_run": [([], ("set_receive_run", [run]))],
            "receiver": [
                (
                    [(receiver["port"], EXACT_PORT), (receiver["destination_mac"], EXACT_MAC)],
                    ("expected", [receiver["flow_offset"], receiver["receiver_tag"]]),
                )
                for receiver in VECTORS["receivers"]
            ],
            "histogram": [([(use["port"], EXACT_PORT), (0, 0)], ("use_histogram", [use["first_cell"]]))],
            "punt": [],
            "stream": [],
        }
        self.control = Control(program, program.tree.controls["TesterIngress"], entries)

    def arrive(self, port: int, at_ticks: int, frame: bytes) -> None:
        """Parse a frame of a test port, and execute ingress."""
        headers, local, arrival = self._pass(port, at_ticks)
        ethernet = headers.members["ethernet"]
        ethernet.is_valid = True
        ethernet.set("dst", int.from_bytes(frame[:6], "big"))
        ethernet.set("ether_type", int.from_bytes(frame[12:14], "big"))
        found = frame[SIGNATURE]
        if int.from_bytes(frame[12:14], "big") == TEST and found[:2] == b"PM":
            signature, place = headers.members["signature"], 0
            signature.is_valid = True
            for name, number in signature.members.items():
                signature.set(name, int.from_bytes(found[place : place + number.width // 8], "big"))
                place += number.width // 8
            local.set("damaged", int(checksum(found) != 0))
            local.set("cell", signature.members["flow"].value)
            local.set("window", signature.members["sequence"].value)
            local.set("pass", self.program.constants["PASS_TEST"])
        self._execute(headers, local, arrival)

    def report(self, cell: int) -> bytes:
        """Return the words of a cell that a reading frame brings; those of egress are 0."""
        nothing = bytes(sum(number.width for number in self._half("transmit_half_t").members.values()) // 8)
        return cell.to_bytes(4, "big") + b"".join(
            nothing + self._read(cell, kind) for kind in ("KIND_READ_HIGH", "KIND_READ")
        )

    def _read(self, cell: int, kind: str) -> bytes:
        number = self.program.constants[kind]
        headers, local, arrival = self._pass(self.program.constants["PORT_LOOP"], 0)
        loop = headers.members["loop"]
        loop.is_valid = True
        for name, value in (("kind", number), ("value", cell), ("count", 1)):
            loop.set(name, value)
        for name, value in (("pass", number), ("cell", cell), ("port_cell", cell)):
            local.set(name, value)
        self._execute(headers, local, arrival)
        return b"".join(word.value.to_bytes(4, "big") for word in headers.members["half"].members.values())

    def _half(self, name: str) -> Struct:
        return self.program.struct(name)

    def _pass(self, port: int, at_ticks: int) -> tuple[Struct, Struct, Struct]:
        arrival = self.program.struct("ingress_intrinsic_metadata_t")
        arrival.set("ingress_port", port)
        arrival.set("ingress_mac_tstamp", at_ticks)
        return self.program.struct("ingress_headers_t"), self.program.struct("ingress_t"), arrival

    def _execute(self, *handed: Struct) -> None:
        rest = (
            self.program.struct(f"ingress_intrinsic_metadata_{name}_t")
            for name in ("from_parser", "for_deparser", "for_tm")
        )
        self.control.apply([lambda struct=struct: struct for struct in (*handed, *rest)])


def differences(program: Program, vector: dict[str, Any]) -> list[str]:
    """Return the differences between the state that a program leaves and a vector."""
    ingress = Ingress(program, vector["run"])
    for frame in vector["frames"]:
        ingress.arrive(frame["port"], frame["arrival_ticks"], bytes.fromhex(frame["hex"]))
    found = []
    cells = [int(cell) for cell in vector["records"]]
    records = records_of_halves([ingress.report(cell) for cell in (*cells, *PORTS)], load_contract())
    for cell, record in zip(cells, records, strict=False):
        wanted = vector["records"][str(cell)]
        found += [
            f"cell {cell}: {name} is {record[name]}, not {wanted[name]}"
            for name in records.dtype.names or ()
            if name in wanted and int(record[name]) != wanted[name]
        ]
    spacing = {str(port): int(records["spacing_min_inverted"][len(cells) + n]) for n, port in enumerate(PORTS)}
    found += _unequal(
        "spacing", {port: value for port, value in spacing.items() if value}, vector["spacing_min_inverted"]
    )
    codes = {
        value: name.removeprefix("REASON_").lower() for name, value in program.constants.items() if "REASON_" in name
    }
    counted = {
        (cell >> 5, codes[cell & 31]): count for cell, count in ingress.control.counter("receive_reason").items()
    }
    reasons = {(entry["port"], entry["reason"]): entry["frames"] for entry in vector["reasons"]}
    found += _unequal("reasons", {key: count for key, count in counted.items() if key[0] in PORTS}, reasons)
    bins = ingress.control.counter("flow_measurement", "histograms", "latency_histogram")
    return found + _unequal("bins", {str(cell): count for cell, count in bins.items()}, vector["latency_histogram"])


def _unequal(what: str, found: dict[Any, int], wanted: dict[Any, int]) -> list[str]:
    return [] if found == wanted else [f"{what}: {found}, not {wanted}"]


def of_chip(chip: str) -> list[dict[str, Any]]:
    places = 1 << {"tofino1": 3, "tofino2": 1}[chip]
    return [vector for vector in VECTORS["vectors"] if vector["window_places"] in (None, places)]


@pytest.mark.parametrize(
    ("chip", "vector"),
    [pytest.param(chip, vector, id=f"{chip}-{vector['name']}") for chip in CHIPS for vector in of_chip(chip)],
)
def test_tofino_holds_what_the_vector_says(chip: str, vector: dict[str, Any]) -> None:
    assert differences(program_of(chip), vector) == []


NEAR_WRAP = "0xC0000000 &&& 0xC0000000) : sequence_near_"
OCTAVE = "0x00000080 &&& 0xFFFFFF80 : octave_"
MINUS_ONE = "distance_inverted = distance_inverted"
MISTAKES: Sequence[tuple[str, str, str, str]] = (
    ("ingress.p4", "(1, 0) : saturates", "(1, 0) : fits", "latency_beyond_32_bits_saturates"),
    ("measurement.p4", f"{NEAR_WRAP}zero", f"{NEAR_WRAP}half", "late_frames_around_the_wrap"),
    ("measurement.p4", f"{MINUS_ONE} - 1", MINUS_ONE, "the_shortest_distance_of_starts"),
    ("registers.p4", "if (cell.low > ROOM)", "if (cell.low >= ADDEND)", "sums_beyond_32_bits"),
    ("measurement.p4", f"{OCTAVE}7", f"{OCTAVE}6", "bins_of_all_octaves"),
)


@pytest.mark.parametrize(("file", "right", "wrong", "name"), MISTAKES, ids=[mistake[3] for mistake in MISTAKES])
def test_a_mistake_in_the_sources_is_found(file: str, right: str, wrong: str, name: str, tmp_path: Path) -> None:
    for folder in ("include", "shared", "tna"):
        (tmp_path / folder).mkdir()
        for path in (P4SRC / folder).glob("*.p4"):
            text = path.read_text()
            assert path.name != file or folder != "tna" or right in text
            changed = text.replace(right, wrong) if path.name == file and folder == "tna" else text
            (tmp_path / folder / path.name).write_text(changed)
    vector = next(vector for vector in of_chip("tofino1") if vector["name"] == name)
    assert differences(program_of("tofino1", tmp_path), vector)
