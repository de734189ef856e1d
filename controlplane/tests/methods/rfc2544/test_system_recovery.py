"""RFC 2544 26.5: the rate changes from one frame to the next, and the last loss is timed from there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from types import SimpleNamespace
from typing import cast

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FakeMeasurer, FlowMeasurer, lossless, wire
from support.networks import network, node, parsed, switch
from support.runs import run_on_sim, run_unit

from p4mesh.errors import TopologyError
from p4mesh.measurement.counts import Counts, FlowCounts
from p4mesh.methods.base import Session
from p4mesh.methods.mesh import Leg, Mesh
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.rfc2544.system_recovery import (
    OVERLOAD,
    REDUCED,
    Recovery,
    SystemRecovery,
    _lost_by_chance,
    recovery_ns,
    recovery_spec,
)
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import NS_PER_S, max_rate_fps
from p4mesh.traffic.patterns import Pairs, Rotate
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import trial_result
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

EGRESS_GAP_BYTES, UPLINK_GAP_BYTES = 22, 16
FAST = ("learning_verify=false", "settle_ms=1", "restabilise_ms=1", "learning_wait_ms=1")


def chain(queue_frames: int) -> Topology:
    """Two switches in a row; tester port 2 is behind the second one."""
    return parsed(
        network(
            node("first", ports=3, port={3: f"ifg_bytes: 16, queue_frames: {queue_frames}"}),
            node("second", ports=2, port={2: "ifg_bytes: 22, queue_frames: 8"}),
            links=(
                ("tester:1", "first:1"),
                ("tester:3", "first:2"),
                ("first:3", "second:1"),
                ("second:2", "tester:2"),
            ),
            ports=3,
        )
    )


def run(measurer: Session, size: int, *settings: str) -> tuple[Recovery, Outcome]:
    return run_unit(SystemRecovery(), make_bed(3), measurer, size, *settings)


class Numbed(FlowMeasurer):
    """Loses what exceeds ``limit_fps``, and everything for ``numb_ns`` after an overload."""

    def __init__(self, limit_fps: Fraction, numb_ns: int, tail: bool = False) -> None:
        super().__init__(lossless)
        self.limit_fps, self.numb_ns, self.tail = limit_fps, numb_ns, tail

    def measure(self, spec: TrialSpec, note: object = None) -> TrialResult:
        base = super().measure(spec)
        flows = tuple(map(self._flow, spec.streams, base.flows))
        lost = sum(flow.lost_frames for flow in flows)
        return replace(base, flows=flows, rx_frames=base.tx_frames - lost, lost_frames=lost)

    def _flow(self, stream: object, flow: FlowCounts) -> FlowCounts:
        rate = stream.rate_fps  # type: ignore[attr-defined]
        start_ns = (stream.start_offset_ns or (0,))[0]  # type: ignore[attr-defined]
        interval_ns = NS_PER_S / rate
        if flow.stream == REDUCED:
            lost = ceil(self.numb_ns / interval_ns)
        else:
            lost = max(0, ceil(flow.tx_frames * (1 - self.limit_fps / rate)))
        gap_ns = int(start_ns + lost * interval_ns) if lost else None
        return replace(
            flow,
            rx_frames=flow.tx_frames - lost,
            first_tx_ns=start_ns,
            last_gap_tx_ns=gap_ns,
            tail_lost_frames=lost if self.tail and flow.stream == REDUCED else 0,
        )


def test_the_rate_is_halved_at_the_next_departure_of_one_transmission() -> None:
    measurer = Numbed(max_rate_fps(64, GIGABIT, 30), 0)
    result, _ = run(measurer, 64, "runs=1")
    fast, slow = measurer.specs[-1].streams
    assert (fast.name, slow.name) == (OVERLOAD, REDUCED)
    assert slow.rate_fps == fast.rate_fps / 2
    assert slow.start_offset_ns[0] == round(fast.frame_count * NS_PER_S / fast.rate_fps)
    assert result.overload_fps == pytest.approx(min(1.1 * result.throughput_fps, float(max_rate_fps(64, GIGABIT))))


@pytest.mark.parametrize("numb_ns", [0, 1, 40_000, 123_456])
def test_recovery_of_a_device_that_stays_numb_for_a_known_time(numb_ns: int) -> None:
    result, outcome = run(Numbed(max_rate_fps(64, GIGABIT, 30), numb_ns), 64, "runs=3")
    interval_us = 1e6 / result.reduced_fps
    lost = ceil(numb_ns / 1000 / interval_us)
    assert result.recovery_us_avg == pytest.approx(max(0, lost - 1) * interval_us, abs=0.002)
    assert (result.runs, result.recovery_us_stddev) == (3, 0)
    assert result.reduced_lost_frames == 3 * lost
    assert outcome.state is Verdict.PASS


class Varying(Numbed):
    """Is numb for so many intervals of the reduced rate after each overload, and corrupts two frames of each trial."""

    def __init__(self, *intervals: int) -> None:
        super().__init__(max_rate_fps(64, GIGABIT, 30), 0)
        self.intervals = iter(intervals)

    def measure(self, spec: TrialSpec, note: object = None) -> TrialResult:
        if len(spec.streams) > 1:
            self.numb_ns = int(next(self.intervals) * NS_PER_S / spec.streams[1].rate_fps)
        return replace(super().measure(spec), corrupted_frames=2)


def test_times_of_the_runs_are_averaged_and_stand_one_by_one() -> None:
    """3, 5 and 10 frames are lost: the last of them leaves 2, 4 and 9 intervals after the first."""
    result, outcome = run(Varying(3, 5, 10), 64, "runs=3")
    interval_us = 1e6 / result.reduced_fps
    stddev_us = 13**0.5 * interval_us
    assert result.each_us == tuple(pytest.approx(count * interval_us, abs=0.002) for count in (2, 4, 9))
    assert result.recovery_us_avg == pytest.approx(5 * interval_us, abs=0.002)
    assert (result.recovery_us_min, result.recovery_us_max) == (result.each_us[0], result.each_us[2])
    assert result.recovery_us_stddev == pytest.approx(stddev_us, abs=0.002)
    assert (result.resolution_us, result.reduced_lost_frames) == (pytest.approx(interval_us), 18)
    assert result.corrupted_frames == 6
    (each,) = (table for table in outcome.tables if table.name == "system_recovery_runs")
    assert [(row["run"], row["recovery_us"]) for row in each.rows] == list(enumerate(result.each_us, start=1))
    assert each.keys == ("frame_size_bytes", "run")
    long = run(Varying(3), 64, "runs=1", "overload_ms=60000")[1]
    assert not any(text.startswith("Overload of") for text in long.deviations)
    assert any(text.startswith("Overload of 336 ms or more instead of 60 s") for text in outcome.deviations)


def test_a_run_that_cannot_be_trusted_is_no_recovery() -> None:
    class Broken(Varying):
        def measure(self, spec: TrialSpec, note: object = None) -> TrialResult:
            result = super().measure(spec)
            return result if len(spec.streams) == 1 else replace(result, status=Verdict.INVALID, reason="no link")

    result, outcome = run(Broken(3, 3), 64, "runs=2")
    assert (result.state, result.recovery_us_avg, outcome.state) == (Verdict.INVALID, None, Verdict.INVALID)
    assert outcome.findings == ("64 B: no link",)


@pytest.mark.parametrize(("ports", "setting"), [(1, "overload_from=one_port"), (2, "overload_from=two_ports")])
def test_a_bed_without_a_port_that_receives_is_refused(ports: int, setting: str) -> None:
    with pytest.raises(TopologyError, match=f"at least {ports + 1} tester ports"):
        run_unit(SystemRecovery(), make_bed(ports), FakeMeasurer(wire), 64, setting)


def test_an_overload_is_a_whole_number_of_intervals_of_the_reduced_rate() -> None:
    """At 50 % a frame of 64 bytes leaves every 1,344 ns, at a quarter of that every 5,376 ns."""
    mesh = Mesh((Leg(Rotate(), (1, 2), (3,)),), GIGABIT, Fraction(50))
    test = SystemRecovery()
    for overload, changes_at in (("scaled", 1250), ("6.721", 1251), ("0.1", 19)):
        given = ("scaled_frames=1000", "reduced_pct=25", f"overload_ms={overload}")
        spec = recovery_spec(mesh, 64, Fraction(50), resolve(test.name, test.parameters, given))
        fast, slow = spec.streams
        assert (fast.frame_count, fast.start_offset_ns) == (4 * changes_at, ())
        assert (slow.frame_count, slow.start_offset_ns) == (125, (5376 * changes_at,) * 2)
        assert spec.duration_ns == 125 * 5376 and spec.per_flow
    short = resolve(test.name, test.parameters, ("scaled_frames=1000", "reduced_pct=1", "duration_ms=0.1"))
    assert recovery_spec(mesh, 64, Fraction(50), short).streams[1].frame_count == 2


def test_recovery_is_that_of_the_worst_flow() -> None:
    """100 frames of a source at 1,000 frames/s: of a flow with half of them one leaves every 2 ms."""
    stream = Stream(REDUCED, 64, Fraction(1000), 100, Rotate(), (1, 2), (3,))
    ms = 10**6
    whole = FlowCounts(REDUCED, 1, 3, 100, 97, first_tx_ns=5 * ms, last_gap_tx_ns=12 * ms)
    half = FlowCounts(REDUCED, 2, 3, 50, 47, first_tx_ns=5 * ms, last_gap_tx_ns=10 * ms)
    lossless_ = replace(whole, rx_frames=100, last_gap_tx_ns=90 * ms)
    before = replace(whole, stream=OVERLOAD, tail_lost_frames=9, last_gap_tx_ns=50 * ms)

    def time_ms(*flows: FlowCounts) -> Fraction | None:
        spec = TrialSpec("recovery", (stream,), 100 * ms)
        found = recovery_ns(trial_result(spec, Verdict.MEASURED, "", Counts(flows=flows)), stream)
        return None if found is None else found / ms

    assert time_ms(half) == 3
    assert time_ms(before, whole, half, lossless_) == time_ms(half, whole) == 6
    assert time_ms(lossless_, before) == 0
    assert time_ms(replace(half, tail_lost_frames=1), whole) is None
    assert time_ms(whole, replace(half, last_gap_tx_ns=None)) is None


@pytest.mark.parametrize(
    ("lost", "last", "at_most"),
    [
        (1, 500, True),
        (30, 500, True),
        # Less than half of the frames until then may be of chance.
        (249, 500, True),
        (250, 500, False),
        (1, 100, False),
        (30, 130, True),
    ],
)
def test_a_last_gap_that_may_be_of_chance_is_a_bound(lost: int, last: int, at_most: bool) -> None:
    """Of 1,000 frames behind the change some are lost, the last one here, though the throughput trial lost none."""

    class Chance(Numbed):
        def _flow(self, stream: object, flow: FlowCounts) -> FlowCounts:
            if flow.stream != REDUCED:
                return super()._flow(stream, flow)
            gap_ns = int(start_ns(stream) + last * flow.tx_frames / 1000 * NS_PER_S / stream.rate_fps)  # type: ignore[attr-defined]
            frames = lost * flow.tx_frames // 1000
            return replace(flow, rx_frames=flow.tx_frames - frames, first_tx_ns=start_ns(stream), last_gap_tx_ns=gap_ns)

    def start_ns(stream: object) -> int:
        return int((stream.start_offset_ns or (0,))[0])  # type: ignore[attr-defined]

    result, outcome = run(Chance(max_rate_fps(64, GIGABIT, 30), 0), 64, "runs=1")
    interval_us = 1e6 / result.reduced_fps
    assert result.resolution_us == pytest.approx(result.recovery_us_max if at_most else interval_us)
    assert any("recovery takes no longer" in text for text in outcome.findings) is at_most


@pytest.mark.parametrize(
    ("gap_us", "lost", "by_chance"), [(125, 1, False), (126, 1, True), (500, 250, False), (500, 249, True)]
)
def test_a_gap_in_an_eighth_of_the_time_or_behind_which_half_was_lost_is_not_of_chance(
    gap_us: int, lost: int, by_chance: bool
) -> None:
    """A frame each microsecond for 1 ms, from 7 us on."""
    reduced = Stream(REDUCED, 64, Fraction(10**6), 1000, Pairs(), (1,), (2,))
    flow = FlowCounts(REDUCED, 1, 2, 1000, 1000 - lost, first_tx_ns=7000, last_gap_tx_ns=7000 + 1000 * gap_us)
    assert _lost_by_chance(cast("TrialResult", SimpleNamespace(flows=(flow,))), reduced) is by_chance


@pytest.mark.parametrize(("threshold_pct", "state"), [(80, Verdict.PASS), (95, Verdict.FAIL)])
def test_a_throughput_below_the_threshold_fails_though_the_device_recovers(threshold_pct: int, state: Verdict) -> None:
    """A gap of 10 bytes more leaves 84 / 94 of the line."""
    settings = ("runs=1", f"pass_threshold_pct={threshold_pct}")
    result, outcome = run(Numbed(max_rate_fps(64, GIGABIT, 30), 0), 64, *settings)
    assert (result.state, outcome.state) == (Verdict.PASS, state)


def test_a_device_that_loses_to_the_end_has_not_recovered() -> None:
    result, outcome = run(Numbed(max_rate_fps(64, GIGABIT, 30), 40_000, tail=True), 64, "runs=2")
    assert (result.state, result.recovery_us_avg) == (Verdict.FAIL, None)
    assert outcome.state is Verdict.FAIL
    assert outcome.findings == ("64 B: frames were lost until the end of the trial",)


@pytest.mark.parametrize("ppm_below", [0, 100])
def test_line_rate_cannot_be_exceeded_by_one_port(ppm_below: int) -> None:
    result, outcome = run(FakeMeasurer(wire), 64, f"ppm_below={ppm_below}")
    assert (result.reason, result.recovery_us_avg, result.runs) == ("not applicable", None, None)
    assert outcome.findings == ()
    assert outcome.state is Verdict.MEASURED


@pytest.mark.parametrize(("overload", "longer"), [((), True), (("overload_ms=60000",), False)])
def test_a_device_recovers_at_once_from_an_overload_that_loses_nothing(overload: tuple[str, ...], longer: bool) -> None:
    """Its error is known for an overload of the RFC's length alone: a queue may hold a shorter one."""
    measurer = FlowMeasurer(lossless)
    limit = max_rate_fps(64, GIGABIT, 30)
    measurer.carry = lambda spec, sent: sent if spec.streams[0].rate_fps <= limit else sent - 1

    class Search(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: object = None) -> TrialResult:
            return measurer.measure(spec) if spec.per_flow else FakeMeasurer.measure(measurer, spec)

    result, outcome = run(Search(lossless), 64, "runs=1", *overload)
    assert (result.state, result.recovery_us_max, result.resolution_us is None) == (Verdict.PASS, 0, longer)
    reason = "the overload lost no frame, so there is nothing to recover from"
    assert result.reason == (f"{reason}; one of 60 s (overload_ms) may fill a queue" if longer else reason)
    assert (f"64 B: {result.reason}" in outcome.findings) is longer
    assert outcome.state is Verdict.PASS


def test_two_ports_overload_a_third() -> None:
    measurer = FakeMeasurer(wire)
    result, _ = run(measurer, 64, "overload_from=two_ports", "search_max_pct=50")
    assert result.throughput.theoretical_pct == 50, "of each line"
    (stream,) = measurer.specs[0].streams
    assert (stream.tx_ports, stream.rx_ports) == ((1, 2), (3,))


@pytest.mark.parametrize(("size", "queue_frames"), [(64, 64), (512, 512)])
def test_a_queue_in_front_of_the_bottleneck_recovers_after_it_has_drained(size: int, queue_frames: int) -> None:
    """The first switch keeps sending its backlog of Q frames at its own rate, above the second one's.

    The backlog is gone Q / (uplink rate - reduced rate) after the change; until then the second switch
    drops a frame every 1 / (uplink - egress). Frames sent that far apart at the reduced rate leave the
    backlog closer together, in the ratio of reduced to uplink rate.
    """
    settings = ("runs=2", "scaled_frames=8000", *FAST)
    results, outcome, _ = run_on_sim(SystemRecovery(), chain(queue_frames), (size,), *settings)
    (result,) = results.values()
    assert result.state is Verdict.PASS, result.reason
    uplink_fps = max_rate_fps(size, GIGABIT, 8 + UPLINK_GAP_BYTES)
    egress_fps = max_rate_fps(size, GIGABIT, 8 + EGRESS_GAP_BYTES)
    assert result.throughput_fps == pytest.approx(float(egress_fps), rel=0.002)
    reduced_fps = Fraction(result.reduced_fps)
    drained_us = float(1_000_000 * queue_frames / (uplink_fps - reduced_fps))
    between_losses_us = float(1_000_000 / (uplink_fps - egress_fps) * uplink_fps / reduced_fps)
    slack_us = float(2_000_000 / reduced_fps)
    assert drained_us - between_losses_us - slack_us <= result.recovery_us_avg <= drained_us + slack_us
    assert result.recovery_us_min > 0 and result.reduced_lost_frames > 0
    assert outcome.state is Verdict.PASS


@pytest.mark.parametrize(
    ("fault", "at_most"),
    [
        ("loss_ppb: 0", False),
        ("impairments: {corrupt_ppb: 4000000}", True),
        ("impairments: {reorder_ppb: 30000000, reorder_delay_ns: 300000}", True),
    ],
)
def test_the_last_gap_of_a_device_that_loses_or_delays_single_frames_is_a_bound(fault: str, at_most: bool) -> None:
    """The look-up takes 64 frames more than its capacity: at half of the overload, its debt is gone within 3 ms."""
    topology = parsed(switch("lookup: {capacity_fps: 50000, burst_frames: 64}", fault, ports=2, rates_bps=10**8))
    settings = ("runs=1", "scaled_frames=2000", "acceptable_loss_pct=1", *FAST)
    results, outcome, _ = run_on_sim(SystemRecovery(), topology, (128,), *settings)
    (result,) = results.values()
    paid_us = 64e6 / (50_000 - result.reduced_fps)
    assert abs(result.recovery_us_avg - paid_us) < result.resolution_us + 2e6 / result.reduced_fps
    assert (result.recovery_us_avg > 2 * paid_us) is at_most
    assert any("recovery takes no longer" in text for text in outcome.findings) is at_most
