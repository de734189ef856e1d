"""Tests of RFC 2889 and RFC 2544 end to end on devices that nobody here wrote, with short trials at low rates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.linux_devices import TARGETS, needs_root, run_live, shipped_on

from p4mesh.methods.results.outcome import Outcome

pytestmark = [pytest.mark.live, needs_root]
PORTS = (1, 2, 3, 4)
SIZE_BYTES = 512
WIRE_BYTES = SIZE_BYTES + 20
RATE_PCT = 20
LINE_FPS = 10_000_000 * RATE_PCT / 100 / (8 * WIRE_BYTES)
"""Frames per second and port at 100 % of the rate that these tests use."""
PHASES = ("learning_wait_ms=100", "settle_ms=200", "restabilise_ms=0")
SHORT = ("duration_ms=300", f"rate_fraction_pct={RATE_PCT}", *PHASES)
SEARCH = ("search_method=bisect", "search_resolution_pct=20", "search_min_pct=10", "acceptable_loss_pct=2")


def single(outcome: Outcome, table: str) -> dict[str, object]:
    """The only row of a table."""
    (row,) = next(found for found in outcome.tables if found.name == table).rows
    return dict(row)


def number(row: Mapping[str, object], key: str) -> float:
    value = row[key]
    assert isinstance(value, (int, float)), row
    return float(value)


def test_fully_meshed_traffic_through_the_bridge(tmp_path: Path) -> None:
    """RFC 2889 5.1."""
    topology = shipped_on("bridge-4x10m", "bridge")
    sweep = ("sweep_start_pct=50", "sweep_end_pct=100", "sweep_step_pct=50")
    outcome = run_live("rfc2889.fully_meshed", topology, SIZE_BYTES, tmp_path, *SHORT, *SEARCH, *sweep)
    assert number(single(outcome, "mesh_throughput"), "offered_fps") >= 0.1 * len(PORTS) * LINE_FPS
    rates = single(outcome, "forwarding_rate")
    assert number(rates, "flooded_frames") == 0
    assert 0.9 * len(PORTS) * LINE_FPS < number(rates, "mfr_fps") <= 1.001 * len(PORTS) * LINE_FPS


def test_the_bridge_learns_addresses_as_fast_as_they_come(tmp_path: Path) -> None:
    """RFC 2889 5.8."""
    topology = shipped_on("bridge-4x10m", "bridge")
    settings = ("addresses=sweep", "addresses_start=100", "addresses_end=100", "rate_max_fps=500")
    reset = ("reset_between=toggle_link", "link_off_s=0.1", "link_on_delay_s=0.1")
    outcome = run_live("rfc2889.address_learning", topology, 64, tmp_path, *settings, *reset, *PHASES[:2])
    row = single(outcome, "address_learning")
    assert (row["state"], row["rate_fps_min"], row["rate_fps_max"]) == ("MEASURED", 500, 500)


def test_broadcasts_through_open_vswitch(tmp_path: Path) -> None:
    """RFC 2889 5.10."""
    topology = shipped_on("bridge-4x10m", "openvswitch")
    outcome = run_live("rfc2889.broadcast", topology, SIZE_BYTES, tmp_path, *SHORT, *SEARCH)
    row = single(outcome, "broadcast")
    assert number(row, "offered_fps") > 0
    assert number(row, "forwarding_fps") == pytest.approx(3 * number(row, "offered_fps"), rel=0.02), (
        "a copy for each other port"
    )


def test_latency_of_frr(tmp_path: Path) -> None:
    """RFC 2544 26.2."""
    topology = shipped_on("router-4x1g", "frr")
    settings = ("routed=true", "latency_factor=1", "runs=1", "ports=first_pair")
    outcome = run_live("rfc2544.latency", topology, SIZE_BYTES, tmp_path, *SHORT, *SEARCH, *settings)
    row = single(outcome, "latency")
    assert number(row, "samples") > 0.9 * 0.3 * LINE_FPS * number(row, "load_of_cap_pct") / 100
    # The way through the sending kernel is taken off; the shortest latency may be within its error.
    assert 0 <= number(row, "min_us") <= number(row, "avg_us") <= number(row, "max_us")


def test_frame_loss_of_the_linux_router_with_ipv6(tmp_path: Path) -> None:
    """RFC 2544 26.3."""
    topology = shipped_on("router-4x1g", "linux")
    outcome = run_live("rfc2544.frame_loss", topology, SIZE_BYTES, tmp_path, *SHORT, "routed=true", "frame_format=ipv6")
    rows = outcome.tables[0].rows
    assert rows[0]["load_of_cap_pct"] == 100
    for row in rows:
        assert number(dict(row), "rx_frames") > 0.9 * number(dict(row), "tx_frames") > 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_mix_of_sizes_goes_through_the_bridge_in_its_shares(target: str, tmp_path: Path) -> None:
    """Goal: of 12 frames of each sender 7 have 64 bytes, 4 have 570 and 1 has 1,518, in every trial, and all come."""
    topology = shipped_on("bridge-4x10m", "bridge")
    settings = ("rate_fraction_pct=5", "duration_ms=1000", "step_pct=10", *PHASES)
    outcome = run_live("rfc2544.frame_loss", topology, "imix", tmp_path, *settings, ports="1,2", target=target)
    (sizes,) = (table.rows for table in outcome.tables if table.name == "sizes")
    trials = {row["trial"]: [other for other in sizes if other["trial"] == row["trial"]] for row in sizes}
    assert trials
    for rows in trials.values():
        assert [row["frame_size_bytes"] for row in rows] == [64, 570, 1518]
        frames = sum(number(row, "tx_frames") for row in rows)
        for row, share in zip(rows, (7, 4, 1), strict=True):
            assert number(row, "tx_frames") == pytest.approx(frames * share / 12, abs=4)
            assert row["rx_frames"] == row["tx_frames"]


def test_back_to_back_frames_of_a_p4_switch(tmp_path: Path) -> None:
    """RFC 2544 26.4 on simple_switch_grpc."""
    topology = shipped_on("p4-l2-4ports", "simple_switch_grpc")
    settings = ("burst_max_frames=40", "burst_limit_s=0.05", "repetitions=1", "duration_ms=300", *SEARCH[:3])
    outcome = run_live("rfc2544.back_to_back", topology, SIZE_BYTES, tmp_path, *settings, *PHASES)
    row = single(outcome, "back_to_back")
    # Its ports are slower than it is, so no burst can fill a buffer (RFC 9004 section 6.1).
    assert (row["state"], row["reason"], row["burst_frames_avg"]) == ("MEASURED", "not applicable", None)
