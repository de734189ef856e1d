"""Reports of a Tofino become the records that trials know."""

from __future__ import annotations

import re

import pytest

from p4mesh.errors import ProgramError
from p4mesh.tester.contract import P4SRC, load_contract
from p4mesh.tester.halves import records_of_halves

NOT_MEASURED = {
    "bytes", "jitter_smoothed_x16", "ipdv_count", "ipdv_min_inverted", "ipdv_max", "ipdv_sum_high", "ipdv_sum_low",
    "controller_departure", "beyond_window",
}  # fmt: skip


def half(header: str, **words: int) -> bytes:
    source = (P4SRC / "tna" / "headers.p4").read_text()
    body = source.split(f"header {header} {{")[1].split("}")[0]
    names = re.findall(r"bit<32>\s+(\w+);", body)
    assert set(words) <= set(names)
    return b"".join(words.get(name, 0).to_bytes(4, "big") for name in names)


def report(cell: int) -> bytes:
    return b"".join(
        [
            cell.to_bytes(4, "big"),
            half("transmit_half_t", departures=1, first_departure=7),
            half("receive_half_t", frames=2, latency_sum=3, latency_extremes=0xFFFFFF00, duplicates=9),
            half("transmit_half_t", departures=5, first_departure=0x89ABCDEF, flow_sequence=11),
            half("receive_half_t", frames=6, latency_sum=4, latency_extremes=500, duplicates=9, spacing_min_inverted=8),
        ]
    )


def test_words_of_two_passes_become_fields() -> None:
    records = records_of_halves([report(0), report(3)], load_contract())
    assert list(records["cell"]) == [0, 3]
    record = records[1]
    assert record["departures"] == (1 << 32) + 5
    assert record["first_departure"] == (7 << 32) + 0x89ABCDEF
    assert record["flow_sequence"] == 11
    assert record["frames"] == (2 << 32) + 6
    assert (record["latency_sum_high"], record["latency_sum_low"]) == (3, 4)
    assert (record["latency_min_inverted"], record["latency_max"]) == (0xFFFFFF00, 500)
    assert record["duplicates"] == 9
    assert record["spacing_min_inverted"] == 8


def test_every_word_of_a_report_is_in_a_record_and_only_what_is_not_measured_is_missing() -> None:
    contract = load_contract()
    source = (P4SRC / "tna" / "headers.p4").read_text()
    bits = sum(int(n) for n in re.findall(r"#define \w+_HALF_BITS (\d+)", source))
    payload = b"\xff" * (4 + 2 * bits // 8)
    record = records_of_halves([payload], contract)[0]
    names = record.dtype.names
    assert {name for name, _ in contract.record_fields} - set(names) == NOT_MEASURED
    assert all(record[name] for name in names)


def test_padded_reports_are_as_many_records_as_reports() -> None:
    """Goal: the padding of the packet-out is no part of a record, also where 37 x 192 bytes are 48 x 148 bytes."""
    padded = [report(cell) + bytes(44) for cell in range(37)]
    assert {len(payload) for payload in padded} == {192}
    records = records_of_halves(padded, load_contract())
    assert list(records["cell"]) == list(range(37))
    assert (records == records_of_halves([report(cell) for cell in range(37)], load_contract())).all()


@pytest.mark.parametrize("wrong", [report(0)[:-4], report(0) + b"\1", report(0) + bytes(60)])
def test_a_payload_that_is_no_report_is_refused(wrong: bytes) -> None:
    with pytest.raises(ProgramError, match=f"a packet-in has {len(wrong)} bytes, a report of the program has 148"):
        records_of_halves([report(1), wrong], load_contract())
