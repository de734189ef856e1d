"""Multicast over a chassis at its loads: the columns of published reports, against closed-form answers of the model."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer, FlowMeasurer, lossless
from support.runs import run_on_sim, run_unit
from support.small_chassis import PORTS, QUICK, SWITCH, rows, smaller

from p4mesh.errors import TopologyError
from p4mesh.measurement.counts import LatencyStats, QueueTrend, Trend
from p4mesh.methods.base import TrialNote, Unit
from p4mesh.methods.bed import Bed
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.options.shared import search_of
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.quantities import number_text
from p4mesh.topology.loader import parse_topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import TrialSpec
from p4mesh.verdict import Verdict

JOINS = ("joins_per_s=100000", "join_wait_ms=1", "leave_wait_ms=1")


def run(test: str, size: int, *settings: str) -> Outcome:
    given = (*QUICK, *JOINS, "udp_ports=in_turn", *settings)
    return run_on_sim(find_test(test), smaller(SWITCH), (size,), *given)[1]


LINE_FPS = float(max_rate_fps(512, 10**9))


def by_hand(
    test: str, *settings: str, measurer: FakeMeasurer | None = None, bed: Bed | None = None
) -> tuple[list[Any], Outcome, list[TrialSpec]]:
    """Rows of every load, the outcome and the trials of a test on four ports of 1 Gbit/s, or other ones, for 512 B."""
    fake = measurer or FlowMeasurer(lossless)
    outcome = run_unit(find_test(test), bed or make_bed(4), fake, 512, "scaled_frames=1000", *settings)[1]
    return rows(outcome, "every_load"), outcome, fake.specs


def test_loads_of_all_to_all_by_hand() -> None:
    """A load that is the highest one is not above it; four outputs get it from three ports each."""
    every, outcome, specs = by_hand("chassis.n_to_n", "load_pct=50", "stagger_us=20", "udp_ports=in_turn")
    assert [(row["at"], row["line_pct"], row["reason"]) for row in every] == [
        ("10 %", 10, ""),
        ("50 %", 50, ""),
        ("90 %", 90, "NA"),
        ("throughput", 50, ""),
    ]
    assert every[1]["forwarding_fps"] == pytest.approx(4 * LINE_FPS / 2, rel=1e-12)
    assert every[1]["forwarding_l2_tbps"] == pytest.approx(4 * LINE_FPS / 2 * 8 * 512 / 1e12, rel=1e-12)
    for spec, pct in zip(specs, (10, 50, 50), strict=True):
        (stream,) = spec.streams
        assert float(stream.rate_fps) == pytest.approx(LINE_FPS * pct / 300)
        # Frames of a port are 127.68 or 25.536 us apart: whole ones are no part of its start.
        starts = (0, 20_000, 40_000, 60_000) if pct == 10 else (0, 20_000, 14_464, 8_928)
        assert (stream.start_offset_ns, len(stream.modifiers)) == (starts, 2)
        assert spec.watch_queues and not spec.per_flow and spec.departure_error_ns is not None
    assert "Each output gets up to 50 %; ports start 20 us apart." in outcome.tables[0].note
    assert outcome.summary.endswith("4 ports, each to a group of its own with igmpv3, PASS")
    _, outcome, specs = by_hand("chassis.n_to_n", "load_pct=5")
    assert "all ports start together" in outcome.tables[0].note
    assert [(spec.watch_queues, spec.departure_error_ns is None) for spec in specs] == [(True, False)]
    assert outcome.deviations == ("Trial duration 4.256 ms instead of the 120 s of RFC 3918 5.1.",)
    test = find_test("chassis.n_to_n")
    assert test.trials_expected(Unit(512, ""), resolve(test.name, test.parameters, ())) == 4
    by_hand("chassis.n_to_n", "load_pct=5", bed=make_bed(3))
    with pytest.raises(TopologyError, match="3"):
        by_hand("chassis.n_to_n", bed=make_bed(2))


@pytest.mark.parametrize(
    ("test", "settings"),
    [
        ("chassis.n_to_n", ("load_pct=5", "scaled_frames=80000")),
        ("chassis.multicast", ("groups=1000", "search_max_pct=5", "search_initial_pct=5", "scaled_frames=1000")),
        ("chassis.full_mesh", ("search_max_pct=5", "search_initial_pct=5", "scaled_frames=80000")),
    ],
)
def test_rates_say_what_a_bucket_of_every_sender_may_hide(test: str, settings: tuple[str, ...]) -> None:
    measurer = FlowMeasurer(lossless)
    outcome = run_unit(find_test(test), make_bed(4), measurer, 512, *settings)[1]
    frames = measurer.specs[-1].streams[0].frame_count
    assert frames > 1000
    told = f"burst of 1,000 frames, as policers do, loses up to {number_text(100_000 / frames, 4)} % more of them"
    assert all(told in table.note for table in outcome.tables[:2])


class Queued(FlowMeasurer):
    """Loses nothing, and has queues of one state."""

    def __init__(self, queues: QueueTrend) -> None:
        super().__init__(lossless)
        self.queues = queues

    def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
        return replace(super().measure(spec, note), queues=self.queues if spec.watch_queues else None)


FILLING = QueueTrend(Trend.FILLING, 6304.0, 5.0, 5288.0, 0.1891, (2,))


@pytest.mark.parametrize("test", ["rfc3918.n_to_n", "chassis.n_to_n"])
@pytest.mark.parametrize(
    ("queues", "sustained", "state", "longest", "told"),
    [
        (QueueTrend(Trend.STEADY), "true", Verdict.PASS, 1, None),
        (FILLING, "true", Verdict.FAIL, 1, "not sustained: 6,304 ppm (5,288 frames/s) more comes in than leaves"),
        (FILLING, "false", Verdict.PASS, 1, "not sustained: 6,304 ppm (5,288 frames/s) more comes in than leaves"),
        (QueueTrend(Trend.UNCLEAR, longer=10), "true", Verdict.MEASURED, 32, "the trial is too short to tell"),
        (QueueTrend(Trend.UNCLEAR, longer=10), "false", Verdict.PASS, 1, "the trial is too short to tell"),
    ],
)
def test_a_goal_of_no_loss_is_missed_where_a_queue_fills(
    test: str, queues: QueueTrend, sustained: str, state: Verdict, longest: int, told: str | None
) -> None:
    """A trial that ends before a queue is full loses nothing, and a longer one does."""
    measurer, settings = Queued(queues), ("scaled_frames=1000", "load_pct=5", f"sustained={sustained}", "stagger_us=0")
    outcome = run_unit(find_test(test), make_bed(4), measurer, 512, *settings)[1]
    lengths = [spec.duration_ns for spec in measurer.specs]
    assert (outcome.state, round(max(lengths) / lengths[0])) == (state, longest)
    assert [told in text for text in outcome.findings] == ([True] if told else [])


def test_queues_stand_in_a_matrix_of_groups() -> None:
    settings = ("scaled_frames=1000", "groups=20", "until_capacity=false")
    outcome = run_unit(find_test("rfc3918.scaled_matrix"), make_bed(4), Queued(FILLING), 512, *settings)[1]
    assert [(row["queues"], row["verdict"]) for row in rows(outcome, "scaled_matrix")] == [("filling", "MEASURED")] * 2
    assert [text[:24] for text in outcome.findings] == ["512 B, 10 groups at 100 ", "512 B, 20 groups at 100 "]
    assert "3/n of the n frames sent, with 95 % confidence: 0.3 % in the shortest trial" in outcome.tables[0].note


def test_loads_of_one_port_to_all_by_hand() -> None:
    """Each of 300 groups has two frames at least: 600 instead of 100 and 500 of a trial; three ports receive."""
    settings = ("groups=300", "source_port=2", "search_max_pct=90")
    measurer = FlowMeasurer(lossless)
    every, outcome, specs = by_hand("chassis.multicast", *settings, measurer=measurer)
    assert [(row["at"], row["line_pct"]) for row in every] == [
        ("10 %", pytest.approx(10, rel=1e-12)),
        ("50 %", pytest.approx(50, rel=1e-12)),
        ("90 %", pytest.approx(90, rel=1e-12)),
        ("throughput", pytest.approx(90, rel=1e-12)),
    ]
    assert every[2]["forwarding_fps"] == pytest.approx(3 * 0.9 * LINE_FPS, rel=1e-12)
    search, *trials = specs
    assert [spec.streams[0].frame_count for spec in trials] == [600, 600, 900, 900]
    assert search.streams[0].frame_count == 900
    assert all(spec.watch_queues and spec.departure_error_ns is not None for spec in trials)
    assert {(spec.streams[0].tx_ports, spec.streams[0].rx_ports) for spec in specs} == {((2,), (1, 3, 4))}
    assert "From port 2 to all egress ports." in outcome.tables[0].note
    assert outcome.summary.endswith("port 2 to 3 ports, 300 groups, PASS")
    test = find_test("chassis.multicast")
    parameters = resolve(test.name, test.parameters, settings)
    assert test.latency_pairs(make_bed(4), parameters) == ((2, 1), (2, 3), (2, 4))
    expected = search_of(parameters).trials_expected + 4
    assert test.trials_expected(Unit(512, ""), parameters) == expected
    assert measurer.notes[0] is not None and measurer.notes[0].remaining == expected - 1
    # Nothing passes: no load is measured but those of the search.
    nothing = FlowMeasurer(lambda _, sent: dict.fromkeys(sent, 0))
    every, _, specs = by_hand("chassis.multicast", "groups=1", measurer=nothing)
    assert [(row["at"], row["reason"]) for row in every] == [(f"{load} %", "NA") for load in (10, 50, 90)]


def test_latency_of_copies_at_ports_of_several_rates_is_that_of_each_port() -> None:
    """Goal: LILO of 2 us between first bits, from 1 to 10 and to 1 Gbit/s: 4.096 us less 0.4096 us are 3.6864 us."""
    bed = make_bed(rates_bps=(10**9, 10**9, 10**10))
    every, _, specs = by_hand("chassis.multicast", "groups=1", "latency_definition=LILO", bed=bed)
    assert every[0]["min_us"] == pytest.approx(2 - 3.6864)
    assert all(spec.per_flow for spec in specs[1:])
    (row, *_), _, specs = by_hand("chassis.multicast", "groups=1", "latency_definition=LILO")
    assert row["min_us"] == pytest.approx(2.24) and not any(spec.per_flow for spec in specs[1:])


def test_jitter_of_copies_is_no_more_certain_than_that_of_their_frames() -> None:
    """One delay may hit all three copies: with as many differences, the error is sqrt(3) times as large."""

    class Jittering(FlowMeasurer):
        def measure(self, spec: TrialSpec, note: TrialNote | None = None) -> TrialResult:
            latency = LatencyStats(3000, 2240.0, 2705.0, 2300.0 * 3000, 3000, 0.0, 400.0, 3000 * 50.0)
            return replace(super().measure(spec, note), latency=latency)

    errors = []
    for ports in (2, 4):
        measurer = Jittering(lossless)
        every, _, _ = by_hand("chassis.multicast", "groups=1", measurer=measurer, bed=make_bed(ports))
        errors.append(every[0]["jitter_avg_error_us"] - 0.002)
    assert errors[0] > 0 and errors[1] == pytest.approx(sqrt(3) * errors[0])


def test_one_port_to_all_at_every_load() -> None:
    outcome = run("chassis.multicast", 512, "groups=5")
    assert outcome.state is Verdict.PASS, outcome.findings
    every = rows(outcome, "every_load")
    assert [row["at"] for row in every] == ["10 %", "50 %", "90 %", "throughput"]
    for row, load in zip(every, ("10", "50", "90", "99.994"), strict=True):
        fps = (PORTS - 1) * max_rate_fps(512, 10**11) * Fraction(load) / 100
        assert row["forwarding_fps"] == pytest.approx(float(fps), rel=1e-12)
        assert row["forwarding_l2_tbps"] == pytest.approx(float(fps * 8 * 512 / 10**12), rel=1e-12)
        assert row["line_pct"] == pytest.approx(float(load))
        # Two cables of 175 ns and 500 ns within a module; 1700 ns more to the other one.
        assert row["min_us"] == pytest.approx(0.85, abs=0.025)
        assert row["avg_us"] == pytest.approx(0.85 + 4 / 7 * 1.7, abs=0.1)
    for name in ("jitter_avg", "jitter_max"):
        (jitter,) = rows(outcome, name)
        loads = [key for key in jitter if "error" not in key]
        assert loads == ["frame_size_bytes", "load_10_us", "load_50_us", "load_90_us", "throughput_us"]
        errors = [key for key in jitter if "error" in key]
        assert len(errors) == (4 if name == "jitter_avg" else 0)
    assert [figure.name for figure in outcome.figures] == ["average_delay", "maximum_delay"]
    assert [len(series.points) for figure in outcome.figures for series in figure.series] == [4, 4]


def test_jitter_stands_at_every_load_of_many_groups() -> None:
    """Goal: frames of a load of 10 % that are fewer than the groups have no second one of any; more are sent then."""
    outcome = run("chassis.multicast", 512, "groups=300")
    for name in ("jitter_avg", "jitter_max"):
        (jitter,) = rows(outcome, name)
        assert all(isinstance(cell, int | float) for cell in jitter.values()), jitter


@pytest.mark.parametrize(("size", "published_us", "jitter_us"), [(128, 3.35, 0.76), (1518, 3.47, 0.87)])
def test_a_frame_in_the_way_predicts_the_largest_published_latencies(
    size: int, published_us: float, jitter_us: float
) -> None:
    """Goal: what docs/CHASSIS.md says of a delay that is the largest jitter of unicast frames of 64 bytes."""
    spike = "    latency_ns: 500\n    jitter: {spike: {delay_ns: 700, chance_ppb: 1000000}}\n"
    text = smaller(SWITCH).text.replace("    latency_ns: 500\n", spike)
    found = []
    for topology in (smaller(SWITCH), parse_topology("spike.yaml", text)):
        _, outcome, trials = run_on_sim(find_test("chassis.multicast"), topology, (size,), *QUICK, *JOINS, "groups=1")
        found.append(next(row for row in rows(outcome, "every_load") if row["at"] == "90 %"))
        # Those behind the frame that waits do not overtake it.
        assert not any(result.reordered_frames for _, result in trials)
    assert found[0]["max_us"] < published_us - 0.7
    assert found[1]["max_us"] == pytest.approx(published_us, abs=0.11)
    assert found[1]["jitter_max_us"] == pytest.approx(jitter_us, abs=0.18)


def test_every_port_to_all_others_at_every_load() -> None:
    outcome = run("chassis.n_to_n", 256)
    assert outcome.state is Verdict.PASS, outcome.findings
    every = rows(outcome, "every_load")
    assert [row["line_pct"] for row in every] == pytest.approx([10, 50, 90, 99.955], abs=1e-3)
    averages = [row["avg_us"] for row in every]
    # All ports send at once, so that an output has a queue of seven frames at every load.
    queued_us = 3 * 8 * 276 / 100_000
    assert all(average > 0.85 + 4 / 7 * 1.7 + 0.5 * queued_us for average in averages)


def test_a_load_that_buffers_do_not_hold_fails_and_is_shown() -> None:
    shallow = smaller(SWITCH, queue_frames=1)
    outcome = run_on_sim(find_test("chassis.n_to_n"), shallow, (256,), *QUICK, *JOINS)[1]
    assert outcome.state is Verdict.FAIL
    every = rows(outcome, "every_load")
    assert [row["state"] for row in every] == ["FAIL"] * 4
    assert all(row["line_pct"] < load for row, load in zip(every, (10, 50, 90, 99.955), strict=True))
    # With a stagger of several frame times none of them meet.
    spread = run_on_sim(find_test("chassis.n_to_n"), shallow, (256,), *QUICK, *JOINS, "load_pct=20", "stagger_us=1")[1]
    assert spread.state is Verdict.PASS
