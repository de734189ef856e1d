"""Shared vectors of the measurement controls, on the program for Tofino.

Method: frames arrive at an interpreted pipe (tna_pipe.py), and reading frames bring the records to the controller,
which puts them together as it does on a chip.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.measurement_vectors import FILE, PORTS, message_record
from support.p4_interpreter import Entry, Program
from support.tna_pipe import CHIPS, PROFILES, TnaPipe, program_of

from p4mesh.errors import ProgramError
from p4mesh.tester.contract import P4SRC, load_contract
from p4mesh.tester.halves import records_of_halves
from p4mesh.tester.register_dataplane import MESSAGE_WORDS

VECTORS: dict[str, Any] = json.loads(FILE.read_text())
EXACT_MAC = (1 << 48) - 1
EXACT_PORT = (1 << 9) - 1
EXACT_FLOW = (1 << 16) - 1
IPDV_REGISTERS = ("ipdv_count", "ipdv_extremes", "ipdv_sum")
IPDV_MAX, MAX_64 = (1 << 31) - 1, (1 << 64) - 1


def receiving(program: Program, run: int) -> TnaPipe:
    """A pipe with the entries of all vectors."""
    use = VECTORS["histogram"]
    entries: dict[str, list[Entry]] = {
        "TesterIngress.reception.receive_run": [([], ("set_receive_run", [run]))],
        "TesterIngress.reception.receiver": [
            (
                [(receiver["port"], EXACT_PORT), (receiver["destination_mac"], EXACT_MAC)],
                ("expected", [receiver["flow_offset"], receiver["receiver_tag"]]),
            )
            for receiver in VECTORS["receivers"]
        ],
        "TesterIngress.flow_measurement.histograms.histogram": [
            ([(use["port"], EXACT_PORT), (0, 0)], ("use_histogram", [use["first_cell"]]))
        ],
        "TesterIngress.messages.message": [
            (
                [(source["first_flow"] + position, EXACT_FLOW)],
                (
                    "part_of_message",
                    [
                        source["source"],
                        source["first_flow"],
                        source["first_flow"] + source["frames"] - 1,
                        source["frames"],
                    ],
                ),
            )
            for source in VECTORS["messages"]
            for position in range(source["frames"])
        ],
    }
    return TnaPipe(program, entries)


def differences(program: Program, vector: dict[str, Any]) -> list[str]:
    """The differences between the state that a program leaves and a vector."""
    pipe = receiving(program, vector["run"])
    for frame in vector["frames"]:
        pipe.arrive(frame["port"], frame["arrival_ticks"], bytes.fromhex(frame["hex"]))
    pipe.run(vector["frames"][-1]["arrival_ticks"])
    found = []
    cells = [int(cell) for cell in vector["records"]]
    reports = [report for cell in (*cells, *PORTS) for report in pipe.read(cell)]
    if len(reports) != len(cells) + len(PORTS):
        return [f"{len(reports)} reports of {len(cells) + len(PORTS)} cells"]
    try:
        records = records_of_halves(reports, load_contract())
    except ProgramError as error:
        return [str(error)]
    for cell, record in zip(cells, records, strict=False):
        wanted = vector["records"][str(cell)]
        found += [
            f"cell {cell}: {name} is {record[name]}, not {wanted[name]}"
            for name in records.dtype.names or ()
            if name in wanted and int(record[name]) != wanted[name]
        ]
        found += _ipdv_differences(pipe, cell, wanted)
    spacing = {str(port): int(records["spacing_min_inverted"][len(cells) + n]) for n, port in enumerate(PORTS)}
    found += _unequal(
        "spacing", {port: value for port, value in spacing.items() if value}, vector["spacing_min_inverted"]
    )
    codes = {
        value: name.removeprefix("REASON_").lower() for name, value in program.constants.items() if "REASON_" in name
    }
    counts = pipe.counter("TesterIngress.receive_reason")
    counted = {(cell >> 5, codes[cell & 31]): count for cell, count in counts.items()}
    reasons = {(entry["port"], entry["reason"]): entry["frames"] for entry in vector["reasons"]}
    found += _unequal("reasons", {key: count for key, count in counted.items() if key[0] in PORTS}, reasons)
    found += _message_differences(pipe, vector.get("messages", {}))
    if all(record["latency_max"] <= IPDV_MAX for record in vector["records"].values()):
        found += _ipdv_bin_differences(pipe, vector)
    bins = pipe.counter("TesterIngress.flow_measurement.histograms.latency_histogram")
    return found + _unequal("bins", {str(cell): count for cell, count in bins.items()}, vector["latency_histogram"])


def _ipdv_differences(pipe: TnaPipe, cell: int, wanted: dict[str, Any]) -> list[str]:
    """Differences in the registers of IPDV, of which no reading frame tells; none without a profile that has them."""
    cells = "TesterIngress.flow_measurement.cells"
    try:
        of_registers = {name: pipe.cells_of(f"{cells}.{name}_cells").cells for name in IPDV_REGISTERS}
    except KeyError:
        return []
    none = dict.fromkeys(("low", "high"), 0)
    pairs = {name: of[cell].values() if cell in of else none for name, of in of_registers.items()}
    count, extremes, total = ((pair["high"], pair["low"]) for pair in pairs.values())
    samples = count[0] << 32 | count[1]
    signed = (total[0] << 32 | total[1]) - (samples << 31)
    found = {
        "ipdv_count": samples,
        "ipdv_min_inverted": extremes[0],
        "ipdv_max": extremes[1],
        "ipdv_sum_high": signed >> 32 & MAX_64,
        "ipdv_sum_low": signed & 0xFFFFFFFF,
    }
    if wanted["latency_max"] > IPDV_MAX:
        return []
    return [
        f"cell {cell}: {name} is {value}, not {wanted[name]}" for name, value in found.items() if value != wanted[name]
    ]


def _ipdv_bin_differences(pipe: TnaPipe, vector: dict[str, Any]) -> list[str]:
    """Differences in the bins of IPDV; none without a profile that has them."""
    found = []
    for name in ("ipdv_increases", "ipdv_decreases"):
        try:
            bins = pipe.counter(f"TesterIngress.flow_measurement.histograms.{name}")
        except KeyError:
            return []
        first = VECTORS["histogram"]["first_cell"]
        found += _unequal(name, {str(cell - first): count for cell, count in bins.items()}, vector.get(name, {}))
    return found


def _message_differences(pipe: TnaPipe, wanted: dict[str, Any]) -> list[str]:
    """Differences in the registers of messages; none without a profile that has them."""

    def word(source: int, name: str, part: str) -> int:
        cell = pipe.cells_of(f"TesterIngress.{name}").cells.get(source)
        if cell is None:
            return 0
        return int(cell if part == "f1" else cell.values()[part])

    try:
        pipe.cells_of("TesterIngress.messages.newest_cells")
    except KeyError:
        return []
    found = {}
    for source in (known["source"] for known in VECTORS["messages"]):
        record = dict.fromkeys(MESSAGE_WORDS, 0)
        for name, words in MESSAGE_WORDS.items():
            for place in words:
                record[name] = record[name] << 32 | word(source, *place)
        for name in MESSAGE_WORDS:
            if name.endswith("_min_inverted"):
                record[name] |= MAX_64 - ((1 << 32) - 1)
        if record["arrived"]:
            found[str(source)] = message_record(record)
    return _unequal("messages", found, wanted)


def _unequal(what: str, found: dict[Any, Any], wanted: dict[Any, Any]) -> list[str]:
    return [] if found == wanted else [f"{what}: {found}, not {wanted}"]


def of_chip(chip: str) -> list[dict[str, Any]]:
    window = {"tofino1": "8 places", "tofino2": "2 places", "tofino2_ipdv": "4 places"}[chip]
    return [vector for vector in VECTORS["vectors"] if vector["window"] in (None, window)]


@pytest.mark.parametrize(
    ("chip", "vector"),
    [
        pytest.param(chip, vector, id=f"{chip}-{vector['name']}")
        for chip in CHIPS | PROFILES
        for vector in of_chip(chip)
    ],
)
def test_tofino_holds_what_the_vector_says(chip: str, vector: dict[str, Any]) -> None:
    assert differences(program_of(chip), vector) == []


@pytest.mark.parametrize("chip", CHIPS)
def test_a_reading_frame_brings_many_cells_and_clears_them(chip: str) -> None:
    """Goal: cells 99 to 103 of one reading frame are those of single ones; a second reading finds them cleared."""
    program = program_of(chip)
    vector = next(vector for vector in VECTORS["vectors"] if vector["name"] == "flows_apart")
    pipe = receiving(program, vector["run"])
    for frame in vector["frames"]:
        pipe.arrive(frame["port"], frame["arrival_ticks"], bytes.fromhex(frame["hex"]))
    pipe.run(vector["frames"][-1]["arrival_ticks"])
    single = [report for cell in range(99, 104) for report in pipe.read(cell)]
    assert pipe.read(99, 5) == single
    assert [int(count) for count in records_of_halves(single, load_contract())["frames"]] == [0, 4, 4, 4, 0]
    assert pipe.read(99, 5, clear=True) == single
    cleared = records_of_halves(pipe.read(99, 5), load_contract())
    assert [int(cell) for cell in cleared["cell"]] == list(range(99, 104))
    assert not any(cleared[name].any() for name in cleared.dtype.names or () if name != "cell")


def test_a_silent_reading_frame_clears_cells_and_reports_the_last() -> None:
    program = program_of("tofino1")
    vector = next(vector for vector in VECTORS["vectors"] if vector["name"] == "flows_apart")
    pipe = receiving(program, vector["run"])
    for frame in vector["frames"]:
        pipe.arrive(frame["port"], frame["arrival_ticks"], bytes.fromhex(frame["hex"]))
    pipe.run(vector["frames"][-1]["arrival_ticks"])
    (last,) = records_of_halves(pipe.read(100, 3, clear=True, silent=True), load_contract())
    assert (int(last["cell"]), int(last["frames"])) == (102, 4)
    assert not records_of_halves(pipe.read(100, 3), load_contract())["frames"].any()


REACHED = "((int<32>)hdr.signature.sequence - (int<32>)cell >= 0)"
OCTAVE = "0x00000080 &&& 0xFFFFFF80 : octave_"
MINUS_ONE = "distance_inverted = distance_inverted"
IN_ORDER = "(OP_UPDATE, ORDER_GAP) : latency_in_order_update();"
MISTAKES: Sequence[tuple[str, str, str, str]] = (
    ("ingress.p4", "(1, 0) : saturates", "(1, 0) : fits", "latency_beyond_32_bits_saturates"),
    ("measurement.p4", REACHED, "(hdr.signature.sequence >= cell)", "late_frames_around_the_wrap"),
    ("measurement.p4", f"{MINUS_ONE} - 1", MINUS_ONE, "the_shortest_distance_of_starts"),
    ("registers.p4", "if (cell.low > ROOM)", "if (cell.low >= ADDEND)", "sums_beyond_32_bits"),
    ("measurement.p4", f"{OCTAVE}7", f"{OCTAVE}6", "bins_of_all_octaves"),
    ("circulation.p4", "(KIND_READ, _, _, _) : begin_reading", "(KIND_READ, _, _, _) : read_low", "frames_in_order"),
    ("parser.p4", "ETHERTYPE_QINQ : parse_outer_vlan;", "", "frames_of_all_formats"),
    ("parser.p4", "(1, 6) : parse_ipv6;", "", "frames_of_all_formats"),
)


MISTAKES_OF_IPDV = (
    ("measurement.p4", IN_ORDER, "", "gaps_are_no_reordering"),
    (
        "measurement.p4",
        "difference = local.latency - cell; cell",
        "difference = cell - local.latency; cell",
        "frames_in_order",
    ),
    ("measurement.p4", "ORDER_EXPECTED, 0) : CELLS", "ORDER_EXPECTED, 1) : CELLS", "frames_in_order"),
    ("measurement.p4", "if (local.latency > cell)", "if (local.latency < cell)", "frames_in_order"),
    ("measurement.p4", "local.ipdv_size = 0 - local.ipdv;", "local.ipdv_size = local.ipdv;", "latency_and_jitter"),
    ("measurement.p4", "ORDER_EXPECTED, 0, 1, 1)", "ORDER_EXPECTED, 0, 0, 1)", "latency_and_jitter"),
    ("measurement.p4", "ORDER_EXPECTED, 0, 0, 1)", "ORDER_EXPECTED, 1, 0, 1)", "latency_and_jitter"),
    ("messages.p4", "missing = frames - before;", "missing = frames;", "whole_messages"),
    ("messages.p4", "between = ahead - 1;", "between = ahead;", "whole_messages"),
    ("messages.p4", "(MESSAGE_LATER, 0) : others_damaged();", "", "a_frame_of_a_message_is_lost"),
    ("messages.p4", "(MESSAGE_LATER, _, 1)", "(MESSAGE_LATER, _, 2)", "messages_of_one_frame"),
    ("messages.p4", "cell = 1; }", "cell = 0; }", "a_frame_of_a_message_is_lost"),
    ("messages.p4", ": is_over();", ": arrived_of_same();", "a_frame_of_a_message_that_is_over"),
    ("messages.p4", "(OP_UPDATE, 0) : newest_update", "(OP_UPDATE, _) : newest_update", "copies_complete_no_message"),
    ("messages.p4", "fifo = filo - elapsed;", "fifo = filo;", "whole_messages"),
    ("messages.p4", "departure_of_last, last)", "departure_of_last, first)", "frames_of_a_message_change_places"),
    ("messages.p4", "(MESSAGE_SAME, 0) : first_arrival_new();", "", "whole_messages"),
)


@pytest.mark.parametrize(
    ("chip", "file", "right", "wrong", "name"),
    [
        *(("tofino1", *mistake) for mistake in MISTAKES),
        *(("tofino2_ipdv", *mistake) for mistake in MISTAKES_OF_IPDV),
    ],
)
def test_a_mistake_in_the_sources_is_found(
    chip: str, file: str, right: str, wrong: str, name: str, tmp_path: Path
) -> None:
    for folder in ("include", "shared", "tna"):
        (tmp_path / folder).mkdir()
        for path in (P4SRC / folder).glob("*.p4"):
            text = path.read_text()
            assert path.name != file or folder != "tna" or right in text
            changed = text.replace(right, wrong) if path.name == file and folder == "tna" else text
            (tmp_path / folder / path.name).write_text(changed)
    vector = next(vector for vector in of_chip(chip) if vector["name"] == name)
    assert differences(program_of(chip, tmp_path), vector)
