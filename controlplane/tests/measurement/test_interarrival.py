"""Times between frames on sim, at the sender and at the receiver: one bin of even ones, the distribution of others."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from math import exp, log, sqrt
from unittest.mock import Mock

import numpy as np
import pytest
from support.networks import parsed, switch

from p4mesh.errors import UnsupportedError
from p4mesh.measurement import interarrival
from p4mesh.measurement.counts import InterarrivalStats, TimesBetween
from p4mesh.measurement.interarrival import interarrival_stats
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.histogram import HISTOGRAM_BINS, HistogramPer, InterarrivalBins, bin_bounds_ticks, bin_of
from p4mesh.tester.histogram_plan import with_interarrival
from p4mesh.tester.plan import Limits, make_plan
from p4mesh.tester.records import ALL_ONES
from p4mesh.traffic.arrivals import OnOff, Poisson, Profile, Recorded
from p4mesh.traffic.patterns import Pairs, Pattern, Rotate
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec

FRAMES, RATE_FPS, MEAN_NS = 4000, Fraction(10_000), 100_000
DEPARTURE_ERROR_NS = 20
FAST, SLOW = 10**9, 10**8
BURSTS = Recorded((0, 0, 0, 1))
"""Four frames back to back, then silence."""


def stream_of(
    arrivals: OnOff | Poisson | Recorded | None,
    pattern: Pattern | None = None,
    receivers: tuple[int, ...] = (2,),
    senders: tuple[int, ...] = (1,),
) -> Stream:
    return Stream("s", 128, RATE_FPS, FRAMES, pattern or Pairs(), senders, receivers, arrivals=arrivals)


def measured(stream: Stream, per: HistogramPer, to_bps: int = FAST, port: str = "") -> TrialResult:
    """Send from one port of a switch to others with a line of another rate."""
    rates_bps = (FAST, *[to_bps] * max(2, len(stream.tx_ports) + len(stream.rx_ports) - 1))
    topology = parsed(
        switch("latency_ns: 500", ports=len(rates_bps), rates_bps=rates_bps, port=port, tester="clock_tick_ps: 1000")
    )
    spec = TrialSpec(
        "s",
        (stream,),
        FRAMES * MEAN_NS,
        Learning(enabled=False),
        10**7,
        0,
        interarrival=per,
        departure_error_ns=DEPARTURE_ERROR_NS,
    )
    with open_measurer(topology) as measurer:
        return measurer.measure(spec)


def both(found: InterarrivalStats) -> tuple[TimesBetween, TimesBetween]:
    assert found.departures is not None
    return found.departures, found.arrivals


def shares(found: TimesBetween) -> dict[float, float]:
    """Share of the times in each bin, by the shortest time of it."""
    assert sum(found.bins.frames) == found.count
    return {low: frames / found.count for low, frames in zip(found.bins.low_ns, found.bins.frames, strict=True)}


def test_even_frames_are_in_one_bin() -> None:
    """A time of 100,000 ticks is in a bin of 1,024: its middle is off by less than the error that is told."""
    low, high = bin_bounds_ticks(bin_of(MEAN_NS))
    for found in both(measured(stream_of(None), HistogramPer.FLOW).interarrival[0]):
        assert (found.count, found.bins.frames) == (FRAMES - 1, (FRAMES - 1,))
        assert (found.bins.low_ns, found.bins.high_ns) == ((low,), (high + 1,))
        assert found.mean_ns == pytest.approx(MEAN_NS, abs=DEPARTURE_ERROR_NS / FRAMES + found.mean_error_ns)
        assert found.mean_error_ns < 0.01
        assert (found.deviation_ns, found.deviation_error_ns) == (0, (high - low) / 2 + 1)
        assert dict(found.percentiles_ns)[50.0] == (low + high) / 2


def test_poisson_times_are_exponential() -> None:
    """A share 1 - e^-x is below x: the largest difference is below 1.63 / sqrt(n) for 99 % of the seeds."""
    for found in both(measured(stream_of(Poisson(7)), HistogramPer.FLOW).interarrival[0]):
        ends = zip(found.bins.high_ns, accumulate(found.bins.frames), strict=True)
        worst = max(abs(seen / found.count - (1 - exp(-end / MEAN_NS))) for end, seen in ends)
        assert (found.count, worst < 1.63 / FRAMES**0.5) == (FRAMES - 1, True)
        assert found.deviation_ns == pytest.approx(MEAN_NS, abs=found.deviation_error_ns)


def chi_square(found: TimesBetween, parts: int) -> float:
    """Of the independent times against exponential ones, in parts of the range that are equally likely."""
    seen = Counter[int]()
    likely: defaultdict[int, float] = defaultdict(float)
    low_ns = 0.0
    for high_ns, frames in zip(found.bins.high_ns, found.bins.frames, strict=True):
        part = int(parts * (1 - exp(-low_ns / MEAN_NS)))
        seen[part] += frames
        likely[part] += exp(-low_ns / MEAN_NS) - exp(-high_ns / MEAN_NS)
        low_ns = high_ns
    copies = found.count / found.independent
    return (
        sum((seen[part] - found.count * likely[part]) ** 2 / (found.count * likely[part]) for part in likely) / copies
    )


@pytest.mark.parametrize(
    ("senders", "longest_round", "independent"),
    [((1,), FRAMES, FRAMES - 1), ((1, 2, 3, 4), FRAMES, FRAMES - 1), ((1,), FRAMES // 4, (FRAMES - 1) / 4)],
)
def test_copies_of_times_are_no_further_sample(
    senders: tuple[int, ...], longest_round: int, independent: float
) -> None:
    """Senders in step and rounds that come again: chi-square of three seeds is within four deviations of its mean.

    Were they taken for times of their own, it would be four times its mean, and the errors half of what they are.
    """
    parts, total, degrees = 40, 0.0, 0
    for seed in range(3):
        arrivals = Poisson(seed, longest_round)
        receivers = tuple(port + len(senders) for port in senders)
        stream = stream_of(arrivals, receivers=receivers, senders=senders)
        (found,) = measured(stream, HistogramPer.CLASS).interarrival
        for times in both(found):
            assert times.count == len(senders) * (FRAMES - 1)
            assert times.independent == pytest.approx(independent, abs=1)
            # Of n exponential times the deviation is off by 1.96 sqrt(2 / n) of it, with 95 % confidence.
            sampling_ns = 1.96 * MEAN_NS * (2 / independent) ** 0.5
            assert times.deviation_error_ns == pytest.approx(sampling_ns, rel=0.35)
            assert abs(dict(times.percentiles_ns)[50.0] - MEAN_NS * log(2)) < dict(times.percentile_errors_ns)[50.0]
        total += chi_square(both(found)[0], parts)
        degrees += parts - 1
    assert abs(total - degrees) < 4 * (2 * degrees) ** 0.5


@pytest.mark.parametrize("stray", [7, 150, 299])
@pytest.mark.parametrize(
    ("arrivals", "round_of"),
    [
        (Poisson(3, 300), 300),
        (OnOff(Fraction(1, 4), 6, 0, 300), 300),
        (Recorded((1000,) * 20 + (400_000,)), 21),
        (Profile(((Fraction(0), Fraction(1)), (Fraction(1, 4), Fraction(20)), (Fraction(1), Fraction(1))), 10**7), 100),
        (Burst(50), 50),
    ],
)
def test_error_of_a_mean_is_less_than_a_round(
    arrivals: Poisson | OnOff | Recorded | Profile | Burst, round_of: int, stray: int
) -> None:
    """A part of a round is behind the even pace or ahead of it: the mean of its times is not that of a longer trial."""
    frames = 1200 + stray
    uneven = {"burst": arrivals} if isinstance(arrivals, Burst) else {"arrivals": arrivals}
    stream = replace(stream_of(None), frame_count=frames, **uneven)
    for found in both(measured(stream, HistogramPer.FLOW).interarrival[0]):
        assert found.mean_ns == pytest.approx(MEAN_NS, abs=found.mean_error_ns)
        assert found.mean_error_ns < 1.4 * MEAN_NS * round_of / frames


def test_a_source_that_is_on_for_a_quarter_of_the_time_has_even_frames_then() -> None:
    """Forty bursts have about forty silent times between them; a flow repeats the round that its schedule is."""
    arrivals = OnOff(Fraction(1, 4), 40)
    for found in both(measured(stream_of(arrivals), HistogramPer.FLOW).interarrival[0]):
        assert found.mean_ns == pytest.approx(MEAN_NS, rel=0.05)
        ((usual_ns, share),) = [(low, share) for low, share in shares(found).items() if share > 0.5]
        assert share == pytest.approx(1 - 40 / FRAMES, abs=10 / FRAMES)
        assert usual_ns == pytest.approx(MEAN_NS / 4, rel=0.3)


def test_times_of_a_record_are_those_of_each_flow() -> None:
    """Three times of 50 us and one of 250 us, to two receivers in turn: 100 us and 300 us between frames of a flow."""
    stream = stream_of(Recorded((50, 50, 50, 250)), Rotate(), (2, 3))
    flows = measured(stream, HistogramPer.FLOW).interarrival
    (together,) = measured(stream, HistogramPer.CLASS).interarrival
    assert [(found.tx_port, found.rx_port) for found in (*flows, together)] == [(1, 2), (1, 3), (None, None)]
    assert [found.arrivals.count for found in (*flows, together)] == [FRAMES / 2 - 1, FRAMES / 2 - 1, FRAMES - 2]
    half = pytest.approx(0.5, abs=2 / FRAMES)
    expected = {bin_bounds_ticks(bin_of(ns))[0]: half for ns in (100_000, 300_000)}
    for times in (times for found in (*flows, together) for times in both(found)):
        assert shares(times) == expected


def test_a_line_that_is_too_slow_spaces_frames_that_left_back_to_back() -> None:
    """148 bytes take 1.184 us on the line of the sender, and ten times as long on that of the receiver."""
    (found,) = measured(stream_of(BURSTS), HistogramPer.CLASS, SLOW).interarrival
    for times, line_ns in zip(both(found), (1184, 11_840), strict=True):
        assert dict(times.percentiles_ns)[50.0] == pytest.approx(line_ns, rel=1 / 128, abs=DEPARTURE_ERROR_NS)


def test_times_across_a_loss_are_of_the_receiver_alone() -> None:
    """A queue of two takes three frames of four: the first of each burst follows one that is missing."""
    result = measured(stream_of(BURSTS), HistogramPer.CLASS, SLOW, "queue_frames: 2")
    departures, arrivals = both(result.interarrival[0])
    assert result.lost_frames == FRAMES // 4
    assert (arrivals.count, departures.count) == (result.rx_frames - 1, FRAMES // 2)
    assert departures.mean_ns == pytest.approx(1184, rel=1 / 128, abs=DEPARTURE_ERROR_NS)


def test_a_program_without_such_histograms_is_told_from_others() -> None:
    limits = Limits.of(load_contract(), 1000, LoopModel(10**11, 500_000), "tofino")
    plan = make_plan((stream_of(None),), limits, {1: FAST, 2: FAST})
    assert len(with_interarrival(plan, HistogramPer.CLASS, limits).interarrival) == 1
    with pytest.raises(UnsupportedError, match="not supported on tofino: histograms of the times between frames"):
        with_interarrival(plan, HistogramPer.CLASS, replace(limits, interarrival=False))


def by_hand(
    arrivals: dict[int, int], departures: dict[int, int], schedule: Recorded | None = None, **last: int
) -> InterarrivalStats | None:
    """Distributions from counts by ticks: arrivals of one flow at 1,000 to 3,500 ticks, with latencies of 40 to 90.

    The other flow of the class has one frame, which no time is before.
    """
    tick_ps = 2000
    limits = Limits.of(load_contract(), tick_ps, LoopModel(10**11, 500_000), "sim")
    stream = stream_of(schedule, receivers=(3, 4), senders=(1, 2))
    plan = make_plan((stream,), limits, dict.fromkeys(range(1, 5), FAST))
    plan = with_interarrival(plan, HistogramPer.CLASS, limits)
    (histogram,) = [one for one in plan.interarrival if one.cells]
    cell, other = histogram.cells
    names = ("frames", "first_arrival", "last_arrival", "latency_max", "latency_min_inverted")
    records = np.zeros(plan.cells, dtype=[(name, np.uint64) for name in names])
    values = {"frames": 101, "first_arrival": 1000, "last_arrival": 3500, "latency_max": 90}
    for name, value in (values | {"latency_min_inverted": ALL_ONES - 40} | last).items():
        records[name][cell] = value
    records["frames"][other], records["latency_max"][other] = 1, 70
    bins = [[0] * HISTOGRAM_BINS for _ in range(2)]
    for counts, times in zip(bins, (arrivals, departures), strict=True):
        for ticks, frames in times.items():
            counts[bin_of(ticks)] = frames
    none = InterarrivalBins([0] * HISTOGRAM_BINS, [0] * HISTOGRAM_BINS)
    given = {one.number: none for one in plan.interarrival} | {histogram.number: InterarrivalBins(*bins)}
    found = interarrival_stats(plan, records, given, tick_ps)
    assert len(found) <= 1
    return found[0] if found else None


EVENLY = {10: 25, 20: 25, 30: 25, 40: 25}
"""Ticks of 2 ns: moments are 125 and 25,625, so that a variance of 100 times is off by 1.96 times 10."""
SAMPLED_NS = 2 * (1.96 * 10 / (2 * sqrt(125)))


def test_the_mean_of_all_times_is_what_they_add_up_to_and_those_of_some_are_in_bins() -> None:
    """100 times add up to 2,500 ticks, give or take one and what latencies differ by, 50.

    3,999 times were sent at even distances: a part of them is ahead of their mean rate by less than one.
    """
    found = by_hand(EVENLY, EVENLY)
    assert found is not None and found.departures is not None
    assert (found.tx_port, found.rx_port) == (None, None)
    for times in (found.arrivals, found.departures):
        assert (times.count, times.independent) == (100, 100)
        assert (times.mean_ns, times.mean_error_ns) == (50, pytest.approx(2 * (51 / 100 + 25 / 3998)))
        assert times.deviation_ns == pytest.approx(2 * sqrt(125))
        # Stamps are off by a tick in all.
        assert times.deviation_error_ns == pytest.approx(2 + SAMPLED_NS)
        assert times.percentiles_ns == ((1.0, 20.0), (50.0, 40.0), (99.0, 80.0), (99.9, 80.0))
        # The rank of 50 may be that of 40 to 60; the others are too few.
        assert times.percentile_errors_ns == ((50.0, 20.0),)
        assert (times.bins.low_ns, times.bins.high_ns) == ((20, 40, 60, 80), (22, 42, 62, 82))


def test_times_in_wide_bins_are_off_by_half_of_them() -> None:
    """1,000 and 2,000 ticks are in bins of 8 and 16 with the middles 1,003.5 and 2,007.5.

    One departure of 100 is known, so that 99 arrivals are a sample.
    """
    found = by_hand({1000: 50, 2000: 49}, {1000: 1})
    assert found is not None and found.departures is not None
    mean, inside = (1003.5 * 50 + 2007.5 * 49) / 99, sqrt((3.5**2 * 50 + 7.5**2 * 49) / 99)
    assert found.arrivals.mean_ns == pytest.approx(2 * mean)
    moments = [((1003.5 - mean) ** power * 50 + (2007.5 - mean) ** power * 49) / 99 for power in (2, 4)]
    of_bins, of_sample = (3.5 * 50 + 7.5 * 49) / 99, 1.96 * sqrt(moments[0] / 99)
    assert found.arrivals.mean_error_ns == pytest.approx(2 * (of_bins + 1 + of_sample))
    sampled = 1.96 * sqrt((moments[1] - moments[0] ** 2) / 99) / (2 * sqrt(moments[0]))
    assert found.arrivals.deviation_error_ns == pytest.approx(2 * (inside + 1 + sampled))
    alone = found.departures
    assert (alone.count, alone.independent, alone.mean_ns, alone.deviation_ns) == (1, 1, 2007, 0)
    assert (alone.mean_error_ns, alone.deviation_error_ns) == (2 * 4.5, 2 * 4.5)


def test_a_round_of_a_schedule_that_comes_again_is_one_sample() -> None:
    """3,999 times are 3.999 rounds of 1,000: of 100 times 25 are independent, and of one it is one.

    A part of the schedule is off its mean rate by the deviation of 25 times, which is less than a round may be.
    """
    found = by_hand(EVENLY, {10: 1}, Recorded((100,) * 1000))
    assert found is not None and found.departures is not None
    assert (found.arrivals.independent, found.departures.independent) == (25, 1)
    assert found.arrivals.mean_error_ns == pytest.approx(2 * (51 / 100 + 1.96 * sqrt(125 / 25)))
    part = by_hand(EVENLY, EVENLY, Recorded((100,) * 5000))
    assert part is not None and part.arrivals.independent == 100, "of less than a round all are"
    whole = by_hand(EVENLY, EVENLY, Recorded((100,) * 3999))
    assert whole is not None
    assert whole.arrivals.mean_error_ns == pytest.approx(2 * (51 / 100 + 1.96 * sqrt(125 / 100))), "of one round, too"
    short = by_hand(EVENLY, EVENLY, Recorded((100,) * 10))
    assert short is not None
    assert short.arrivals.mean_error_ns == pytest.approx(2 * (51 / 100 + 25 / (399.9 - 1)))


def test_two_times_that_are_as_frequent_have_a_deviation_without_an_error_of_sampling() -> None:
    found = by_hand({10: 50, 20: 50}, {})
    assert found is not None
    assert (found.arrivals.deviation_ns, found.arrivals.deviation_error_ns) == (10, 2)


def test_bins_are_shared_by_the_times_of_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Mock(return_value=100)
    monkeypatch.setattr(interarrival, "most_bins", asked)
    assert by_hand(EVENLY, EVENLY) is not None
    asked.assert_called_once_with(2)


def test_two_frames_have_one_time_and_one_frame_has_none() -> None:
    pair = by_hand({40: 1}, {}, frames=2, last_arrival=1040, latency_max=40)
    assert pair is not None and pair.departures is None
    assert (pair.arrivals.count, pair.arrivals.mean_ns, pair.arrivals.mean_error_ns) == (1, 80, 2)
    assert by_hand({}, {}, frames=1) is None
    assert by_hand({}, {}, frames=2) is None
