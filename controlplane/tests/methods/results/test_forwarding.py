"""Rates of single trials, the fastest of several, and the error of a loss, by hand from the counts of rows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from p4mesh.measurement.counts import FlowCounts, PortCounts, Trend
from p4mesh.methods.results.corrupted import Corrupted, CorruptedAtPorts
from p4mesh.methods.results.forwarding import (
    BestRate,
    LastRate,
    MeshSweep,
    MeshThroughput,
    MeshTrial,
    PortRates,
    fastest,
    loss_sweep,
)
from p4mesh.methods.results.loss_interval import interval_cells, loss_interval
from p4mesh.methods.results.queues import QueueCells
from p4mesh.methods.results.rate_tables import (
    criterion_note,
    findings,
    forwarding_table,
    load_figures,
    overall_state,
    port_table,
    rate_figure,
    sweep_state,
    sweep_tables,
    with_searches,
)
from p4mesh.methods.results.searched import less_bucket
from p4mesh.trial.result import TrialResult
from p4mesh.verdict import Verdict


def port(number: int, sent: int = 0, received: int = 0) -> PortRates:
    return PortRates(
        port=number,
        tx_frames=sent,
        rx_frames=received,
        forwarding_fps=0.0,
        forwarding_error_fps=0.0,
        flooded_frames=0,
    )


ROW = MeshTrial(
    load_pct=50.0,
    offered_pct=50.0,
    offered_fps=1000.0,
    offered_l1_mbps=0.7,
    tx_frames=20_000,
    rx_frames=20_000,
    late_frames=0,
    lost_frames=0,
    loss_pct=0.0,
    forwarding_fps=900.0,
    forwarding_error_fps=2.0,
    forwarding_pct=45.0,
    forwarding_l1_mbps=0.6,
    flooded_frames=0,
    duplicate_frames=0,
    reordered_frames=0,
    start_skew_us=0.0,
    start_skew_pct=0.0,
    status=Verdict.MEASURED,
    reason="",
    verdict=Verdict.MEASURED,
    duration_ms=10.0,
    ports=(port(1, 10_000), port(2, 10_000), port(3, received=20_000)),
)
"""Two ports have sent 1,000 frames a second in 20 seconds."""


def row(load_pct: float = 50.0, fps: float = 900.0, ms: float = 10.0, **changes: Any) -> MeshTrial:
    return replace(ROW, load_pct=load_pct, forwarding_fps=fps, duration_ms=ms, **changes)


def queue(trend: Trend, excess_ppm: float | None, error_ppm: float) -> QueueCells:
    return QueueCells(queues=trend.value, excess_ppm=excess_ppm, excess_error_ppm=error_ppm)


def test_a_bucket_hides_a_burst_of_each_sender() -> None:
    """2,000 of 20,000 frames are 100 a second; of 2,000 frames they are all."""
    assert ROW.bucket_fps == 800
    assert replace(ROW, tx_frames=2000).bucket_fps == 0
    assert replace(ROW, tx_frames=0, ports=(port(1), port(2))).bucket_fps == 900


@pytest.mark.parametrize(("excess_ppm", "error_ppm"), [(None, 250_000.0), (150_000.0, 100_000.0)])
def test_a_queue_may_have_held_what_comes_in_beyond_what_leaves_it(excess_ppm: float | None, error_ppm: float) -> None:
    """A quarter beyond what leaves is a fifth of all: 180 frames a second, in the error of the loss as well."""
    unclear = replace(ROW, watched=queue(Trend.UNCLEAR, excess_ppm, error_ppm))
    assert unclear.held_fps == pytest.approx(180)
    assert unclear.loss_error == {"loss_error_pct": pytest.approx(20)}
    steady = replace(ROW, watched=queue(Trend.STEADY, excess_ppm, error_ppm))
    assert steady.held_fps == ROW.held_fps == 0
    assert steady.loss_error == unclear.loss_error
    for missed in (replace(unclear, lost_frames=1), replace(unclear, late_frames=1), replace(unclear, early_frames=1)):
        assert missed.held_fps == 0, "a queue that loses frames is full"


def test_the_error_of_a_rate_in_percent_is_relative_to_the_line() -> None:
    """2 of 1,000 frames a second, which are half of the line."""
    assert ROW.forwarding_error_pct == 0.1
    assert replace(ROW, offered_fps=0.0).forwarding_error_pct == 0


def test_a_loss_lies_between_what_surely_misses_and_all_that_may() -> None:
    """38 of 20,000 were lost, late, early or may leave unevenly; 4 are doubtful, copies may stand for 7 late ones, and
    of 3 that leave unevenly none may be missed, or twice as many."""
    lossy = row(lost_frames=10, late_frames=20, early_frames=5, loss_pct=0.175)
    unsure = replace(lossy, loss_pct=0.19, uneven_frames=3, duplicate_frames=7, doubtful_frames=4)
    assert unsure.interval == interval_cells(38, 20_000, 4 + 7 + 6, senders=2)
    assert replace(unsure, duplicate_frames=30).interval == interval_cells(38, 20_000, 4 + 20 + 6, senders=2)
    assert lossy.interval == interval_cells(35, 20_000, 0, senders=2)
    below, above = 100 * loss_interval(21, 20_000)[0], 100 * loss_interval(38, 20_000)[1]
    assert 0.19 - below > above - 0.19 and unsure.loss_error == {"loss_error_pct": pytest.approx(0.19 - below)}
    above = 100 * loss_interval(35, 20_000)[1]
    assert lossy.loss_error == {"loss_error_pct": pytest.approx(above - 0.175)}


def test_a_trial_that_does_not_tell_what_is_forwarded_for_good_may_lose_all() -> None:
    unsettled = row(lost_frames=10, loss_pct=0.05, settled=False)
    assert unsettled.interval == {**interval_cells(10, 20_000, 0, 2), "loss_high_pct": 100, "bucket_loss_pct": 100}
    assert unsettled.loss_error == {"loss_error_pct": pytest.approx(99.95)}
    assert replace(unsettled, status=Verdict.INVALID).loss_error == {}


def test_the_fastest_trial_is_that_of_which_no_queue_may_hold_the_most() -> None:
    """180 of 900 frames a second may be held: 800 are more, and the error covers the 900."""
    held = replace(row(60, 900), watched=queue(Trend.UNCLEAR, None, 250_000.0))
    steady = row(50, 800)
    assert fastest([held, steady]) is steady
    found = BestRate.of(iter([held, steady]))
    assert (found.mfr_fps, found.mfr_error_fps, found.mfr_bucket_fps) == (800, 100, 700)
    assert BestRate.of([row(fps=899.0), row(60, 900.0)]).mfr_error_fps == 2


def test_of_trials_at_one_load_the_longest_counts_and_of_those_that_do_not_settle_none_beside_others() -> None:
    short, long = row(50, 950, 10), row(50, 850, 20)
    assert fastest([long, short]) is long
    unsettled, untrusted = row(90, 990, settled=False), row(91, 999, status=Verdict.INVALID)
    assert fastest([unsettled, long, untrusted]) is long
    assert fastest([unsettled, untrusted]) is unsettled
    assert fastest([untrusted]) is None and BestRate.of([untrusted]) == BestRate()
    assert LastRate.of(untrusted) == LastRate()
    assert LastRate.of(long) == LastRate(frmol_fps=850.0, frmol_error_fps=2.0, frmol_bucket_fps=750.0)


def sweep(size: int, *rows: MeshTrial, fps: float = 2000.0) -> MeshSweep:
    made = MeshSweep(
        frame_size_bytes=size,
        rows=rows,
        theoretical_fps=fps,
        frmol=LastRate.of(rows[-1]),
        frmol_offered_pct=rows[-1].offered_pct,
        late_frames=0,
        flooded_frames=sum(one.flooded_frames for one in rows),
        theoretical_pct=100.0,
    )
    return made.with_best(rows)


def searched(size: int, throughput_pct: float | None, *rows: MeshTrial, fps: float = 2000.0) -> MeshThroughput:
    search = SimpleNamespace(
        rows=rows, shown=rows[-1], throughput_pct=throughput_pct, verdict=Verdict.PASS, flooded_frames=3
    )
    return MeshThroughput(frame_size_bytes=size, search=cast("Any", search), theoretical_fps=fps, theoretical_pct=100.0)


def test_the_latency_of_a_throughput_is_a_trial_more() -> None:
    found = searched(64, 50.0, row(), row(51))
    assert (found.flooded_frames, found.rows) == (3, (row(), row(51)))
    with_latency = replace(found, of_latency=row(52, flooded_frames=4))
    assert (with_latency.flooded_frames, [one.load_pct for one in with_latency.rows]) == (7, [50, 51, 52])


def test_flooded_frames_of_a_sweep_are_those_of_all_loads() -> None:
    found = loss_sweep(128, iter([row(flooded_frames=2), row(60, flooded_frames=3)]))
    assert (found.flooded_frames, [one.frame_size_bytes for one in found.rows]) == (5, [128, 128])


def test_the_maximum_forwarding_rate_is_that_of_all_trials_of_a_frame_size() -> None:
    sweeps = [sweep(64, row(50, 800)), sweep(128, row(50, 700))]
    found = with_searches(sweeps, [searched(64, 50.0, row(70, 850, offered_pct=70.0)), searched(256, 50.0, row())])
    assert [(one.mfr.mfr_fps, one.mfr_offered_pct) for one in found] == [(850, 70), (700, 50)]


def test_a_sweep_is_as_bad_as_its_worst_trial_that_tells() -> None:
    def state(*verdicts: Verdict) -> Verdict:
        return sweep_state(sweep(64, *(row(load, verdict=verdict) for load, verdict in enumerate(verdicts))))

    assert state(Verdict.PASS, Verdict.UNCLEAR) is Verdict.PASS
    assert state(Verdict.PASS, Verdict.FAIL, Verdict.PASS) is Verdict.FAIL
    assert state(Verdict.UNCLEAR) is Verdict.MEASURED
    assert overall_state([searched(64, 1.0, row())], [sweep(64, row())]) is Verdict.PASS


def test_a_table_of_a_sweep_has_a_row_per_load_and_says_why_a_cell_is_empty() -> None:
    untrusted = row(60, status=Verdict.INVALID)
    sweeps = [
        sweep(64, row(50, corrupted_frames=2), untrusted, row(40, loss_pct=1.5, early_frames=3, lost_frames=6)),
        sweep(128, row(50, forwarding_pct=44.0, corrupted_frames=3), untrusted),
    ]
    received, loss, intervals = sweep_tables(sweeps)
    assert [cells["load_pct"] for cells in received.rows] == [40, 50, 60]
    lowest, middle, highest = received.rows
    assert (lowest["forwarding_pct_64B"], lowest["forwarding_error_pct_64B"]) == (45, 0.1)
    assert (middle["forwarding_pct_64B"], middle["forwarding_pct_128B"]) == (45, 44)
    assert loss.rows[1]["corrupted_frames"] == 5
    assert highest["reason"] == "64 B: INVALID; 128 B: INVALID"
    assert (loss.rows[0]["loss_pct_64B"], "forwarding_error_pct_64B" in loss.rows[0]) == (1.5, False)
    assert [(cells["frame_size_bytes"], cells["load_pct"]) for cells in intervals.rows] == [
        (64, 50),
        (64, 40),
        (128, 50),
    ]
    assert [cells["early_frames"] for cells in intervals.rows] == [None, 3, None]


def test_rates_of_ports_are_those_of_results_and_of_all_loads_that_can_be_trusted() -> None:
    found = port_table([searched(64, 50.0, row(40), row(45))], [sweep(128, row(60), row(70, status=Verdict.ABORT))])
    assert [(cells["part"], cells["frame_size_bytes"], cells["load_pct"], cells["port"]) for cells in found.rows] == [
        *(("throughput", 64, 45, number) for number in (1, 2, 3)),
        *(("forwarding", 128, 60, number) for number in (1, 2, 3)),
    ]


def test_a_figure_of_rates_has_the_points_that_were_found() -> None:
    def points(searches: list[MeshThroughput], sweeps: list[MeshSweep]) -> dict[str, Any]:
        return {one.name: one.points for one in rate_figure(searches, sweeps).series}

    failed, passed = searched(128, None, row(offered_fps=600.0)), searched(64, 50.0, row(), fps=3000.0)
    untrusted = sweep(256, row(status=Verdict.INVALID), fps=1000.0)
    assert points([failed, passed], [sweep(64, row(fps=800.0), fps=3000.0), untrusted]) == {
        "theoretical maximum": ((64, 3000), (128, 2000), (256, 1000)),
        "throughput": ((64, 1000),),
        "maximum forwarding rate": ((64, 800),),
    }
    assert list(points([failed], [])) == ["theoretical maximum"]
    received, loss = load_figures([sweep(64, row(40), row(50, loss_pct=2.0), row(60, status=Verdict.ABORT))])
    assert (received.series[0].points, loss.series[0].points) == (((40, 45), (50, 45)), ((40, 0), (50, 2)))
    assert load_figures([]) == ()


def test_faults_of_trials_are_findings_with_their_numbers() -> None:
    """Ports may start apart by 1 % of a trial."""
    skewed = row(60, start_skew_us=123.456, start_skew_pct=1.0001, reordered_frames=4)
    rows = (row(50, duplicate_frames=2, start_skew_pct=1.0), skewed, row(70, duplicate_frames=3))
    assert findings({"forwarding": [sweep(64, *rows)], "latency": [sweep(64, *rows[:1])]}) == (
        "5 duplicate frames received (forwarding 64 B)",
        "4 reordered frames received (forwarding 64 B)",
        "ports started up to 123.5 us apart, 1 % of the trial (forwarding 64 B at 60 %): RFC 2889 allows 1 %",
        "2 duplicate frames received (latency 64 B)",
    )
    untrusted = row(80, status=Verdict.INVALID, reason="why", flooded_frames=1000)
    assert findings({"forwarding": [sweep(64, untrusted)]}) == (
        "flooding detected: 1,000 frames (forwarding 64 B)",
        "INVALID trial, forwarding 64 B at 80 %: why",
    )
    # Those of a search stand among the findings of searches.
    assert findings({"throughput": [searched(64, 50.0, replace(untrusted, flooded_frames=0))]}) == (
        "flooding detected: 3 frames (throughput 64 B)",
    )


def test_a_table_of_forwarding_rates_names_its_criterion() -> None:
    table = forwarding_table([sweep(64, row(fps=800.0, verdict=Verdict.FAIL))], None)
    assert (table.rows[0]["mfr_fps"], table.rows[0]["frmol_fps"], table.rows[0]["state"]) == (800, 800, "FAIL")
    assert "MEASURED: no threshold" in table.note
    assert criterion_note(cast("Any", 1)) == "PASS: no load lost more than 1 % of its frames."


@pytest.mark.parametrize(("frames", "carried"), [(20_000, 94.05), (1000, 0), (500, 0), (0, 0)])
def test_a_bucket_of_a_thousand_frames_hides_an_excess_of_its_share(frames: int, carried: float) -> None:
    assert less_bucket(99.0, frames) == pytest.approx(carried)


def test_corrupted_frames_belong_to_flows_that_are_alone_at_their_receivers() -> None:
    """Two flows go to port 3, where 5 frames were corrupted, and one to port 4, where 2 were."""
    flows = tuple(FlowCounts("s", tx, rx, 10, 10) for tx, rx in ((1, 3), (2, 3), (1, 4), (1, 5)))
    ports = (PortCounts(3, corrupted_frames=5), PortCounts(4, corrupted_frames=2), PortCounts(5))
    at_ports = CorruptedAtPorts(cast("TrialResult", SimpleNamespace(ports=ports, flows=flows)))
    assert at_ports.of(flows) == Corrupted(corrupted_frames=7)
    assert at_ports.of(flows[:2]) == Corrupted(corrupted_frames=5)
    assert at_ports.of(flows[1:3]) == Corrupted(shared_corrupted_frames=7)
    assert at_ports.of(flows[3:]) == Corrupted()
    found = Corrupted(corrupted_frames=1) + Corrupted(corrupted_frames=2, shared_corrupted_frames=4)
    assert found == Corrupted(corrupted_frames=3, shared_corrupted_frames=4)
    assert found + Corrupted(shared_corrupted_frames=3) == Corrupted(corrupted_frames=3, shared_corrupted_frames=7)
    assert Corrupted() + Corrupted() == Corrupted()
