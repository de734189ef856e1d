"""Failures of a device that recirculates: on sim the latency grows by turns of its loop, to the picosecond."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.beds import make_bed
from support.fakes import FlowMeasurer, lossless
from support.networks import changed, shipped
from support.runs import run_units

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.measurement.counts import Counts, FlowCounts, LatencyStats, Outage
from p4mesh.methods.base import TrialNote
from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.options.parameters import ParameterSet, resolve
from p4mesh.methods.recirculation.cases import (
    PARAMETERS,
    Case,
    cases_of,
    duration_deviation,
    require_failures,
    require_rates,
    trial_of,
    wire_of,
)
from p4mesh.methods.recirculation.cases import failures_of as numbers_of_failures
from p4mesh.methods.recirculation.results import CaseUnit, Repetition, repetition_of
from p4mesh.methods.recirculation.tables import delta_table, findings_of, repetition_table, switchover_table
from p4mesh.methods.registry import find_test
from p4mesh.methods.rfc6201.reset_trial import FRAME_LOSS, reset_time
from p4mesh.run.options import RunOptions
from p4mesh.run.single import FinishedRun, run
from p4mesh.topology import Topology
from p4mesh.topology.device_events import events_of, failures_of
from p4mesh.topology.engine_network import build_network
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.results import trial_result
from p4mesh.trial.spec import Interruption, TrialSpec
from p4mesh.verdict import Verdict

PIPELINE_US, LOOP_BPS = 0.550, 100_000_000_000
DETECTION_MS = 1
QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=0", "scaled_frames=400", "repetitions=2")


def measure(tmp_path: Path, topology: Topology, sizes: str, *settings: str) -> FinishedRun:
    given = dict(setting.split("=", 1) for setting in (*QUICK, *settings))
    words = tuple(f"{key}={value}" for key, value in given.items())
    return run(RunOptions("recirculation.delta", topology, sizes, words, tmp_path / "run", jobs=1))


def rows(finished: FinishedRun, name: str) -> list[dict[str, Any]]:
    return [dict(row) for table in finished.outcome.tables if table.name == name for row in table.rows]


def test_the_delta_is_turns_of_pipelines_and_wire(tmp_path: Path) -> None:
    found = measure(tmp_path, shipped("p4-reroute"), "1518,118", "failures=1,5", "during=false", "rates=1 Gbit/s L2")
    assert found.outcome.state is Verdict.MEASURED
    assert not found.outcome.findings
    table = rows(found, "delta")
    assert [(row["frame_size_bytes"], row["failures"]) for row in table] == [
        (size, failures) for size in (1518, 118) for failures in (0, 1, 5)
    ]
    for row in table:
        assert (row["tx_frames"], row["lost_frames"], row["stddev_us"]) == (400, 0, 0)
        assert (row["tester_min_us"], row["tester_max_us"], row["tester_jitter_us"]) == (0.005, 0.005, 0), "its wire"
        if row["failures"]:
            turn_us = PIPELINE_US + 8e6 * row["frame_size_bytes"] / LOOP_BPS
            for kind in ("min", "avg", "max"):
                expected = pytest.approx(row["failures"] * turn_us, abs=1e-9)
                ends = (f"delta_{kind}_us", f"delta_{kind}_us_low", f"delta_{kind}_us_high")
                value, low, high = (row[end] for end in ends)
                assert value == expected, kind
                assert (high - value, value - low) == pytest.approx((0.000002, 0.000002), abs=1e-9), "two time stamps"
            assert row["significant"] == "yes"
        else:
            assert row["significant"] is None


def test_the_packets_are_those_of_the_report(tmp_path: Path) -> None:
    settings = ("duration_ms=10000", "during=false", "failures=1", "rates=1 Mbit/s L2", "repetitions=1")
    found = measure(tmp_path, shipped("p4-reroute"), "1518", *settings)
    # Of 100 Mbit/s the report has 82,346: rate x 10 s / (8 x (1514 + 4)), rounded up.
    assert {row["tx_frames"] for row in rows(found, "delta")} == {824}
    assert [row["significant"] for row in rows(found, "delta")] == [None, "unknown"], "one repetition has no spread"


def test_failures_during_traffic_lose_what_is_sent_until_they_are_noticed(tmp_path: Path) -> None:
    found = measure(tmp_path, shipped("p4-reroute"), "1518", "rates=1 Gbit/s L2", "failures=5", "sample_ms=0.01")
    (row,) = rows(found, "switchover")
    interval_ms = 8 * 1518 / 1e6
    assert row["recovered"] == "yes"
    assert row["loss_ms_avg"] == pytest.approx(DETECTION_MS, abs=interval_ms)
    assert row["lost_frames_min"] == row["lost_frames_max"] == round(row["loss_ms_avg"] / interval_ms)
    assert row["stamps_ms_avg"] == pytest.approx(DETECTION_MS, abs=2 * interval_ms)
    assert row["resolution_ms"] == pytest.approx(interval_ms)


def test_a_device_that_does_not_recover_is_a_fail(tmp_path: Path) -> None:
    topology = changed(
        "p4-reroute",
        (
            "      - {failure: 1, after_s: 0.001, insert: [{table: failed_link, key: {port: 2}, action: try_next}]}\n",
            "",
        ),
    )
    found = measure(tmp_path, topology, "1518", "rates=1 Gbit/s L2", "failures=1")
    assert found.outcome.state in (Verdict.FAIL, Verdict.INVALID)
    assert any("until the end of the trial" in finding for finding in found.outcome.findings)
    assert len(set(found.outcome.findings)) == len(found.outcome.findings)
    (row,) = rows(found, "switchover")
    assert row["recovered"] == "no" and row["lost_frames_avg"] > 0
    assert row["loss_ms_avg"] is None, "a loss until the end of the trial is no time of recovery"
    (each,) = (table for table in found.outcome.tables if table.name == "repetitions")
    lossy = [one for one in each.rows if one["lost_frames"]]
    assert lossy and all(one["loss_ms"] is None for one in lossy)


def unit(failures: int, times_us: tuple[float, ...], jitter_us: float) -> CaseUnit:
    """A case whose repetitions have these latencies and this jitter."""
    each = tuple(
        Repetition(
            state=Verdict.MEASURED,
            reason="",
            tx_frames=100,
            lost_frames=0,
            reordered_frames=0,
            duplicate_frames=0,
            min_us=time_us,
            avg_us=time_us,
            max_us=time_us,
            jitter_avg_us=jitter_us,
        )
        for time_us in times_us
    )
    return CaseUnit(
        frame_size_bytes=118,
        packet_size_bytes=114,
        rate="1 %",
        failures=failures,
        during=False,
        offered_fps=1e6,
        each=each,
    )


@pytest.mark.parametrize(
    ("times_us", "jitter_us", "said"),
    [
        ((13.0, 13.1, 12.9), 1.0, "yes"),
        ((13.0, 13.1, 12.9), 3.5, "not significant"),
        ((13.0, 20.0, 6.0), 1.0, "not significant"),
        ((13.0,), 1.0, "unknown"),
        ((7.0, 7.1, 6.9), 1.0, "yes"),
    ],
)
def test_a_delta_is_significant_above_the_jitter_of_the_tester(
    times_us: tuple[float, ...], jitter_us: float, said: str
) -> None:
    units = (unit(-1, (1.0, 1.2), jitter_us), unit(0, (10.0, 10.1, 9.9), 0.5), unit(5, times_us, 0.5))
    bed = Bed("bench", (Port(1, "p1", 10**9), Port(2, "p2", 10**9)))
    without, failed = delta_table(units, bed).rows
    assert (without["significant"], failed["significant"]) == (None, said)
    assert failed["tester_avg_us"] == pytest.approx(1.1)
    assert failed["delta_avg_us"] == pytest.approx(sum(times_us) / len(times_us) - 10)


def test_without_a_wire_significance_is_unknown() -> None:
    bed = Bed("bench", (Port(1, "p1", 10**9), Port(2, "p2", 10**9)))
    rows_of = delta_table((unit(0, (10.0, 10.0), 0.5), unit(1, (13.0, 13.0), 0.5)), bed).rows
    assert [row["significant"] for row in rows_of] == [None, "unknown"]
    assert rows_of[1]["tester_jitter_us"] is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("failures=6", "failures=6: topology 'p4-reroute' describes 5"),
        ("failures=0", "--set failures=0: not valid"),
        ("failures=1,1", "a number is given twice"),
        ("rates=1 Gbit/s", "--set rates: '1 Gbit/s' is not valid"),
        ("rates=11 Gbit/s L2", "above the line of port 1"),
        ("rates=1 % of cap", "the port has no rate cap"),
        ("sender=2", "port 2 would send to itself"),
        ("receiver=5", "has no such port"),
        (f"rates={', '.join(f'{place} %' for place in range(1, 22))}", "too many, or one twice"),
    ],
)
def test_what_cannot_be_measured_is_refused(setting: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as caught:
        measure(tmp_path, shipped("p4-reroute"), "1518", setting)
    assert message in str(caught.value)


def test_a_device_that_cannot_fail_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="needs a device that can fail"):
        measure(tmp_path, shipped("p4-l2-4ports"), "1518", "failures=1")


def test_events_are_those_of_the_file() -> None:
    topology = shipped("p4-reroute")
    events = events_of(topology.devices[0])
    assert failures_of(topology) == 5
    assert (events[0].failure, events[0].after_s, events[0].links_down, events[0].insert) == (1, 0, (2,), ())
    assert (events[1].after_s, events[1].insert[0]["table"]) == (0.001, "failed_link")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{failure: 1, links_down: [2]}", "{links_down: [2]}", "at_s, failure and after_s do not fit together"),
        ("{failure: 1, links_down: [2]}", "{failure: 1, links_down: [8]}", "no port 8 on this device"),
        ("table: failed_link, key: {port: 2}", "table: failed, key: {port: 2}", "no table 'failed' in the program"),
        ("loop: {rate_bps: 100000000000,", "loop: {rate_bps: 5,", "rate_bps"),
    ],
)
def test_errors_in_events_name_the_line(old: str, new: str, message: str) -> None:
    with pytest.raises(TopologyError, match=r"^p4-reroute \(changed\)\.yaml:\d+: nodes\[0\]") as caught:
        build_network(changed("p4-reroute", (old, new)))
    assert message in str(caught.value)


def test_a_stall_behind_the_gap_is_not_the_outage() -> None:
    """On the wall clock a flow also stands still when all of its frames are sent."""
    stream = Stream("pair", 64, Fraction(1000), 100, Pairs(), (1,), (2,))
    spec = TrialSpec("pair", (stream,), 10**8)
    outage = Outage("pair", 1, 2, 100, 5, 0, last_before_ns=90_000_000, first_after_ns=90_000_000)
    time = reset_time(spec, cast(TrialResult, SimpleNamespace(outages=(outage,), latency=None)))
    assert (time.loss_ns, time.stamps_ns, time.method) == (5_000_000, None, FRAME_LOSS)


def trial(interrupted: bool, latency: LatencyStats | None, tail: int = 0, corrupted: int = 0) -> Repetition:
    """A trial of 1,000 frames at 1,000 frames/s, of which one flow lost five, all of them in one gap."""
    stream = Stream("pair", 64, Fraction(1000), 1000, Pairs(), (1,), (2,))
    spec = TrialSpec("pair", (stream,), 10**9, interruption=Interruption(10**6, 10**6) if interrupted else None)
    outage = Outage("pair", 1, 2, 1000, 5, tail, last_before_ns=90_000_000, first_after_ns=96_000_000)
    flows = (FlowCounts("pair", 1, 2, 1000, 995, latency=latency),)
    counts = Counts(
        *(1000, 1000, 1000, 995),
        lost_frames=5,
        duplicate_frames=2,
        reordered_frames=3,
        flows=flows,
        corrupted_frames=corrupted,
    )
    result = trial_result(spec, Verdict.MEASURED, "", counts)
    return repetition_of(spec, replace(result, outages=(outage,) if interrupted or tail else ()))


def test_a_trial_by_hand() -> None:
    """Three frames of 1, 2 and 4.000001 us: the mean has 12 decimals, the others are whole picoseconds."""
    stats = LatencyStats(3, 1000.0, 4000.001, 7000.001, 2, 500.0, 1500.0, 2000.0)
    plain = trial(False, stats, corrupted=4)
    assert (plain.min_us, plain.avg_us, plain.max_us, plain.jitter_avg_us) == (1, 2.333333666667, 4.000001, 1)
    assert (plain.tx_frames, plain.lost_frames, plain.reordered_frames, plain.duplicate_frames) == (1000, 5, 3, 2)
    assert (plain.corrupted_frames, plain.loss_ms, plain.stamps_ms, plain.verdict) == (4, None, None, Verdict.MEASURED)
    found = trial(True, replace(stats, jitter_count=0))
    assert (found.jitter_avg_us, found.corrupted_frames) == (None, None)
    # Five frames of 1 ms each; 6 ms from the last departure before the gap to the first one behind it.
    assert (found.loss_ms, found.stamps_ms, found.recovered, found.verdict) == (5, 6, True, Verdict.PASS)
    assert found.resolution_ms == 1
    assert replace(found, state=Verdict.INVALID).verdict is Verdict.INVALID
    lost = trial(True, replace(stats, count=0), tail=5)
    assert (lost.recovered, lost.verdict, lost.min_us, lost.avg_us) == (False, Verdict.FAIL, None, None)
    assert trial(False, None, tail=5).loss_ms is None, "nothing failed during the trial"


def test_trials_of_each_case_by_hand() -> None:
    """Half of 1 Gbit/s with frames of 118 bytes and 20 more each; three trials with and three without failures."""
    measurer, test = FlowMeasurer(lossless), find_test("recirculation.delta")
    settings = ("rates=50 %", "failures=2", "repetitions=3", "during=false", "scaled_frames=100")
    results, outcome = run_units(test, make_bed(rates_bps=(10**9, 10**10), failures=5), measurer, (118,), *settings)
    assert measurer.notes == [TrialNote(Fraction(50), left) for left in (2, 1, 0)] * 2
    assert [spec.failures for spec in measurer.specs] == [0] * 3 + [2] * 3
    assert sorted(len(unit.each) for unit in results.values()) == [0, 3, 3], "no trial of a wire that there is not"
    for unit in results.values():
        assert (unit.frame_size_bytes, unit.packet_size_bytes) == (118, 114)
        assert unit.offered_fps == pytest.approx(1e9 / (2 * 8 * 138))
    assert {spec.streams[0].rate_fps for spec in measurer.specs} == {Fraction(10**9, 2 * 8 * 138)}
    assert (outcome.state, len(outcome.tables)) == (Verdict.MEASURED, 2)
    parameters = resolve(test.name, test.parameters, ("repetitions=3",))
    assert test.goal(parameters) and not test.goal(resolve(test.name, test.parameters, ("during=false",)))
    units = test.units(parameters, (118,))
    expected = {unit.part.split(", ")[1]: test.trials_expected(unit, parameters) for unit in units}
    assert expected == {"tester alone": 3, "0 failures": 3, "5 failures": 3, "5 failures during traffic": 1}


def test_the_traffic_of_each_case_by_hand() -> None:
    """1,000 frames/s: 8.5 ms have nine begins; four frames take 4 ms, and 0.2 ms more than those of 1 million/s."""
    test, bed = find_test("recirculation.delta"), make_bed(rates_bps=(10**9, 10**10, 10**9))

    def given(*settings: str) -> ParameterSet:
        return resolve(test.name, test.parameters, ("sender=3", "receiver=1", *settings))

    timed = given("duration_ms=8.5", "repetitions=2", "failures=1", "rates=1000 frames/s")
    plain, during = Case("1000 frames/s", 2, during=False), Case("1000 frames/s", 5, during=True, repetition=1)
    spec = trial_of(plain, 64, bed, timed, (3, 1))
    (stream,) = spec.streams
    assert (stream.tx_ports, stream.rx_ports, stream.rate_fps, stream.frame_count) == ((3,), (1,), 1000, 9)
    assert (spec.duration_ns, spec.failures, spec.per_flow, spec.interruption) == (9_000_000, 2, True, None)
    assert trial_of(during, 64, bed, timed, (3, 1)).interruption == Interruption(4_500_000, 4_000_000, failures=5)
    quick = replace(during, rate="1000000 frames/s")
    scaled = trial_of(quick, 64, bed, given("scaled_frames=2001"), (3, 1))
    assert scaled.interruption == Interruption(1_000_500, 200_000, failures=5)
    alone = trial_of(replace(plain, failures=-1), 64, bed, timed, (3, 1))
    assert not alone.learning.enabled and not alone.failures, "nothing learns on a wire"
    assert trial_of(replace(plain, failures=0), 64, bed, timed, (3, 1)).learning.enabled
    assert [(case.failures, case.during, case.repetition) for case in cases_of(timed)] == [
        (-1, False, 0),
        (0, False, 0),
        (1, False, 0),
        (1, True, 1),
        (1, True, 2),
    ]
    assert numbers_of_failures(given("failures=1000,1")) == (1000, 1)
    for wrong in ("failures=1001", "failures=0", "failures=x"):
        with pytest.raises(ParameterError, match=f"--set {wrong}: not valid"):
            numbers_of_failures(given(wrong))
    require_failures(replace(bed, failures=5), given("failures=5,1"))
    with pytest.raises(ParameterError, match=r"failures=6: topology '.*' describes 5"):
        require_failures(replace(bed, failures=5), given("failures=1,6"))
    assert trial_of(plain, 64, bed, given("duration_ms=0.5"), (3, 1)).streams[0].frame_count == 1
    # The wire is one of the sender's rate, 1 Gbit/s.
    wired = replace(bed, wires=((2, 1), (1, 3)))
    to_faster = resolve(test.name, test.parameters, ("sender=3", "receiver=2"))
    assert wire_of(wired, to_faster) == (1, 3) and wire_of(bed, timed) is None
    # A rate is for the sizes that can have it: 1,000,000 frames/s are above the line with 9216 bytes alone.
    require_rates(bed, given("rates=1000000 frames/s"))
    require_rates(bed, given(f"rates={', '.join(f'{place} %' for place in range(81, 101))}"))
    with pytest.raises(ParameterError, match=r" 1,488,095\.33 frames/s, above the line of port 3") as caught:
        require_rates(bed, given("rates=1488095.3333 frames/s"))
    assert caught.value.hint == "at most 1488095.238 frames/s, 100 %"
    require_rates(bed, given("rates=1488095.238 frames/s"))


@pytest.mark.parametrize(
    ("setting", "rates_fps", "span"),
    [
        ("scaled_frames=100", [300.0, 30_000.0], "3.333 to 333.3 ms"),
        ("scaled_frames=100", [1000.0], "100 ms"),
        ("duration_ms=2000", [1000.0], "2,000 ms"),
        ("duration_ms=10000", [1000.0], ""),
        ("scaled_frames=10000", [1000.0], ""),
        ("scaled_frames=100", [], ""),
    ],
)
def test_trials_that_are_shorter_than_those_of_the_report_are_told_by_hand(
    setting: str, rates_fps: list[float], span: str
) -> None:
    test = find_test("recirculation.delta")
    expected = (
        f"Trial duration {span} instead of the 10 s of the report; with --set duration_ms=10000 a trial has as many "
        "packets as there."
    )
    said = duration_deviation(resolve(test.name, test.parameters, (setting,)), rates_fps)
    assert said == (expected if span else "")


def test_tables_by_hand() -> None:
    """At 1,000 frames/s; of trials with failures during the traffic one lost 4, one 8, and one all to its end."""
    whole = replace(unit(0, (10.0, 12.0), 0.5), offered_fps=1000.0)
    first, second = whole.each
    before = replace(
        whole,
        failures=5,
        each=(
            replace(first, lost_frames=3, corrupted_frames=3, min_us=8.0, max_us=100.0),
            replace(second, lost_frames=4, max_us=100.0),
            replace(first, state=Verdict.INVALID, reason="too slow", lost_frames=50),
            replace(first, avg_us=None),
        ),
    )
    gone = {"tx_frames": 200, "corrupted_frames": 3, "reordered_frames": 1}
    cases: tuple[tuple[int, float, dict[str, Any]], ...] = (
        (4, 4.0, {**gone, "stamps_ms": 5.0}),
        (8, 8.0, {"stamps_ms": 8.0, "reordered_frames": 2, "resolution_ms": 3.0}),
        (18, 18.0, {"recovered": False, "stamps_ms": 40.0}),
        (90, 90.0, {"state": Verdict.INVALID, "reason": "too slow"}),
    )
    during = [
        replace(
            before,
            during=True,
            each=(replace(first, lost_frames=lost, loss_ms=loss_ms, **{"resolution_ms": 1.0, **more}),),
        )
        for lost, loss_ms, more in cases
    ]
    bed = Bed("bench", (Port(1, "p1", 10**9), Port(2, "p2", 10**9)))
    units = (whole, before, *during)
    table = delta_table(units, bed)
    assert table.headline == ("avg_us", "delta_avg_us", "significant")
    _, row = table.rows
    # Only the first two of five failures are measured: sample deviation of 10 and 12.
    assert (row["tx_frames"], row["lost_frames"], row["corrupted_frames"]) == (100, 7, 3)
    assert (row["min_us"], row["avg_us"], row["max_us"], row["stddev_us"]) == (
        10,
        11,
        100,
        pytest.approx(2**0.5, rel=1e-9),
    )
    assert (row["delta_min_us"], row["delta_avg_us"], row["delta_max_us"]) == (-1, 0, 89)
    assert row["significant"] == "not significant", "that of the mean"
    longer = replace(before, each=(replace(first, tx_frames=40_000), replace(first, tx_frames=25_000)))
    alone = delta_table((longer,), bed)
    (row,) = alone.rows
    assert (row["avg_us"], row.get("delta_avg_us"), row.get("significant")) == (10, None, None)
    assert "loses up to 4 % more of them" in alone.note, "1,000 frames of the shortest trial"
    (row,) = switchover_table(units).rows
    assert row == {
        "frame_size_bytes": 118,
        "packet_size_bytes": 114,
        "rate": "1 %",
        "failures": 5,
        "tx_frames": 200,
        "lost_frames_min": 4,
        "lost_frames_avg": 10,
        "lost_frames_max": 18,
        "corrupted_frames_avg": 1,
        "loss_ms_min": 4,
        "loss_ms_avg": 6,
        "loss_ms_max": 8,
        "stamps_ms_avg": 6.5,
        "resolution_ms": 3,
        "reordered_frames": 3,
        "recovered": "no",
    }
    (row,) = switchover_table(during[3:]).rows
    assert (row["resolution_ms"], row.get("lost_frames_avg")) == (1, None)
    log = repetition_table((unit(-1, (1.0,), 0.5), *units), bed)
    each = log.rows
    assert log.detail
    assert [(row["moment"], row["failures"], row["repetition"]) for row in each] == [
        ("tester alone", None, 1),
        *(("before", 0, number) for number in (1, 2)),
        *(("before", 5, number) for number in (1, 2, 3, 4)),
        *(("during", 5, number) for number in (1, 2, 3, 4)),
    ]
    assert [row.get("resolution_ms") for row in each] == [None] * 7 + [1, 3, 1, 1]
    assert [row.get("avg_us") for row in each] == [1, 10, 12, 10, 12, 10, None, *[None] * 4], "of one way each"
    parameters = resolve("recirculation.delta", PARAMETERS, ())
    assert findings_of(units, bed, parameters) == (
        "118 B, 1 %, 5 failures: INVALID: too slow",
        "118 B, 1 %, 5 failures during traffic: INVALID: too slow",
        "The latency and jitter of the tester itself are not known: link two more of its ports to each other.",
        "118 B, 1 %, 5 failures: 7 frames were lost, and are in no latency.",
        "118 B, 1 %, 5 failures during traffic: frames were lost until the end of the trial.",
    )
    linked = replace(bed, wires=((1, 2),))
    lossy = [replace(whole, failures=failures, each=(replace(first, lost_frames=2),)) for failures in (-1, 0)]
    assert findings_of(lossy, linked, parameters) == (
        "118 B, 1 %, tester alone: 2 frames were lost, and are in no latency.",
        "118 B, 1 %, 0 failures: 2 frames were lost, and are in no latency.",
    )
    assert findings_of((whole,), linked, parameters) == ()
