"""Detects from latencies of one short trial whether a queue of the device fills, without false alarms.

Method: switches whose outputs send at a known rate, loaded above and below it. ``P4MESH_QUEUE_DEVICES`` says how many
seeded devices meet a load below and one above their rate (``make fuzz``).
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from support.queue_devices import Device, measured, opened, seeded

from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.methods.search.lengthening import MOST_LENGTHENING
from p4mesh.traffic.patterns import Broadcast, FullMesh, MeshStreams, Pairs, Pattern, Rotate

DEVICES = int(os.environ.get("P4MESH_QUEUE_DEVICES", "4"))
PPM = Fraction(1, 1_000_000)
GAP_OF_16_BYTES = 128
"""24 bytes beside a frame, so that the output sends less than a line can bring."""


def trend_at(device: Device, excess_ppm: float) -> QueueTrend:
    """The trend at a load that is this much above the sustained one, with no frame lost."""
    result, _ = measured(device, device.sustained_pct * (1 + Fraction(excess_ppm) * PPM))
    assert result.lost_frames == 0, result
    assert result.queues is not None
    return result.queues


@pytest.mark.parametrize(
    ("pattern", "excess_ppm"),
    [(FullMesh(), 60), (Pairs(), 60), (Rotate(), 1500), (MeshStreams(), 60)],
)
def test_the_excess_is_that_of_the_closed_form(pattern: Pattern, excess_ppm: int) -> None:
    device = Device(ports=4, pattern=pattern, ifg_bits=GAP_OF_16_BYTES)
    trend = trend_at(device, excess_ppm)
    assert trend.trend is Trend.FILLING
    assert trend.excess_ppm == pytest.approx(excess_ppm, abs=trend.error_ppm + 0.5) and trend.error_ppm < 10
    output_fps = 10**9 / 8 / (64 + 24)
    assert trend.excess_fps == pytest.approx(excess_ppm * 1e-6 * output_fps, rel=0.05)
    assert trend.overflow_s == pytest.approx(1000 / trend.excess_fps)
    assert set(trend.rx_ports) == set(device.receivers)


def test_the_queue_of_a_server_for_broadcast_frames_is_seen_at_all_ports() -> None:
    server = "    broadcast: {service_min_ns: 1000, queue_frames: 1000}"
    device = Device(ports=4, pattern=Broadcast(), model=server)
    below, above = (device.spec(Fraction("67.2") * share) for share in (Fraction("0.999"), Fraction("1.001")))
    with opened(device) as engine:
        steady, filling = (engine.measure(spec).queues for spec in (below, above))
    assert steady is not None and steady.trend is Trend.STEADY
    assert filling is not None and filling.trend is Trend.FILLING
    assert filling.excess_ppm == pytest.approx(1000, rel=0.02) and sorted(filling.rx_ports) == [2, 3, 4]


@pytest.mark.parametrize(
    ("model", "load"),
    [
        ("uniform: {max_ns: 5000}", "0.3"),
        ("uniform: {max_ns: 5000}", "0.9999"),
        ("normal: {mean_ns: 5000, sigma_ns: 1000}", "0.9999"),
        ("exponential: {mean_ns: 1000, max_ns: 20000}", "0.9999"),
        ("spike: {delay_ns: 20000, chance_ppb: 1000000}", "0.9999"),
    ],
)
def test_jitter_is_no_queue_that_fills(model: str, load: str) -> None:
    device = Device(ports=3, model=f"    jitter: {{{model}}}", ifg_bits=GAP_OF_16_BYTES)
    result, _ = measured(device, device.sustained_pct * Fraction(load))
    assert result.queues is not None and result.queues.trend is not Trend.FILLING, result.queues


@pytest.mark.parametrize(("burst_frames", "pattern"), [(24, FullMesh()), (930, Rotate())])
def test_bursts_fill_queues_for_a_while_only(pattern: Pattern, burst_frames: int) -> None:
    device = Device(
        ports=3,
        pattern=pattern,
        burst_frames=burst_frames,
        queue_frames=5000,
        frame_size_bytes=128,
        ifg_bits=GAP_OF_16_BYTES,
    )
    assert trend_at(device, -500).trend is not Trend.FILLING
    assert trend_at(device, 1500).trend is Trend.FILLING


def test_senders_with_other_clocks_and_rates_meet_in_phases_that_move() -> None:
    """Backlogs of a few frames come and go slowly where streams of nearly equal rates meet at one output."""
    device = Device(ports=3, pattern=Rotate(), tester_ppm=(100, -100), ifg_bits=GAP_OF_16_BYTES)
    spec = device.spec(Fraction(1))
    (stream,) = spec.streams
    rates = (stream.rate_fps * 30, stream.rate_fps * 30 * (1 + 30 * PPM))
    streams = tuple(
        replace(stream, name=f"of {port}", tx_ports=(port,), rate_fps=rate, frame_count=9000)
        for port, rate in zip((1, 2), rates, strict=True)
    )
    with opened(device) as engine:
        trend = engine.measure(replace(spec, streams=streams, duration_ns=9000 * 10**9 // round(rates[0]))).queues
    assert trend is not None and trend.trend is not Trend.FILLING


def test_cut_through_that_becomes_store_and_forward_is_a_step() -> None:
    cut = "    forwarding: cut_through\n    look_ahead_bytes: 64"
    device = Device(ports=4, frame_size_bytes=1024, model=cut, ifg_bits=GAP_OF_16_BYTES)
    assert trend_at(device, -100).trend is Trend.STEADY
    assert trend_at(device, 1500).trend is Trend.FILLING


def test_addresses_that_age_while_traffic_runs_flood_but_fill_nothing() -> None:
    device = Device(
        ports=3, pattern=Rotate(), model="    mac_table: {entries: 64, aging_s: 0.01}", ifg_bits=GAP_OF_16_BYTES
    )
    spec = device.spec(device.sustained_pct * Fraction("0.95"))
    spec = replace(spec, learning=replace(spec.learning, wait_ns=1000, verify=False))
    with opened(device) as engine:
        result = engine.measure(spec)
    assert result.flooded_frames > 1000, "the receiver never sends, so its address is forgotten in the trial"
    assert result.queues is not None and result.queues.trend is not Trend.FILLING


def test_a_queue_that_is_full_loses_frames_and_fills_no_more() -> None:
    device = Device(ports=2, queue_frames=10, ifg_bits=GAP_OF_16_BYTES)
    result, _ = measured(device, device.sustained_pct * Fraction("1.01"))
    assert result.lost_frames > 0
    assert result.queues is not None and result.queues.trend is Trend.STEADY


def test_a_trial_of_few_frames_says_that_it_is_too_short() -> None:
    device = Device(ports=2, model="    jitter: {uniform: {max_ns: 5000}}")
    with opened(device) as engine:
        result = engine.measure(device.spec(Fraction(50), frames=12))
    assert result.queues is not None and result.queues.trend is Trend.UNCLEAR and result.queues.longer > 1


def test_one_frame_has_no_trend() -> None:
    device = Device(ports=2)
    with opened(device) as engine:
        assert engine.measure(device.spec(Fraction(1), frames=100)).queues is None


@pytest.mark.parametrize("load", ["40", "95.6"])
def test_watching_changes_no_count_and_no_latency(load: str) -> None:
    device = Device(ports=4, model="    jitter: {uniform: {max_ns: 300}}", ifg_bits=GAP_OF_16_BYTES)
    spec = device.spec(Fraction(load))
    with opened(device) as engine:
        watched = engine.measure(spec)
    with opened(device) as engine:
        unwatched = engine.measure(replace(spec, watch_queues=False))
    assert watched.queues is not None and unwatched.queues is None
    # The course of latencies, which is watched, tells more of the error of their average.
    assert replace(watched, queues=None, latency_error_ns=unwatched.latency_error_ns) == unwatched


@pytest.mark.parametrize("seed", range(DEVICES))
def test_seeded_devices_have_no_false_alarm_and_hide_no_overload(seed: int) -> None:
    device, draw = seeded(seed), random.Random(seed)
    below = Fraction(1 - 10 ** -draw.uniform(0.5, 4)).limit_denominator(10**6)
    result, _ = measured(device, device.sustained_pct * below)
    assert result.queues is None or result.queues.trend is not Trend.FILLING, (device, float(below), result.queues)
    for excess_ppm, most in ((draw.uniform(60, 1000), MOST_LENGTHENING), (draw.uniform(1000, 10_000), 10)):
        load = device.sustained_pct * (1 + Fraction(excess_ppm) * PPM)
        if load >= device.line_pct:
            continue
        result, longer = measured(device, load)
        found = result.lost_frames > 0 or (result.queues is not None and result.queues.trend is Trend.FILLING)
        assert found and longer <= most, (device, excess_ppm, longer, result.queues)
