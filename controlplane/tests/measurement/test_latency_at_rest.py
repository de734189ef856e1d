"""Bounds on the growth of latency, from the least, the mean and the longest latency of each flow."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from p4mesh.measurement.latency_at_rest import growth_bounds
from p4mesh.tester.flows import Flow
from p4mesh.tester.records import ALL_ONES

PORTS = 12
FIELDS = ("frames", "latency_sum_high", "latency_sum_low", "latency_max", "latency_min_inverted", "first_arrival")


def bounds(
    slopes: dict[int, float], *, frames: int = 400, jitter: int = 0, extra: int = 0, late: int = 0
) -> dict[int, float]:
    """Bound each receive port of a full mesh; ``extra`` delays first frames, ``late`` half of the flows.

    Frames that are on the way when the others have stopped meet an empty queue.
    """
    draw = np.random.default_rng(1)
    pairs = {
        pair: [cast("Flow", SimpleNamespace(rx_port=pair[1], cell=cell))]
        for cell, pair in enumerate(itertools.permutations(range(1, PORTS + 1), 2))
    }
    last = np.zeros(len(pairs), dtype=[(name, np.uint64) for name in (*FIELDS, "last_arrival")])
    sent = np.arange(frames) * 1000
    for (tx, rx), (flow,) in pairs.items():
        way = late if tx % 2 else 0
        filled = np.where(sent + way <= sent[-1], slopes.get(rx, 0.0) * (sent + way), 0)
        latency = (1000 + way + filled + draw.uniform(0, jitter, frames)).round()
        latency[0] += extra
        last[flow.cell] = (
            *(frames, 0, latency.sum(), latency.max(), ALL_ONES - int(latency.min())),
            *(sent[0] + latency[0], sent[-1] + latency[-1]),
        )
    found: dict[int, float] = {}
    for (_, rx), bound in growth_bounds(pairs, last).items():
        found[rx] = max(bound, found.get(rx, 0.0))
    return found


def test_the_bound_of_a_queue_that_fills_evenly_is_its_growth() -> None:
    found = bounds({4: 0.005})
    assert found[4] == pytest.approx(0.005, rel=0.02)
    assert max(found[port] for port in found if port != 4) < 1e-5


@pytest.mark.parametrize("slope", [0.0, 50e-6, 0.005, 0.08])
@pytest.mark.parametrize("jitter", [0, 3000])
@pytest.mark.parametrize("extra", [0, 20_000])
@pytest.mark.parametrize("late", [0, 40_000])
def test_nothing_hides_growth(slope: float, jitter: int, extra: int, late: int) -> None:
    found = bounds(dict.fromkeys(range(1, PORTS + 1), slope), jitter=jitter, extra=extra, late=late)
    # A growth by the time of departures is a little less by that of arrivals.
    assert all(bound > slope / (1 + slope) - 1e-9 for bound in found.values())


def test_frames_that_meet_an_empty_queue_in_the_end_cost_little_of_the_bound() -> None:
    assert max(bounds(dict.fromkeys(range(1, PORTS + 1), 0.0128), late=17_000).values()) < 1.3 * 0.0128


def test_flows_of_few_frames_are_judged_by_all_of_their_latencies() -> None:
    found = bounds({4: 0.005}, frames=7)
    assert found[4] == pytest.approx(0.005, rel=0.05)


def test_ports_that_got_one_frame_of_each_flow_have_no_bound() -> None:
    assert bounds({}, frames=1) == {}


def bounds_of(*flows: tuple[int, int, int, int, int, int], part_ticks: float | None = None) -> list[float]:
    """Bound each flow to one port: frames, sum of latencies, the least, the longest, first and last arrival."""
    pairs = {(tx, 1): [cast("Flow", SimpleNamespace(rx_port=1, cell=tx))] for tx in range(len(flows))}
    last = np.zeros(len(flows), dtype=[(name, np.uint64) for name in (*FIELDS, "last_arrival")])
    for cell, (frames, total, least, longest, first, end) in enumerate(flows):
        high, low = divmod(total, 1 << 32)
        last[cell] = (frames, high, low, longest, ALL_ONES - least, first, end)
    return list(growth_bounds(pairs, last, part_ticks).values())


@pytest.mark.parametrize(("mean", "grown"), [(140, 2 * 40), (170, 2 * 30)])
def test_growth_is_twice_the_smaller_distance_of_the_mean_and_the_share_of_the_first_frame(
    mean: int, grown: int
) -> None:
    """By hand: latencies of 100 to 200 ticks, 100 frames in 1000 ticks; a late first frame hides 2 * 100 / 100."""
    assert bounds_of((100, 100 * mean, 100, 200, 0, 1000)) == pytest.approx([(grown + 2) / 1000], rel=1e-12)


@pytest.mark.parametrize(
    ("part_ticks", "bound"), [(1001, 0.082), (1000, 0.082), (900, 0.082 / 0.9**2), (500, 100 / 500)]
)
def test_in_a_part_of_its_time_a_flow_may_have_grown_by_what_it_has_in_all_of_it(
    part_ticks: float, bound: float
) -> None:
    """A growth in 0.9 of 1000 ticks moves the mean by 0.9 of that in all of them; no latencies are 100 ticks apart."""
    flow = (100, 14_000, 100, 200, 0, 1000)
    assert bounds_of(flow, part_ticks=part_ticks) == pytest.approx([bound], rel=1e-12)


def test_sums_of_latencies_above_32_bits_are_read_whole() -> None:
    mean, frames = 1 << 16, 1 << 16
    expected = (2 * 40 + 2 * 100 / frames) / 1000
    assert bounds_of((frames, mean * frames, mean - 40, mean + 60, 0, 1000)) == pytest.approx([expected], rel=1e-12)


@pytest.mark.parametrize("frames", [8, 100])
def test_time_alone_before_the_others_begin_and_after_they_end_is_no_time_to_fill(frames: int) -> None:
    """The first flow sends 100 ticks before and 200 ticks after the second one: it fills 0.7 of its time.

    Eight frames are enough for a mean: 20 ticks above the least latency, it has grown by 2 * 20 ticks.
    """
    first, second = bounds_of((100, 14_000, 100, 1000, 0, 1000), (frames, frames * 120, 100, 200, 100, 800))
    assert first == pytest.approx((80 + 18) / (1000 * 0.7**2), rel=1e-12)
    assert second == pytest.approx((40 + 2 * 100 / frames) / 700, rel=1e-12)


def test_a_flow_of_few_frames_amid_another_one_is_never_alone() -> None:
    """7 frames in the middle of 1000 ticks: all that is known is 100 ticks of growth in their own 800 ticks."""
    assert bounds_of((100, 14_000, 100, 200, 0, 1000), (7, 980, 100, 200, 100, 900))[1] == 100 / 800


def test_flows_that_never_send_together_say_nothing() -> None:
    assert bounds_of((100, 10_000, 100, 100, 0, 500), (100, 10_000, 100, 100, 500, 1000)) == [1.0, 1.0]
    assert bounds_of((100, 14_000, 100, 200, 0, 100), (100, 14_000, 100, 200, 500, 600)) == [1.0, 1.0]


def test_two_frames_are_the_fewest_that_say_how_latency_grows() -> None:
    assert bounds_of((2, 250, 100, 150, 0, 1000)) == [50 / 1000]
    assert bounds_of((1, 100, 100, 100, 0, 0)) == []


def test_a_flow_without_frames_is_no_arrival_at_the_beginning_of_time() -> None:
    pairs = {(0, 1): [cast("Flow", SimpleNamespace(rx_port=1, cell=cell)) for cell in (0, 1)]}
    last = np.zeros(2, dtype=[(name, np.uint64) for name in (*FIELDS, "last_arrival")])
    last[0] = (2, 0, 250, 150, ALL_ONES - 100, 500, 1500)
    assert growth_bounds(pairs, last) == {(0, 1): 50 / 1000}
