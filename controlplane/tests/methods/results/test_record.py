"""Records: the stored form of a result, and the cells that tables take from it."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest

from p4mesh.methods.registry import find_test
from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column, retitled
from p4mesh.methods.results.record import INLINE, OMITTED, Record, table_of
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


def test_corrupted_frames_are_a_number_wherever_a_row_has_a_loss() -> None:
    rows: list[dict[str, Any]] = [{"lost_frames": 3, "corrupted_frames": 2}, {"lost_frames": 5}, {"lost_frames": None}]
    table = table_of("name", "title", (fields.LOST_FRAMES,), rows)
    assert [row["corrupted_frames"] for row in table.rows] == [2, 0, None]
    assert fields.CORRUPTED_FRAMES not in table_of("name", "title", (fields.LOST_FRAMES,), rows[1:]).columns


def test_cells_are_those_of_the_columns_and_none_where_there_is_nothing() -> None:
    row = Row(load_pct=1.0, latency=LATENCY, verdict=Verdict.PASS, lost_frames=0)
    columns = [Column(key, key) for key in ("verdict", "definition", "number", "max_us")]
    assert row.cells(columns) == {"verdict": "PASS", "definition": "LILO", "number": None, "max_us": None}


@dataclass(frozen=True, kw_only=True)
class Counts(Record):
    lost_frames: Annotated[int | None, fields.LOST_FRAMES]
    loss_pct: Annotated[float, retitled(fields.LOSS_PCT, "Loss there")] = 0.0


@dataclass(frozen=True, kw_only=True)
class Trial(Record):
    load_pct: Annotated[float, fields.LOAD_PCT]
    counts: Counts | None = field(default=None, metadata=INLINE)
    state: Annotated[Verdict, fields.STATE]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Unit(Record):
    frame_size_bytes: Annotated[int, fields.FRAME_SIZE_BYTES]
    state: Annotated[Verdict, fields.STATE]


PASSED = Trial(load_pct=50.0, counts=Counts(lost_frames=0), state=Verdict.PASS)


def test_columns_are_those_of_the_fields_in_their_order_and_of_inline_records_in_their_place() -> None:
    assert [column.key for column in Trial.columns()] == ["load_pct", "lost_frames", "loss_pct", "state"]
    assert Trial.columns()[2] == Column("loss_pct", "Loss there", "%", 4)


def test_a_table_has_a_row_for_each_record() -> None:
    table = Trial.table("trials", "Trials", [PASSED], "Note.", keys=(fields.LOAD_PCT,), headline=(fields.STATE,))
    assert table.rows == ({"load_pct": 50.0, "lost_frames": 0, "loss_pct": 0.0, "state": "PASS"},)
    assert (table.columns, table.keys, table.headline) == (Trial.columns(), ("load_pct",), ("state",))


def test_reasons_are_a_column_where_there_is_one() -> None:
    failed = Trial(load_pct=60.0, state=Verdict.FAIL, reason="lost frames")
    table = Trial.table("trials", "Trials", [PASSED, failed])
    assert table.columns == (*Trial.columns(), fields.REASON)
    assert [row["reason"] for row in table.rows] == ["", "lost frames"]
    assert table.rows[1]["lost_frames"] is None


def test_reasons_stand_beside_verdicts_only_and_once() -> None:
    """Goal: a table that shows no verdict, or a reason under a title of its own, keeps its columns."""
    failed = Trial(load_pct=60.0, state=Verdict.FAIL, reason="lost frames")
    assert Trial.table("trials", "Trials", [failed], columns=(fields.LOAD_PCT,)).columns == (fields.LOAD_PCT,)
    named = (fields.STATE, retitled(fields.REASON, "Why"))
    assert Trial.table("trials", "Trials", [failed], columns=named).columns == named


def test_an_optional_column_is_shown_where_a_row_has_a_value() -> None:
    rows = [Counts(lost_frames=None), Counts(lost_frames=None, loss_pct=1.0)]
    table = Counts.table("counts", "Counts", rows, optional=(fields.LOST_FRAMES, fields.LOSS_PCT))
    assert table.rows == ({"loss_pct": 0.0}, {"loss_pct": 1.0})
    some = Counts.table("counts", "Counts", [*rows, Counts(lost_frames=0)], optional=(fields.LOST_FRAMES,))
    assert [row["lost_frames"] for row in some.rows] == [None, None, 0]


def test_cells_of_a_row_follow_its_records() -> None:
    unit = Unit(frame_size_bytes=64, state=Verdict.PASS)
    (row,) = Unit.table("units", "Units", [(unit, {"state": Verdict.FAIL, "trial": 3})]).rows
    assert row == {"frame_size_bytes": 64, "state": "FAIL"}


def test_an_outcome_has_the_worst_verdict_and_says_what_was_tested() -> None:
    test = find_test("rfc3918.aggregated")
    found = test.outcome([Verdict.PASS, Verdict.FAIL], "10 groups", (), deviations=("", "short"))
    assert (found.state, found.deviations) == (Verdict.FAIL, ("short",))
    assert found.summary == "Aggregated multicast throughput: 10 groups, FAIL"
    assert test.outcome([], "", ()).summary == "Aggregated multicast throughput: MEASURED"


def test_a_row_of_several_records_has_the_cells_of_the_last_one_first() -> None:
    unit = Unit(frame_size_bytes=64, state=Verdict.FAIL)
    table = Trial.table("trials", "Trials", [(unit, PASSED)], columns=(fields.FRAME_SIZE_BYTES, fields.STATE))
    assert table.rows == ({"frame_size_bytes": 64, "state": "PASS"},)


def test_a_field_with_the_entry_of_another_one_is_noticed() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wrong(Record):
        rx_frames: Annotated[int, fields.TX_FRAMES]

    with pytest.raises(AssertionError, match="rx_frames is declared as tx_frames"):
        Wrong.columns()


def test_the_document_has_the_columns_of_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[4] / "scripts"))
    describe = importlib.import_module("describe_results")
    text = describe.DOCUMENT.read_text()
    assert text == describe.described(text), "run scripts/describe_results.py"


def test_a_quantity_has_one_column() -> None:
    assert len(set(fields.MEANINGS.values())) == len(fields.MEANINGS)
    columns = [column for of_topic in fields.BY_TOPIC.values() for column in of_topic]
    assert len({(column.title, column.unit) for column in columns}) == len(columns)
