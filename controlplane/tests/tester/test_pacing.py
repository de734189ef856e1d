"""Pacing: the departure clock has no drift, and the number of seeds fits the loop."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from p4mesh.errors import UnsupportedError
from p4mesh.target.loop import LoopModel
from p4mesh.tester.contract import load_contract
from p4mesh.tester.pacing import departure_clock, finer_counts, loop_use, seed_counts, slot_rate_fps
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


def test_seeds_cover_the_slot_rate() -> None:
    rate = max_rate_fps(64, 10**9)
    (count,) = seed_counts([(rate, 64)], LOOP, "sim")
    assert count * 10**12 >= rate * LOOP.round_ps(64)
    assert (count - 1) * 10**12 < rate * LOOP.round_ps(64) * Fraction(5, 4)


def test_streams_of_a_full_port_get_the_passes_that_their_rates_need() -> None:
    """A seed of 9,216 bytes takes as long as 110 of 64 bytes: a quarter more of those alone is not enough."""
    slots = [(Fraction(1000), 9216), (Fraction(97, 100) * max_rate_fps(64, 10**11), 64)]
    counts = seed_counts(slots, LOOP, "sim")
    uses = loop_use(counts, [9216, 64], LOOP, 1000)
    assert all(use.round_ps == counts[0] * LOOP.pass_ps(9216) + counts[1] * LOOP.pass_ps(64) for use in uses)
    for count, (rate, _), use in zip(counts, slots, uses, strict=True):
        assert count * 10**12 * (1 + Fraction(1, 10**6)) >= rate * use.round_ps


def test_full_recirculation_port_is_refused_with_the_limit() -> None:
    with pytest.raises(UnsupportedError, match=r"not supported on sim: the streams need 400\.0 %"):
        seed_counts([(max_rate_fps(64, 4 * 10**11), 64)], LOOP, "sim")


def test_recirculation_port_can_be_filled() -> None:
    (count,) = seed_counts([(max_rate_fps(64, 10**11), 64)], LOOP, "sim")
    assert count >= 75


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
    (count,) = finer_counts([1], [64], slow, TICK_PS, 16_000)
    assert 4000 < count <= 4096 and errors_ns([count], [64], slow)[0] == pytest.approx(10**7 / count, rel=0.01)


def test_nothing_is_added_to_a_full_loop_or_to_passes_of_software() -> None:
    full = seed_counts([(max_rate_fps(64, 10**11), 64)], LOOP, "sim")
    assert finer_counts(full, [64], LOOP, TICK_PS, 1000) == full
    software = LoopModel(10**10, 50_000_000, passes_per_s=20_000)
    assert finer_counts([1, 3], [64, 64], software, TICK_PS, 1000) == [1, 3]


def test_slot_rate_is_the_inverse_of_the_slot() -> None:
    clock = departure_clock(Fraction(1000), 10, 1000)
    assert slot_rate_fps(clock, 1000) == 1000


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
