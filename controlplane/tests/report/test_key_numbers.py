"""The page of a suite shows of each test the quantity that it measures, and not the load where it did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Outcome, Table
from p4mesh.methods.results.record import table_of
from p4mesh.report.document import Grid
from p4mesh.report.headline import errors_note, headline_grids, is_whole_on_cover, key_numbers
from p4mesh.store.run_files import StoredTrial
from p4mesh.store.stored_run import StoredRun
from p4mesh.verdict import Verdict

SIZE = fields.FRAME_SIZE_BYTES
RUN = StoredRun(Path(), {"parameters": [], "time_stamps": {"resolution_ns": "1"}}, {}, (), ())


def shown(columns: tuple[Column, ...], rows: list[dict[str, Cell]], keys: tuple[Column, ...] = (SIZE,)) -> str:
    headline = tuple(column for column in columns if column not in (*keys, fields.REASON))
    table = table_of("x", "Quantity: long title", columns, rows, keys=keys, headline=headline)
    return key_numbers(Outcome(Verdict.MEASURED, "", (table,), ()), RUN)


@pytest.mark.parametrize(
    ("columns", "rows", "text"),
    [
        (
            (SIZE, fields.LOAD_PCT, fields.MIN_US, fields.AVG_US, fields.AVG_ERROR_US),
            [
                {"frame_size_bytes": 64, "load_pct": 100.0, "min_us": 1.0, "avg_us": 2.0, "avg_error_us": 0.0},
                {"frame_size_bytes": 512, "load_pct": 99.0, "min_us": 3.0, "avg_us": 4.5, "avg_error_us": 0.25},
            ],
            "Quantity: Avg 2.000 +-0 to 4.50 +-0.25 us",
        ),
        (
            (SIZE, fields.THROUGHPUT_PCT, fields.RECOVERY_US_AVG, fields.REASON),
            [{"frame_size_bytes": 64, "throughput_pct": 100.0, "recovery_us_avg": None, "reason": "not applicable"}],
            "Quantity: not applicable",
        ),
        (
            (SIZE, fields.FIRST_ROUTE_MS, fields.RESOLUTION_MS),
            [{"frame_size_bytes": 64, "first_route_ms": 432.0, "resolution_ms": 1.0}],
            "Quantity: First route 432.0 +-1.0 ms",
        ),
        (
            (SIZE, fields.THROUGHPUT_PCT, fields.CARRIED_PCT, fields.UPPER_PCT),
            [{"frame_size_bytes": 64, "throughput_pct": 86.5, "carried_pct": 86.0, "upper_pct": 86.6}],
            "Quantity: Throughput 86.50 +0.10 -0.50 % of line",
        ),
        (
            (SIZE, fields.LOSS_RATIO, fields.EXPECTED_FRAMES),
            [{"frame_size_bytes": 64, "expected_frames": 3000, "loss_ratio": 0.0}],
            "Quantity: Loss ratio 0 +0.001 of expected",
        ),
        # A load that failed itself is no result.
        (
            (SIZE, fields.LOAD_PCT, fields.UPPER_PCT),
            [{"frame_size_bytes": 64, "load_pct": 10.0, "upper_pct": 10.0}],
            "Quantity: Load 10.0000 % of line",
        ),
        (
            (SIZE, fields.CAPACITY_GROUPS, fields.REASON),
            [{"frame_size_bytes": 64, "capacity_groups": 200, "reason": "at least"}],
            "Quantity: Capacity at least 200 groups",
        ),
        (
            (SIZE, Column("own", "Quantity", "us")),
            [{"frame_size_bytes": 64, "own": 1.5}],
            "Quantity 1.5000 +-0.0010 us",
        ),
    ],
)
def test_a_load_is_no_quantity_beside_another(
    columns: tuple[Column, ...], rows: list[dict[str, Cell]], text: str
) -> None:
    assert shown(columns, rows) == text


def test_a_sweep_has_two_numbers() -> None:
    rows: list[dict[str, Cell]] = [
        {"frame_size_bytes": size, "load_pct": load, "loss_pct": max(0.0, load - limit), "tx_frames": 10**6}
        for size, limit in ((64, 70.0), (512, 90.0))
        for load in (100.0, 90.0, 80.0, 70.0)
    ]
    columns = (SIZE, fields.LOAD_PCT, fields.LOSS_PCT, fields.TX_FRAMES)
    text = shown(columns, rows, (SIZE, fields.LOAD_PCT))
    assert text == (
        "no loss up to 70.0000 to 90.0000 % of line; loss at the highest load 10.000 +-0.059 to 30.000 +-0.090 %"
    )


def test_a_table_without_numbers_has_its_words_counted() -> None:
    states: list[dict[str, Cell]] = [
        {"frame_size_bytes": size, "state": state}
        for size, state in ((64, "PASS"), (65, "FAIL"), (66, "PASS"), (67, None))
    ]
    assert shown((SIZE, fields.STATE), states) == f"{fields.STATE.title}: 2 PASS, {fields.STATE.title}: 1 FAIL"


def latencies(rows: int, **more: Cell) -> list[dict[str, Cell]]:
    return [{"frame_size_bytes": 64 + row, "avg_us": 2.0, "avg_error_us": 0.25, **more} for row in range(rows)]


def latency_table(rows: list[dict[str, Cell]], note: str = "", *more: Column, headline: bool = True) -> Table:
    columns = (SIZE, fields.AVG_US, fields.AVG_ERROR_US, *more)
    chosen = (fields.AVG_US,) if headline else ()
    return table_of("x", "Latency", columns, rows, note, keys=(SIZE,), headline=chosen)


def cover(*tables: Table, trials: tuple[tuple[int, int], ...] = ()) -> list[Grid]:
    """Grids of tables of a run whose trials have (frame size, milliseconds)."""
    stored = tuple(
        SimpleNamespace(spec={"duration_ns": ms * 10**6, "streams": [{"frame_size_bytes": size}]}, result={})
        for size, ms in trials
    )
    run = replace(RUN, trials=cast("tuple[StoredTrial, ...]", stored))
    return list(headline_grids(Outcome(Verdict.MEASURED, "", tables, ()), run))


@pytest.mark.parametrize(("rows", "more"), [(16, ""), (17, "1 more row below."), (1018, "1,002 more rows below.")])
def test_a_headline_has_sixteen_rows_and_tells_of_others(rows: int, more: str) -> None:
    (grid,) = cover(latency_table(latencies(rows)))
    assert (len(grid.rows), grid.note) == (16, more)
    assert [str(cell) for cell in grid.rows[0].cells] == ["64", "2.00 +-0.25", "-"]
    assert [(head.title, head.number) for head in grid.heads] == [
        ("Frame size", True),
        ("Avg", True),
        ("Trials of", True),
    ]


def test_a_row_tells_how_long_its_trials_were() -> None:
    """Its own time, or else that of its frame size, or else those of all trials."""
    rows = [*latencies(2), *latencies(1, duration_ms=7.0)]
    (grid,) = cover(latency_table(rows, "", fields.DURATION_MS), trials=((64, 20), (128, 40), (128, 20)))
    assert [str(row.cells[-1]) for row in grid.rows] == ["20 ms", "20 to 40 ms", "7 ms"]


def test_an_error_that_is_not_known_and_a_bucket_are_explained() -> None:
    (grid,) = cover(latency_table(latencies(1, avg_error_us=None)))
    assert str(grid.rows[0].cells[1]) == "2.000 +-?"
    assert (
        grid.note
        == "+-?: its error is not known, because it was measured once, of too few frames, or while a queue filled."
    )
    both = errors_note(["1 +-?", "2 +-1 (bucket 3)"])
    assert both.startswith("+-?: its error") and "if the device forgives each port a burst of 1,000 frames" in both
    assert errors_note(["1 +-?5", "2 +-1"]) == ""


def test_the_tables_of_a_cover_are_those_with_a_headline_or_the_first_one() -> None:
    plain = latency_table(latencies(1), headline=False)
    shown, empty, detail = latency_table(latencies(2)), latency_table([]), replace(plain, detail=True)
    assert [len(grid.rows) for grid in cover(plain, empty, shown, shown)] == [2, 2]
    assert [grid.title for grid in cover(empty, detail, replace(plain, title="First"), plain)] == ["First"]
    assert cover(detail, empty) == []


@pytest.mark.parametrize(
    ("table", "whole"),
    [
        (latency_table(latencies(16)), True),
        (latency_table(latencies(17)), False),
        (latency_table(latencies(1), "A note."), False),
        (latency_table(latencies(1, samples=3), "", fields.SAMPLES), False),
        (latency_table(latencies(1, reason="why", samples=None), "", fields.REASON, fields.SAMPLES), True),
        (latency_table(latencies(1), headline=False), False),
        (latency_table([]), False),
    ],
)
def test_a_table_of_which_the_cover_shows_everything_is_not_shown_again(table: Table, whole: bool) -> None:
    assert is_whole_on_cover(table) is whole


def test_a_sweep_with_losses_at_every_load_has_none_without() -> None:
    rows: list[dict[str, Cell]] = [
        {"frame_size_bytes": 64, "load_pct": load, "loss_pct": 2 * load, "tx_frames": 10**6} for load in (0.25, 0.5)
    ]
    rows.append({"frame_size_bytes": 64, "load_pct": 0.75, "loss_pct": None, "tx_frames": 10**6})
    columns = (SIZE, fields.LOAD_PCT, fields.LOSS_PCT, fields.TX_FRAMES)
    text = shown(columns, rows, (SIZE, fields.LOAD_PCT))
    assert text.startswith("no loss up to 0.0000 % of line; loss at the highest load 1.000")
    # A loss beside loads that are no keys is a quantity.
    assert shown(columns, rows[:1]).startswith("Quantity: Loss 0.500 +0.015 -0.014 %")
