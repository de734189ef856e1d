"""One definition of offered load, Tx and Rx rate: counts over the transmission time, as the table has them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer

from p4mesh import RunOptions, run
from p4mesh.measurement.counts import FlowCounts, PortCounts, QueueTrend, Transient, Trend
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.forwarding import MeshSweep, MeshThroughput
from p4mesh.methods.results.latency_cells import Circumstances
from p4mesh.methods.results.metrics import (
    begun_share,
    chance_of_port,
    early_frames,
    early_of_flows,
    grows,
    held_by_port,
    judge_loss,
    judge_missed,
    late_by_port,
    late_frames,
    late_of_flows,
    loss_pct,
    missed_error_pct,
    missed_frames,
    part_alone,
    rate_metrics,
    search_verdict,
    steady_share,
    transmission_s,
    trend_of,
    unshared_frames,
)
from p4mesh.methods.results.queues import queue_cells, queue_findings, queue_text
from p4mesh.methods.results.throughput_tables import directions
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import not_measured
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

FOUR_LAYERS = Path(__file__).parents[4] / "topologies" / "wrs-4-layers.yaml"
GIGABIT = 1_000_000_000

MAX_FPS = {
    # frame size: frames/s at 100 Mbit/s, 1, 10, 25, 40, 100 and 400 Gbit/s
    64: "148,809.52 1,488,095.24 14,880,952.38 37,202,380.95 59,523,809.52 148,809,523.81 595,238,095.24",
    90: "113,636.36 1,136,363.64 11,363,636.36 28,409,090.91 45,454,545.45 113,636,363.64 454,545,454.55",
    574: "21,043.77 210,437.71 2,104,377.10 5,260,942.76 8,417,508.42 21,043,771.04 84,175,084.18",
    1518: "8,127.44 81,274.38 812,743.82 2,031,859.56 3,250,975.29 8,127,438.23 32,509,752.93",
    9216: "1,353.40 13,534.00 135,339.97 338,349.94 541,359.90 1,353,399.74 5,413,598.96",
}
RATES_BPS = (10**8, 10**9, 10**10, 25 * 10**9, 40 * 10**9, 10**11, 4 * 10**11)


def mesh_of(ports: int, rate_bps: int, *settings: str, size: int = 64) -> tuple[MeshThroughput | MeshSweep, ...]:
    """Both parts of a full mesh over devices that lose nothing."""
    test = FullyMeshed()
    bed = make_bed(ports, rate_bps)
    parameters = resolve(test.name, test.parameters, settings)
    units = test.units(parameters, (size,))
    return tuple(test.run_unit(unit, bed, parameters, FakeMeasurer()) for unit in units)


@pytest.mark.parametrize("size", MAX_FPS)
def test_rates_at_full_load_are_those_of_the_table_to_the_last_digit(size: int) -> None:
    for rate_bps, expected in zip(RATES_BPS, MAX_FPS[size].split(), strict=True):
        throughput, _ = mesh_of(2, rate_bps, size=size)
        assert isinstance(throughput, MeshThroughput)
        shown = throughput.search.shown
        for fps in (shown.offered_fps, shown.forwarding_fps, throughput.theoretical_fps):
            assert f"{fps / 2:,.2f}" == expected
        assert f"{shown.offered_pct:.4f}" == f"{shown.forwarding_pct:.4f}" == "100.0000"
        assert shown.offered_l1_mbps == shown.forwarding_l1_mbps == pytest.approx(2 * rate_bps / 1e6, rel=1e-15)


def test_what_was_published_for_256_ports_is_printed() -> None:
    """256 ports of 100 Gbit/s at 99.9551 %: Tx and Rx were 31 ppm apart, and 182 ppm where ports start apart."""
    _, sweep = mesh_of(256, 10**11, "sweep_end_pct=99.9551", "sweep_start_pct=99.9551", "scaled_frames=100")
    assert isinstance(sweep, MeshSweep) and sweep.mfr.mfr_fps is not None
    (row,) = sweep.rows
    assert f"{row.offered_fps:.0f}" == f"{row.forwarding_fps:.0f}" == f"{256 * 1e11 / 672 * 0.999551:.0f}"
    assert sweep.mfr.mfr_fps <= sweep.theoretical_fps


def trial(frames: int, lost: int, late: int, rate_fps: Fraction, span_ns: int) -> tuple[TrialSpec, TrialResult]:
    """A trial of two ports; ``span_ns`` is what the time stamps of departures say."""
    stream = Stream("s", 64, rate_fps, frames, Pairs(), (1,), (2,))
    counted = (PortCounts(1, tx_frames=frames), PortCounts(2, rx_frames=frames - lost, late_frames=late))
    spec = TrialSpec("t", (stream,), 10**9)
    result = replace(
        not_measured(spec, Verdict.MEASURED, ""),
        tx_frames=frames,
        expected_rx_frames=frames,
        rx_frames=frames - lost,
        lost_frames=lost,
        last_tx_ns=span_ns,
        ports=counted,
    )
    return spec, result


@pytest.mark.parametrize("stamp_error", [0, 182e-6, -182e-6])
def test_time_stamps_are_in_no_rate(stamp_error: float) -> None:
    rate_fps = max_rate_fps(64, GIGABIT)
    rates = rate_metrics(*trial(30_000, 0, 0, rate_fps, int(20_159_328 * (1 + stamp_error))), GIGABIT)
    assert rates.offered_fps == rates.forwarding_fps == rate_fps
    assert rates.offered_pct == rates.forwarding_pct == 100


def test_what_arrives_after_the_transmission_is_counted_and_in_no_rate() -> None:
    rate_fps = max_rate_fps(64, GIGABIT)
    rates = rate_metrics(*trial(30_000, 10_000, 64, rate_fps, 20_159_328), GIGABIT)
    assert rates.late_frames == 64
    assert rates.forwarding_fps == rate_fps * (20_000 - 64) / 30_000
    assert rates.loss_pct == Fraction(100 * 10_064, 30_000), "a longer trial loses what was in the queue, too"
    # Nothing is lost and the output can carry it: a few frames that waited are not taken out of the rate.
    assert rate_metrics(*trial(30_000, 0, 2, rate_fps / 2, 0), GIGABIT, rate_fps).forwarding_fps == rate_fps / 2
    # As much as it can carry, to the frame.
    assert rate_metrics(*trial(30_000, 0, 2, rate_fps, 0), GIGABIT, rate_fps).late_frames == 0
    # More than the output can carry, from a queue that took all of it.
    drained = rate_metrics(*trial(30_000, 0, 15_000, rate_fps, 0), GIGABIT, rate_fps / 2)
    assert (drained.late_frames, drained.forwarding_fps) == (15_000, rate_fps / 2)


@pytest.mark.parametrize(("copies", "unsure"), [(0, 0), (50, 50), (200, 64)])
def test_late_frames_that_copies_kept_waiting_are_in_the_error_of_a_rate(copies: int, unsure: int) -> None:
    """A queue of 64 that 1 % of copies fill: full, it lost copies, and 1,810,663 frames/s were 1,794,912 +-302."""
    rate_fps = max_rate_fps(64, GIGABIT)
    spec, result = trial(30_000, 10_000, 64, rate_fps, 20_159_328)
    rates = rate_metrics(spec, replace(result, duplicate_frames=copies), GIGABIT)
    assert rates.forwarding_error_fps == (1 + unsure) * rate_fps / 30_000


def test_losses_that_no_queue_explains_are_a_sample_whose_error_covers_the_ratio_of_the_device() -> None:
    draw, rate_fps, frames, ratio = Random(1), max_rate_fps(64, GIGABIT), 5_000, Fraction(6, 1000)
    covered, chance = 0, float(ratio)
    for _ in range(400):
        lost = sum(draw.random() < chance for _ in range(frames))
        rates = rate_metrics(*trial(frames, lost, 0, rate_fps, 0), GIGABIT)
        covered += abs(rates.forwarding_fps - rate_fps * (1 - ratio)) <= rates.forwarding_error_fps
    assert covered >= 0.95 * 400, f"{covered} of 400"
    queued = rate_metrics(*trial(frames, 1_000, 100, rate_fps, 0), GIGABIT)
    assert queued.forwarding_error_fps == rate_fps / frames, "a full queue loses no frame by chance"


def ports(*received: PortCounts) -> TrialResult:
    """A trial of a second that has sent 1,000 frames, with what ports have received."""
    return replace(trial(1000, 0, 0, Fraction(1000), 10**9)[1], ports=received)


SOME = ports(PortCounts(1, rx_frames=500, late_frames=10, queued_frames=4), PortCounts(2, rx_frames=500))


@pytest.mark.parametrize(
    ("lost", "trend", "late"),
    [
        # More than seven lost frames for each late one: the queue was full in the first eighth of the trial.
        (71, None, {1: 10}),
        (71, Trend.STEADY, {1: 10}),
        (70, Trend.STEADY, {}),
        (70, Trend.UNCLEAR, {1: 4}),
        (70, None, {1: 4}),
        (0, Trend.FILLING, {1: 4}),
        (0, Trend.UNCLEAR, {}),
        (0, None, {}),
    ],
)
def test_late_frames_are_those_of_a_queue_that_was_full_or_fills(
    lost: int, trend: Trend | None, late: dict[int, int]
) -> None:
    result = replace(SOME, lost_frames=lost, queues=None if trend is None else QueueTrend(trend))
    assert late_by_port(result) == late
    assert (late_frames(result), missed_frames(result)) == (sum(late.values()), lost + sum(late.values()))


def test_a_queue_that_fills_and_of_which_no_frame_is_known_has_all_that_came_late() -> None:
    jittered = replace(SOME, ports=(PortCounts(1, late_frames=10), PortCounts(2)), queues=QueueTrend(Trend.FILLING))
    assert late_by_port(jittered) == {1: 10}


def test_rates_are_without_a_transient_and_their_error_is_that_of_the_steady_part() -> None:
    """1,000 frames in a second, 30 of them let through at first, in a quarter of it; 7 may be of it, too.

    Both ends of three quarters of a second may cut a frame of each of two ports: 11 frames.
    """
    spec, _ = trial(1000, 0, 0, Fraction(1000), 0)
    begun = Transient(250_000_000, over=True, frames=30, hidden_frames=7)
    result = replace(SOME, rx_frames=1000, transient=begun, duration_ns=10**9, duplicate_frames=20)
    rates = rate_metrics(spec, result, GIGABIT)
    assert (rates.forwarding_fps, rates.early_frames, rates.forwarding_error_fps) == (950, 30, 11 / Fraction(3, 4))
    assert rates.loss_pct == 3
    # Six frames that may be copies, which are counted once.
    doubted = rate_metrics(spec, replace(result, doubtful_frames=6), GIGABIT)
    assert (doubted.forwarding_fps, doubted.forwarding_error_fps) == (950, 17 / Fraction(3, 4))
    # In half of the time all rates are twice as large, and an output without frames adds no error.
    fast = replace(result, ports=(*result.ports, PortCounts(3)))
    assert rate_metrics(
        trial(1000, 0, 0, Fraction(2000), 0)[0], fast, GIGABIT
    ).forwarding_error_fps == 2 * 11 / Fraction(3, 4)
    assert steady_share(replace(result, transient=replace(begun, over=False))) == steady_share(SOME) == 1
    # Besides the 30 frames, those of a quarter of the second.
    assert begun_share(result) == pytest.approx(0.03 + 0.97 / 4)
    kinds = (None, replace(begun, frames=0), replace(begun, over=False))
    assert [begun_share(replace(result, transient=kind)) for kind in kinds] == [0, 0, 1]
    # 10^9 bit/s carry 1,488,095.2 frames of 64 bytes.
    assert rates.forwarding_pct == Fraction(100 * 950 * 672, 10**9)
    assert (missed_frames(result), early_frames(SOME)) == (30, 0)


def test_losses_by_chance_are_no_error_beside_a_queue_or_a_transient() -> None:
    """10 of 1,000: Wilson's interval goes up to 1.831 %, 8.3 frames more; the two ports add one each."""
    spec, _ = trial(1000, 0, 0, Fraction(1000), 0)
    lossy = replace(ports(PortCounts(1, rx_frames=500), PortCounts(2, rx_frames=490)), lost_frames=10, rx_frames=990)
    assert float(rate_metrics(spec, lossy, GIGABIT).forwarding_error_fps) == pytest.approx(2 + 8.31, abs=0.01)
    early = replace(lossy, transient=Transient(0, over=True, frames=1))
    late = replace(lossy, ports=(PortCounts(1, rx_frames=500, late_frames=1), PortCounts(2, rx_frames=490)))
    for other, cut in ((early, 4), (late, 2)):
        assert rate_metrics(spec, other, GIGABIT).forwarding_error_fps == cut
    # A transient that goes on may leave nothing.
    going_on = replace(lossy, transient=Transient(0, over=False, frames=0))
    assert rate_metrics(spec, going_on, GIGABIT).forwarding_error_fps == 990
    # Without a loss nothing is a sample: one frame at each output that sent any.
    whole = ports(PortCounts(1, rx_frames=999), PortCounts(2, rx_frames=1), PortCounts(3))
    assert rate_metrics(spec, whole, GIGABIT).forwarding_error_fps == 2
    # Nothing was to arrive: nothing was lost.
    assert loss_pct(replace(lossy, expected_rx_frames=0)) == 0


def test_streams_send_on_all_of_their_ports_with_the_line_rate_of_each() -> None:
    """300 frames from three ports with 100 a second each, and 50 from one with 20: 350 frames over 320 a second."""
    streams = (
        Stream("many", 64, Fraction(100), 100, Pairs(), (1, 2, 3), (4, 5, 6)),
        Stream("one", 64, Fraction(20), 50, Pairs(), (4,), (1,)),
    )
    spec = TrialSpec("t", streams, 10**9)
    assert transmission_s(spec) == Fraction(350, 320)
    result = replace(SOME, tx_frames=350, rx_frames=350, expected_rx_frames=350)
    rates = rate_metrics(spec, result, (10**9, 10**8))
    assert rates.offered_fps == rates.forwarding_fps == 320
    assert rates.offered_pct == Fraction(100 * 320 * 672, 3 * 10**9 + 10**8)


def test_a_flow_has_the_late_frames_of_its_port_by_how_long_it_has_waited() -> None:
    """Frames are due for a second. Those of one flow came in 1.5 s and those of two in 1.25 s and less.

    100 * 0.51 / 1.5 have waited of the first, and 40 * 0.26 / 1.25 of the second one: 34 and 8.32 parts of ten frames.
    """
    spec, _ = trial(100, 0, 0, Fraction(100), 0)
    flows = (
        FlowCounts("s", 1, 1, 100, 110, 10, first_rx_ns=10**9, last_rx_ns=2_500_000_000),
        FlowCounts("s", 2, 1, 100, 40, first_rx_ns=0, last_rx_ns=1_250_000_000),
        FlowCounts("s", 3, 1, 100, 90, first_rx_ns=0, last_rx_ns=900_000_000),
        FlowCounts("s", 4, 1, 100, 1, first_rx_ns=0, last_rx_ns=2 * 10**9),
        FlowCounts("s", 5, 1, 100, 2, first_rx_ns=5, last_rx_ns=5),
        FlowCounts("s", 1, 2, 100, 100, first_rx_ns=0, last_rx_ns=2 * 10**9),
    )
    result = replace(SOME, lost_frames=71, flows=flows)
    parts = (Fraction(34), Fraction("8.32"), 0, 0, 0, 0)
    assert late_of_flows(spec, result) == [10 * part / Fraction("42.32") for part in parts]
    early = replace(result, ports=(PortCounts(1, rx_frames=500, early_frames=50), PortCounts(2, rx_frames=100)))
    assert early_of_flows(early) == [11, 4, 9, Fraction(1, 10), Fraction(1, 5), 0]
    two = replace(result, flows=(FlowCounts("s", 1, 1, 2, 2, last_rx_ns=10**9),))
    assert late_of_flows(trial(2, 0, 0, Fraction(2), 0)[0], two) == [10], "two frames have one distance"


def test_a_trial_passes_up_to_what_is_acceptable_and_one_that_cannot_be_trusted_has_no_verdict() -> None:
    result = replace(ports(), lost_frames=10, transient=Transient(0, over=True, frames=5))
    for judge, acceptable in ((judge_loss, Fraction(1)), (judge_missed, Fraction(3, 2))):
        assert judge(result, acceptable) is Verdict.PASS
        assert judge(result, acceptable - Fraction(1, 1000)) is Verdict.FAIL
        assert judge(replace(result, status=Verdict.ABORT), Fraction(100)) is Verdict.ABORT
    lower = replace(result, undelivered=True)
    assert search_verdict(lower, Verdict.INVALID) is Verdict.UNDELIVERED
    assert search_verdict(result, Verdict.INVALID) is Verdict.INVALID
    assert search_verdict(lower, Verdict.FAIL) is Verdict.FAIL


FILLING = QueueTrend(Trend.FILLING, 123.456, 7.0, 51.2345, 20.0, (4, 2))
STEADY = QueueTrend(Trend.STEADY, error_ppm=7.0)
GROWING = QueueTrend(Trend.STEADY, 3.0, 4.0)
UNCLEAR = QueueTrend(Trend.UNCLEAR, 3.0, 4.0, longer=2)


@pytest.mark.parametrize(
    ("trend", "cells", "sentence"),
    [
        (None, None, ""),
        (STEADY, ("steady", None, 7.0, None, None), ""),
        # Arrivals beyond departures are excluded above 3 and 4 parts in a million.
        (GROWING, ("steady", None, 7.0, None, None), ""),
        (UNCLEAR, ("too short to tell", None, 7.0, None, None), "the trial is too short to tell whether a queue fills"),
        (
            FILLING,
            ("filling", 123.456, 7.0, 51.2345, 20.0),
            "not sustained: 123.5 ppm (51.23 frames/s) more comes in than leaves the queue to ports 2,4; a buffer of "
            "1,000 frames is full after 20 s",
        ),
    ],
)
def test_a_load_without_loss_tells_of_a_queue_that_fills(
    trend: QueueTrend | None, cells: tuple[object, ...] | None, sentence: str
) -> None:
    found = queue_cells(replace(SOME, queues=trend))
    shown = found and (
        found.queues,
        found.excess_ppm,
        found.excess_error_ppm,
        found.excess_fps,
        found.overflow_s,
    )
    assert shown == cells
    rows = [SimpleNamespace(load_pct=12.5, lost_frames=lost, watched=found) for lost in (0, 1)]
    assert list(queue_findings("64 B", rows)) == ([f"64 B at 12.5 %: {sentence}"] if sentence else [])


def test_a_trial_that_ends_in_a_transient_tells_nothing_of_its_queues() -> None:
    ended = replace(SOME, queues=FILLING, transient=Transient(0, over=False, frames=0))
    found = queue_cells(ended)
    assert found is not None and (found.queues, found.excess_ppm) == ("transient", None)
    assert found.excess_error_ppm == pytest.approx(123.456 + 7)
    assert queue_text([ended, SOME]) == "transient"


LOST_AND_UNCLEAR = "frames lost, too short to tell"


@pytest.mark.parametrize(
    ("queued", "lost", "early", "states"),
    [
        ((0,), 1, 0, ("frames lost", LOST_AND_UNCLEAR, "filling")),
        # Of 100,000 frames, 0.7 may have stayed in a queue meanwhile, and 2 more where chance took one of the others.
        ((2,), 1, 0, ("frames lost", "frames lost", "filling")),
        ((1,), 1, 0, ("frames lost", LOST_AND_UNCLEAR, "filling")),
        ((16,), 99, 0, ("frames lost", "frames lost", "filling")),
        # The queue of one port is full, that of another one is not.
        ((16, 1), 99, 0, ("frames lost", LOST_AND_UNCLEAR, "filling")),
        # A policer loses frames in front of a queue, too.
        ((0,), 1, 5, ("frames lost", LOST_AND_UNCLEAR, "filling")),
    ],
)
def test_frames_that_are_lost_are_those_of_a_queue_only_where_it_holds_more_than_came_while_it_was_watched(
    queued: tuple[int, ...], lost: int, early: int, states: tuple[str, str, str]
) -> None:
    ports = tuple(
        PortCounts(port, rx_frames=100_000, late_frames=late, queued_frames=late) for port, late in enumerate(queued, 2)
    )
    some = replace(SOME, lost_frames=lost, ports=ports, transient=Transient(0, over=True, frames=early))
    results = [replace(some, queues=trend) for trend in (STEADY, UNCLEAR, FILLING)]
    assert tuple(cells and cells.queues for cells in map(queue_cells, results)) == states
    texts = [queue_text([result]) for result in results]
    assert texts == [*states[:2], "filling, 123.5 ppm"]
    grow = [Circumstances.of([result], Fraction(0)).filling for result in results]
    assert grow == [False, states[1] == LOST_AND_UNCLEAR, True]


@pytest.mark.parametrize(
    ("error_ppm", "lost", "late", "is_full"),
    [
        # An excess of a tenth leaves 1/11 of 1,100 frames in a queue; 1.2 standard deviations of 200 losses are 16.97.
        (60_000, 200, (117,), True),
        (60_000, 200, (116,), False),
        # Each of two ports has half of the losses: 12 frames.
        (60_000, 200, (113, 113), True),
        (60_000, 200, (113, 112), False),
        # Of 70 losses they are 10.04, but no more than half of what the queue holds.
        (-40_000, 70, (10,), True),
    ],
)
def test_a_queue_is_full_that_holds_more_than_may_have_stayed_in_it(
    error_ppm: float, lost: int, late: tuple[int, ...], is_full: bool
) -> None:
    ports = tuple(
        PortCounts(port, rx_frames=1100, late_frames=held, queued_frames=held) for port, held in enumerate(late)
    )
    queues = replace(UNCLEAR, excess_ppm=40_000.0, error_ppm=error_ppm)
    assert trend_of(replace(SOME, lost_frames=lost, ports=ports, queues=queues)) is (None if is_full else Trend.UNCLEAR)


@pytest.mark.parametrize(
    ("own", "of_all", "frames"), [(0, 9, 0), (9, 9, 0), (1, 9, 8), (8, 9, 8), (4, 9, 5), (5, 9, 5), (1, 2, 1)]
)
def test_a_full_queue_loses_all_frames_of_some_or_none_of_them(own: int, of_all: int, frames: int) -> None:
    assert unshared_frames(own, of_all) == frames


@pytest.mark.parametrize(
    ("trend", "held"),
    [
        (replace(FILLING, rx_ports=(2, 4)), {2: 5, 4: 7}),
        (replace(FILLING, rx_ports=(3,)), {3: 6}),
        (UNCLEAR, {2: 5, 3: 6, 4: 7}),
        (STEADY, {}),
        (None, {}),
    ],
)
def test_frames_in_queues_that_may_not_be_full_are_those_to_ports_behind_them(
    trend: QueueTrend | None, held: dict[int, int]
) -> None:
    ports = tuple(PortCounts(port, rx_frames=10**6, late_frames=port + 3, queued_frames=port + 3) for port in (2, 3, 4))
    lost = 10**6 if trend in (None, STEADY) else int(trend is UNCLEAR)
    assert held_by_port(replace(SOME, queues=trend, ports=ports, lost_frames=lost)) == held


def test_one_port_is_no_ports() -> None:
    found = queue_cells(replace(SOME, queues=replace(FILLING, rx_ports=(3,))))
    assert found is not None and "the queue to port 3;" in found.sentence


def test_a_latency_has_the_worst_queue_of_its_trials_beside_it() -> None:
    def text(*trends: QueueTrend | None, lost: int = 0) -> str | None:
        return queue_text([replace(SOME, queues=trend, lost_frames=lost) for trend in trends])

    assert text(STEADY, UNCLEAR, FILLING, replace(FILLING, excess_ppm=77.0)) == "filling, 123.5 ppm"
    assert text(STEADY, UNCLEAR, None) == "too short to tell"
    assert (text(STEADY, None), text(None), text(STEADY, lost=1)) == ("steady", None, "frames lost")
    assert (text(STEADY, GROWING), text(GROWING, UNCLEAR)) == ("may grow, 3 ppm", "too short to tell")
    assert (text(None, lost=1), text(STEADY, FILLING, lost=1)) == ("frames lost", "filling, 123.5 ppm")


def sweep_rows(directory: Path) -> list[dict[str, float]]:
    units = json.loads((directory / "results.json").read_text())["units"]
    return [row for unit in units.values() for row in unit["rows"]]


@pytest.mark.parametrize(
    ("size", "settings"), [("64", ()), ("512", ("start_stagger_us=50",)), ("64", ("burst_frames=8",))]
)
def test_no_forwarding_rate_over_four_layers_is_above_the_theoretical_one(
    tmp_path: Path, size: str, settings: tuple[str, ...]
) -> None:
    """RFC 2889 5.2: 17 ports to one, whose queue is emptied when the last frame has left the tester."""
    asked = ("parts=forwarding", "scaled_frames=300", "sweep_start_pct=5", "sweep_step_pct=47.5", *settings)
    found = run(RunOptions("rfc2889.partially_meshed", FOUR_LAYERS, size, asked, tmp_path / "run", 1))
    (row,) = found.outcome.tables[0].rows
    assert isinstance(row["mfr_fps"], float) and isinstance(row["theoretical_fps"], float)
    assert row["mfr_fps"] <= row["theoretical_fps"]
    line_fps = float(max_rate_fps(int(size), GIGABIT))
    for trial_row in sweep_rows(found.directory):
        for port in trial_row["ports"]:  # type: ignore[attr-defined]
            assert port["forwarding_fps"] <= line_fps


def test_offered_load_is_the_intended_one_where_it_was_delivered(tmp_path: Path) -> None:
    asked = ("parts=forwarding", "scaled_frames=500", "sweep_start_pct=33.3", "sweep_step_pct=33.3")
    found = run(RunOptions("rfc2889.fully_meshed", FOUR_LAYERS, "64", asked, tmp_path / "run", 1))
    rows = sweep_rows(found.directory)
    assert len(rows) == 4
    assert [row["offered_pct"] for row in rows] == [row["load_pct"] for row in rows]


def test_losses_of_a_direction_are_those_of_its_flows_and_unknown_behind_duplicates() -> None:
    """Three of ten frames are lost and four come twice: one more is received than sent."""
    ports = (PortCounts(1, tx_frames=10), PortCounts(2, rx_frames=11))
    result = TrialResult(Verdict.MEASURED, "", "", 0, *(0,) * 13)
    twice = replace(result, ports=ports, duplicate_frames=4)
    (hidden,) = directions([((1,), (2,))], twice)
    assert (hidden.tx_frames, hidden.rx_frames, hidden.lost_frames) == (10, 11, None)
    flow = FlowCounts("s", 1, 2, tx_frames=10, rx_frames=11, duplicate_frames=4)
    (known,) = directions([((1,), (2,))], replace(twice, flows=(flow,)))
    assert known.lost_frames == 3
    (plain,) = directions([((1,), (2,))], replace(result, ports=(ports[0], replace(ports[1], rx_frames=7))))
    assert plain.lost_frames == 3


def test_error_of_a_loss_by_hand() -> None:
    """Nothing lost of n: 3/n. Of 100 in 10,000 Wilson's interval ends 0.2147 % above, of 50 in 5,000 0.3159 %."""
    _, base = trial(10_000, 0, 0, max_rate_fps(64, GIGABIT), 10**7)
    copied = replace(base, expected_rx_frames=20_000)
    unclear = replace(base, queues=QueueTrend(Trend.UNCLEAR, error_ppm=5000.0))
    over = Transient(frames=0, ends_ns=10**6, over=True, hidden_frames=30, uneven_frames=25)
    uneven, ended = replace(base, transient=over), replace(base, transient=replace(over, over=False))
    cases: list[tuple[TrialResult, tuple[int, ...], float]] = [
        (base, (0, 10_000), 0.03),
        (base, (100, 10_000), 0.2147),
        (copied, (0, 10_000), 0.06),
        (copied, (100, 10_000), 0.3159),
        (base, (0, 10_000, 40), 0.43),
        (uneven, (0, 10_000), 0.28),
        (ended, (100, 10_000), 99.0),
        (unclear, (0, 10_000), 100 * 5000 / 1_005_000),
        (unclear, (0, 10_000, 100), 1.03),
        (replace(unclear, lost_frames=100), (100, 10_000), 0.2147),
    ]
    for result, given, error_pct in cases:
        assert missed_error_pct(result, *given) == pytest.approx(error_pct, abs=1e-4), given
    assert missed_error_pct(base, 0, 0) is None


def test_growing_latency_and_chance_of_a_port_by_hand() -> None:
    _, base = trial(10_000, 0, 0, max_rate_fps(64, GIGABIT), 10**7)
    _, lossy = trial(10_000, 100, 0, max_rate_fps(64, GIGABIT), 10**7)
    _, full = trial(10_000, 100, 5, max_rate_fps(64, GIGABIT), 10**7)
    assert grows(replace(base, latency_growth_ns=1)) and grows(replace(lossy, latency_growth_ns=1))
    assert grows(replace(base, queues=QueueTrend(Trend.STEADY, excess_ppm=0.5)))
    assert not grows(base) and not grows(replace(full, latency_growth_ns=1))
    assert not grows(replace(base, latency_growth_ns=1, queues=QueueTrend(Trend.FILLING)))
    # As many as all ports lose: 100 of 10,000 with the error of that, or none where a queue explains them.
    assert float(chance_of_port(lossy, lossy.ports[1])) == pytest.approx(21.47, abs=0.01)
    early = replace(lossy, transient=Transient(0, over=True, frames=1))
    assert [chance_of_port(one, one.ports[1]) for one in (base, full, early)] == [0, 0, 0]
    none = replace(lossy, lost_frames=lossy.expected_rx_frames)
    assert chance_of_port(none, replace(lossy.ports[1], rx_frames=0)) == 0, "nothing came"


@pytest.mark.parametrize(("sent", "expected", "part"), [(300, 100, 1), (50, 100, 0.5), (1, 1, 1), (0, 0, 0)])
def test_frames_are_alone_that_are_no_copies_of_others(sent: int, expected: int, part: float) -> None:
    """Also where a device is to drop some of those sent."""
    _, base = trial(10_000, 0, 0, max_rate_fps(64, GIGABIT), 10**7)
    assert part_alone(replace(base, tx_frames=sent, expected_rx_frames=expected)) == part
