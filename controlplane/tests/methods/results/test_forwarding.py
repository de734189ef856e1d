"""Rates of single trials, the fastest of several, and the error of a loss, by hand from the counts of rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
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
from p4mesh.methods.results.loss_tables import loss_table
from p4mesh.methods.results.queues import QueueCells
from p4mesh.methods.results.rare_loss import RareLoss
from p4mesh.methods.results.rate_tables import (
    criterion_note,
    findings,
    forwarding_table,
    load_figures,
    mesh_throughput_table,
    overall_state,
    port_table,
    rate_figure,
    sweep_state,
    sweep_tables,
    with_searches,
)
from p4mesh.methods.results.search_findings import Excluded, excluded_text, search_findings
from p4mesh.methods.results.search_tables import search_tables
from p4mesh.methods.results.searched import (
    ForGood,
    SearchAttributes,
    Searched,
    less_bucket,
    mlr_row,
    search_attributes,
)
from p4mesh.methods.results.throughput_tables import advertised_value, direction_table, directions, throughput_table
from p4mesh.methods.search.goal import Grid, SearchGoal
from p4mesh.methods.search.limit import LimitSearch, SearchMethod
from p4mesh.methods.search.mlr_goal import MlrGoal, MlrGoalResult
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
    assert replace(ROW, ports=(port(1, 20_000), port(2, 1))).bucket_fps == 800
    assert replace(ROW, tx_frames=1, offered_fps=0.5, ports=(port(1, 1),)).bucket_fps == 400


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
    of_one = replace(lossy, ports=(port(1, 1), port(2)))
    assert of_one.interval == interval_cells(35, 20_000, 0, senders=1)
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


SEARCH = LimitSearch(
    SearchMethod.COMBO,
    SearchGoal(Fraction(50), Fraction(1), Fraction(99), Fraction(1, 2)),
    step=Fraction(7),
    backoff=Fraction(2, 5),
    loss_ratio=Fraction(1, 200),
    threshold=Fraction(60),
)
GOAL = search_attributes(SEARCH)


def searched(size: int, throughput_pct: float | None, *rows: MeshTrial, fps: float = 2000.0) -> MeshThroughput:
    search = Searched(
        state=Verdict.FAIL if throughput_pct is None else Verdict.MEASURED,
        throughput_pct=throughput_pct,
        lower_pct=throughput_pct,
        for_good=ForGood(),
        upper_pct=None,
        at_least=False,
        goal=replace(GOAL, threshold_pct=0.0),
        mlr_goals=(),
        trials=len(rows),
        shown=rows[-1],
        rows=rows,
        flooded_frames=3,
    )
    return MeshThroughput(frame_size_bytes=size, search=search, theoretical_fps=fps, theoretical_pct=100.0)


def test_the_goal_of_a_search_is_told_in_percent_with_what_its_method_uses() -> None:
    assert search_attributes(SEARCH) == SearchAttributes(
        search_method=SearchMethod.COMBO,
        initial_pct=50.0,
        minimum_pct=1.0,
        maximum_pct=99.0,
        resolution_pct=0.5,
        grid=Grid.EXACT,
        step_pct=7.0,
        backoff_pct=40.0,
        acceptable_loss_pct=0.5,
        threshold_pct=60.0,
    )
    asked = LimitSearch(SearchMethod.VERIFIED, SearchGoal(Fraction(50), Fraction(1), Fraction(99), Fraction(1, 2)))
    found = search_attributes(asked)
    assert (found.step_pct, found.backoff_pct, found.initial_pct, found.try_max_first) == (None, None, 50, False)
    assert (found.verify_trials, found.verify_overload_frames) == (2, 1000)
    steps = search_attributes(replace(asked, method=SearchMethod.LINEAR_UP))
    assert (steps.step_pct, steps.initial_pct, steps.resolution_pct, steps.grid) == (10, None, None, None)
    assert (steps.try_max_first, steps.verify_trials) == (None, None)


@pytest.mark.parametrize(("goal_ratio", "lower", "regularity"), [("0", None, "irregular"), ("0.005", 48, "regular")])
def test_a_goal_of_mlrsearch_is_told_in_milliseconds_and_percent(
    goal_ratio: str, lower: int | None, regularity: str
) -> None:
    goal = MlrGoal(Fraction(2), Fraction(42), Fraction(goal_ratio), Fraction(1, 4), Fraction(1, 100), Fraction(1, 2))
    bound = None if lower is None else Fraction(lower)
    found = mlr_row(MlrGoalResult(goal, bound, Fraction(49), bound), ForGood())
    assert (found.initial_duration_ms, found.final_duration_ms, found.duration_sum_ms) == (500, 2000, 42_000)
    assert (found.goal_loss_pct, found.exceed_pct, found.width_pct) == (100 * float(goal_ratio), 25, 1)
    assert (found.lower_pct, found.upper_pct, found.conditional_pct, found.regularity) == (lower, 49, lower, regularity)
    shortest = mlr_row(MlrGoalResult(replace(goal, initial_trial_duration_s=None), bound, None, bound), ForGood())
    assert (shortest.initial_duration_ms, shortest.upper_pct) == (2000, None)


@pytest.mark.parametrize(
    ("throughput_pct", "threshold_pct", "verdict", "reason"),
    [
        (60.0, 60.0, Verdict.PASS, ""),
        (59.9, 60.0, Verdict.FAIL, "below 60 %"),
        (59.9, 0.0, Verdict.MEASURED, ""),
        (None, 60.0, Verdict.FAIL, ""),
    ],
)
def test_a_throughput_is_judged_by_its_threshold(
    throughput_pct: float | None, threshold_pct: float, verdict: Verdict, reason: str
) -> None:
    search = searched(64, throughput_pct, row()).search
    search = replace(search, goal=replace(GOAL, threshold_pct=threshold_pct))
    assert search.judgement == {"state": verdict.value, "reason": reason}
    floor = replace(search, at_least=True)
    assert floor.reason == (reason or "at least")
    assert search.result_load_pct == (None if throughput_pct is None else Fraction(str(throughput_pct)))


def test_a_table_of_throughput_shows_rates_of_a_result_and_else_what_was_tried() -> None:
    """1,000 frames of 64 bytes a second are 0.512 Mbit/s without preamble and gap."""
    lossy = row(60, lost_frames=20, loss_pct=0.1, corrupted_frames=4)
    passed, failed, untrusted = throughput_table(
        [searched(64, 50.0, row()), searched(64, None, lossy), searched(64, None, row(70, status=Verdict.INVALID))]
    ).rows
    assert (passed["throughput_fps"], passed["throughput_l1_mbps"]) == (1000, 0.7)
    assert (passed["throughput_l2_mbps"], passed["duration_ms"]) == (0.512, 10)
    assert (passed.get("tried_pct"), passed.get("loss_pct"), failed.get("throughput_fps")) == (None, None, None)
    assert (failed["tried_pct"], failed["loss_pct"], failed["corrupted_frames"]) == (60, 0.1, 4)
    assert (untrusted.get("tried_pct"), untrusted.get("loss_pct"), untrusted["duration_ms"]) == (None, None, 10)
    mesh = mesh_throughput_table([searched(64, 50.0, row()), searched(64, None, row(70, status=Verdict.INVALID))])
    assert [cells.get("offered_fps") for cells in mesh.rows] == [1000, None]
    assert "theoretical_pct" not in [column.key for column in mesh.columns] and "A FAIL has no throughput" in mesh.note
    limited = mesh_throughput_table([replace(searched(64, 50.0, row()), theoretical_pct=99.9)])
    assert "theoretical_pct" in [column.key for column in limited.columns] and "A FAIL has" not in limited.note


def test_the_value_to_advertise_is_that_of_the_smallest_frames() -> None:
    found = [searched(128, 50.0, row()), searched(64, 50.0, row(offered_fps=1234.6), fps=1488.1)]
    assert advertised_value(found, "UDP") == (
        "As a single value: 1,235 frames/s with 64 B frames, of 1,488 frames/s that the lines carry, UDP."
    )
    assert advertised_value([found[0], searched(64, None, row())], "UDP") == ""


def test_a_direction_has_the_frames_of_its_ports_or_flows() -> None:
    """Of 10 frames from port 1 to ports 3 and 4, 9 came, of which 2 were corrupted and are not among them."""
    counted = (PortCounts(1, tx_frames=10), PortCounts(2, tx_frames=7), PortCounts(3, rx_frames=5, corrupted_frames=2))
    trial = replace(TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13), ports=(*counted, PortCounts(4, rx_frames=4)))
    legs = [((1,), (3, 4)), ((2, 9), (3,))]
    first, second = directions(legs, trial)
    assert (first.from_ports, first.to_ports) == ("1", "3, 4")
    assert (first.tx_frames, first.rx_frames, first.lost_frames) == (10, 9, 1)
    assert first.corrupted == Corrupted(corrupted_frames=2)
    assert (second.tx_frames, second.rx_frames, second.lost_frames) == (7, 5, 2)
    flows = (
        FlowCounts("s", 1, 3, 6, 5),
        FlowCounts("s", 1, 4, 4, 4),
        FlowCounts("s", 2, 3, 7, 0),
        FlowCounts("s", 1, 2, 9, 9),
    )
    first, second = directions(legs, replace(trial, flows=flows))
    assert (first.tx_frames, first.rx_frames, first.lost_frames) == (10, 9, 1)
    assert first.corrupted == Corrupted(shared_corrupted_frames=2)
    assert (second.tx_frames, second.rx_frames, second.lost_frames) == (7, 0, 7)
    shown = direction_table(
        [
            searched(64, 50.0, row(directions=(first, second))),
            searched(128, 50.0, row(directions=(first,), status=Verdict.INVALID)),
        ]
    )
    assert shown.detail
    assert [(cells["frame_size_bytes"], cells["load_pct"], cells["from_ports"]) for cells in shown.rows] == [
        (64, 50, "1"),
        (64, 50, "2, 9"),
    ]


def test_findings_of_a_search_name_what_could_not_be_sent_and_what_is_lost_by_chance() -> None:
    def told(**changes: Any) -> list[str]:
        found = searched(64, changes.pop("throughput_pct", 50.0), row())
        return list(search_findings([replace(found, search=replace(found.search, **changes))]))

    assert told() == told(undelivered_pct=60.0, upper_pct=55.0) == []
    assert told(undelivered_pct=60.0) == [
        "64 B: at least 50.0000 % of line; the tester delivers no more than 60.0000 %"
    ]
    assert told(undelivered_pct=60.0, throughput_pct=None) == [
        "64 B: no result; the tester could not send 60.0000 % of line, the lowest load tried"
    ]
    unclear = row(watched=queue(Trend.UNCLEAR, None, 9.0))
    (text,) = told(shown=unclear)
    assert text.startswith("64 B, throughput at 50 %: the trial is too short")
    assert told(shown=unclear, throughput_pct=None) == []
    rare = RareLoss(
        independent=True,
        frames=100_000,
        lost_frames=100,
        lowest_pct=10.2345,
        highest_pct=90.1234,
        forwarded_pct=98.7654,
    )
    (text,) = told(rare_loss=replace(rare, corrupted_frames=3))
    assert text.startswith(
        "64 B: loses about 0.1 % of the frames at every load, independent of load (10.23 to 90.12 % of line; 100 of "
        "100,000 frames, 3 of them received corrupted, 95 % interval 0.082 to 0.12 %). This is not a lack of capacity: "
        "98.77 % of line were forwarded in the search"
    )
    # Three times the ratio, rounded up to one digit.
    assert "acceptable_loss_pct=0.3," in text
    (text,) = told(rare_loss=replace(rare, lost_frames=101, independent=False))
    assert "acceptable_loss_pct=0.4," in text and "or a link or port carries far less" in text


def test_the_loss_that_results_exclude_is_told_apart_by_frame_sizes_and_by_accepted_losses() -> None:
    none = [Excluded("64 B", 50.0, 0), Excluded("128 B", 50.0, 0)]
    assert excluded_text(none) == (
        "With 95 % confidence, a result excludes a loss ratio above 3/n of the n frames sent: 0.005 %."
    )
    assert excluded_text([*none, Excluded("512 B", 1234.0, 0)]) == (
        "With 95 % confidence, a result excludes a loss ratio above 3/n of the n frames sent: 0.005 % (64 B, 128 B), "
        "0.12 % (512 B)."
    )
    assert excluded_text([Excluded("64 B", 2000.0, 7)]) == (
        "With 95 % confidence, a result excludes a loss ratio above the upper end of the interval of the accepted "
        "losses: 0.2 %."
    )
    assert excluded_text([]) == ""


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
    assert overall_state([searched(64, None, row())], [sweep(64, row())]) is Verdict.FAIL


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
    assert [(column.title, column.unit, column.digits, column.error) for column in received.columns[:3]] == [
        ("Load", "% of line", 2, ""),
        ("64 B Rx", "% of line", 4, "forwarding_error_pct_64B"),
        ("Error of 64 B", "+- % of line", 4, ""),
    ]
    assert [(column.title, column.unit, column.error) for column in loss.columns[1:3]] == [
        ("64 B loss", "%", ""),
        ("128 B loss", "%", ""),
    ]
    assert (received.keys, intervals.keys) == (("load_pct",), ("frame_size_bytes", "load_pct"))
    assert (received.detail, intervals.detail, intervals.columns[1].digits) == (False, True, 2)
    assert [cells.get("corrupted_frames") for cells in loss.rows] == [0, 5, None]
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
    assert (found.keys, found.detail) == (("part", "frame_size_bytes", "load_pct", "port"), True)
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
    assert rate_figure([failed], []).series[0].theoretical
    received, loss = load_figures([sweep(64, row(40), row(50, loss_pct=2.0), row(60, status=Verdict.ABORT))])
    assert (received.series[0].points, loss.series[0].points) == (((40, 45), (50, 45)), ((40, 0), (50, 2)))
    assert {(figure.x_max, figure.y_max) for figure in (received, loss)} == {(100, 100)}
    assert load_figures([]) == ()


def test_faults_of_trials_are_findings_with_their_numbers() -> None:
    """Ports may start apart by 1 % of a trial."""
    skewed = row(60, start_skew_us=123.456, start_skew_pct=1.2345, reordered_frames=4)
    rows = (row(50, duplicate_frames=2, start_skew_pct=1.0), skewed, row(70, duplicate_frames=3))
    assert findings({"forwarding": [sweep(64, *rows)], "latency": [sweep(64, *rows[:1])]}) == (
        "5 duplicate frames received (forwarding 64 B)",
        "4 reordered frames received (forwarding 64 B)",
        "ports started up to 123.5 us apart, 1.23 % of the trial (forwarding 64 B at 60 %): RFC 2889 allows 1 %",
        "2 duplicate frames received (latency 64 B)",
    )
    barely = (row(50), row(60, start_skew_us=1.0, start_skew_pct=1.0001))
    assert len(findings({"forwarding": [sweep(64, *barely)]})) == 1
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


def test_tables_of_a_search_number_trials_and_goals_and_leave_out_what_cannot_be_trusted() -> None:
    result = searched(64, 50.0, row(40, verdict=Verdict.PASS), row(45, verdict=Verdict.INVALID))
    goals, trials = search_tables([result])
    assert (goals.detail, trials.detail, search_tables([])) == (True, True, ())
    assert [(cells["trial"], cells["load_pct"]) for cells in trials.rows] == [(1, 40), (2, 45)]
    known = [{key for key, value in cells.items() if value is not None} for cells in trials.rows]
    assert known[1] == {"frame_size_bytes", "trial", "load_pct", "duration_ms", "verdict"} < known[0]
    goal = mlr_row(MlrGoalResult(MlrGoal(Fraction(2), Fraction(42)), None, None, None), ForGood())
    _, of_mlr, _ = search_tables([replace(result, search=replace(result.search, mlr_goals=(goal, goal)))])
    assert [cells["goal"] for cells in of_mlr.rows] == [1, 2]


@pytest.mark.parametrize(("late", "early"), [(0, 0), (3, 0), (0, 2)])
def test_a_table_of_losses_says_that_it_counts_late_and_early_frames(late: int, early: int) -> None:
    untrusted = row(60, status=Verdict.INVALID, verdict=Verdict.INVALID, late_frames=9)
    sweep_of_losses = loss_sweep(64, [row(late_frames=late, early_frames=early), untrusted])
    table = loss_table("loss", "Loss", [sweep_of_losses], "")
    first, second = table.rows
    assert (first.get("late_frames"), first.get("early_frames")) == (late or None, early or None)
    assert (second["load_pct"], second["state"], second.get("loss_pct")) == (60, "INVALID", None)
    assert table.note.startswith("The loss counts late and early frames") is bool(late or early)
