"""A full mesh over a chassis: the columns of published reports, against closed-form answers of the model."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.networks import shipped
from support.runs import run_on_sim
from support.small_chassis import PORTS, QUICK, ROUTER, SWITCH, rows, smaller

from p4mesh.errors import ParameterError
from p4mesh.methods.options.parameters import resolve
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Outcome
from p4mesh.run.preparation import bed_of
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.verdict import Verdict

ETHERNET = "frame_format=ethernet"
TOP_PCT = Fraction("99.994")


def run(topology: str, size: int, *settings: str) -> Outcome:
    small = smaller(topology)
    return run_on_sim(find_test("chassis.full_mesh"), small, (size,), *QUICK, *settings)[1]


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
    assert averages == sorted(averages)  # type: ignore[type-var]
    assert [figure.name for figure in outcome.figures] == ["average_delay", "maximum_delay"]
    (jitter,) = rows(outcome, "jitter_max")
    assert list(jitter) == ["frame_size_bytes", "load_10_us", "load_50_us", "load_90_us", "throughput_us"]


def test_slots_limit_short_frames_and_loads_above_are_not_applicable() -> None:
    combo = ("search_method=combo", "search_initial_pct=60", "search_resolution_pct=0.5")
    # The highest load is 0.03 % below the slots: trials of QUICK are too short to tell that its queues do not fill.
    settings = ("scaled_frames=4000", *QUICK[1:], ETHERNET, *combo)
    outcome = run_on_sim(find_test("chassis.full_mesh"), smaller(SWITCH), (64,), *settings)[1]
    (row,) = rows(outcome, "rate_and_latency")
    assert row["line_pct"] == pytest.approx(69.6875)
    every = {row["at"]: row for row in rows(outcome, "every_load")}
    assert (every["90 %"]["state"], every["90 %"]["reason"]) == (None, "NA")
    assert every["90 %"]["forwarding_fps"] is None


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
    outcome = run(ROUTER, 128, f"frame_format={frame_format}", "routed=true", "udp_ports=in_turn")
    (row,) = rows(outcome, "rate_and_latency")
    assert row["line_pct"] == pytest.approx(99.994)
    assert row["min_us"] == pytest.approx(least_us, abs=0.025)


def test_ports_without_a_common_phase_collide_at_the_outputs() -> None:
    outcome = run(SWITCH, 1518, ETHERNET, "pattern=mesh_streams", "ports_in_step=2")
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
