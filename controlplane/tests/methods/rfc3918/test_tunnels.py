"""RFC 3918 4.4 on fakes, and on a router with GRE tunnels whose outputs are full at a known load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Ether
from support.beds import make_bed
from support.fakes import FakeMeasurer, capacity
from support.frames import FORMATS, headers_of
from support.networks import changed, shipped
from support.runs import OneDevice, run_units

from p4mesh.errors import ParameterError, TopologyError, UnsupportedError
from p4mesh.layers import UDP_OVER_IPV4, Frame, IPv4
from p4mesh.layers.network import NetworkLayer
from p4mesh.methods.bed import Bed
from p4mesh.methods.registry import find_test
from p4mesh.methods.results.outcome import Cell, Outcome
from p4mesh.run.preparation import bed_of
from p4mesh.tester.frames import SIGNATURE_BYTES, minimum_frame_bytes, seed_payload
from p4mesh.tester.stations import station
from p4mesh.topology import Topology
from p4mesh.traffic.line_rate import max_rate_fps
from p4mesh.traffic.patterns import GroupRange, Multicast, Pairs
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

GIGABIT = 10**9
TOPOLOGY = "p4-tunnels-4ports"
TUNNEL = (IPv4Address("198.18.1.2"), IPv4Address("198.18.1.1"))
IN_TUNNEL = UDP_OVER_IPV4.in_tunnel(*TUNNEL)
NAMES = {"encapsulation": (0, 24), "decapsulation": (24, 0), "reencapsulation": (24, 24)}
"""Bytes that each test adds to the frames that the source sends, and to those that come back."""


def ends_of(frame: Frame) -> tuple[IPv4Address | None, IPv4Address | None] | None:
    """The ends of the tunnel that a frame is in, if any."""
    if frame.tunnel is None:
        return None
    assert isinstance(frame.tunnel, IPv4)
    return frame.tunnel.source, frame.tunnel.destination


def row_of(outcome: Outcome) -> dict[str, Cell]:
    (row,) = outcome.tables[0].rows
    return row


def on_fakes(
    name: str, *settings: str, limit: Fraction = Fraction(1), bed: Bed | None = None
) -> tuple[Outcome, Sequence[TrialSpec]]:
    """Run a test on a device that forwards a share of the line rate of the frames that are offered."""
    added, _ = NAMES[name]
    measurer = FakeMeasurer(capacity(limit * max_rate_fps(256 + added, GIGABIT)))
    test = find_test(f"rfc3918.{name}")
    _, outcome = run_units(test, bed or make_bed(), measurer, (256,), "scaled_frames=1000", *settings)
    return outcome, measurer.specs


def on_sim(name: str, topology: Topology, size: int, *settings: str) -> Outcome:
    test = find_test(f"rfc3918.{name}")
    with open_measurer(topology) as engine:
        given = (*topology.settings.get(test.name, ()), "scaled_frames=1000", *settings)
        _, outcome = run_units(test, bed_of(topology), OneDevice(engine), (size,), *given)
    return outcome


# Fakes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [Fraction(1), Fraction(3, 5)])
def test_the_throughput_is_that_of_the_offered_frames(name: str, limit: Fraction) -> None:
    sent, returned = NAMES[name]
    outcome, specs = on_fakes(name, limit=limit)
    row = row_of(outcome)
    assert outcome.state is Verdict.MEASURED
    assert (row["offered_size_bytes"], row["forwarded_size_bytes"]) == (256 + sent, 256 + returned)
    assert isinstance(row["load_pct"], float) and 0 <= 100 * limit - Fraction(row["load_pct"]) <= Fraction(1, 10)
    assert row["offered_fps"] == pytest.approx(
        row["load_pct"] / 100 * float(max_rate_fps(256 + sent, GIGABIT)), rel=1e-3
    )
    # An output carries frames of 256 + returned bytes; 20 bytes of preamble and gap come to each.
    assert row["theoretical_pct"] == pytest.approx(100 * min(1, (276 + sent) / (276 + returned)))
    for spec in specs:
        (stream,) = spec.streams
        assert (stream.frame_size_bytes, stream.received_in_tunnel) == (256 + sent, returned > 0)
        assert (ends_of(stream.frame), stream.routed) == (TUNNEL if sent else None, sent > 0)
        assert spec.memberships is None


def test_tunnels_of_the_source_share_groups_and_rate_and_take_turns() -> None:
    settings = ("tunnels=3", "groups=6", "tunnel_source=10.0.0.7", "tunnel_destination=10.0.9.9")
    _, specs = on_fakes("reencapsulation", *settings)
    streams = specs[0].streams
    rate = sum(stream.rate_fps for stream in streams)
    assert rate == max_rate_fps(280, GIGABIT)
    ends = [ends_of(stream.frame) for stream in streams]
    assert ends == [(IPv4Address(f"10.0.0.{last}"), IPv4Address("10.0.9.9")) for last in (7, 8, 9)]
    patterns = [stream.pattern for stream in streams]
    assert patterns == [Multicast((GroupRange(f"225.1.1.{first}", 2, (2, 3, 4)),)) for first in (1, 3, 5)]
    assert [stream.start_offset_ns for stream in streams] == [(), (round(1e9 / rate),), (round(2e9 / rate),)]


def test_hosts_join_where_frames_leave_without_a_tunnel() -> None:
    _, specs = on_fakes("decapsulation", "joins=true", "protocol=igmpv2")
    memberships = specs[0].memberships
    assert memberships is not None and memberships.groups == (GroupRange("225.1.1.1", 10, (2, 3, 4)),)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("encapsulation", ("joins=true",), "joins=true: rfc3918.encapsulation has no hosts"),
        ("encapsulation", ("tunnels=2",), "tunnels: the source of rfc3918.encapsulation sends no tunnels"),
        ("encapsulation", ("tunnel_source=10.0.0.1",), "tunnel_source: the source of rfc3918.encapsulation sends no"),
        ("decapsulation", ("tunnels=3",), "groups=10 do not fill tunnels=3 alike"),
        ("decapsulation", ("tunnel_source=somewhere",), "--set tunnel_source=somewhere: not valid"),
        ("reencapsulation", ("tunnel_destination=ff1e::1",), "--set tunnel_destination=ff1e::1: not valid"),
        ("reencapsulation", ("tunnel_destination=225.1.1.1",), "--set tunnel_destination=225.1.1.1: not valid"),
        ("decapsulation", ("source_port=5",), "source_port=5: topology 'fake' has no such port"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        on_fakes(name, *settings)


def test_ports_without_a_usual_network_need_the_ends_of_their_tunnels() -> None:
    bed = make_bed(257)
    with pytest.raises(ParameterError, match="source_port=256: ports above 255 have no network"):
        on_fakes("decapsulation", "source_port=256", bed=bed)
    _, specs = on_fakes(
        "decapsulation", "source_port=256", "tunnel_source=10.0.0.2", "tunnel_destination=10.0.0.1", bed=bed
    )
    assert ends_of(specs[0].streams[0].frame) == (IPv4Address("10.0.0.2"), IPv4Address("10.0.0.1"))


def test_beds_and_targets_that_cannot_do_it_are_refused() -> None:
    with pytest.raises(TopologyError, match="needs at least 2 tester ports"):
        on_fakes("encapsulation", bed=make_bed(1))
    switches = bed_of(shipped("wrs-18x1g"))
    with pytest.raises(TopologyError, match=r"needs a device with GRE tunnels, topology 'wrs-18x1g' has none"):
        on_fakes("encapsulation", bed=switches)
    with pytest.raises(UnsupportedError, match=r"rfc3918.decapsulation is not supported on tofino: its program"):
        on_fakes("decapsulation", bed=replace(make_bed(), target="tofino", tunnels=False))


# Frames


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize("size", [110, 512, 1542])
def test_the_headers_of_a_frame_in_a_tunnel_are_those_of_gre(ip_version: int, size: int) -> None:
    """Scapy reads them. A frame ends with the FCS, and the signature takes the place of the loop header."""
    inner = FORMATS[ip_version].changed(NetworkLayer, ttl=9)
    frame = inner.in_tunnel(IPv4Address("192.0.2.1"), IPv4Address("192.0.2.2"))
    headers, payload = headers_of(frame, size), seed_payload(frame, size)
    assert len(payload) + SIGNATURE_BYTES + 4 == size
    outer = Ether(headers + bytes(size - 4 - len(headers)))[IP]
    assert (outer.src, outer.dst, outer.proto, outer.len, outer.ttl) == ("192.0.2.1", "192.0.2.2", 47, size - 18, 9)
    assert outer.chksum == IP(bytes(outer.copy())).chksum
    rebuilt = outer.copy()
    del rebuilt.chksum
    assert bytes(rebuilt)[:20] == bytes(outer)[:20], "its checksum fits"
    assert bytes(outer[GRE])[:4] == (b"\0\0\x08\0" if ip_version == 4 else b"\0\0\x86\xdd")
    carried = outer[GRE].payload
    assert isinstance(carried, IP if ip_version == 4 else IPv6)
    assert (carried.len if ip_version == 4 else carried.plen + 40) == size - 18 - 24
    assert carried[UDP].len == size - 18 - 24 - (20 if ip_version == 4 else 40)
    with pytest.raises(ParameterError, match="in a GRE tunnel and the 18-byte signature need") as caught:
        seed_payload(frame, minimum_frame_bytes(frame) - 1)
    assert f"({minimum_frame_bytes(frame) - 24} without the tunnel)" in str(caught.value.hint)
    assert minimum_frame_bytes(frame) == minimum_frame_bytes(FORMATS[ip_version]) + 24


def refused(stream: Stream) -> str:
    with open_measurer(shipped(TOPOLOGY)) as engine, pytest.raises(ParameterError) as caught:
        engine.measure(TrialSpec("refused", (stream,), 10**6, Learning(enabled=False)))
    return caught.value.message


def test_only_untagged_routed_ip_frames_to_many_are_in_tunnels() -> None:
    many = Stream("one", 256, Fraction(1000), 10, Multicast(), (1,), (2, 3), IN_TUNNEL, routed=True)
    pairs = replace(many, pattern=Pairs(), rx_ports=(2,))
    for stream in (
        replace(many, frame=IN_TUNNEL.tagged(7)),
        replace(pairs, frame=UDP_OVER_IPV4, received_in_tunnel=True),
    ):
        assert "only untagged IP frames to many can be in a tunnel" in refused(stream)
    assert "frames in a tunnel need a router at its other end" in refused(replace(many, routed=False))
    assert "only unicast IPv4 and IPv6 frames can be routed" in refused(replace(many, frame=UDP_OVER_IPV4))


# sim


@pytest.mark.parametrize("size", [64, 1518])
@pytest.mark.parametrize("name", NAMES)
def test_the_overhead_of_the_outer_header_lowers_the_rate(name: str, size: int) -> None:
    """A router at line rate: (L + 20) / (L + 44) where it adds 24 bytes to frames of L, else all of the line."""
    topology = changed(TOPOLOGY, ("queue_frames: 64", "queue_frames: 2"))
    outcome = on_sim(name, topology, size)
    row = row_of(outcome)
    sent, returned = NAMES[name]
    full_pct = 100 * min(1, (size + 20 + sent) / (size + 20 + returned))
    assert outcome.state is Verdict.MEASURED
    assert isinstance(row["load_pct"], float)
    # An excess of 50 ppm may pass; a search ends 0.1 % below, and at most 0.3 % of a trial's frames can wait.
    assert -0.005 <= full_pct - row["load_pct"] <= (0.4 if full_pct < 100 else 0)
    assert row["theoretical_pct"] == pytest.approx(full_pct)
    assert row["forwarding_fps"] == pytest.approx(3 * float(row["offered_fps"] or 0), rel=2e-3)
    assert not [finding for finding in outcome.findings if "flooding" in finding or "INVALID" in finding]


def test_a_router_with_longer_gaps_is_found_in_the_throughput() -> None:
    """Outputs with gaps of 24 bytes: 24 bytes of tunnel, 8 of preamble and 24 of gap come to each frame of 128."""
    slow = ("- {numbers: 1-4, rate_bps: 1000000000, queue_frames: 64}", "- {numbers: 1-4, rate_bps: 1000000000, "
            "queue_frames: 2, ifg_bits: 192}")  # fmt: skip
    row = row_of(on_sim("reencapsulation", changed(TOPOLOGY, slow), 128))
    assert row["load_pct"] == pytest.approx(100 * (128 + 24 + 20) / (128 + 24 + 32), abs=0.4)


def test_several_tunnels_of_the_source_reach_every_output() -> None:
    outcome = on_sim("decapsulation", shipped(TOPOLOGY), 128, "tunnels=4", "groups=8", "search_max_pct=90")
    row = row_of(outcome)
    assert (outcome.state, row["tunnels"], row["load_pct"], row["lost_frames"]) == (Verdict.MEASURED, 4, 90, 0)
    assert row["rx_frames"] == 3 * int(str(row["tx_frames"]))


def test_a_tunnel_that_ends_nowhere_fails() -> None:
    outcome = on_sim("decapsulation", shipped(TOPOLOGY), 128, "tunnel_source=198.51.100.1")
    assert outcome.state is Verdict.FAIL
    assert row_of(outcome)["rx_frames"] == 0


def test_a_router_that_does_not_answer_makes_the_trial_invalid() -> None:
    deaf = changed(TOPOLOGY, ("address: 198.18.3.1}, action: answer", "address: 198.18.3.9}, action: answer"))
    _, specs = on_fakes("encapsulation")
    with open_measurer(deaf) as engine:
        result = engine.measure(specs[0])
    assert result.status is Verdict.INVALID
    assert result.reason == "no router answers for 198.18.3.1 on port 3; 1 of 3 are silent"


def test_addresses_of_the_topology_are_those_of_the_stations() -> None:
    text = shipped(TOPOLOGY).text
    for port in (2, 3, 4):
        assert f'"{station(port).mac.hex(":")}", 198.18.{port}.1, {IPv4Address(station(port).ipv4)}]' in text
