"""A full mesh over a chassis: the columns of published reports, against closed-form answers of the model."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.beds import make_bed
from support.fakes import FakeMeasurer
from support.networks import shipped
from support.runs import run_on_sim, run_unit
from support.small_chassis import PORTS, QUICK, ROUTER, SWITCH, rows, smaller

from p4mesh.errors import ParameterError
from p4mesh.measurement.counts import LatencyStats
from p4mesh.methods.base import Unit
from p4mesh.methods.chassis.tables import at_load, figures_of, rows_of, tables_of
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.options.shared import search_of
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.latency import summarise
from p4mesh.methods.results.latency_cells import Circumstances, latency_cells
from p4mesh.methods.results.outcome import Outcome
from p4mesh.methods.results.queues import TOO_SHORT
from p4mesh.run.preparation import bed_of
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.verdict import Verdict

ETHERNET = "frame_format=ethernet"
SEEN_SOON = "sustained_ppm=5000"
"""A queue that three of 600 frames fill: no longer trial follows."""
TOP_PCT = Fraction("99.994")


def run(topology: str, size: int, *settings: str) -> Outcome:
    small = smaller(topology)
    return run_on_sim(find_test("chassis.full_mesh"), small, (size,), *QUICK, *settings)[1]


def test_tables_and_figures_of_loads_by_hand() -> None:
    """Two frames of 1 and 3 us with a jitter of 2 us, at 10 % and at the throughput, which is below 90 %."""
    stats = LatencyStats(2, 1000.0, 3000.0, 4000.0, 1, 2000.0, 2000.0, 2000.0)
    cells = latency_cells(summarise(stats), "LILO", Circumstances())
    highest = at_load(1000, Verdict.UNCLEAR, 10**8, 5.0, 80.0, cells, None)
    lowest = at_load(1000, Verdict.PASS, 10**7, 2.0, 8.0, None, 10.0)
    assert (highest.at, highest.reason, lowest.at, lowest.reason) == ("throughput", TOO_SHORT, "10 %", "")
    # 8,000 bits each: 0.8 Tbit/s.
    assert (highest.forwarding_l2_tbps, highest.forwarding_error_fps, highest.line_pct) == (0.8, 5, 80)
    assert (highest.min_us, highest.avg_us, highest.max_us, highest.samples) == (1, 2, 3, 2)
    assert (highest.jitter_avg_us, highest.jitter_max_us, lowest.avg_us) == (2, 2, None)
    measured = rows_of(1000, [highest, lowest])
    assert [(row.at, row.line_pct, row.reason) for row in measured] == [
        ("10 %", 8, ""),
        ("50 %", 50, "NA"),
        ("90 %", 90, "NA"),
        ("throughput", 80, TOO_SHORT),
    ]
    assert [row.at for row in rows_of(64, [replace(lowest, frame_size_bytes=64)])] == ["10 %", "50 %", "90 %"]
    small = replace(highest, frame_size_bytes=64, avg_us=5.0, avg_error_us=0.5, max_us=None, jitter_avg_error_us=0.25)
    first, every, average, maximum = tables_of([*measured, small], "LILO", "Note.")
    assert [row["frame_size_bytes"] for row in first.rows] == [1000, 64]
    assert [(row["frame_size_bytes"], row["at"]) for row in every.rows][-2:] == [
        (1000, "throughput"),
        (64, "throughput"),
    ]
    filled = {key: value for key, value in average.rows[1].items() if value is not None}
    assert filled == {"frame_size_bytes": 64, "throughput_us": 2.0, "throughput_error_us": 0.25}
    assert average.rows[0]["throughput_us"] == 2 and average.rows[0]["load_50_us"] is None
    assert [column.title for column in average.columns][:3] == ["Frame size", "10 %", "Error at 10 %"]
    assert [column.key for column in maximum.columns] == [
        *("frame_size_bytes", "load_10_us", "load_50_us", "load_90_us", "throughput_us")
    ]
    assert not any("No jitter" in table.note for table in (first, every, average, maximum))
    alone = tables_of([replace(small, jitter_avg_us=None, jitter_max_us=None)], "LILO", "Note.")
    assert all("No jitter where no flow has two frames" in table.note for table in alone)
    mean, greatest = figures_of([*measured, small], "LILO")
    assert [(line.name, line.points) for line in mean.series] == [("1000 B", ((80, 2),)), ("64 B", ((80, 5),))]
    assert [(line.name, line.points) for line in greatest.series] == [("1000 B", ((80, 3),)), ("64 B", ())]


@pytest.mark.parametrize(("most_pct", "lower"), [(50, [10, 50]), (49, [10])])
def test_loads_that_the_throughput_reaches_are_measured_by_hand(most_pct: int, lower: list[int]) -> None:
    """Two frames are flooded in each trial; the ports of a pair have a phase of their own."""
    test, measurer = find_test("chassis.full_mesh"), FakeMeasurer(flooded=2)
    settings = (
        f"search_max_pct={most_pct}",
        f"search_initial_pct={most_pct}",
        "pattern=mesh_streams",
        "ports_in_step=2",
        "udp_ports=in_turn",
    )
    unit, outcome = run_unit(test, make_bed(4), measurer, 512, *settings)
    found = [(row["at"], row["line_pct"]) for row in rows(outcome, "every_load") if row["reason"] != "NA"]
    assert found == [*((f"{load} %", pytest.approx(load)) for load in lower), ("throughput", pytest.approx(most_pct))]
    assert unit.result.flooded_frames == 2 * len(lower)
    assert {len(spec.streams[0].modifiers) for spec in measurer.specs} == {2}
    assert all(spec.per_flow for spec in measurer.specs[-len(lower) :]), "latency of each pair of ports"
    assert outcome.deviations[-1].startswith("Pattern mesh_streams: 2 neighbouring ports have a phase of their own")
    _, outcome = run_unit(test, make_bed(4), FakeMeasurer(), 512, "pattern=mesh_streams")
    assert outcome.deviations[-1].startswith("Pattern mesh_streams: each port has a phase of their own")
    unpassed, outcome = run_unit(test, make_bed(4), FakeMeasurer(lambda _, sent: sent // 2), 512)
    assert (unpassed.result.rows, [row["reason"] for row in rows(outcome, "every_load")]) == ((), ["NA"] * 3)
    parameters = resolve(test.name, test.parameters, ())
    assert test.trials_expected(Unit(512, ""), parameters) == search_of(parameters).trials_expected + 4


def test_rates_are_exact_and_latency_is_that_of_the_fabric() -> None:
    outcome = run(SWITCH, 1518, ETHERNET)
    (row,) = rows(outcome, "rate_and_latency")
    assert outcome.state is Verdict.PASS
    fps = PORTS * max_rate_fps(1518, 10**11) * TOP_PCT / 100
    assert row["forwarding_fps"] == pytest.approx(float(fps), rel=1e-12)
    assert row["forwarding_l2_tbps"] == pytest.approx(float(fps * 8 * 1518 / 10**12), rel=1e-12)
    assert row["line_pct"] == pytest.approx(99.994)
    # Two cables of 175 ns and 500 ns within a module; 1700 ns and a stage of 121.44 ns more between modules.
    assert row["min_us"] == pytest.approx(0.85, abs=0.025)
    assert 0.85 + 4 / 7 * 1.82144 < row["avg_us"] < 3.5
    every = rows(outcome, "every_load")
    assert [row["at"] for row in every] == ["10 %", "50 %", "90 %", "throughput"]
    averages = [row["avg_us"] for row in every]
    assert averages == sorted(averages)
    assert [figure.name for figure in outcome.figures] == ["average_delay", "maximum_delay"]
    (jitter,) = rows(outcome, "jitter_max")
    assert list(jitter) == ["frame_size_bytes", "load_10_us", "load_50_us", "load_90_us", "throughput_us"]


def test_slots_limit_short_frames_and_loads_above_are_not_applicable() -> None:
    combo = ("search_method=combo", "search_initial_pct=65", "search_max_pct=75", "search_resolution_pct=0.5")
    # The highest load is 0.03 % below the slots: trials of QUICK are too short to tell that its queues do not fill.
    settings = ("scaled_frames=4000", "sustained_ppm=1000", *QUICK[1:], ETHERNET, *combo)
    outcome = run_on_sim(find_test("chassis.full_mesh"), smaller(SWITCH), (64,), *settings)[1]
    (row,) = rows(outcome, "rate_and_latency")
    assert row["line_pct"] == pytest.approx(69.6875)
    every = {row["at"]: row for row in rows(outcome, "every_load")}
    assert (every["90 %"]["state"], every["90 %"]["reason"]) == (None, "NA")
    assert every["90 %"]["forwarding_fps"] is None


def test_rates_and_loss_of_the_shipped_profile_are_those_of_a_long_trial_within_their_errors() -> None:
    """Closed form: the slots of 32 ports; what its limit lets pass above them, a long trial loses."""
    search = ("search_min_pct=69", "search_initial_pct=70", "search_max_pct=71", "search_resolution_pct=0.3")
    settings = (ETHERNET, "scaled_frames=6000", "sustained_ppm=5000", *search)
    outcome = run_on_sim(find_test("chassis.full_mesh"), shipped("nexus9508-32x100g"), (64,), *settings)[1]
    (found,), (shown,) = rows(outcome, "mesh_throughput"), rows(outcome, "rate_and_latency")
    for row in (found, shown):
        assert row["forwarding_fps"] == pytest.approx(32 * 103_720_000, abs=row["forwarding_error_fps"])
    excess = found["offered_fps"] / (32 * 103_720_000) - 1
    assert excess <= 5000 / 1e6
    assert 100 * excess / (1 + excess) <= found["loss_pct"] + found["loss_error_pct"]


def test_a_load_whose_trial_is_too_short_to_judge_its_queues_says_so_in_its_row() -> None:
    every = rows(run(SWITCH, 128, ETHERNET), "every_load")
    unclear = [row for row in every if row["state"] == Verdict.UNCLEAR.value]
    assert unclear
    assert {row["reason"] for row in unclear} == {"the trial is too short to tell whether a queue fills"}


def test_counts_conserve_where_a_queue_hides_what_is_above_the_slots() -> None:
    """Loss alone finds the capacity and what the queues of a trial take; no frame is received that was not sent."""
    bounds = ("search_initial_pct=72", "search_min_pct=69", "search_max_pct=80", "search_resolution_pct=1")
    settings = ("scaled_frames=6000", *QUICK[1:], ETHERNET, "sustained=false", *bounds)
    _, outcome, trials = run_on_sim(find_test("chassis.full_mesh"), smaller(SWITCH), (64,), *settings)
    for _, result in trials:
        assert result.intended_frames == result.tx_frames == result.rx_frames + result.lost_frames
        assert result.duplicate_frames == result.flooded_frames == 0
    assert any(result.lost_frames for _, result in trials)
    (row,) = rows(outcome, "rate_and_latency")
    found, slots_pct, queue_frames = row["line_pct"], 100 * 103.72e6 / float(max_rate_fps(64, 10**11)), 128
    assert isinstance(found, float)
    # In the queue of an output, and as many on their way to it.
    assert slots_pct < found < slots_pct + 100 * 2 * queue_frames / 6000


@pytest.mark.parametrize(("frame_format", "least_us"), [("ipv4", 1.55), ("ipv6", 0.85)])
def test_a_router_has_the_same_fabric(frame_format: str, least_us: float) -> None:
    """IPv4 within a module goes by the fabric, where its routes are."""
    outcome = run(ROUTER, 128, f"frame_format={frame_format}", "routed=true", "udp_ports=in_turn", SEEN_SOON)
    (row,) = rows(outcome, "rate_and_latency")
    assert row["line_pct"] == pytest.approx(99.994)
    assert row["min_us"] == pytest.approx(least_us, abs=0.025)


def test_ports_without_a_common_phase_collide_at_the_outputs() -> None:
    outcome = run(SWITCH, 1518, ETHERNET, "pattern=mesh_streams", "ports_in_step=2", SEEN_SOON)
    (row,) = rows(outcome, "rate_and_latency")
    light = rows(outcome, "every_load")[0]
    assert row["line_pct"] == pytest.approx(99.994)
    assert row["avg_us"] > light["avg_us"] + 0.12144
    assert "Pattern mesh_streams: 2 neighbouring ports have a phase of their own" in " ".join(outcome.deviations)


def test_frames_without_ip_have_no_udp_ports() -> None:
    test = find_test("chassis.full_mesh")
    parameters = resolve(test.name, test.parameters, (ETHERNET, "udp_ports=random"))
    with pytest.raises(ParameterError, match="udp_ports=random: frames without IP have no UDP ports"):
        test.check(bed_of(shipped(SWITCH)), parameters)
