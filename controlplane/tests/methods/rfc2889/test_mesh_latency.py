"""Latency in RFC 2889: at the throughput, at every load, with histograms, of broadcasts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.beds import GIGABIT
from support.delays import DelayMeasurer, constant
from support.latency_bench import bed, rows, run, wires
from support.runs import run_units

from p4mesh.methods.base import Method, TrialNote
from p4mesh.methods.bed import Bed
from p4mesh.methods.rfc2544.latency import Latency
from p4mesh.methods.rfc2889 import mesh_latency
from p4mesh.methods.rfc2889.broadcast import Broadcast
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.rfc2889.partially_meshed import PartiallyMeshed
from p4mesh.tester.contract import load_contract
from p4mesh.tester.histogram import HistogramPer
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec

_PARTS = ("throughput", "latency", "forwarding")


def test_mesh_tests_show_latency_at_the_throughput_and_at_every_load() -> None:
    _, outcome = run(FullyMeshed(), bed(), constant(2000.0), 64, "latency_definition=FILO", "sweep_step_pct=50")
    shown = {table.name: table.detail for table in outcome.tables if table.name.startswith("latency")}
    assert not shown["latency_throughput"]
    assert all(shown[name] for name in ("latency_sweep", "latency_sweep_variation", "latency_throughput_definitions"))
    (row,) = rows(outcome, "latency_throughput")
    assert (row["definition"], row["avg_us"]) == ("FILO", 2.512)
    assert [row["load_pct"] for row in rows(outcome, "latency_sweep")] == [10.0, 60.0, 100.0]
    (row,) = rows(outcome, "latency_throughput_definitions")
    assert (row["fifo_us"], row["lifo_us"], row["filo_us"]) == (2.0, 1.488, 2.512)


_PLACED = replace(bed(), ports=tuple(replace(port, layer=port.name) for port in bed().ports))
"""Two ports on two layers."""


@pytest.mark.parametrize(
    ("test", "where", "in_sweep"),
    [
        (FullyMeshed(), bed(), False),
        (FullyMeshed(), bed(calibration=wires(100.0, 100.0, size=64)), True),
        (FullyMeshed(), _PLACED, True),
        (PartiallyMeshed(), bed(GIGABIT, 10**8, 10**8), True),
    ],
)
def test_flows_are_kept_at_the_throughput_and_at_every_load_where_each_needs_a_correction(
    test: Method, where: Bed, in_sweep: bool
) -> None:
    measurer, outcome = run(test, where, constant(2000.0), 64, "sweep_step_pct=50")
    kept = {part: {spec.per_flow for spec in measurer.specs if spec.label.startswith(part)} for part in _PARTS}
    assert kept == {"throughput": {False}, "latency": {True}, "forwarding": {in_sweep}}
    keys = {table.name: table.keys for table in outcome.tables}
    assert keys["latency_throughput"] == ("frame_size_bytes", "calibrated")
    assert keys["latency_sweep"] == ("frame_size_bytes", "load_pct", "calibrated")


@pytest.mark.parametrize(("most", "kept"), [(2, True), (1, False)])
def test_a_report_shows_pairs_of_ports_up_to_a_number(most: int, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_latency, "MOST_FLOWS_SHOWN", most)
    measurer, _ = run(FullyMeshed(), bed(), constant(2000.0), 64, "parts=throughput")
    assert measurer.specs[-1].per_flow is kept


def test_latencies_longer_than_the_time_stamps_reach_are_a_finding_of_the_throughput_and_of_every_load() -> None:
    """Five frames of each of three trials: the one at the throughput, those of the sweep at 10 and 100 %."""

    class Overflowing(DelayMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            found = super().measure(spec)
            return replace(found, latency=found.latency and replace(found.latency, overflow_count=5))

    settings = ("scaled_frames=100", "sweep_step_pct=90")
    _, outcome = run_units(FullyMeshed(), bed(), Overflowing(constant(2000.0)), (64,), *settings)
    (finding,) = (text for text in outcome.findings if "took longer" in text)
    assert finding.startswith("64 B: 15 frames took longer")


def test_mesh_tests_have_percentiles_where_they_are_asked_for() -> None:
    measurer, plain = run(FullyMeshed(), bed(), constant(2000.0), 64, "parts=throughput")
    assert {spec.histograms for spec in measurer.specs} == {None}
    (table,) = (table for table in plain.tables if table.name == "latency_throughput")
    assert "p99_us" not in {column.key for column in table.columns}
    measurer, counted = run(FullyMeshed(), bed(), constant(2000.0), 64, "parts=throughput", "latency_percentiles=true")
    assert [spec.histograms for spec in measurer.specs] == [None, HistogramPer.FLOW], "of the trial for latency"
    swept = run(FullyMeshed(), bed(), constant(2000.0), 64, "parts=forwarding", "sweep_start_pct=100")[1]
    assert len(rows(swept, "latency_sweep")) == 1, "without a search"
    (row,) = rows(counted, "latency_throughput")
    assert (row["p50_us"], row["p99_9_us"]) == (2.0, 2.0) and "p99_9_error_us" in row
    (table,) = (table for table in counted.tables if table.name == "latency_throughput_variation")
    assert {"ipdv_p99_us", "pdv_p99_us", "pdv_max_us"} <= {column.key for column in table.columns}


def test_pdv_of_a_mesh_is_that_of_its_flows_and_percentiles_of_latency_are_those_of_all_frames() -> None:
    """Frames from port 1 take 101 or 102 us in turn, those from port 2 take 1 or 3 us: PDV is 2 us, p50 is 3 us."""

    def delays(_: Stream, tx: int, rx: int, count: int) -> list[float]:
        return [(101_000.0, 1_000.0)[tx - 1] + 1_000.0 * tx * (number % 2) for number in range(count)]

    _, outcome = run(FullyMeshed(), bed(), delays, 64, "parts=throughput", "latency_percentiles=true")
    (row,) = rows(outcome, "latency_throughput")
    assert (row["min_us"], row["p50_us"], row["max_us"]) == (1, 3, 102)
    (row,) = rows(outcome, "latency_throughput_variation")
    assert (row["pdv_p99_us"], row["pdv_max_us"]) == (2, 2)


def test_a_bed_has_the_histograms_of_the_program() -> None:
    assert bed().histograms == load_contract()["HISTOGRAMS"]


@pytest.mark.parametrize(("histograms", "per"), [(2, HistogramPer.FLOW), (1, HistogramPer.STREAM)])
def test_a_mesh_with_more_flows_than_histograms_has_one_per_stream_and_no_pdv(
    histograms: int, per: HistogramPer
) -> None:
    where = replace(bed(), histograms=histograms)
    settings = ("parts=throughput", "latency_percentiles=true")
    measurer, outcome = run(FullyMeshed(), where, constant(2000.0), 64, *settings)
    assert measurer.specs[-1].histograms == per
    (table,) = (table for table in outcome.tables if table.name == "latency_throughput_variation")
    assert ("pdv_p99_us" in {column.key for column in table.columns}) == (per is HistogramPer.FLOW)


@pytest.mark.parametrize("method", [Latency(), Broadcast()])
def test_flows_have_no_histograms_where_the_program_has_fewer(method: Method) -> None:
    """Two flows: those of a pair of ports in both directions, or those of a broadcast to two ports."""
    for histograms, per in ((2, HistogramPer.FLOW), (1, None)):
        where = replace(bed(*[GIGABIT] * (3 if method.name == Broadcast.name else 2)), histograms=histograms)
        measurer, _ = run(method, where, constant(2000.0), 64)
        assert measurer.specs[-1].histograms is per


def test_broadcast_latency_of_every_port_in_the_definition_asked_for() -> None:
    where = bed(GIGABIT, GIGABIT, 10**8)
    _, outcome = run(Broadcast(), where, constant(9000.0), 64, "latency_definition=LILO")
    found = {(row["mode"], row["port"]): row["avg_us"] for row in rows(outcome, "broadcast_latency_ports")}
    slower = 9.0 - 0.512 + 5.12
    for mode in ("single frame", "stream"):
        assert (found[mode, 2], found[mode, 3]) == (9.0, pytest.approx(slower))
    low_high = rows(outcome, "broadcast_latency")[1]
    assert (low_high["avg_us_low"], low_high["avg_us_high"]) == (9.0, pytest.approx(slower))
    assert low_high["avg_us_mean"] == pytest.approx((9.0 + slower) / 2)
    assert any("slowest port's line rate, 0.1 Gbit/s" in text for text in outcome.deviations)
