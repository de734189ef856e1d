"""Trends of queues by hand: mean latencies of windows on lines whose slopes, errors and bounds are closed forms.

A flow has 100 frames in each of eight windows of 102,400 ticks: 100 ticks more in each are a growth of 2^-10.
Seven readings have six windows between them: their times are off from the middle by 0.5, 1.5 and 2.5 windows, twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from p4mesh.measurement.class_queues import Piece, class_queues
from p4mesh.measurement.columns import Array
from p4mesh.measurement.counts import ClassQueues, QueueTrend, Trend
from p4mesh.measurement.queue_trend import Readings, queue_trend
from p4mesh.tester.flows import Flow
from p4mesh.tester.plan import Plan
from p4mesh.tester.records import ALL_ONES, READ_TICKS
from p4mesh.traffic.stream import Stream

WINDOW, FRAMES, WINDOWS = 102_400, 100, 8
DURATION = WINDOWS * WINDOW
FRAME = DURATION / (FRAMES * WINDOWS)
"""Ticks between two frames of one flow."""
OF_A_LINE = 17.5
"""Sum of the squares of the distances of six windows from their middle."""
BEND = (5, -1, -4, -4, -1, 5)
"""Neither a level nor a slope: its squares add up to 84, those of its steps to 90, and its steps to 0."""
READ = ("frames", "latency_sum_high", "latency_sum_low", "jitter_sum_high", "jitter_sum_low", READ_TICKS)
AT_REST = ("latency_max", "latency_min_inverted", "first_arrival", "last_arrival")
HIGH = 3 << 32
"""Sums begin above 32 bits."""


@dataclass(frozen=True)
class Seen:
    """Latencies of one flow: its means in windows, and how far all of them are apart."""

    means: Sequence[float]
    spread: float = DURATION / 8
    jitter: int = 0
    frames: int = FRAMES
    few: int | None = None
    """Frames of its third window, if others."""
    read: bool = True
    interval: int = 1024
    """Of its sender's clock."""


def line(step: float, bend: float = 0.0, windows: int = 6) -> list[float]:
    return [5000 + step * number + bend * BEND[number] for number in range(windows)]


def trend_of(flows: Mapping[tuple[int, int, int], Seen], limit: float = 60e-6) -> QueueTrend | None:
    """Judge flows by (stream, transmit port, receive port); the growth that they have at rest is spread / DURATION."""
    plan, readings, last = measured(flows)
    return queue_trend(plan, readings, last, duration_ticks=DURATION, tick_ps=1000, limit=of_departures(limit))


def of_departures(limit: float) -> float:
    return cast("float", Fraction(limit) / (1 - Fraction(limit)))


def measured(flows: Mapping[tuple[int, int, int], Seen]) -> tuple[Plan, Readings | None, Array]:
    """Plan of flows, readings of those that are read, and the records of all at rest."""
    plan = SimpleNamespace(
        flows=[Flow(cell, cell, *key, True) for cell, key in enumerate(flows)],
        streams=[
            SimpleNamespace(origin=stream, clock=SimpleNamespace(frame_interval_ticks=seen.interval))
            for (stream, _, _), seen in flows.items()
        ],
    )
    windows = len(next(iter(flows.values())).means)
    records = np.zeros((windows + 1, len(flows)), dtype=[(name, np.int64) for name in READ])
    last = np.zeros(len(flows), dtype=[(name, np.int64) for name in (*READ, *AT_REST)])
    for cell, seen in enumerate(flows.values()):
        of_cell = records[:, cell]
        of_cell[READ_TICKS] = (np.arange(windows + 1) * WINDOW - 10_000) % (1 << 48)
        of_cell["frames"][1:] = seen.frames
        of_cell["frames"][3] = seen.frames if seen.few is None else seen.few
        in_windows = of_cell["frames"][1:]
        sums = {"latency": [HIGH, *(seen.means * in_windows)], "jitter": [HIGH, *(seen.jitter * in_windows)]}
        of_cell["frames"] = of_cell["frames"].cumsum()
        for name, values in sums.items():
            total = np.array(values).round().astype(np.int64).cumsum()
            of_cell[f"{name}_sum_high"], of_cell[f"{name}_sum_low"] = total >> 32, total & ALL_ONES
        # The mean is in the middle, so that all latencies together bound the growth.
        frames, least = seen.frames * WINDOWS, 1000
        whole = round(frames * (least + seen.spread / 2))
        at_rest: dict[str, float] = {
            "frames": frames,
            "latency_sum_high": whole >> 32,
            "latency_sum_low": whole & ALL_ONES,
            "latency_max": least + seen.spread,
            "latency_min_inverted": ALL_ONES - least,
            "last_arrival": DURATION,
        }
        for name, value in at_rest.items():
            last[name][cell] = value
    read = [cell for cell, seen in enumerate(flows.values()) if seen.read]
    readings = Readings(tuple(read), tuple(records[:, read])) if read else None
    return cast("Plan", plan), readings, last


def of_one(means: Sequence[float], limit: float = 60e-6, **options: Any) -> QueueTrend:
    found = trend_of({(0, 1, 2): Seen(means, **options)}, limit)
    assert found is not None
    return found


def ppm(growth: float) -> float:
    """Arrivals beyond the departures, of which a queue keeps a share of all arrivals."""
    return 1e6 * growth / (1 - growth)


def about(value: float) -> Any:
    return pytest.approx(value, rel=2e-13, abs=1e-9)


def slope_error(jitter: float = 0.0, bend: float = 0.0, wandering: float = 0.0) -> float:
    """Standard error of the slope of six windows, from their means, from the line and from steps that add up."""
    return sqrt((jitter**2 / FRAMES + 84 * bend**2 / 4) / OF_A_LINE + 1.2 * wandering / 5) / WINDOW


def test_a_line_is_a_queue_that_keeps_its_slope_of_all_arrivals() -> None:
    """512 of 102,400 ticks are 1/200 of the arrivals: 1/199 of the departures."""
    found = of_one(line(512))
    assert (found.trend, found.rx_ports) == (Trend.FILLING, (2,))
    assert (found.excess_ppm, found.error_ppm) == (about(1e6 / 199), about(0))
    assert found.excess_fps == about(FRAMES * WINDOWS / (DURATION * 1e-9) / 200)
    assert found.overflow_s == about(1000 / found.excess_fps)


@pytest.mark.parametrize(
    ("jitter", "bend", "wandering"),
    [
        (40, 0, 0),
        (0, 4, 0),
        # Steps of -6, -3, 0, 3 and 6 bends: a quarter of 90 is beyond the phases of a tenth of a frame.
        (0, 40, 22.5 * 40**2 - (FRAME / 10) ** 2),
        # Jitter of single frames explains 4 * 2 of its variance in a mean of 100.
        (200, 40, 22.5 * 40**2 - (FRAME / 10) ** 2 - 8 * 200**2 / 100),
    ],
)
def test_the_error_of_a_slope_is_that_of_frames_of_the_line_and_of_a_queue_that_wanders(
    jitter: int, bend: float, wandering: float
) -> None:
    """Four steps beyond two are few: their variance counts four times."""
    growth, margin = 1 / 100, 5 * slope_error(jitter, bend, 4 * wandering)
    found = of_one(line(1024, bend), jitter=jitter)
    assert (found.trend, found.excess_ppm) == (Trend.FILLING, about(ppm(growth)))
    assert found.error_ppm == about(ppm(growth + margin) - ppm(growth))


def test_what_queues_of_one_trial_wander_by_is_the_error_of_each() -> None:
    """One bends by 40 and two are straight: a third of its variance for them, from 12 steps beyond two each."""
    straight, bent = Seen(line(1024)), Seen(line(1024, 40))
    found = trend_of({(0, 1, 2): straight, (0, 3, 4): bent, (0, 5, 6): Seen(line(1025), frames=200)})
    wandering = (22.5 * 40**2 - (FRAME / 10) ** 2) / 3
    growth, margin = 1025 / WINDOW, 5 * slope_error(wandering=2 * wandering)
    assert found is not None and found.rx_ports == (6, 2, 4)
    assert found.excess_fps == about(200 * WINDOWS / (DURATION * 1e-9) * growth)
    assert found.error_ppm == about(ppm(growth + margin) - ppm(growth))


@pytest.mark.parametrize(("step", "longer"), [(256, 0), (255.9, 2), (100, 3), (50, 6), (10, 10)])
def test_growth_by_one_and_a_half_frames_tells_and_less_needs_a_longer_trial(step: float, longer: int) -> None:
    """1,536 ticks in six windows."""
    found = of_one(line(step), limit=5e-6)
    assert (found.trend, found.longer) == (Trend.UNCLEAR if longer else Trend.FILLING, longer)
    assert (found.excess_ppm, found.error_ppm) == (about(ppm(step / WINDOW)), about(0))


@pytest.mark.parametrize(
    ("early", "late", "fills"), [(400, 240, True), (400, 239, False), (240, 400, True), (239, 400, False)]
)
def test_a_queue_that_fills_grows_alike_early_and_late(early: float, late: float, fills: bool) -> None:
    """The ends of a share of 0.6 are in it."""
    steps = (early, early, (early + late) / 2, late, late)
    found = of_one([5000 + sum(steps[:number]) for number in range(6)])
    assert found.trend is (Trend.FILLING if fills else Trend.UNCLEAR)


def test_a_step_between_two_levels_is_no_queue_that_fills() -> None:
    """A line of 60 ticks a window, give or take 5 * 11.5, that neither the first two windows nor the last two show."""
    found = of_one([5000, 5000, 5100, 5200, 5200], limit=1500e-6)
    assert (found.trend, found.excess_ppm) == (Trend.STEADY, about(ppm(60 / WINDOW)))


@pytest.mark.parametrize(("step", "jitter"), [(0, 0), (-20, 0), (1, 0), (2, 40), (5, 200)])
def test_a_steady_queue_has_the_slope_that_is_certain_and_an_error_up_to_all_that_is_not_excluded(
    step: float, jitter: int
) -> None:
    """Jitter leaves 5 * 0.96 ticks a window open; 300 ppm are 31 ticks."""
    value, margin = max(step / WINDOW, 0), 5 * slope_error(jitter)
    certain = value if value > margin else 0.0
    found = of_one(line(step), limit=300e-6, jitter=jitter)
    assert (found.trend, found.excess_ppm) == (Trend.STEADY, about(ppm(certain)))
    assert found.error_ppm == about(ppm(value + margin) - ppm(certain))


def test_latencies_at_rest_bound_what_windows_leave_open() -> None:
    """They differ by 4 ticks: no slope of a steady queue is above that over the whole time, nor its error."""
    found = of_one(line(1), limit=300e-6, spread=4)
    assert (found.trend, found.excess_ppm, found.error_ppm) == (
        Trend.STEADY,
        about(ppm(6 / WINDOW / WINDOWS)),
        about(0),
    )
    noisy = of_one(line(0), limit=300e-6, spread=4, jitter=40)
    assert (noisy.trend, noisy.excess_ppm, noisy.error_ppm) == (Trend.STEADY, 0, about(ppm(6 / DURATION)))


def test_a_slope_that_is_not_certain_is_excluded_by_latencies_at_rest_where_these_are_close() -> None:
    """Jitter leaves 5 * 1.9 ticks a window open, more than the limit of 6; at rest there are 16 in all eight."""
    wide = of_one(line(0), jitter=80)
    assert (wide.trend, wide.excess_ppm) == (Trend.UNCLEAR, 0)
    assert wide.error_ppm == about(ppm(5 * slope_error(80)))
    close = of_one(line(0), jitter=80, spread=16)
    assert (close.trend, close.excess_ppm, close.error_ppm) == (Trend.STEADY, 0, about(ppm(18 / DURATION)))
    # A slope that certainly rises is a queue whatever its latencies at rest, unless the limit is coarse.
    assert of_one(line(5), spread=40).trend is Trend.UNCLEAR
    for step in (50, 300):
        assert of_one(line(step), limit=1e-3, spread=600).trend is Trend.STEADY
    assert of_one(line(300), limit=0.999e-3, spread=600).trend is Trend.FILLING


@pytest.mark.parametrize("windows", [3, 4])
def test_without_windows_enough_latencies_at_rest_say_all(windows: int) -> None:
    """4 windows are the fewest that have a line. Half of what is possible, give or take as much, needs ten trials."""
    found = of_one(line(512, windows=windows))
    assert found.trend is (Trend.UNCLEAR if windows < 4 else Trend.FILLING)
    if windows < 4:
        assert (found.excess_ppm, found.longer) == (about(ppm(1 / 16 + 1 / DURATION)), 10)
        assert found.error_ppm == about(ppm(1 / 8 + 2 / DURATION) - ppm(1 / 16 + 1 / DURATION))


@pytest.mark.parametrize(("spread", "longer"), [(30, 0), (47, 0), (48, 2), (128, 3), (400, 9), (4000, 10)])
def test_a_trial_without_readings_is_longer_by_what_its_latencies_at_rest_are_beyond_the_limit(
    spread: float, longer: int
) -> None:
    """60 ppm of the time are 49.15 ticks."""
    found = of_one(line(0), spread=spread, read=False)
    assert (found.trend, found.longer) == (Trend.UNCLEAR if longer else Trend.STEADY, longer)
    growth = (spread + 2) / DURATION
    center = growth / 2 if longer else 0
    assert (found.excess_ppm, found.error_ppm) == (about(ppm(center)), about(ppm(growth) - ppm(center)))


def test_latencies_that_are_the_same_are_no_queue() -> None:
    """Without a difference of a millionth of the time, nothing else is looked at."""
    assert of_one(line(512), spread=0) == QueueTrend(Trend.STEADY, error_ppm=about(ppm(2 / DURATION)))
    assert trend_of({(0, 1, 2): Seen(line(0), frames=0)}) is None


def test_a_trial_is_longer_by_the_noise_of_its_slope() -> None:
    """5 * 59.8 ticks of noise a window are 6.5 times half of 92: errors shrink with T^1.5, and 6.5^(2/3) is 3.5.

    A queue that fills by the limit grows by 553 ticks in six windows: 1.5 frames need 2.8 times as many.
    """
    for jitter, longer in ((2500, 4), (1500, 3)):
        noisy = of_one(line(0), jitter=jitter, limit=900e-6)
        assert (noisy.trend, noisy.excess_ppm, noisy.longer) == (Trend.UNCLEAR, 0, longer)
        assert noisy.error_ppm == about(ppm(5 * slope_error(jitter)))
    # 60 ticks of noise a window are more than 400 ticks at rest exclude in eight: half of them, give or take as much.
    bound = of_one(line(0), jitter=500, spread=400)
    assert (bound.excess_ppm, bound.longer) == (about(ppm(201 / DURATION)), 9)
    assert bound.error_ppm == about(ppm(402 / DURATION) - ppm(201 / DURATION))
    # 36 ticks are less.
    assert of_one(line(0), jitter=300, spread=400).error_ppm == about(ppm(5 * slope_error(300)))


@pytest.mark.parametrize(("few", "counts"), [(50, False), (51, True)])
def test_a_window_with_half_of_the_frames_says_nothing(few: int, counts: bool) -> None:
    """The third of six is off by 60 ticks."""
    means = line(0)
    means[2] += 60
    found = of_one(means, few=few)
    assert (found.excess_ppm, found.error_ppm > 0) == (0, counts)


@pytest.mark.parametrize(("frames", "trend"), [(2, Trend.FILLING), (1, Trend.UNCLEAR)])
def test_a_window_has_two_frames_or_more(frames: int, trend: Trend) -> None:
    """1.5 frames, of a twelfth or a sixth of the windows' time each, are less than its growth."""
    assert of_one(line(26_000), frames=frames, spread=DURATION).trend is trend


def test_a_flow_that_is_alone_in_its_pair_is_judged_with_the_others() -> None:
    """The other queue bends by 200 ticks: nothing is certain of this one, which grows by 300 a window."""
    found = trend_of({(0, 1, 2): Seen(line(300)), (0, 3, 4): Seen(line(0, 200))})
    assert found is not None and found.trend is Trend.UNCLEAR


def test_at_the_limit_nothing_is_steady() -> None:
    """1 tick a window, too little for a queue that certainly fills, and 6 ticks at rest in all eight, 2 of stamps."""
    assert of_one(line(1), limit=1 / WINDOW).trend is Trend.UNCLEAR
    assert of_one(line(0), limit=6 / DURATION, spread=4, read=False).longer == 2
    # A pair that was not read is no worse than the limit allows, if its latencies are just as far apart.
    limit, flows = 1640 / DURATION, {(0, 1, 3): Seen(line(0), spread=4)}
    found = trend_of({**flows, (0, 2, 3): Seen(line(0), spread=1638, read=False)}, limit)
    assert found is not None and found.trend is Trend.STEADY


def test_the_queue_of_a_port_is_that_of_all_frames_to_it() -> None:
    """Of 300 and 700 frames to one port that grow by 1024 and 512: weighed by their frames, 665.6 of 102,400."""
    found = trend_of({(0, 1, 3): Seen(line(1024), frames=300), (0, 2, 3): Seen(line(512), frames=700)})
    growth = (0.3 * 1024 + 0.7 * 512) / WINDOW
    assert found is not None and (found.trend, found.rx_ports) == (Trend.FILLING, (3,))
    assert found.excess_ppm == about(ppm(growth))
    assert found.excess_fps == about(1000 * WINDOWS / (DURATION * 1e-9) * growth)


def test_the_jitter_of_frames_to_a_port_is_weighed_twice() -> None:
    found = trend_of({(0, 1, 3): Seen(line(1024), frames=300, jitter=40), (0, 2, 3): Seen(line(1024), frames=700)})
    growth, margin = 1 / 100, 5 * sqrt(40**2 / 300 * 0.3**2 / OF_A_LINE) / WINDOW
    assert found is not None and found.error_ppm == about(ppm(growth + margin) - ppm(growth))


def test_a_queue_on_the_way_of_some_frames_is_that_of_their_pair_of_ports() -> None:
    """To port 4 the latency of one pair rises as that of another one falls: half of the frames fill a queue."""
    flows = {
        (0, 1, 4): Seen(line(1024)),
        (0, 2, 4): Seen(line(-1024)),
        (0, 1, 5): Seen(line(2048)),
        (0, 2, 5): Seen(line(-2048)),
    }
    found = trend_of(flows)
    assert found is not None and (found.trend, found.rx_ports) == (Trend.FILLING, (5, 4))
    assert found.excess_ppm == about(ppm(1 / 50))
    assert found.excess_fps == about(FRAMES * WINDOWS / (DURATION * 1e-9) / 50)


def test_a_queue_on_the_way_of_one_stream_is_that_of_its_frames() -> None:
    """Two streams of one pair of ports, of which one waits longer and longer: 100 frames a window in all eight."""
    found = trend_of({(0, 1, 2): Seen(line(-1024)), (1, 1, 2): Seen(line(1024))})
    assert found is not None and (found.trend, found.rx_ports) == (Trend.FILLING, (2,))
    assert found.excess_ppm == about(ppm(1 / 100))
    assert found.excess_fps == about(FRAMES * WINDOWS / (DURATION * 1e-9) / 100)


@pytest.mark.parametrize(("intervals", "growth"), [((1024, 1024), 1.5), ((1024, 1000), 3.5), ((1024, 1000, 1000), 4.5)])
def test_senders_out_of_step_meet_later_than_they_did(intervals: tuple[int, ...], growth: float) -> None:
    """One and a half frames to the port tell, and one more of each sender where clocks differ."""
    ticks = growth * FRAME / len(intervals)
    for step, fills in ((ceil(ticks * 100 / 6) / 100, True), (ceil(ticks * 100 / 6 - 1) / 100, False)):
        flows = {(number, number, 9): Seen(line(step), interval=one) for number, one in enumerate(intervals)}
        found = trend_of(flows, limit=5e-6)
        assert found is not None and found.trend is (Trend.FILLING if fills else Trend.UNCLEAR), step


@pytest.mark.parametrize(("hidden", "trend"), [(800, Trend.STEADY), (840, Trend.UNCLEAR)])
def test_a_pair_that_was_not_read_hides_no_queue_that_the_others_do_not_have(hidden: float, trend: Trend) -> None:
    """Beyond 4 ticks of those that were read, 0.001 of the time are 819."""
    found = trend_of({(0, 1, 3): Seen(line(0), spread=4), (0, 2, 3): Seen(line(0), spread=hidden, read=False)})
    assert found is not None and found.trend is trend
    if trend is Trend.UNCLEAR:
        assert found.longer == 10


def test_classes_are_judged_by_their_own_frames_in_the_pieces_in_which_they_send() -> None:
    """Ticks of 500 ps. One class alone, two others, and for a quarter of that time the first two, which was not read.

    All latencies are 7,400 ticks in the mean, and differ by 12,800: in that last piece a queue may keep 1/16 of all.
    """
    spread = DURATION / 64

    def seen(*steps: int) -> dict[tuple[int, int, int], Seen]:
        keys = ((0, 1, 2), (1, 3, 2), (2, 3, 4), (3, 5, 6))
        return {key: Seen(line(step), spread) for key, step in zip(keys, (*steps, 0), strict=True)}

    first, second, third, fourth = (0, 0), (1, 0), (2, 0), (3, 0)
    alone = Piece(0, DURATION // 2, frozenset({first}), True)
    others = Piece(DURATION // 2, DURATION, frozenset({second, third}), True)
    unread = Piece(DURATION, DURATION * 9 // 8, frozenset({first, second, fourth}), True)
    plan, of_the_first, last = measured(seen(512, 0, 0))
    _, of_the_others, _ = measured(seen(0, 0, 40))
    assert of_the_first is not None and of_the_others is not None
    streams = [cast("Stream", SimpleNamespace(traffic_class=name)) for name in "abcd"]
    limit = of_departures(60e-6)

    def queues_of(readings: Mapping[Piece, Readings], *pieces: Piece) -> list[ClassQueues]:
        duration_ns = pieces[-1].end_ns
        times: Any = {"duration_ns": duration_ns, "tick_ps": 500}
        found = class_queues(plan, streams, pieces, readings, last, **times, limit=limit, unmet={})
        return list(found)

    excess_fps = 2 * 800 / (DURATION * 9 / 8 * 1e-9) / 200
    fills = QueueTrend(
        Trend.FILLING, about(1e6 / 199), about(0), excess_fps=about(excess_fps), overflow_s=about(1000 / excess_fps),
        rx_ports=(2,),
    )  # fmt: skip
    # Of ticks of 500 ps the last piece has a quarter of the time; two of them may be those of stamps.
    most = 1 / 16 + 8 / DURATION
    hidden = QueueTrend(Trend.UNCLEAR, about(ppm(most / 2)), about(ppm(most) - ppm(most / 2)), longer=10)
    grows = QueueTrend(Trend.UNCLEAR, about(ppm(40 / WINDOW)), about(0), longer=10)
    assert queues_of({alone: of_the_first, others: of_the_others}, alone, others, unread) == [
        # Windows of 6,280, 5,000 and 5,100 ticks in the mean; a queue that fills is no growth of another kind.
        ClassQueues("a", fills, about((7400 - 6280) / 2), 0, 0.2),
        ClassQueues("b", hidden, about((7400 - 5000) / 2), 0, 0.2),
        ClassQueues("c", grows, about((7400 - 5100) / 2), 5 * 40 / 2),
        ClassQueues("d", hidden, 0, 0),
    ]
    # All of a run is no part of it: a queue has the time in which its frames come.
    assert queues_of({}, Piece(0, DURATION // 4, frozenset({first}), True))[0].trend.excess_ppm == about(
        ppm(1 / 128 + 2 / DURATION)
    )
