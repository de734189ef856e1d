"""Departures that are not evenly spaced: times by hand, exact means, and what a queue makes of them on sim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log

import pytest
from support.networks import parsed, switch

from p4mesh.errors import ParameterError
from p4mesh.tester.pacing import scheduled_clock
from p4mesh.traffic.arrivals import Arrivals, OnOff, Poisson, Profile, Recorded, spaced
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.random_numbers import splitmix64
from p4mesh.traffic.stream import Burst, Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
UP = ((ZERO, ZERO), (ONE, ONE))
SIZE, RATE_FPS = 480, Fraction(100_000)
FAST, SLOW = 10**9, 10**8
SERVICE_NS = 8 * (SIZE + 20) * 10


def test_times_of_a_rate_that_grows_lie_at_equal_parts_of_its_area() -> None:
    """The area up to t is t^2: a half departure of n has passed at sqrt((k + 1/2) / n)."""
    times = Profile(UP, 10**6).times(50)
    assert [float(time) for time in times] == pytest.approx([((k + 0.5) / 50) ** 0.5 for k in range(50)], abs=1e-9)


def test_times_of_a_rate_that_jumps_leave_its_silence_out() -> None:
    points = ((ZERO, ZERO), (HALF, ZERO), (HALF, ONE), (ONE, ONE))
    assert Profile(points, 10**6).times(4) == [Fraction(9 + 2 * k, 16) for k in range(4)]


def test_times_of_a_rate_that_rises_and_falls_lie_the_same_on_both_sides() -> None:
    """The area up to t < 1/2 is 2 t^2, and a half departure of 2 has passed at 1/8^0.5."""
    first, second = Profile(((ZERO, ZERO), (HALF, Fraction(2)), (ONE, ZERO)), 10**6).times(2)
    assert float(first) == pytest.approx(0.125**0.5, abs=1e-9) and float(first + second) == pytest.approx(1, abs=1e-9)


def test_what_would_leave_in_a_silence_leaves_as_it_begins() -> None:
    """Half of the area is passed all the time between, to the last digit although the rate at its end is rounded."""
    third = Fraction(1, 3)
    points = ((ZERO, ZERO), (third, third), (third, ZERO), (2 * third, ZERO), (2 * third, third), (ONE, ZERO))
    assert Profile(points, 10**6).times(1) == [third]


def test_a_profile_that_begins_later_has_its_end_first() -> None:
    """Departures at 9, 11, 13 and 15 sixteenths, a quarter later; a period of 10 ms has 10 of 1,000 per second."""
    half_silent = Profile(((ZERO, ZERO), (HALF, ZERO), (HALF, ONE), (ONE, ONE)), 10**7, Fraction(1, 4))
    assert half_silent.times(4) == [Fraction(sixteenths, 16) for sixteenths in (1, 3, 13, 15)]
    assert half_silent.departures_in_round(Fraction(1000), 99) == 10
    assert half_silent.departures_in_round(Fraction(1), 99) == 1


def test_a_markov_source_takes_a_time_on_and_a_time_off_in_turn() -> None:
    """-ln of numbers of the seed, the shares of the mean; four departures are evenly spread over what is on."""
    on, off, next_on, next_off = (
        share * -log((splitmix64((3 << 32) + number) + 1) / 2**64) for number, share in enumerate([0.25, 0.75] * 2)
    )
    found = OnOff(Fraction(1, 4), 2, 3).times(4)
    passed = [(on + next_on) * (place + 0.5) / 4 for place in range(4)]
    times = [sent if sent < on else sent + off for sent in passed]
    whole = on + off + next_on + next_off
    assert [float(time) for time in found] == pytest.approx([time / whole for time in times], abs=1e-9)
    assert 0 < sum(sent < on for sent in passed) < 4, "both times on have departures"


def test_a_record_keeps_the_proportions_of_its_distances() -> None:
    assert Recorded((10, 30, 0, 60)).times(4) == [0, Fraction(1, 10), Fraction(2, 5), Fraction(2, 5)]


def test_poisson_distances_are_exponential() -> None:
    """A share 1 - e^-x is below x: the largest difference is below 1.63 / sqrt(n) for 99 % of the seeds."""
    times = [*Poisson(7).times(5_000), ONE]
    gaps = sorted(5_000 * float(after - before) for before, after in pairwise(times))
    worst = max(abs((n + 1) / 5_000 - (1 - 2.718281828459045**-gap)) for n, gap in enumerate(gaps))
    assert worst < 1.63 / 5_000**0.5
    assert Poisson(7).times(5) != Poisson(8).times(5)


@pytest.mark.parametrize("load", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)])
def test_of_poisson_departures_as_many_wait_as_the_line_is_loaded(load: Fraction) -> None:
    """They follow the frame before back to back, within four deviations and what waits make them depend."""
    slot_ps = Fraction(10**7)
    clock = scheduled_clock(Poisson(3), load * 10**12 / slot_ps, 10_000, 1000, [slot_ps])
    waiting = sum(clock.interval_ticks + longer == 10_000 for longer in clock.longer_by_ticks) / 10_000
    assert waiting == pytest.approx(float(load), abs=4 * float(load * (1 - load)) ** 0.5 / 100 / float(1 - load))


def test_a_markov_source_sends_in_its_part_of_the_time() -> None:
    """Half of the time on, so that distances are half of the mean while it is on."""
    times = OnOff(HALF, 200, 3).times(40_000)
    inside = [after - before for before, after in pairwise(times)]
    usual = sorted(inside)[20_000]
    assert float(usual * 40_000) == pytest.approx(0.5, rel=0.15)
    assert sum(gap > 3 * usual for gap in inside) == pytest.approx(200, abs=5)


def test_frames_that_are_too_close_follow_each_other_as_behind_a_queue() -> None:
    """Five at once and one later, 10 ticks each; what waits at the end of a round waits in the next one."""
    assert spaced([ZERO] * 5 + [HALF], Fraction(1000), [10] * 6) == (0, [10] * 4 + [460, 500])
    assert spaced([Fraction(1, 100), Fraction(99, 100)], Fraction(100), [10, 10]) == (9, [90, 10])
    assert spaced([ZERO] * 10, Fraction(100), [10] * 10) == (0, [10] * 10), "as many as the round has room for"
    with pytest.raises(ValueError, match="do not fit"):
        spaced([ZERO] * 11, Fraction(100), [10] * 11)


@pytest.mark.parametrize(
    "arrivals", [Poisson(1), OnOff(Fraction(1, 3), 7), Profile(UP, 10**7), Recorded((1, 5, 9, 200))]
)
@pytest.mark.parametrize("rate_fps", [Fraction(100_000), Fraction(1_000_003, 7)])
def test_the_mean_is_exact_to_the_fraction_of_the_clock(arrivals: Arrivals, rate_fps: Fraction) -> None:
    clock = scheduled_clock(arrivals, rate_fps, 5_000, 1000, [Fraction(672_000)])
    assert abs(clock.frame_interval_ticks - 10**9 / rate_fps) <= Fraction(1, 1 << 32)
    assert clock.slot_ticks >= 672


@pytest.mark.parametrize("arrivals", [Poisson(1), OnOff(HALF, 7), Profile(UP, 10**7), Recorded((1, 5, 9, 200))])
def test_arrivals_of_another_sender_are_others(arrivals: Poisson | OnOff | Profile | Recorded) -> None:
    """Goal: those of a profile and of a record are the same round, begun elsewhere; sender 0 keeps what it has."""
    departures = arrivals.departures_in_round(RATE_FPS, 1000)
    of_senders = [arrivals.of_sender(number).times(departures) for number in range(4)]
    assert arrivals.of_sender(0) == arrivals
    assert of_senders[0] == arrivals.times(departures)
    assert of_senders[1] != of_senders[0]
    assert all(sorted(times) == times and times[0] >= 0 and times[-1] < 1 for times in of_senders)
    if not isinstance(arrivals, (Poisson, OnOff)):
        rounds = [sorted(after - before for before, after in pairwise([*times, times[0] + 1])) for times in of_senders]
        assert rounds == [rounds[0]] * 4


def test_senders_begin_anywhere_in_a_round() -> None:
    parts = sorted(Profile(UP, 10**7).of_sender(number).later for number in range(64))
    assert parts[:1] == [0] and all(after - before < Fraction(1, 8) for before, after in pairwise([*parts, ONE]))


@pytest.mark.parametrize(("frames", "longest"), [(4000, 65_536), (100_000, 65_536), (98_303, 32_768), (100, 99)])
@pytest.mark.parametrize("kind", [Poisson(1), OnOff(HALF, 7)])
def test_random_arrivals_are_sent_in_whole_rounds(kind: Poisson | OnOff, frames: int, longest: int) -> None:
    """Goal: a part of a round has not the mean rate; the last one lacks fewer frames than there are rounds."""
    departures = replace(kind, longest_round=longest).departures_in_round(RATE_FPS, frames)
    rounds = -(-frames // departures)
    assert departures <= longest
    assert 0 <= rounds * departures - frames < rounds


def test_a_round_of_sizes_in_turn_has_all_of_them_equally_often() -> None:
    """1,000 departures of three sizes are 999, so that a short frame may be followed as soon as it has left."""
    slots_ps = [Fraction(600_000), Fraction(600_000), Fraction(12_000_000)]
    clock = scheduled_clock(Poisson(1, 1000), Fraction(100_000), 5000, 1000, slots_ps)
    assert len(clock.longer_by_ticks) == 999
    gaps = [clock.interval_ticks + longer for longer in clock.longer_by_ticks]
    assert [min(gaps[size::3]) for size in range(3)] == [600, 600, 12_000]
    assert sum(gaps) == 9_990_000
    once = scheduled_clock(Poisson(1), Fraction(100_000), 1000, 1000, slots_ps)
    assert (len(once.longer_by_ticks), once.interval_ticks) == (1000, 600), "sizes of a trial of one round are in turn"


def sent(
    arrivals: Poisson | OnOff | Profile | Recorded | None, frames: int = 3000, burst: Burst | None = None
) -> TrialResult:
    """Send to a port that is ten times slower, whose load is 40 %."""
    topology = parsed(switch("latency_ns: 0", ports=2, rates_bps=(FAST, SLOW), port="queue_frames: 4000"))
    stream = Stream("s", SIZE, RATE_FPS / 10, frames, Pairs(), (1,), (2,), arrivals=arrivals, burst=burst)
    duration_ns = int(frames * 10**9 / stream.rate_fps)
    with open_measurer(topology) as measurer:
        spec = TrialSpec("s", (stream,), duration_ns, Learning(enabled=False), 10**8, 0, departure_error_ns=50)
        return measurer.measure(spec)


def average_ns(result: TrialResult) -> float:
    assert result.latency is not None
    return result.latency.sum_ns / result.latency.count


def waits_ns(gaps_ticks: Sequence[int]) -> float:
    """Mean wait of frames in front of a line that takes SERVICE_NS for each (Lindley)."""
    wait, total = 0, 0
    for gap in gaps_ticks:
        total += wait
        wait = max(0, wait + SERVICE_NS - gap)
    return total / len(gaps_ticks)


@pytest.mark.parametrize("arrivals", [Poisson(5), OnOff(Fraction(1, 4), 20), Recorded((1, 1, 1, 1, 1, 40))])
def test_a_queue_waits_for_what_the_schedule_says(arrivals: Poisson | OnOff | Recorded) -> None:
    """Goal: the average latency is that of single frames and the mean wait of the schedule, within 100 ns."""
    alone, result = sent(None), sent(arrivals)
    for found in (alone, result):
        assert (found.status, found.reason) == (Verdict.MEASURED, "")
        assert (found.tx_frames, found.rx_frames) == (3000, 3000)
    clock = scheduled_clock(arrivals, RATE_FPS / 10, 3000, 1000, [Fraction(8 * (SIZE + 20) * 1000)])
    gaps = [clock.interval_ticks + clock.longer_by_ticks[n % len(clock.longer_by_ticks)] for n in range(3000)]
    assert average_ns(result) - average_ns(alone) == pytest.approx(waits_ns(gaps), abs=100)


def test_poisson_in_front_of_a_line_waits_as_m_d_1_says() -> None:
    """A mean wait of rho / (2 (1 - rho)) services; 30,000 arrivals tell it within some per cent."""
    alone, result = sent(None), sent(Poisson(2), 30_000)
    load = float(RATE_FPS / 10 * SERVICE_NS / 10**9)
    assert average_ns(result) - average_ns(alone) == pytest.approx(SERVICE_NS * load / (2 * (1 - load)), rel=0.08)


def test_arrivals_beside_bursts_are_refused() -> None:
    with pytest.raises(ParameterError, match="has arrivals beside bursts"):
        sent(Poisson(1), burst=Burst(3))


def test_arrivals_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 65536"):
        sent(Profile(UP, 10**10), 100_000)
