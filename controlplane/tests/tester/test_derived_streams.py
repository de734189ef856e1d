"""Mixes keep rate, count and shares; group addresses have the MAC addresses of the standards."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from ipaddress import ip_address

import pytest

from p4mesh.layers import ethernet
from p4mesh.traffic.addresses import group_mac
from p4mesh.traffic.arrivals import Recorded
from p4mesh.traffic.derived import (
    consecutive,
    drifting,
    in_turn,
    mixed,
    mixed_in_turn,
    staggered,
    with_addresses,
    with_independent_phases,
    with_own_arrivals,
    with_start_skew,
)
from p4mesh.traffic.imix import SIMPLE_IMIX, MixedSize, MixPart, mix_of, sizes_by_weight, sizes_in
from p4mesh.traffic.patterns import FullMesh, Pairs
from p4mesh.traffic.stream import Burst, PseudoRandom, Stream

PORTS = (1, 2, 3, 4)
MESH = Stream("mesh", 64, Fraction(12_000), 1_000, FullMesh(), PORTS, PORTS)


def test_imix_is_seven_to_four_to_one() -> None:
    small, middle, large = mixed(MESH)
    assert [s.frame_size_bytes for s in (small, middle, large)] == [64, 570, 1518]
    assert [s.rate_fps for s in (small, middle, large)] == [7_000, 4_000, 1_000]
    assert small.frame_count + middle.frame_count + large.frame_count == 1_000
    assert (middle.frame_count, large.frame_count) == (333, 83)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("aaafg", {64: 3, 1280: 1, 1518: 1}),
        ("a7d4g1", {64: 7, 512: 4, 1518: 1}),
        ("g2a10g", {64: 10, 1518: 3}),
        ("bcehij", {128: 1, 256: 1, 1024: 1, 2112: 1, 9000: 1, 16000: 1}),
        ("tcp_imix", {90: 5867, 92: 200, 594: 2366, 1518: 1567}),
    ],
)
def test_a_genome_has_the_sizes_and_shares_of_its_letters(text: str, shares: dict[int, int]) -> None:
    """``aaafg`` is the example of RFC 6985 section 4."""
    assert {part.frame_size_bytes: part.weight for part in mix_of(text)} == shares


@pytest.mark.parametrize("parts", [SIMPLE_IMIX, (MixPart(64, 1),), (MixPart(90, 3), MixPart(9216, 5))])
def test_a_mix_has_the_rate_of_its_stream(parts: tuple[MixPart, ...]) -> None:
    assert sum(s.rate_fps for s in mixed(MESH, parts)) == MESH.rate_fps
    assert sum(s.frame_count for s in mixed(MESH, parts)) == MESH.frame_count


@pytest.mark.parametrize("parts", [SIMPLE_IMIX, (MixPart(90, 3), MixPart(9216, 5))])
def test_weights_of_a_mix_hold_over_any_number_of_frames(parts: tuple[MixPart, ...]) -> None:
    """In order of departure: exact after every round of the weights, and never far off in between."""
    total = sum(part.weight for part in parts)
    departures = sorted((k / s.rate_fps, number) for number, s in enumerate(mixed(MESH, parts)) for k in range(500))
    sent = [0] * len(parts)
    for frames, (_, number) in enumerate(departures[:500], 1):
        sent[number] += 1
        if frames > len(parts):
            shares = [Fraction(frames * part.weight, total) for part in parts]
            assert all(abs(count - share) < len(parts) for count, share in zip(sent, shares, strict=True))
        if frames % total == 0:
            assert sent == [frames // total * part.weight for part in parts]


@pytest.mark.parametrize(
    ("group", "mac"),
    [("225.1.1.1", "01:00:5e:01:01:01"), ("239.129.2.3", "01:00:5e:01:02:03"), ("ff05::1:3", "33:33:00:01:00:03")],
)
def test_group_addresses_follow_the_standards(group: str, mac: str) -> None:
    assert group_mac(ip_address(group)).hex(":") == mac


def test_unicast_is_no_group() -> None:
    with pytest.raises(ValueError, match="is not a multicast group"):
        group_mac(ip_address("198.18.0.1"))


PAIR = Stream("pair", 64, Fraction(1000), 100, Pairs(), (1, 2), (3, 4))


def test_a_mix_in_turn_takes_each_size_as_often_as_its_weight_and_as_evenly_as_that_allows() -> None:
    assert sizes_by_weight((MixPart(64, 3), MixPart(512, 1))) == [64, 64, 512, 64]
    assert sizes_by_weight((MixPart(64, 1), MixPart(128, 1))) == [64, 128]


def test_the_size_of_a_mix_is_the_mean_of_its_frames() -> None:
    """(7 * 64 + 4 * 570 + 1518) / 12."""
    size = MixedSize("imix")
    assert (Fraction(size), size.sizes) == (Fraction(4246, 12), (64, 570, 1518))
    assert (size == Fraction(4246, 12), size == MixedSize("imix"), size == MixedSize("a7g")) == (False, True, False)
    assert (sizes_in(size), sizes_in(64)) == ((64, 570, 1518), (64,))


def test_sizes_that_leave_in_turn_begin_a_frame_interval_apart() -> None:
    """The second size begins after 1 ms; the count that is odd goes to the first one."""
    small, large = mixed_in_turn(with_start_skew(PAIR, {2: 5}), (MixPart(64, 1), MixPart(128, 1)))
    assert (small.start_offset_ns, large.start_offset_ns) == ((0, 5), (1_000_000, 1_000_005))
    (only,) = mixed(Stream("one", 64, Fraction(1), 1, Pairs(), (1,), (2,)), (MixPart(64, 1), MixPart(128, 1)))
    assert (only.frame_size_bytes, only.frame_count) == (64, 1), "parts without frames are left out"


def test_parts_of_a_stream_follow_each_other_in_its_slots() -> None:
    first, second = consecutive(with_start_skew(PAIR, {2: 7}), {"a": 3, "none": 0, "b": 2})
    assert (first.name, first.frame_count, first.start_offset_ns) == ("a", 3, (0, 7))
    assert (second.name, second.frame_count, second.start_offset_ns) == ("b", 2, (3_000_000, 3_000_007))
    assert [part.start_offset_ns for part in consecutive(PAIR, {"a": 1, "b": 1})] == [(), (1_000_000, 1_000_000)]


def test_ports_start_one_after_the_other_over_all_streams() -> None:
    streams = (PAIR, Stream("two", 64, Fraction(1000), 100, Pairs(), (3, 1), (2, 4)))
    assert [stream.start_offset_ns for stream in staggered(streams, 10)] == [(0, 10), (20, 0)]
    assert staggered(streams, 0) == streams


def test_independent_phases_are_within_a_frame_interval_or_a_burst() -> None:
    for made, most in (
        (PAIR, 10**6),
        (Stream("b", 64, Fraction(1000), 100, Pairs(), (1, 2), (3, 4), burst=Burst(5)), 5 * 10**6),
    ):
        starts = {start for seed in range(50) for start in with_independent_phases(made, seed).start_offset_ns}
        assert 0.9 * most < max(starts) < most and min(starts) < 0.1 * most and len(starts) > 90
    fast = with_independent_phases(Stream("f", 64, Fraction(10**9), 2, Pairs(), (1,), (2,)), 1)
    assert fast.start_offset_ns == (), "an interval of a nanosecond has one phase"


def test_senders_with_clocks_of_their_own_are_slower_by_up_to_100_ppm() -> None:
    streams = [made for seed in range(50) for made in drifting(PAIR, None, seed)]
    slower_ppm = [float(1 - made.rate_fps / 1000) * 1e6 for made in streams]
    assert 0 <= min(slower_ppm) < 10 and 90 < max(slower_ppm) < 100 and len(set(slower_ppm)) == 100
    assert [(made.name, made.tx_ports, made.rx_ports) for made in streams[:2]] == [
        ("pair/1", (1,), (3,)),
        ("pair/2", (2,), (4,)),
    ]
    assert {made.frame_count for made in streams} == {100}
    # In a second a sender that is slower has a frame less than 1,000, as the last one is not whole.
    assert {made.frame_count for made in drifting(PAIR, 10**9)} == {999}
    assert all(len(made.start_offset_ns) == 1 for made in streams)


def test_senders_of_a_recording_begin_at_places_of_their_own() -> None:
    recorded = Stream("r", 64, Fraction(1000), 100, Pairs(), (1, 2), (3, 4), arrivals=Recorded(tuple(range(1, 101))))
    first, second = with_own_arrivals(recorded)
    assert (first.arrivals, first.tx_ports) == (Recorded(tuple(range(1, 101))), (1,))
    assert second.arrivals != first.arrivals
    (later, _) = with_own_arrivals(recorded, 1)
    assert later.arrivals == second.arrivals


@pytest.mark.parametrize(
    ("sizes", "room", "order"),
    [
        ((64, 128, 512), 512, (64, 128, 512)),
        ((64, 128, 512), 511, (64, 512, 128)),
        ((64, 128, 256, 512), 511, (64, 512, 128, 256)),
        ((64, 128, 256, 512, 1518), 511, (64, 1518, 128, 512, 256)),
    ],
)
def test_sizes_go_upwards_where_an_interval_has_room_for_the_largest_else_in_pairs(
    sizes: tuple[int, ...], room: int, order: tuple[int, ...]
) -> None:
    made = in_turn(PAIR, sizes, room)
    assert (made.sizes_in_turn_bytes, made.frame_size_bytes) == (order, max(sizes))


def test_several_addresses_of_a_port_are_drawn_for_source_and_destination_apart() -> None:
    made = with_addresses(replace(PAIR, addresses_per_port=8))
    assert [(modifier.field, modifier.values) for modifier in made.modifiers] == [
        (ethernet.DESTINATION, PseudoRandom(seed=1, mask=7)),
        (ethernet.SOURCE, PseudoRandom(seed=2, mask=7)),
    ]
    assert (made.addresses_per_port, with_addresses(PAIR)) == (1, PAIR)
