"""Judges queues of seeded meshes of 4 to 64 ports against limits of 50 to 100,000 ppm; ``make fuzz`` takes 200 of them.

Method: the watch of queues gets the registers that a device of known excess would leave. ``P4MESH_QUEUE_MESHES`` says
how many devices.
"""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import pytest
from support.networks import shipped
from support.queue_devices import Device, opened
from support.queue_model import QueueModel, seeded

from p4mesh.measurement.counts import Trend
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import frame_time_ns, rate_at_pct, tx_frames
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec

MESHES = int(os.environ.get("P4MESH_QUEUE_MESHES", "5"))
COVERED = 0.95
CAPACITY_PCT = Fraction("69.7")
"""Of the chassis with frames of 64 bytes: its slots by the frames of the line."""
JITTER = "    jitter: {uniform: {max_ns: 1000}}"
GAP_OF_16_BYTES = 128


def test_nothing_above_the_limit_is_steady_and_the_stated_error_covers_the_truth() -> None:
    covered, unclear = 0, 0
    for seed in range(MESHES):
        model, limit_ppm = seeded(seed)
        found, _ = model.judged(limit_ppm)
        above = model.excess * 1e6 > limit_ppm
        assert found.trend is not Trend.STEADY or not above, (model, limit_ppm, found)
        assert found.trend is not Trend.FILLING or model.excess > 0, (model, limit_ppm, found)
        covered += model.covers(found)
        unclear += found.trend is Trend.UNCLEAR
    print(f"{covered} of {MESHES} errors cover the truth; {unclear} trials of the greatest length do not tell")
    assert covered >= COVERED * MESHES
    assert unclear <= 0.1 * MESHES


@pytest.mark.parametrize("limit_ppm", [2000, 5000])
@pytest.mark.parametrize("excess_ppm", [12_800, 11_450])
def test_a_mesh_between_line_cards_hides_no_excess_in_its_last_frames(limit_ppm: int, excess_ppm: int) -> None:
    """Frames that cross the fabric come last, after the queues to their ports have become empty."""
    model = QueueModel(32, 4200, excess_ppm / 1e6, crossing_frames=180)
    found, _ = model.judged(limit_ppm)
    assert found.trend is Trend.FILLING and model.covers(found)


def chassis(load_pct: Fraction, longer: int, limit_ppm: int) -> TrialSpec:
    """Make a scaled trial of the full mesh of the shipped chassis."""
    everyone = tuple(range(1, 33))
    rate = rate_at_pct(load_pct, 64, 10**11)
    duration_ns = round(longer * 6000 * frame_time_ns(64, 10**11))
    stream = Stream("load", 64, rate, tx_frames(duration_ns, rate), FullMesh(), everyone, everyone)
    learning = Learning(wait_ns=10**6)
    return TrialSpec(
        *("chassis", (stream,), duration_ns, learning, 10**6),
        restabilise_ns=0,
        watch_queues=True,
        excess_limit_ppm=limit_ppm,
    )


@pytest.fixture(scope="module")
def nexus() -> Topology:
    return shipped("nexus9508-32x100g")


@pytest.mark.parametrize(("limit_ppm", "load"), [(5000, "70.5936"), (5000, "69.6")])
def test_the_shipped_chassis_passes_no_load_that_its_slots_do_not_carry(
    nexus: Topology, limit_ppm: int, load: str
) -> None:
    excess_ppm = max(0.0, 1e6 * float(Fraction(load) / CAPACITY_PCT - 1))
    with open_measurer(nexus) as engine:
        longer = 1
        while True:
            result = engine.measure(chassis(Fraction(load), longer, limit_ppm))
            trend = result.queues
            assert trend is not None
            if result.lost_frames:
                assert excess_ppm, "a queue that fills becomes full"
                return
            if trend.trend is not Trend.UNCLEAR:
                break
            longer *= trend.longer
    assert trend.trend is (Trend.FILLING if excess_ppm else Trend.STEADY)
    # The slots carry 69.6998 %.
    assert abs(trend.excess_ppm - excess_ppm) <= trend.error_ppm + 3


@pytest.mark.parametrize(("load_ppm", "limit_ppm"), [(-50_000, 5000), (-50_000, 50), (5500, 5000), (12_000, 5000)])
def test_a_short_trial_through_jitter_tells_what_it_can(load_ppm: int, limit_ppm: int) -> None:
    device = Device(ports=10, model=JITTER, ifg_bits=GAP_OF_16_BYTES)
    load = device.sustained_pct * (1 + Fraction(load_ppm) / 1_000_000)
    with opened(device) as engine:
        result = engine.measure(replace(device.spec(load, frames=2000), excess_limit_ppm=limit_ppm))
    trend = result.queues
    assert result.lost_frames == 0 and trend is not None
    if load_ppm < 0:
        assert trend.trend is (Trend.UNCLEAR if limit_ppm == 50 else Trend.STEADY)
    else:
        assert trend.trend is not Trend.STEADY
    assert abs(trend.excess_ppm - max(0, load_ppm)) <= trend.error_ppm
