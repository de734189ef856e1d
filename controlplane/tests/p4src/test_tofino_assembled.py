"""The assembled programs for Tofino: the tables that drivers know are those of bfrt.json and of the controller.

Method: ``p4mesh.CHIP.drivers.json`` is what the assembler's context.json says of the tables of bfrt.json
(scripts/compile_tofino.py). bf_switchd joins both by names, so they must agree in every size, key and parameter.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from p4mesh.bfruntime.info import MATCH_PRIORITY, BfrtInfo, TableInfo
from p4mesh.target.chips import TOFINO_1, TOFINO_2, TOFINO_2_IPDV
from p4mesh.tester.contract import P4SRC
from p4mesh.tester.register_dataplane import IPDV_WORDS, MESSAGE_WORDS, WORDS

COMPILED = P4SRC / "compiled"
CHIPS = {
    "tofino1": ("Tofino 1", TOFINO_1),
    "tofino2": ("Tofino 2", TOFINO_2),
    "tofino2_ipdv": ("Tofino 2 with IPDV", TOFINO_2_IPDV),
}
_LEAST_SYNCHRONISED_BITS = 28
"""Of a counter of frames in the chip, which hands full cells over to the driver: 1.8 s of 64 bytes at 100 Gbit/s."""


def programs(chip: str) -> tuple[dict[str, TableInfo], dict[str, Any], dict[str, Any]]:
    """The tables of bfrt.json and of the drivers by names, and the drivers' document."""
    info = BfrtInfo((COMPILED / f"p4mesh.{chip}.bfrt.json").read_bytes())
    document = json.loads((COMPILED / f"p4mesh.{chip}.drivers.json").read_text())
    ours = {name.partition(".")[2]: table for name, table in info.tables.items()}
    return ours, {table["name"]: table for table in document["tables"]}, document


@pytest.mark.parametrize("chip", CHIPS)
def test_drivers_have_every_table_of_bfrt_json(chip: str) -> None:
    ours, theirs, document = programs(chip)
    kinds = {"MatchAction_Direct": "match", "Register": "stateful", "Counter": "statistics"}
    expected = {name: kinds[table.kind] for name, table in ours.items() if table.kind in kinds}
    assert {name: table["type"] for name, table in theirs.items()} == expected
    assert {name: table["size"] for name, table in theirs.items()} == {name: ours[name].size for name in theirs}
    assert document["value_sets"] == [name for name, table in ours.items() if table.kind == "ParserValueSet"]


@pytest.mark.parametrize("chip", CHIPS)
def test_keys_and_parameters_are_those_of_bfrt_json(chip: str) -> None:
    ours, theirs, _ = programs(chip)
    for name, table in theirs.items():
        if table["type"] != "match":
            continue
        known = ours[name]
        keys = [[key.name, key.width_bits, key.match.lower()] for key in known.key.values()]
        assert table["key"] == [key for key in keys if key[0] != MATCH_PRIORITY], name
        actions = {
            action.name: [[field.name, field.width_bits] for field in action.fields.values()]
            for action in known.actions.values()
        }
        assert table["actions"] == actions, name


@pytest.mark.parametrize("chip", CHIPS)
def test_registers_have_the_words_that_records_are_made_of(chip: str) -> None:
    ours, theirs, _ = programs(chip)
    for name, table in theirs.items():
        if table["type"] == "stateful":
            fields = [field.name.rpartition(".")[2] for field in ours[name].data.values()]
            assert len(fields) == 1 + table["dual"], name
            assert {field.width_bits for field in ours[name].data.values()} == {table["alu_width"]}, name
    more = {**IPDV_WORDS, **MESSAGE_WORDS} if chip == TOFINO_2_IPDV.program else {}
    for words in (*WORDS.values(), *more.values()):
        for end, word in words:
            found = [table for name, table in theirs.items() if name.endswith(f".{end}")]
            assert found and all(table["dual"] == (word != "f1") for table in found), end


@pytest.mark.parametrize("chip", CHIPS)
def test_counters_do_not_overflow_before_the_driver_adds_them_up(chip: str) -> None:
    _, theirs, _ = programs(chip)
    counters = [table for table in theirs.values() if table["type"] == "statistics"]
    assert len(counters) == (8 if chip == "tofino2_ipdv" else 5)
    assert all(table["packet"] >= _LEAST_SYNCHRONISED_BITS for table in counters if table["packet"])
    assert {table["name"].rpartition(".")[2] for table in counters if table["byte"]} == {
        "receive_reason",
        "transmit_reason",
        "flow_bytes",
    }


@pytest.mark.parametrize("chip", CHIPS)
def test_random_values_are_the_crc_of_the_vectors(chip: str) -> None:
    """Goal: the CRC-32 of seed and step of which zlib gives the value; copies are of the low bits."""
    _, _, document = programs(chip)
    for found in document["hashes"]:
        fields = [width for _, width in found["fields"]]
        if found["name"].endswith(".random"):
            assert [name.rpartition("_")[2] for name, _ in found["fields"]] == ["start", "sum"]
            assert (found["type"], found["bits"], fields) == ("crc", 32, [32, 32])
            assert (int(found["poly"], 16), found["reverse"]) == (0x1_04C1_1DB7, True)
            assert int(found["init"], 16) == int(found["final_xor"], 16) == 0xFFFF_FFFF
        else:
            assert found["type"] == "identity" and not found["msb"] and found["bits"] in (16, sum(fields)), found[
                "name"
            ]
    assert sum(found["type"] == "crc" for found in document["hashes"]) == 2


@pytest.mark.parametrize("chip", CHIPS)
def test_the_loop_takes_longer_than_its_stages(chip: str) -> None:
    """Goal: the round that the loop model assumes has the clocks of all stages, at 1 GHz, and more."""
    title, known = CHIPS[chip]
    record = json.loads((COMPILED / "tofino.json").read_text())
    clocks = record["assembled"][title]["clocks"]
    assert 1_000 * (clocks["ingress"] + clocks["egress"]) < known.latency_ps
    drivers = (COMPILED / f"p4mesh.{chip}.drivers.json").read_bytes()
    assert record["output_sha256"][f"p4mesh.{chip}.drivers.json"] == hashlib.sha256(drivers).hexdigest()


@pytest.mark.parametrize("chip", CHIPS)
def test_nothing_else_is_in_the_bits_that_drop_or_mirror_a_frame(chip: str) -> None:
    _, _, document = programs(chip)
    widths = {"drop_ctl of ingress": 3, "drop_ctl of egress": 3, "mirror_type of ingress": 3}
    if chip != "tofino2_ipdv":
        widths["capture_tstamp_on_tx of egress"] = 1
    assert document["verdicts"].keys() == widths.keys()
    for name, verdict in document["verdicts"].items():
        assert verdict["if"] or not verdict["shared_with"]
        _, first, last = verdict["bits"]
        assert last - first + 1 >= widths[name]


def test_the_parser_writes_beside_fields_where_it_is_harmless() -> None:
    assert programs("tofino1")[2]["overfilled"] == {"ingress": ["hdr.loop.value", "meta.cell"], "egress": []}
    for chip in ("tofino2", "tofino2_ipdv"):
        assert programs(chip)[2]["overfilled"] == {"ingress": [], "egress": []}
