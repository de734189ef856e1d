"""The page of a suite shows of each test the quantity that it measures, and not the load where it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from p4mesh.methods.results import fields
from p4mesh.methods.results.fields import Column
from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.methods.results.record import table_of
from p4mesh.report.headline import key_numbers
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
            "Quantity: Avg 2.000 +-0.0000 to 4.500 +-0.2500 us",
        ),
        (
            (SIZE, fields.THROUGHPUT_PCT, fields.RECOVERY_US_AVG, fields.REASON),
            [{"frame_size_bytes": 64, "throughput_pct": 100.0, "recovery_us_avg": None, "reason": "not applicable"}],
            "Quantity: not applicable",
        ),
        (
            (SIZE, fields.FIRST_ROUTE_MS, fields.RESOLUTION_MS),
            [{"frame_size_bytes": 64, "first_route_ms": 432.0, "resolution_ms": 1.0}],
            "Quantity: First route 432.000 +-1 ms",
        ),
        (
            (SIZE, fields.THROUGHPUT_PCT, fields.CARRIED_PCT, fields.UPPER_PCT),
            [{"frame_size_bytes": 64, "throughput_pct": 86.5, "carried_pct": 86.0, "upper_pct": 86.6}],
            "Quantity: Throughput 86.5000 +0.1 -0.5 % of line",
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
        ((SIZE, Column("own", "Quantity", "us")), [{"frame_size_bytes": 64, "own": 1.5}], "Quantity 1.5 +-0.001 us"),
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
        "no loss up to 70.0000 to 90.0000 % of line; loss at the highest load 10.0000 +-0.059 to 30.0000 +-0.09 %"
    )
