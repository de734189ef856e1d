"""Options of every load: how far it stays below line rate, and ports that start one after the other."""

from __future__ import annotations

import pytest
from support.beds import GIGABIT, make_bed
from support.fakes import FakeMeasurer
from support.networks import parsed, shipped, switch
from support.runs import run_on_sim, run_units

from p4mesh.methods.base import Method
from p4mesh.methods.registry import find_test
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.trial.spec import TrialSpec

BED = make_bed(behind="aabb", uplink_rate_bps=GIGABIT)
QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
SLOW_DEVICE = switch(ports=2, port="clock_offset_ppm: -1000, queue_frames: 16")


def specs(test: Method, *settings: str) -> list[TrialSpec]:
    measurer = FakeMeasurer()
    run_units(test, BED, measurer, (64,), *settings)
    return measurer.specs


@pytest.mark.parametrize(
    "name",
    [
        "rfc2889.fully_meshed",
        "rfc2889.multiple_devices",
        "rfc2889.congestion_control",
        "rfc2889.maximum_forwarding_rate",
        "rfc2889.broadcast",
        "rfc2544.throughput",
        "rfc2544.frame_loss",
    ],
)
def test_no_load_is_above_the_one_asked_for(name: str) -> None:
    loads = [
        100 * stream.rate_fps / max_rate_fps(64, GIGABIT)
        for spec in specs(find_test(name), "ppm_below=200")
        for stream in spec.streams
    ]
    assert float(max(loads)) == pytest.approx(99.98, abs=1e-12)


def test_ports_start_one_after_the_other() -> None:
    for spec in specs(find_test("rfc2544.throughput"), "start_stagger_us=64"):
        out, back = spec.streams
        assert (out.tx_ports, out.start_offset_ns) == ((1, 3), (0, 64_000))
        assert (back.tx_ports, back.start_offset_ns) == ((2, 4), (128_000, 192_000))


def test_trials_have_the_phases_and_the_limit_of_their_parameters() -> None:
    phases = ("learning_wait_ms=7", "learning_verify=false", "settle_ms=3", "restabilise_ms=5")
    for spec in specs(find_test("rfc2544.throughput"), *phases, "sustained_ppm=2000"):
        assert (spec.learning.wait_ns, spec.learning.verify) == (7_000_000, False)
        assert (spec.settle_ns, spec.restabilise_ns, spec.excess_limit_ppm) == (3_000_000, 5_000_000, 2000)


def test_a_device_with_a_slow_clock_is_lossless_below_its_own_line_rate() -> None:
    """Its ports are 1000 ppm slow: 16 frames of queue are full after 16,000 frames at line rate."""
    topology = parsed(SLOW_DEVICE)
    full = run_on_sim(FrameLoss(), topology, (64,), "scaled_frames=40000", *QUICK)[1]
    below = run_on_sim(FrameLoss(), topology, (64,), "scaled_frames=40000", "ppm_below=1100", *QUICK)[1]
    assert full.tables[0].rows[0]["lost_frames"] > 0
    assert [(row["load_pct"], row["lost_frames"]) for row in below.tables[0].rows] == [(99.89, 0), (90, 0)]


def test_the_offered_load_of_staggered_ports_is_measured_from_each_start() -> None:
    settings = ("parts=forwarding", "sweep_start_pct=50", "sweep_end_pct=50", "scaled_frames=2000", *QUICK)
    topology = shipped("p4-l2-4ports")
    for stagger in ("0", "640"):
        outcome = run_on_sim(FullyMeshed(), topology, (64,), *settings, f"start_stagger_us={stagger}")[1]
        row = next(table for table in outcome.tables if table.name == "forwarding_rate").rows[0]
        assert row["mfr_offered_pct"] == pytest.approx(50, rel=2e-3)
