"""Records: the stored form of a result, and the cells that tables take from it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.record import INLINE, OMITTED, Record
from p4mesh.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Latency(Record):
    definition: str
    error_us: float | None


@dataclass(frozen=True, kw_only=True)
class Variation(Record):
    max_us: float
    error_us: float | None


@dataclass(frozen=True, kw_only=True)
class Row(Record):
    number: int | None = field(default=None, metadata=OMITTED)
    load_pct: float
    latency: Latency = field(metadata=INLINE)
    variation: Variation | None = field(default=None, metadata=INLINE)
    verdict: Verdict
    lost_frames: int | None


LATENCY = Latency(definition="LILO", error_us=1.5)


def test_fields_are_stored_in_their_order_and_enums_as_values() -> None:
    row = Row(number=7, load_pct=1.0, latency=LATENCY, verdict=Verdict.PASS, lost_frames=None)
    stored = '{"number": 7, "load_pct": 1.0, "definition": "LILO", "error_us": 1.5, "verdict": "PASS", '
    assert json.dumps(row.data()) == stored + '"lost_frames": null}'


def test_only_a_field_that_says_so_is_left_out_where_it_is_none() -> None:
    row = Row(load_pct=1.0, latency=LATENCY, verdict=Verdict.FAIL, lost_frames=None)
    assert list(row.data()) == ["load_pct", "definition", "error_us", "verdict", "lost_frames"]


def test_a_key_of_two_inline_records_stands_at_the_first_place_with_the_last_value() -> None:
    variation = Variation(max_us=3.0, error_us=None)
    row = Row(load_pct=1.0, latency=LATENCY, variation=variation, verdict=Verdict.PASS, lost_frames=0)
    assert list(row.data().items())[1:4] == [("definition", "LILO"), ("error_us", None), ("max_us", 3.0)]


def test_records_in_a_record_are_stored_as_a_list() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Unit(Record):
        rows: tuple[Latency, ...]

    assert Unit(rows=(LATENCY, LATENCY)).data() == {"rows": [LATENCY.data(), LATENCY.data()]}
    assert Record().data() == {}


def test_cells_are_those_of_the_columns_and_none_where_there_is_nothing() -> None:
    row = Row(load_pct=1.0, latency=LATENCY, verdict=Verdict.PASS, lost_frames=0)
    columns = [Column(key, key) for key in ("verdict", "definition", "number", "max_us")]
    assert row.cells(columns) == {"verdict": "PASS", "definition": "LILO", "number": None, "max_us": None}
