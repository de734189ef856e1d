"""Latency with a calibration: the wires are subtracted, and raw values stand beside."""

from __future__ import annotations

import pytest
from support.delays import constant
from support.latency_bench import bed, rows, run, wires

from p4mesh.methods.base import Method
from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed


def wires_of(outcome: Outcome, table: str) -> list[tuple[Cell, ...]]:
    keys = ("tx_port", "rx_port", "wire_us", "latency_raw_us", "latency_calibrated_us")
    return [tuple(row[key] for key in keys) for row in rows(outcome, table)]


def test_calibrated_latency_stands_beside_raw_latency() -> None:
    """2000 ns one way, 3000 ns back, over wires of 300 and 100 ns."""
    where = bed(calibration=wires(300.0, 100.0))
    _, outcome = run(Latency(), where, lambda stream, tx, rx, count: [1000.0 + 1000 * tx] * count, 128)
    raw, calibrated = rows(outcome, "latency")
    assert [(row["calibrated"], row["min_us"], row["avg_us"], row["max_us"]) for row in (raw, calibrated)] == [
        ("no", 2.0, 2.5, 3.0),
        ("yes", 1.7, 2.3, 2.9),
    ]
    assert (raw["p50_us"], calibrated["p50_us"]) == (3.0, 2.9)
    assert wires_of(outcome, "latency_calibration") == [(1, 2, 0.3, 2.0, 1.7), (2, 1, 0.1, 3.0, 2.9)]
    _, mesh = run(FullyMeshed(), where, lambda stream, tx, rx, count: [1000.0 + 1000 * tx] * count, 128)
    assert wires_of(mesh, "latency_throughput_wires") == [(1, 2, 0.3, 2.0, 1.7), (2, 1, 0.1, 3.0, 2.9)]


@pytest.mark.parametrize(
    ("test", "table"), [(FullyMeshed(), "latency_throughput"), (Broadcast(), "broadcast_latency_ports")]
)
def test_every_test_with_latency_shows_it_calibrated(test: Method, table: str) -> None:
    _, outcome = run(test, bed(calibration=wires(300.0, 100.0)), constant(2000.0), 128)
    shown = {(row["calibrated"], row["min_us"]) for row in rows(outcome, table)}
    assert shown >= {("no", 2.0), ("yes", 1.7)}


def test_without_a_calibration_nothing_is_subtracted_and_the_table_says_so() -> None:
    _, outcome = run(Latency(), bed(), constant(2000.0), 128)
    assert {row["calibrated"] for row in rows(outcome, "latency")} == {"no"}
    assert "nothing is subtracted" in outcome.tables[0].note
