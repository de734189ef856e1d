"""Meshes whose queues are judged by the last latency of each flow, where a coarse limit is enough."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from support.queue_devices import Device, opened

from p4mesh.measurement.counts import QueueTrend, Trend
from p4mesh.measurement.latency_at_rest import ports_at_rest
from p4mesh.tester.flows import Flow
from p4mesh.tester.records import ALL_ONES

COARSE_PPM = 5000
PORTS = 10
JITTER = "    jitter: {uniform: {max_ns: 1000}}"
GAP_OF_16_BYTES = 128


def trend_at(load_ppm: float, limit_ppm: int = COARSE_PPM, frames: int = 2000) -> QueueTrend:
    """Return the trend in a short trial at a load relative to the sustained one."""
    device = Device(ports=PORTS, model=JITTER, ifg_bits=GAP_OF_16_BYTES)
    load = device.sustained_pct * (1 + Fraction(load_ppm) / 1_000_000)
    with opened(device) as engine:
        result = engine.measure(replace(device.spec(load, frames=frames), excess_limit_ppm=limit_ppm))
    assert result.lost_frames == 0 and result.queues is not None
    return result.queues


def test_a_short_trial_tells_that_nothing_fills_by_more_than_the_limit() -> None:
    trend = trend_at(-50_000)
    assert trend.trend is Trend.STEADY and trend.error_ppm < COARSE_PPM
    assert trend_at(-50_000, limit_ppm=50).trend is Trend.UNCLEAR


@pytest.mark.parametrize("excess_ppm", [5500, 12_000])
def test_an_excess_above_the_limit_is_never_steady(excess_ppm: int) -> None:
    trend = trend_at(excess_ppm)
    assert trend.trend is not Trend.STEADY
    if trend.trend is Trend.UNCLEAR:
        assert trend.longer >= 2 and trend.excess_ppm + trend.error_ppm > COARSE_PPM


class Mesh:
    """Records of a full mesh with a latency of 1,000 ticks, a slope per receive port, and noise."""

    frames, cycle = 40, 1000

    def __init__(self, slopes: dict[int, float], *, first_extra: float = 0, seed: int = 1) -> None:
        mesh = itertools.permutations(range(1, 13), 2)
        self.pairs = {
            pair: [cast("Flow", SimpleNamespace(rx_port=pair[1], cell=cell))] for cell, pair in enumerate(mesh)
        }
        draw = np.random.default_rng(seed)
        names = ("frames", "latency_sum_high", "latency_sum_low", "latency_last", "latency_max", "first_arrival")
        self.last = np.zeros(len(self.pairs), dtype=[(name, np.uint64) for name in (*names, "last_arrival")])
        times = np.arange(self.frames) * self.cycle
        for (_, rx_port), flows in self.pairs.items():
            for flow in flows:
                latency = 1000 + slopes.get(rx_port, 0.0) * times + draw.normal(0, 20, self.frames)
                latency[0] += first_extra
                latency = latency.round()
                self.last[flow.cell] = (
                    *(self.frames, 0, latency.sum(), latency[-1], latency.max()),
                    *(1_000_000, 1_000_000 + times[-1]),
                )
        assert self.last["latency_sum_low"].max() <= ALL_ONES


def test_the_slope_is_that_of_the_closed_form() -> None:
    mesh = Mesh({4: 0.005})
    found = ports_at_rest(mesh.pairs, mesh.last)
    assert sorted(found) == list(range(1, 13))
    assert found[4].value == pytest.approx(0.005, abs=0.001)
    assert all(abs(found[port].value) < 0.001 for port in found if port != 4)


@pytest.mark.parametrize("seed", range(20))
def test_a_slope_is_below_its_upper_bound_and_a_steady_port_above_its_lower_one(seed: int) -> None:
    slopes = {port: 0.002 * (port % 3) for port in range(1, 13)}
    mesh = Mesh(slopes, seed=seed)
    for port, found in ports_at_rest(mesh.pairs, mesh.last).items():
        assert found.value - found.margin < slopes[port] < found.upper


def test_first_frames_that_are_late_hide_no_growth() -> None:
    """They raise the mean, as if latency fell."""
    slope = 0.005
    mesh = Mesh(dict.fromkeys(range(1, 13), slope), first_extra=10_000)
    found = ports_at_rest(mesh.pairs, mesh.last)
    assert all(port.value < 0 and port.upper > slope for port in found.values())


def test_few_ports_are_not_compared() -> None:
    mesh = Mesh({})
    few = {pair: flows for pair, flows in mesh.pairs.items() if pair[1] < 8}
    assert ports_at_rest(few, mesh.last) == {}
