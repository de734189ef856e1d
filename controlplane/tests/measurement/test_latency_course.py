"""Errors of average latencies that cover the truth, and growth of latency that is not that of a queue."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from support.device_bench import pairs
from support.networks import parsed, switch

from p4mesh.measurement.counts import LatencyStats, Trend
from p4mesh.measurement.latency_course import (
    LatencyCourse,
    _growth,
    course_of_class,
    discrepancy,
    latency_course,
    unmet_ns,
)
from p4mesh.measurement.queue_trend import Readings
from p4mesh.methods.results.latency import merged, summarise
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Limits, Plan, make_plan
from p4mesh.traffic.arrivals import Poisson
from p4mesh.traffic.patterns import Broadcast, Pairs, Pattern, Rotate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import TrialSpec

FRAMES = 8000
READINGS = 7
RECORD = [(name, np.uint64) for name in ("frames", "latency_sum_high", "latency_sum_low")]
RECORD += [(name, np.uint64) for name in ("jitter_sum_high", "jitter_sum_low")]


def planned() -> tuple[Plan, int]:
    limits = Limits.of(load_contract(), 1000, LoopModel(100 * 10**9, 500_000), "sim")
    stream = Stream("one", 64, Fraction(10**6), FRAMES, Pairs(), (1,), (2,))
    plan = make_plan((stream,), limits, {1: 10**9, 2: 10**9})
    (flow,) = [flow for flow in plan.flows if flow.expected]
    return plan, flow.cell


def course_of(latencies: NDArray[np.int64]) -> LatencyCourse:
    """The course of frames of one flow with these latencies in ticks of a nanosecond, read at the usual times."""
    plan, cell = planned()
    jitter = np.abs(np.diff(latencies, prepend=latencies[0])).cumsum()
    sums, records = latencies.cumsum(), []
    for number in range(1, READINGS + 1):
        frames = number * FRAMES // (READINGS + 1)
        record = np.zeros(1, dtype=RECORD)
        record["frames"] = frames
        for name, total in (("latency", sums[frames - 1]), ("jitter", jitter[frames - 1])):
            record[f"{name}_sum_high"], record[f"{name}_sum_low"] = divmod(int(total), 1 << 32)
        records.append(record)
    return latency_course(plan, Readings((cell,), tuple(records)), 1000)


def pieces_read(*means: Sequence[int], begun: Sequence[int] = (0, 0), frames: int = 100) -> Readings:
    """Readings of cells 0, 1, ... whose windows of so many frames have these mean latencies; others came before."""
    record = np.zeros(8, dtype=RECORD)
    records = []
    for window in range(len(means[0]) + 1):
        for cell, each in enumerate(means):
            record[cell]["frames"] = begun[0] + frames * window
            record[cell]["latency_sum_low"] = begun[1] + frames * sum(each[:window])
        records.append(record[: len(means)].copy())
    return Readings(tuple(range(len(means))), tuple(records))


def at_rest(*cells: tuple[int, int]) -> NDArray[np.void]:
    """Frames of each cell, and their mean latency."""
    record = np.zeros(8, dtype=RECORD)
    for cell, (frames, mean) in enumerate(cells):
        record[cell]["frames"], record[cell]["latency_sum_low"] = frames, frames * mean
    return record


FLOWS = [Flow(cell=0, sequence_cell=0, stream=0, tx_port=1, rx_port=2), Flow(1, 1, 0, 1, 3)]
STILL, RISING = [10] * 6, [10, 11, 12, 13, 14, 15]
SPREAD = 2.571 * 3.5**0.5 / 6**0.5
"""Of 10 to 15, whose variance is 3.5, with 95 % confidence."""


@pytest.mark.parametrize(
    ("pieces", "last", "error", "growth"),
    [
        ([(pieces_read(STILL), True)], [(1000, 10)], 0, 0),
        # Frames between the pieces took longer.
        ([(pieces_read(STILL), True)], [(1000, 12)], 2, 0),
        ([(pieces_read(RISING), True)], [(600, 12)], SPREAD, 5),
        ([(pieces_read(RISING, frames=1), True)], [(6, 12)], SPREAD, 5),
        ([(pieces_read(RISING), False)], [(600, 12)], SPREAD, 0),
        ([(pieces_read(RISING), False)], [(600, 16)], 3.5, 0),
        # 600 frames took 10 and 600 others 30: 20 in the mean.
        ([(pieces_read(STILL), True), (pieces_read([30] * 6, begun=(600, 6000)), True)], [(1200, 20)], 0, 0),
        ([(pieces_read(STILL), True), (pieces_read([30] * 6, begun=(600, 6000)), True)], [(1300, 23)], 3, 0),
        # Each receive port by itself, and cells of other classes not at all.
        ([(pieces_read(STILL, RISING), True)], [(600, 10), (600, 12)], 0.5 * SPREAD, 5),
        ([(pieces_read(STILL, STILL), True)], [(600, 14), (600, 10)], 4, 0),
        ([(pieces_read(STILL, STILL, RISING), True)], [(600, 10), (600, 10), (600, 99)], 0, 0),
        ([(pieces_read([10] * 4), True)], [(600, 99)], 0, 0),
        ([(pieces_read([10] * 4), True), (pieces_read(STILL), True)], [(600, 12)], 2, 0),
    ],
)
def test_the_course_of_a_class_is_that_of_its_flows_in_its_pieces(
    pieces: list[tuple[Readings, bool]], last: list[tuple[int, int]], error: float, growth: float
) -> None:
    """Ticks of 3.2 ns."""
    found = course_of_class(FLOWS, pieces, at_rest(*last), 3200)
    assert (found.error_ns, found.growth_ns) == (pytest.approx(3.2 * error), pytest.approx(3.2 * growth))


def stats_of(latencies: NDArray[np.int64]) -> LatencyStats:
    return LatencyStats(len(latencies), float(latencies.min()), float(latencies.max()), float(latencies.sum()))


def independent(random: np.random.Generator) -> NDArray[np.float64]:
    return random.exponential(1000, FRAMES)


def dependent(random: np.random.Generator) -> NDArray[np.float64]:
    """Each latency has 99 % of the one before it, which makes the average of 8,000 as good as that of 40."""
    memory = 1000
    noise = random.normal(0, 1000 * np.sqrt(1 - 0.99**2), FRAMES + memory)
    found: NDArray[np.float64] = np.convolve(noise, 0.99 ** np.arange(memory), "valid")[:FRAMES]
    return found


def test_what_frames_before_the_first_reading_move_the_average_by_is_in_its_error() -> None:
    """At line rate a device never catches up with its slowest frame: 500 of 7,000 frames came 30 us earlier."""
    assert course_of(np.array([10_000] * 500 + [40_000] * 7500)).error_ns == pytest.approx(30_000 * 500 / 7000)
    assert course_of(np.array([40_000] * 8000)).error_ns == 0


@pytest.mark.parametrize(
    ("begun", "error"), [(((1, 6021), (0, 0), (100, 9000)), 10), (((0, 0), (0, 0), (100, 9000)), 2.571)]
)
def test_frames_before_the_first_reading_are_those_of_cells_that_come_from_before_it_to_the_end(
    begun: Sequence[tuple[int, int]], error: float
) -> None:
    """Windows of 100 frames in each of three cells, of 16 ticks and then five times 10: 11 in the mean, +- 2.571.

    One frame and 600 others have 21 in the mean. The second cell came after the first reading, the third has ended.
    """
    plan = cast("Plan", SimpleNamespace(columns=SimpleNamespace(cell=np.arange(3), rx_port=np.full(3, 2))))
    records = []
    for reading in range(7):
        record = np.zeros(3, dtype=RECORD)
        for cell, (frames, latency) in enumerate(begun):
            windows = min(reading, 5 if cell == 2 else 6)
            record[cell]["frames"] = frames + 100 * windows
            record[cell]["latency_sum_low"] = latency + (1600 + 1000 * (windows - 1) if windows else 0)
        records.append(record)
    assert latency_course(plan, Readings((0, 1, 2), tuple(records)), 1000).error_ns == pytest.approx(error)


@pytest.mark.parametrize(("process", "mean"), [(independent, 1000), (dependent, 0)])
def test_the_error_of_an_average_covers_the_truth(process: object, mean: float) -> None:
    covered, errors = [], []
    for seed in range(40):
        latencies = (process(np.random.default_rng(seed)) + 10_000).round().astype(np.int64)
        error = max(course_of(latencies).error_ns, stats_of(latencies).sampling_error_ns)
        covered.append(abs(latencies.mean() - mean - 10_000) <= error)
        errors.append(error)
    assert sum(covered) >= 0.9 * len(covered)
    if process is dependent:
        # Of 40 values, not of 8,000.
        assert np.median(errors) == pytest.approx(1.96 * 1000 / np.sqrt(40), rel=0.5)


def test_the_error_is_that_of_two_values_far_apart() -> None:
    """Half of 10,000 frames take 1 us, half 3 us: a deviation of 1 us, and 1.96 % of it as error."""
    half = LatencyStats(10_000, 1000.0, 3000.0, 20_000_000.0)
    found = summarise(half)
    assert found is not None and found.average_error_ns == pytest.approx(19.6)
    # Three more flows like that: an error half as large; of constant latencies there is none.
    both = merged([found] * 4)
    assert both is not None and both.average_error_ns == pytest.approx(9.8)
    constant = [summarise(LatencyStats(100, value, value, 100 * value)) for value in (1000.0, 9000.0)]
    apart = merged([summary for summary in constant if summary is not None])
    assert apart is not None and apart.average_error_ns == 0


def test_growth_is_what_never_falls_beyond_noise() -> None:
    frames = np.arange(FRAMES)
    assert course_of(np.full(FRAMES, 5000)) == LatencyCourse(0.0, 0.0)
    grown = course_of(5000 + frames // 8)
    assert grown.growth_ns == pytest.approx(5 * FRAMES / 8 / 8, rel=0.01)
    assert course_of(5000 - frames // 8).growth_ns == 0
    assert course_of(5000 + np.where(frames < FRAMES // 2, frames, FRAMES - frames)).growth_ns == 0
    noise = np.random.default_rng(1).exponential(1000, FRAMES).astype(np.int64)
    assert course_of(5000 + noise).growth_ns == 0
    # The slowest frame so far, of each frame and those before it.
    slowest = np.maximum.accumulate(noise)
    assert course_of(5000 + slowest).growth_ns > 0


def course_of_ports(
    means: dict[int, list[int]], frames: Sequence[int] = (100,) * 10, jitter: int = 0, tick_ps: int = 500
) -> LatencyCourse:
    """The course of windows with these mean latencies in ticks by receive port; port 2 has two cells, -1 is no port."""
    cells = list(enumerate([2, *means]))
    windows = frames[: len(means[2])]
    sums = [[0, *itertools.accumulate(map(operator.mul, means[port], windows))] for _, port in cells]
    records = []
    for reading, until in enumerate(itertools.accumulate(windows, initial=0)):
        record = np.zeros(len(cells), dtype=RECORD)
        record["frames"], record["jitter_sum_low"] = until, until * jitter
        record["latency_sum_high"], record["latency_sum_low"] = divmod(
            np.array([row[reading] for row in sums]), 1 << 32
        )
        records.append(record)
    known = np.array([(cell, port) for cell, port in cells if port > 0])
    plan = cast("Plan", SimpleNamespace(columns=SimpleNamespace(cell=known[:, 0], rx_port=known[:, 1])))
    return latency_course(plan, Readings(tuple(cell for cell, _ in cells), tuple(records)), tick_ps)


@pytest.mark.parametrize("unit", [1, 1 << 33])
def test_the_error_of_an_average_is_that_of_the_averages_of_windows(unit: int) -> None:
    """Five windows and one of 12 more: a deviation of sqrt(24), over sqrt(6) it is 2; Student's t of six is 2.571."""
    windows = {2: [unit * mean for mean in (1000, 1000, 1000, 1012, 1000, 1000)], -1: [1, 10**6, 1, 1, 1, 1]}
    for frames in (1, 100):
        course = course_of_ports(windows, (frames,) * 6)
        assert (course.error_ns, course.growth_ns) == (pytest.approx(2.571 * unit, rel=1e-9), 0)
    # Of an average over ports, each has its part of the frames.
    assert course_of_ports(windows | {3: [1000 * unit] * 6}).error_ns == pytest.approx(2.571 * unit * 2 / 3)


def test_the_error_is_that_of_t_for_five_to_eight_windows_and_unknown_of_others() -> None:
    """One of n windows is n ticks longer: a deviation of sqrt(n), and so a standard error of 1."""
    errors = [course_of_ports({2: [1000] * (n - 1) + [1000 + n]}, tick_ps=1000).error_ns for n in range(4, 10)]
    assert errors == pytest.approx([0, 2.776, 2.571, 2.447, 2.365, 0])


@pytest.mark.parametrize(
    ("ends", "jitter", "grown"),
    [
        pytest.param((100, 104), 0, 0, id="four ticks are of no matter"),
        pytest.param((100, 105), 0, 5, id="five are"),
        pytest.param((1000, 1020), 0, 0, id="2 % of the average of 1003.3 are 20.07"),
        pytest.param((1000, 1021), 0, 21, id="more than that"),
        pytest.param((1000, 1070), 100, 0, id="five deviations of two windows of 100 frames are 70.7"),
        pytest.param((1000, 1071), 100, 71, id="more than noise"),
        pytest.param((1000, 986, 1100), 100, 100, id="a fall by one deviation, 14.1"),
        pytest.param((1000, 985, 1100), 100, 0, id="a fall by more than that"),
    ],
)
def test_growth_is_from_the_first_window_to_the_last_at_the_port_where_it_is_largest(
    ends: tuple[int, ...], jitter: int, grown: int
) -> None:
    windows = [ends[0]] * (7 - len(ends)) + list(ends[1:])
    course = course_of_ports({2: [50] * 6, 3: windows, 4: [50] * 6, -1: [1] * 5 + [10**6]}, jitter=jitter)
    assert course.growth_ns == pytest.approx(grown / 2)


@pytest.mark.parametrize(("growth", "grown"), [(55, 0), (56, 56)])
def test_noise_is_that_of_the_frames_of_the_first_and_the_last_window(growth: int, grown: int) -> None:
    """Five deviations of 100 ticks over 100 and over 400 frames: 500 * sqrt(1 / 100 + 1 / 400) = 55.9."""
    windows = {2: [50] * 6, 3: [1000] * 5 + [1000 + growth]}
    assert course_of_ports(windows, (100, 900, 900, 900, 900, 400), 100, 1000).growth_ns == grown


def test_windows_without_frames_say_nothing() -> None:
    assert _growth(None) == 0
    assert course_of_ports({2: [1000, 1000, 1000, 1000, 1000, 2000]}, (0,) * 6) == LatencyCourse()
    assert latency_course(planned()[0], None, 1000) == LatencyCourse()
    assert course_of_ports({2: [1000] * 6}) == LatencyCourse(), "no frame came before the first reading"


@pytest.mark.parametrize(("load_pct", "grows"), [(100, True), (60, False)])
def test_a_device_that_cannot_catch_up_has_latency_that_grows(load_pct: float, grows: bool) -> None:
    """At line rate no frame is less late than the latest one before it, and no queue fills."""
    jitter = "jitter: {exponential: {mean_ns: 1000, max_ns: 30000}}"
    topology = parsed(switch(jitter, ports=2, port="queue_frames: 1000", seed=5))
    stream = pairs(load_pct, 64, 40_000, (1, 2))
    duration_ns = int(stream.frame_count * 10**9 / stream.rate_fps)
    with open_measurer(topology) as measurer:
        result = measurer.measure(TrialSpec("one", (stream,), duration_ns, per_flow=True, watch_queues=True))
    assert result.lost_frames == 0 and result.queues is not None and result.queues.trend is not Trend.FILLING
    assert (result.latency_growth_ns > 500) is grows


@pytest.mark.parametrize(
    ("step", "count", "expected"),
    [
        # Phases 0, 1/4 and 1/2: half of the circle has all of them.
        (Fraction(1, 4), 3, 0.5),
        (Fraction(1, 1000), 10, 1 - 0.009),
        # Each of four phases twice, and one of them once more.
        (Fraction(1, 4), 9, 1 / 9),
        (Fraction(1, 4), 8, 0),
        (Fraction(1, 4), 4, 0),
        (Fraction(0), 5, 0),
        (Fraction(1, 4), 0, 1),
    ],
)
def test_phases_are_apart_from_all_that_come_by_those_that_an_arc_has_more(
    step: Fraction, count: int, expected: float
) -> None:
    assert discrepancy(step, count) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_an_average_over_phases_is_within_their_discrepancy_times_the_longest_wait(seed: int) -> None:
    """A frame waits for what is left of another one that takes the part w of a period: w^2 / 2 on average."""
    random = np.random.default_rng(seed)
    step, count = Fraction(int(random.integers(1, 10**6)), 10**6 + 3), int(random.integers(5, 3000))
    wait, begin = float(random.uniform(0.02, 0.9)), float(random.uniform())
    phases = (begin + np.arange(count) * float(step)) % 1
    average = float(np.maximum(0, wait - phases).mean())
    assert abs(average - wait**2 / 2) <= wait * discrepancy(step, count) + 1e-6


def unmet(*streams: Stream) -> dict[int, float]:
    rates = dict.fromkeys((1, 2, 3, 4), 10**9)
    limits = Limits.of(load_contract(), 1000, LoopModel(100 * 10**9, 500_000), "sim")
    return unmet_ns(make_plan(streams, limits, rates), streams, rates)


def test_frames_meet_those_of_other_ports_and_rates_that_come_while_they_do() -> None:
    """64 bytes take 672 ns, 128 bytes 1,184: each frame at 100,100 frames/s comes 1/1001 of a period earlier."""
    one = Stream("one", 64, Fraction(100_000), 50, Pairs(), (1,), (3,))
    two = Stream("two", 128, Fraction(100_100), 50, Pairs(), (2,), (3,))
    # The second one ends half a microsecond earlier, so that it meets 49 whole frames of the first.
    together = Fraction(1000, 1001)
    assert unmet(one, two) == pytest.approx({0: 1184 * float(together) * (1 - 0.048), 1: 672 * (1 - 49 / 1001)})
    assert unmet(one, replace(two, rate_fps=one.rate_fps)) == {}, "they keep their phase in a longer trial"
    assert unmet(one, replace(two, tx_ports=(1,))) == {}, "frames of a port leave one after the other"
    assert unmet(one, replace(two, arrivals=Poisson(1))) == {}
    assert unmet(one, replace(two, start_offset_ns=(600_000,))) == {}, "the first has ended then"
    # The second begins a fifth of the first one's time later: for 400 us they are together, for 40 frames of each.
    later = {0: 1184 * 0.8 * (1 - 0.039), 1: 672 * 0.8 * float(together) ** -1 * (1 - 39 / 1001)}
    assert unmet(one, replace(two, start_offset_ns=(100_000,))) == pytest.approx(later)


@pytest.mark.parametrize(("pattern", "at_once"), [(Rotate(), 0.5), (Broadcast(), 1)])
def test_a_frame_meets_those_that_are_for_its_port(pattern: Pattern, at_once: float) -> None:
    """Every second frame of an order of two ports, and all of those that are for both."""
    one = Stream("one", 64, Fraction(100_000), 50, Pairs(), (1,), (3,))
    two = Stream("two", 128, Fraction(100_100), 50, pattern, (2,), (3, 4))
    assert unmet(one, two)[0] == pytest.approx(at_once * 1184 * 1000 / 1001 * (1 - 0.048))


def test_a_frame_meets_those_of_every_port_of_another_rate_and_none_of_its_own() -> None:
    one = Stream("one", 64, Fraction(100_000), 50, Rotate(), (1, 4), (3,))
    two = Stream("two", 128, Fraction(100_100), 50, Pairs(), (2,), (3,))
    assert unmet(one, two) == pytest.approx({0: 1184 * 1000 / 1001 * (1 - 0.048), 1: 2 * 672 * (1 - 49 / 1001)})


def test_the_phases_of_bursts_are_those_of_their_first_frames() -> None:
    """12 bursts of 4 frames each meet the second of two bursts 1/500 of its period later; 24 meet every second one."""
    one = Stream("one", 64, Fraction(100_000), 48, Pairs(), (1,), (3,), burst=Burst(4))
    two = Stream("two", 128, Fraction(100_100), 50, Pairs(), (2,), (3,), burst=Burst(2))
    together = 480 * 0.1001 / 50
    assert unmet(one, two) == pytest.approx({0: 2 * 1184 * (1 - 11 / 500), 1: 4 * 672 * together * 490 / 1001})


def test_an_error_of_less_than_a_nanosecond_is_no_more() -> None:
    """Frames at twice the rate come at two phases, at one of them once more; the others come at one phase alone."""
    one = Stream("one", 64, Fraction(100_000), 1001, Pairs(), (1,), (3,))
    two = Stream("two", 64, Fraction(200_000), 2001, Pairs(), (2,), (3,))
    assert unmet(one, two) == pytest.approx({1: 672 / 2001})
