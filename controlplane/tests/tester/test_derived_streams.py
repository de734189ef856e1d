"""Mixes keep rate, count and shares; group addresses have the MAC addresses of the standards."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import ip_address

import pytest

from p4mesh.traffic.addresses import group_mac
from p4mesh.traffic.derived import mixed
from p4mesh.traffic.imix import SIMPLE_IMIX, MixPart, mix_of
from p4mesh.traffic.patterns import FullMesh
from p4mesh.traffic.stream import Stream

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
