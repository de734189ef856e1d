"""Tells a queue near its capacity, which wanders with random arrivals, from one that fills.

Method: latencies of a queue that takes one frame per slot, from arrivals that numpy draws, counted as the registers do.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.measurement.queue_trend import Readings, queue_trend
from p4mesh.measurement.queue_watch import READINGS
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.tester.records import ALL_ONES, READ_TICKS
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import Stream

SLOT_TICKS = 1000
FRAMES = 6000
SEEDS = 400
Waits = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def plan() -> Plan:
    stream = Stream("one", 64, Fraction(10**6), FRAMES, Pairs(), (1,), (2,))
    limits = Limits.of(load_contract(), 1000, LoopModel(400_000_000_000, 500_000), "test")
    return make_plan((stream,), limits, {1: 10**9, 2: 10**9})


def waits(arrivals: Waits) -> Waits:
    """Number of slots that the frames of each slot wait: what has come less what was sent, never below nothing."""
    ahead = np.cumsum(arrivals - 1.0)
    return ahead - np.minimum.accumulate(np.minimum(ahead, 0))


def trend_of(plan: Plan, wait_slots: Waits) -> QueueTrend:
    """The trend of one frame per slot with these waits."""
    (cell,) = (flow.cell for flow in plan.flows)
    latency = (SLOT_TICKS * wait_slots).astype(np.int64) + 5000
    sums = np.cumsum(latency)
    jitter = np.cumsum(np.abs(np.diff(latency, prepend=latency[0])))
    names = ("frames", "latency_sum_high", "latency_sum_low", "jitter_sum_high", "jitter_sum_low", "latency_max")
    fields = [
        (name, np.uint64) for name in (*names, "latency_min_inverted", "first_arrival", "last_arrival", READ_TICKS)
    ]

    def record(frames: int) -> Waits:
        cells = np.zeros(cell + 1, dtype=np.dtype(fields))
        row = cells[cell]
        row["frames"], row[READ_TICKS] = frames, frames * SLOT_TICKS
        row["latency_sum_high"], row["latency_sum_low"] = divmod(int(sums[frames - 1]), 1 << 32)
        row["jitter_sum_high"], row["jitter_sum_low"] = divmod(int(jitter[frames - 1]), 1 << 32)
        row["latency_max"] = latency[:frames].max()
        row["latency_min_inverted"] = ALL_ONES - int(latency[:frames].min())
        row["first_arrival"], row["last_arrival"] = SLOT_TICKS, frames * SLOT_TICKS
        return cells

    count = len(latency)
    window = count // (READINGS + 1)
    read = tuple(record(number * window)[[cell]] for number in range(1, READINGS + 1))
    found = queue_trend(
        plan, Readings((cell,), read), record(count), duration_ticks=count * SLOT_TICKS, tick_ps=1000, limit=50e-6
    )
    assert found is not None
    return found


@pytest.mark.parametrize("frames", [600, FRAMES])
@pytest.mark.parametrize("utilisation", [0.99, 0.9997])
def test_a_queue_that_wanders_near_its_capacity_is_no_queue_that_fills(
    plan: Plan, frames: int, utilisation: float
) -> None:
    random = np.random.default_rng(frames)
    trends = [trend_of(plan, waits(random.poisson(utilisation, frames))).trend for _ in range(SEEDS)]
    # Where it cannot be told, the trial is made longer. One in a thousand may be mistaken, of a single queue.
    assert trends.count(Trend.FILLING) <= 1
    assert trends.count(Trend.UNCLEAR) > SEEDS // 2


@pytest.mark.parametrize("excess_ppm", [1000, 20_000])
def test_a_queue_that_fills_is_seen_through_the_jitter_of_its_frames(plan: Plan, excess_ppm: int) -> None:
    random = np.random.default_rng(excess_ppm)
    filling = np.arange(FRAMES) * excess_ppm * 1e-6 + random.uniform(0, 0.2, FRAMES)
    found = trend_of(plan, filling)
    assert found.trend is Trend.FILLING
    kept = found.excess_ppm / (1 + found.excess_ppm * 1e-6)
    assert kept == pytest.approx(excess_ppm, abs=found.error_ppm)


def test_a_queue_that_fills_while_it_wanders_is_seen_when_the_trial_is_long_enough(plan: Plan) -> None:
    random = np.random.default_rng(1)
    trends = [trend_of(plan, waits(random.poisson(1.2, frames))).trend for frames in (FRAMES, 20 * FRAMES)]
    assert trends[-1] is Trend.FILLING
