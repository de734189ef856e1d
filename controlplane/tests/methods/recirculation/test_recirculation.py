"""Failures of a device that recirculates: on sim the latency grows by turns of its loop, to the picosecond."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.networks import changed, shipped

from p4mesh.errors import ParameterError, TopologyError
from p4mesh.measurement.counts import Outage
from p4mesh.methods.bed import Bed, Port
from p4mesh.methods.recirculation.results import CaseUnit, Repetition
from p4mesh.methods.recirculation.tables import delta_table
from p4mesh.methods.rfc6201.reset_trial import FRAME_LOSS, reset_time
from p4mesh.run.options import RunOptions
from p4mesh.run.single import FinishedRun, run
from p4mesh.topology import Topology
from p4mesh.topology.device_events import events_of, failures_of
from p4mesh.topology.engine_network import build_network
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
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
    outage = Outage("pair", 1, 2, 100, 5, 0, last_before_ns=90_000_000, first_after_ns=55_000_000)
    time = reset_time(spec, cast(TrialResult, SimpleNamespace(outages=(outage,))))
    assert (time.loss_ns, time.stamps_ns, time.method) == (5_000_000, None, FRAME_LOSS)
