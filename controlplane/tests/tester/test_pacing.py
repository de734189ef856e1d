"""Pacing: the departure clock has no drift, and the number of seeds fits the loop."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from p4mesh.errors import UnsupportedError
from p4mesh.target.loop import LoopModel
from p4mesh.tester import pacing
from p4mesh.tester.contract import load_contract
from p4mesh.tester.pacing import (
    LONGEST_SLOT_TICKS,
    DepartureClock,
    departure_clock,
    finer_counts,
    loop_use,
    mean_rate_fps,
    scheduled_clock,
    seed_counts,
    slot_rate_fps,
)
from p4mesh.traffic.arrivals import Profile, Recorded
from p4mesh.traffic.line_rate import max_rate_fps

LOOP = LoopModel(rate_bps=100_000_000_000, latency_ps=500_000)


@pytest.mark.parametrize("size", [64, 1518, 9216])
@pytest.mark.parametrize("line_rate_bps", [10**9, 10**10, 10**11, 4 * 10**11])
def test_no_drift_over_a_billion_frames(size: int, line_rate_bps: int) -> None:
    rate = max_rate_fps(size, line_rate_bps)
    clock = departure_clock(rate, 10**9, 1000)
    ideal_ticks = Fraction(10**12, 1000) / rate
    assert abs(clock.frame_interval_ticks - ideal_ticks) * 10**9 < 1, "less than one tick after 10^9 frames"


def test_one_frame_per_minute_is_made_of_silent_slots() -> None:
    clock = departure_clock(Fraction(1, 60), 3, 1000)
    assert clock.interval_ticks <= 1 << 30
    assert abs(clock.frame_interval_ticks - 60 * 10**9) * 10**6 < 1
    assert clock.departures == 2 * (clock.last_slot + 1) + 1
    assert clock.burst_slots == 1


def test_bursts_keep_the_mean_rate_and_fit_the_wire_time() -> None:
    # RFC 2889 appendix A: 64 bytes, 50 %, bursts of 24 at 10 Mbit/s.
    wire_slot_ps = Fraction(84 * 8 * 10**12, 10_000_000)
    rate = max_rate_fps(64, 10_000_000) / 2
    clock = departure_clock(rate, 48, 1000, burst_frames=24, wire_slot_ps=wire_slot_ps)
    assert clock.burst_slots == 24
    assert clock.last_slot + 1 == 48
    assert clock.slot_ticks * 1000 <= wire_slot_ps
    assert clock.departures == 48 + 24


HALF_TICK = 1 << 31


def test_a_clock_of_bursts_sends_in_the_first_of_its_slots() -> None:
    """Two frames in four slots of 2.5 ns: 5 ns a frame. A fraction is a multiple of 2^-32 ns."""
    clock = DepartureClock(2, HALF_TICK, 9, last_slot=3, burst_slots=2)
    assert (clock.slot_ticks, clock.period_ticks, clock.frame_interval_ticks, clock.span_ticks(5)) == (2.5, 10, 5, 20)
    assert (slot_rate_fps(clock, 1000), mean_rate_fps(clock, 1000)) == (4 * 10**8, 2 * 10**8)
    assert clock.rate_step * 2**32 == Fraction(1, Fraction("2.5"))


def test_a_clock_of_a_schedule_has_the_mean_of_its_slots() -> None:
    """Slots of 10.5, 15.5 and 11.5 ns in turn: 37.5 ns a round. Five slots are between six frames."""
    clock = DepartureClock(10, HALF_TICK, 9, 0, 1, longer_by_ticks=(0, 5, 1))
    assert (clock.period_ticks, clock.span_ticks(1), clock.span_ticks(6)) == (12.5, 0, 37.5 + 10.5 + 15.5)
    assert clock.rate_step * 2**32 == Fraction(2, 25)


@pytest.mark.parametrize(
    ("interval_ns", "ticks", "fraction"),
    [
        (Fraction(10_000, 3), 3333, 1431655765),
        (Fraction(20_000, 3), 6666, 2863311531),  # nearer than ...530
        (10 - Fraction(1, 1 << 33), 10, 0),
        (10 - Fraction(1, 1 << 32), 9, (1 << 32) - 1),
    ],
)
def test_intervals_are_rounded_to_the_nearest_fraction(interval_ns: Fraction, ticks: int, fraction: int) -> None:
    assert departure_clock(10**9 / interval_ns, 5, 1000) == DepartureClock(ticks, fraction, 5, 0, 1)


@pytest.mark.parametrize(
    ("frames", "wire_slot_ns", "clock"),
    [
        # Three frames in 3000 ns. With 700 ns on the wire there are five slots, of which three send.
        (7, 700, DepartureClock(600, 0, 11, 4, 3)),
        (5, 700, DepartureClock(600, 0, 7, 4, 3)),
        (7, 1500, DepartureClock(1000, 0, 7, 2, 3)),  # more than the line carries
    ],
)
def test_a_burst_has_slots_as_long_as_a_frame_on_the_wire_at_most(
    frames: int, wire_slot_ns: int, clock: DepartureClock
) -> None:
    wire_slot_ps = Fraction(1000 * wire_slot_ns)
    assert departure_clock(Fraction(10**6), frames, 1000, burst_frames=3, wire_slot_ps=wire_slot_ps) == clock
    assert departure_clock(Fraction(10**6), frames, 1000, wire_slot_ps=wire_slot_ps).last_slot == 0
    with pytest.raises(ValueError, match="need the wire time"):
        departure_clock(Fraction(10**6), frames, 1000, burst_frames=2)


def test_a_slot_is_as_long_as_the_clock_compares() -> None:
    longest, longer = (departure_clock(Fraction(10**9, LONGEST_SLOT_TICKS + more), 2, 1000) for more in (0, 1))
    assert (longest.interval_ticks, longest.last_slot) == (LONGEST_SLOT_TICKS, 0)
    assert (longer.interval_ticks, longer.interval_fraction_q32, longer.last_slot) == (1 << 29, HALF_TICK, 1)


WIRE_PS = [Fraction(600_000)]


def test_a_recorded_schedule_is_stretched_to_its_rate() -> None:
    """Gaps of 10, 30 and 60 in 3 ms; and equal ones of 30 3/7 ns a round, whose rest is spread over three slots."""
    assert scheduled_clock(Recorded((10, 30, 60)), Fraction(1000), 9, 1000, WIRE_PS) == DepartureClock(
        300_000, 0, 9, 0, 1, (0, 600_000, 1_500_000)
    )
    short = scheduled_clock(Recorded((1, 1, 1)), 3 * 10**9 / (30 + Fraction(3, 7)), 9, 1000, [Fraction(9500)])
    assert short == DepartureClock(10, round((1 << 32) / 7), 9, 0, 1, (0, 0, 0))


def test_a_schedule_has_room_for_the_wire_time_of_its_frames() -> None:
    """Two frames of 600 ns have 1,200 ns; of 600 and 900 in turn 1,500; of three sizes in no turn the longest."""
    two = Recorded((1, 1))
    for slots_ns, room_ns, shown in (
        ([600], 1200, "1,666,667"),
        ([600, 900], 1500, "1,333,333"),
        ([600, 600, 900], 1800, "1,111,111"),
    ):
        slots_ps = [Fraction(1000 * slot) for slot in slots_ns]
        assert scheduled_clock(two, Fraction(2 * 10**9, room_ns), 9, 1000, slots_ps).period_ticks == room_ns / 2
        with pytest.raises(ValueError, match=f"rates up to {shown} frames/s have room"):
            scheduled_clock(two, Fraction(2 * 10**9, room_ns - 1), 9, 1000, slots_ps)
    # A period with fewer departures than there are sizes keeps them, and so does a record.
    sizes_ps = [*WIRE_PS, *WIRE_PS, Fraction(900_000)]
    late = Profile(((Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))), 10**6)
    for arrivals, departures in ((late, 2), (Recorded((1,) * 4), 4)):
        assert len(scheduled_clock(arrivals, Fraction(2000), 9, 1000, sizes_ps).longer_by_ticks) == departures


def test_a_schedule_has_no_more_departures_nor_longer_slots_than_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    once, longest_fps = Recorded((1,)), Fraction(10**9, LONGEST_SLOT_TICKS - 1)
    assert scheduled_clock(once, longest_fps, 9, 1000, WIRE_PS).interval_ticks == LONGEST_SLOT_TICKS - 1
    with pytest.raises(ValueError, match="1073741824 ticks between two departures: at most 1073741823"):
        scheduled_clock(once, Fraction(10**9, LONGEST_SLOT_TICKS), 9, 1000, WIRE_PS)
    monkeypatch.setattr(pacing, "MOST_DEPARTURES", 3)
    assert len(scheduled_clock(Recorded((1,) * 3), Fraction(1000), 9, 1000, WIRE_PS).longer_by_ticks) == 3
    with pytest.raises(ValueError, match="4 departures before they come again: at most 3"):
        scheduled_clock(Recorded((1,) * 4), Fraction(1000), 9, 1000, WIRE_PS)


def test_seeds_cover_the_slot_rate() -> None:
    rate = max_rate_fps(64, 10**9)
    (count,) = seed_counts([(rate, 64)], LOOP, "sim")
    assert count * 10**12 >= rate * LOOP.round_ps(64)
    assert (count - 1) * 10**12 < rate * LOOP.round_ps(64) * Fraction(5, 4)
    # A quarter more than 6.2 and 0.6 passes in the 622.08 ns of a lone seed of 1,518 bytes.
    assert seed_counts([(Fraction(10**7), 64), (Fraction(10**6), 1518)], LOOP, "sim") == [8, 1]
    assert seed_counts([], LOOP, "sim") == []


def test_streams_of_a_full_port_get_the_passes_that_their_rates_need() -> None:
    """A seed of 9,216 bytes takes as long as 110 of 64 bytes: a quarter more of those alone is not enough."""
    slots = [(Fraction(1000), 9216), (Fraction(97, 100) * max_rate_fps(64, 10**11), 64)]
    counts = seed_counts(slots, LOOP, "sim")
    uses = loop_use(counts, [9216, 64], LOOP, 1000)
    assert all(use.round_ps == counts[0] * LOOP.pass_ps(9216) + counts[1] * LOOP.pass_ps(64) for use in uses)
    for count, (rate, _), use in zip(counts, slots, uses, strict=True):
        assert count * 10**12 * (1 + Fraction(1, 10**6)) >= rate * use.round_ps


def test_seeds_are_doubled_where_a_round_is_too_long_by_half_a_picosecond() -> None:
    """61 passes of 6.72 ns and 3 of 123.04 ns are a round of 779.04 ns."""
    for round_ps, counts in ((Fraction(779_040), [61, 3]), (Fraction("779039.5"), [122, 5])):
        rate_fps = 61 * 10**12 * Fraction(1_000_001, 10**6) / round_ps
        assert seed_counts([(rate_fps, 64), (Fraction(3 * 10**6), 1518)], LOOP, "sim") == counts


def test_full_recirculation_port_is_refused_with_the_limit() -> None:
    with pytest.raises(UnsupportedError, match=r"not supported on sim: the streams need 400\.0 %"):
        seed_counts([(max_rate_fps(64, 4 * 10**11), 64)], LOOP, "sim")


def test_recirculation_port_can_be_filled() -> None:
    """505.76 ns of a lone seed are 75.3 passes of 6.72 ns, and a quarter more; clocks are a millionth too fast."""
    assert seed_counts([(max_rate_fps(64, 10**11), 64)], LOOP, "sim") == [95]
    assert seed_counts([(max_rate_fps(64, 10**11) * Fraction(1_000_001, 10**6), 64)], LOOP, "sim") == [95]
    with pytest.raises(UnsupportedError, match=r"need 100\.0 %") as caught:
        seed_counts([(max_rate_fps(64, 10**11) * Fraction(1_000_002, 10**6), 64)], LOOP, "sim")
    assert "front_loops" in str(caught.value.hint)


def test_two_streams_that_fill_the_port_have_no_shares_as_exact_as_their_rates() -> None:
    shares = ((Fraction(333, 1000), 64), (Fraction(666, 1000), 1518))
    slots = [(share * max_rate_fps(size, 10**11), size) for share, size in shares]
    with pytest.raises(UnsupportedError, match=r"need 99\.9 %") as caught:
        seed_counts(slots, LOOP, "sim")
    assert str(caught.value.hint).startswith("leave a few per cent free")


def test_streams_leave_the_headroom_of_a_loop_free() -> None:
    """Goal: with 1 % of headroom a stream may have 99 % of the loop; a little more is refused, with the way out."""
    loop = replace(LOOP, headroom=Fraction(1, 100))
    line = max_rate_fps(64, 10**11)
    assert seed_counts([(Fraction(99, 100) * line, 64)], loop, "tofino") == seed_counts(
        [(Fraction(99, 100) * line, 64)], LOOP, "tofino"
    )
    with pytest.raises(
        UnsupportedError, match=r"need 99\.10 % of the recirculation port, of which 1 % are kept"
    ) as caught:
        seed_counts([(Fraction(991, 1000) * line, 64)], loop, "tofino")
    assert "tester.tofino.loop_headroom_pct: 0" in str(caught.value.hint)


SIM_LOOP = LoopModel(rate_bps=400_000_000_000, latency_ps=400_000)
TICK_PS = 1000


def errors_ns(counts: list[int], sizes: list[int], loop: LoopModel = SIM_LOOP) -> list[float]:
    return [float(use.departure_error_ps / 1000) for use in loop_use(counts, sizes, loop, TICK_PS)]


def test_a_small_departure_error_takes_as_many_seeds_as_the_model_says() -> None:
    """A lone seed of 64 bytes goes round in 401.4 ns; 41 are 9.8 ns apart, and round by 6 ticks at most."""
    (count,) = finer_counts([1], [64], SIM_LOOP, TICK_PS, 16_000)
    assert count == 41 and errors_ns([count], [64])[0] <= 16 < errors_ns([count - 1], [64])[0]
    assert finer_counts([75], [64], SIM_LOOP, TICK_PS, 16_000) == [75], "the rate needs more"
    assert finer_counts([1], [64], SIM_LOOP, TICK_PS, 1_000_000) == [1], "one is fine enough"


@pytest.mark.parametrize(("size", "seeds", "error_ns"), [(1518, 13, 37.2), (9216, 3, 196.9)])
def test_the_loop_has_room_for_few_seeds_of_long_frames(size: int, seeds: int, error_ns: float) -> None:
    counts = finer_counts([1], [size], SIM_LOOP, TICK_PS, 16_000)
    assert counts == [seeds] and errors_ns(counts, [size])[0] == pytest.approx(error_ns, abs=0.1)


def test_streams_share_the_room_and_no_round_gets_longer() -> None:
    sizes = [64, 512, 1518]
    counts = finer_counts([1, 1, 1], sizes, SIM_LOOP, TICK_PS, 16_000)
    (use, *others) = loop_use(counts, sizes, SIM_LOOP, TICK_PS)
    assert {use.round_ps, *(other.round_ps for other in others)} <= {SIM_LOOP.round_ps(size) for size in sizes}
    errors = errors_ns(counts, sizes)
    assert max(errors) < 1.15 * min(errors) and max(errors) < 70, "all the same, and a sixth of a round"
    assert sum(use.port_share for use in loop_use(counts, sizes, SIM_LOOP, TICK_PS)) <= Fraction(96, 100)


def test_a_loop_of_milliseconds_gets_thousands_of_seeds_and_not_a_million() -> None:
    slow = LoopModel(400_000_000_000, 10_000_000_000)
    assert finer_counts([1], [64], slow, 1, 16) == [4096]


@pytest.mark.parametrize(
    ("rate_bps", "latency_ps", "sizes", "tick_ps", "error_ps", "seeds"),
    [
        # 95 % of a round of 33.6 ns are 19 passes of 1.68 ns.
        (400 * 10**9, 32_160, [64], 1, 1, 19),
        # 33.5996 and 33.60055 ns for 20 passes, which two streams share.
        (400 * 10**9, 33_928, [64, 64], 1, 1, 9),
        (400 * 10**9, 33_929, [64, 64], 1, 1, 10),
        # 3,800 passes of 0.1 ns. Of 400.086 ns and 11 ticks an error of 222 ps takes 1,897; 221 ps take 1,906.
        (6720 * 10**9, 400_000, [64, 64], 1, 1, 1897),
        (6720 * 10**9, 400_000, [64, 64], 1, 2, 1897),
        # A round of 12 ticks: 12 + 1, 6 + 2, 4 + 2 and 3 + 3.
        (400 * 10**9, 9840, [100], 1000, 1, 3),
        (400 * 10**9, 9840, [100], 1000, 8000, 2),
        # Rounds of 5 ticks: 5 + 1 or 2.5 + 2; of 2 ticks: 2 + 1 or 1 + 2.
        (400 * 10**9, 3560, [64], 1000, 1, 2),
        (800 * 10**9, 1280, [64], 1000, 1, 1),
    ],
)
def test_the_smallest_error_that_there_is_room_for_takes_as_few_seeds_as_possible(
    rate_bps: int, latency_ps: int, sizes: list[int], tick_ps: int, error_ps: int, seeds: int
) -> None:
    loop = LoopModel(rate_bps, latency_ps)
    assert finer_counts([1] * len(sizes), sizes, loop, tick_ps, error_ps) == [seeds] * len(sizes)


def test_nothing_is_added_to_a_full_loop_or_to_passes_of_software() -> None:
    full = seed_counts([(max_rate_fps(64, 10**11), 64)], LOOP, "sim")
    assert finer_counts(full, [64], LOOP, TICK_PS, 1000) == full
    software = LoopModel(10**10, 50_000_000, passes_per_s=20_000)
    assert finer_counts([1, 3], [64, 64], software, TICK_PS, 1000) == [1, 3]


def test_no_sum_overflows_in_a_day_at_100g() -> None:
    day_frames = int(max_rate_fps(64, 10**11)) * 24 * 3600
    longest_ticks = (1 << 32) - 1
    assert day_frames * longest_ticks < 1 << 96, "latency and jitter"
    assert day_frames < 1 << 63, "frames; the upper half of a signed sum changes by one a frame at most"
    assert 10**11 // 8 * 24 * 3600 < 1 << 64, "bytes"


def test_rfc_3550_jitter_stays_in_its_cell() -> None:
    """The fixed point of the largest difference is the largest value, and it is reached from below."""
    largest = load_contract()["SMOOTHED_DIFFERENCE_MAX"]
    for start in (0, 16 * largest - 9, 16 * largest + 7):
        value = start
        for _ in range(1000):
            value += largest - ((value + 8) >> 4)
            assert value + 8 < 1 << 32
        assert 16 * largest - 8 <= value <= 16 * largest + 7
