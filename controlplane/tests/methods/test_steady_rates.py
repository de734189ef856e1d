"""Rates and losses under overload are those of a trial of any length, whatever queues hold when it ends.

Method: outputs whose rate follows from their gap, in scaled trials and in trials of 30 s on slow links.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.networks import shipped
from support.queue_devices import Device
from support.runs import run_on_sim

from p4mesh.methods.base import Method
from p4mesh.methods.rfc2544.frame_loss import FrameLoss
from p4mesh.methods.rfc2889.congestion_control import CongestionControl
from p4mesh.methods.rfc2889.fully_meshed import FullyMeshed
from p4mesh.methods.rfc2889.maximum_forwarding_rate import MaximumForwardingRate
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import Pairs
from p4mesh.verdict import Verdict

QUICK = ("learning_wait_ms=1", "settle_ms=1", "restabilise_ms=1")
WIDE_GAP = 128
"""24 bytes beside a frame, where a line has 20."""


def first_row(test: Method, topology: Topology, size: int, *settings: str) -> dict[str, Any]:
    """First row of the first table."""
    _, outcome, _ = run_on_sim(test, topology, (size,), *QUICK, *settings)
    return dict(outcome.tables[0].rows[0])


def lost_pct(device: Device) -> float:
    """Loss at line rate once queues are full."""
    return 100 - float(device.sustained_pct)


@pytest.mark.parametrize("queue_frames", [1, 64, 1000, 100_000])
@pytest.mark.parametrize("frames", [1000, 30_000])
def test_loss_at_line_rate_follows_from_the_gap_whatever_the_queue_holds(queue_frames: int, frames: int) -> None:
    device = Device(ports=2, ifg_bits=WIDE_GAP, queue_frames=queue_frames, pattern=Pairs())
    row = first_row(FrameLoss(), device.topology, 64, f"scaled_frames={frames}")
    assert row["loss_pct"] == pytest.approx(lost_pct(device), abs=100 / frames)
    assert row["lost_frames"] + (row.get("late_frames") or 0) == round(row["loss_pct"] / 100 * row["tx_frames"])
    assert row["loss_low_pct"] <= lost_pct(device) <= row["loss_high_pct"]


@pytest.mark.parametrize("size", [64, 1518])
def test_a_scaled_trial_loses_as_one_of_30_s(size: int) -> None:
    device = Device(
        ports=2, rate_bps=10**7, ifg_bits=WIDE_GAP, queue_frames=200, pattern=Pairs(), frame_size_bytes=size
    )
    scaled = first_row(FrameLoss(), device.topology, size, "scaled_frames=3000")
    long = first_row(FrameLoss(), device.topology, size, "duration_ms=30000")
    sent = long["tx_frames"]
    assert long["loss_pct"] == pytest.approx(lost_pct(device), abs=200 / sent + 1e-3)
    assert scaled["loss_pct"] == pytest.approx(long["loss_pct"], abs=100 / 3000 + 100 / sent)


@pytest.mark.parametrize(("frames", "within"), [(30_000, 0.004), (1000, 0.11)])
def test_the_shipped_switch_loses_what_its_gap_takes(frames: int, within: float) -> None:
    """24 bytes beside frames of 1,518: 4 of 1,542."""
    topology = shipped("wrs-18x1g")
    row = first_row(FrameLoss(), topology, 1518, f"scaled_frames={frames}")
    assert row["loss_pct"] == pytest.approx(100 * 4 / 1542, abs=within)


def test_loss_at_the_maximum_forwarding_rate_is_that_of_the_closed_form() -> None:
    """24 bytes beside frames of 1,280 where the line has 20; 0.304 % was published."""
    row = first_row(MaximumForwardingRate(), shipped("wrs-18x1g"), 1280)
    assert row["loss_pct"] == pytest.approx(100 * 4 / 1304, abs=0.004)
    assert row["mfr_fps"] == pytest.approx(10**9 / 8 / 1304, rel=4e-5)
    assert row["mfr_fps"] >= row["throughput_fps"]


@pytest.mark.parametrize("queue_frames", [64, 1000])
def test_a_congested_port_forwards_what_its_gap_leaves(queue_frames: int) -> None:
    device = Device(ports=4, ifg_bits=WIDE_GAP, queue_frames=queue_frames)
    row = first_row(CongestionControl(), device.topology, 64, "scaled_frames=3000")
    output_fps = 10**9 / 8 / 88
    assert row["congested_fps"] == pytest.approx(output_fps, rel=1 / 3000)
    assert row["congested_loss_pct"] == pytest.approx(100 * (1 - output_fps / (1.5 * 10**9 / 8 / 84)), abs=0.1)
    assert row["congested_late_frames"] == pytest.approx(queue_frames, abs=3)


def test_the_maximum_forwarding_rate_is_the_highest_of_all_trials() -> None:
    """A device that forwards 17.5 % of 64-byte frames and less above: no load of a sweep in steps of 10 % is near."""
    topology = shipped("wrs-18x1g")
    settings = ("scaled_frames=3000", "sweep_start_pct=10", "sweep_step_pct=90", "search_resolution_pct=1")
    _, outcome, trials = run_on_sim(FullyMeshed(), topology, (64,), *QUICK, *settings)
    tables = {table.name: table.rows[0] for table in outcome.tables if table.rows}
    mfr, throughput = tables["forwarding_rate"]["mfr_fps"], tables["mesh_throughput"]["offered_fps"]
    assert isinstance(mfr, float) and isinstance(throughput, float)
    assert mfr >= throughput * (1 - 1e-4)
    assert mfr <= 18 * max_rate_fps(64, 10**9)
    assert trials


@pytest.mark.parametrize("max_ns", [1000, 20_000])
def test_rare_losses_through_jitter_are_those_that_were_counted(max_ns: int) -> None:
    model = f"    jitter: {{uniform: {{max_ns: {max_ns}}}}}\n    loss_ppb: 300000"
    device = Device(ports=2, model=model, pattern=Pairs())
    row = first_row(FrameLoss(), device.topology, 512, "step_pct=10")
    assert not row.get("late_frames")
    assert row["loss_pct"] == pytest.approx(100 * row["lost_frames"] / row["tx_frames"])
    assert row["lost_frames"] > 0


def test_a_goal_of_a_sweep_is_judged_by_the_loss_that_is_printed() -> None:
    device = Device(ports=2, ifg_bits=WIDE_GAP, queue_frames=100_000, pattern=Pairs())
    row = first_row(FrameLoss(), device.topology, 64, "sweep_loss_limit_pct=1")
    assert row["lost_frames"] == 0 and row["loss_pct"] > 4
    assert row["state"] == Verdict.FAIL.value
