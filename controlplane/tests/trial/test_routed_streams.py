"""IPv4 and IPv6 through a router: its MAC addresses are found, questions of devices are answered."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet
from support.frames import FORMATS
from support.networks import changed, shipped

from p4mesh.errors import ParameterError
from p4mesh.layers import PLAIN, UDP_OVER_IPV4
from p4mesh.tester.responders import Outgoing
from p4mesh.tester.responders.port_hosts import PortHosts, outgoing, station_hosts
from p4mesh.tester.stations import station
from p4mesh.topology import Topology
from p4mesh.traffic.controller_frame import ControllerFrame
from p4mesh.traffic.patterns import FullMesh, InPhase, Pairs, Pattern
from p4mesh.traffic.stream import Stream
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.result import TrialResult
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

ROUTER = "p4-l3-4ports"
PORTS = (1, 2, 3, 4)
DEVICE_MAC = "02:00:00:00:00:aa"
FRAMES = 300


def measure(
    topology: Topology, pattern: Pattern, ip_version: int, frames: tuple[ControllerFrame, ...] = ()
) -> TrialResult:
    tx, rx = (PORTS, PORTS) if pattern == FullMesh() else (PORTS[:2], PORTS[2:])
    headers = FORMATS[ip_version]
    stream = Stream("s", 128, Fraction(100_000), FRAMES, pattern, tx, rx, headers, routed=True)
    spec = TrialSpec("routed", (stream,), 3_000_000, Learning(wait_ns=1_000_000), controller_frames=frames)
    with open_measurer(topology) as measurer:
        return measurer.measure(spec)


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize("pattern", [FullMesh(), Pairs(), InPhase()])
def test_every_frame_comes_through_the_router_to_its_receiver(pattern: Pattern, ip_version: int) -> None:
    result = measure(shipped(ROUTER), pattern, ip_version)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    sent = FRAMES * (4 if pattern == FullMesh() else 2)
    assert (result.tx_frames, result.rx_frames, result.flooded_frames) == (sent, sent, 0)
    assert result.latency is not None
    # The frame is stored, 2000 ns, two cables of 5 ns.
    assert result.latency.min_ns == pytest.approx(8 * 128 + 2000 + 10, abs=2)


def test_the_advertisement_of_the_router_program_has_a_valid_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    hand_over = PortHosts.on_frame

    def watched(hosts: PortHosts[Any], port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        seen.extend([frame] if ICMPv6ND_NA in Ether(frame) else [])
        return hand_over(hosts, port, frame, now_ns)

    monkeypatch.setattr(PortHosts, "on_frame", watched)
    measure(shipped(ROUTER), Pairs(), 6)
    advertisement = Ether(seen[0])
    assert advertisement[IPv6].hlim == 255
    shown = advertisement[ICMPv6ND_NA].cksum
    del advertisement[ICMPv6ND_NA].cksum
    assert Ether(bytes(advertisement))[ICMPv6ND_NA].cksum == shown


def test_a_router_that_does_not_answer_makes_the_trial_invalid() -> None:
    silent = changed(ROUTER, ("address: 198.18.2.1}", "address: 198.18.2.254}"))
    result = measure(silent, Pairs(), 4)
    assert result.status is Verdict.INVALID
    assert result.reason == "no router answers for 198.18.2.1 on port 2; 1 of 4 are silent"


def test_a_route_that_is_missing_is_found_before_the_trial() -> None:
    lost = changed(ROUTER, ("value: 198.18.3.0, prefix_bits: 24", "value: 198.19.3.0, prefix_bits: 24"))
    result = measure(lost, Pairs(), 4)
    assert result.status is Verdict.INVALID
    assert result.reason == "learning not verified: 2 frames did not arrive through the router; none reached port 3"


def test_plain_ethernet_cannot_be_routed() -> None:
    stream = Stream("s", 64, Fraction(1000), 5, Pairs(), (1,), (2,), PLAIN, routed=True)
    with open_measurer(shipped(ROUTER)) as measurer, pytest.raises(ParameterError, match="only unicast IPv4 and IPv6"):
        measurer.measure(TrialSpec("x", (stream,), 1_000_000))


def test_frames_of_the_controller_are_sent_among_the_others_and_their_answers_counted() -> None:
    """Two stations send to each other through the router: each frame is the answer to the other."""
    frames = (
        ControllerFrame(1, -1_000, bytes(12) + b"\x08\0" + ip_packet(1, 3), to_device=True),
        ControllerFrame(3, 1_500_000, bytes(12) + b"\x08\0" + ip_packet(3, 1), to_device=True),
    )
    result = measure(shipped(ROUTER), Pairs(), 4, frames)
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.tx_frames, result.rx_frames, result.answered_frames, result.foreign_frames) == (600, 600, 2, 0)
    assert measure(shipped(ROUTER), Pairs(), 4, frames[:1]).answered_frames == 0


def ip_packet(source: int, target: int) -> bytes:
    packet = IP(src=str(station(source).ipv4), dst=str(station(target).ipv4))
    return bytes(packet / UDP(sport=161, dport=161) / bytes(20))


@pytest.mark.parametrize("port", [1, 255, 300])
def test_the_router_is_host_1_of_the_stations_network(port: int) -> None:
    assert int(station(port).router_ipv4) == int(station(port).ipv4) - 1
    assert station(port).router_ipv6 == IPv6Address((0x20010002 << 96) + (port << 64) + 1)


def answer(frame: bytes, port: int) -> Packet | None:
    """Answer of the station of a port."""
    answers = [Ether(leaving.frame) for leaving in station_hosts([station(port)]).on_frame(port, frame, 0)]
    return answers[0] if answers else None


def test_a_device_that_asks_for_a_station_gets_its_address() -> None:
    mine = station(7)
    mac = ":".join(f"{byte:02x}" for byte in mine.mac)
    router4, router6 = str(mine.router_ipv4), str(mine.router_ipv6)
    asked = Ether(dst="ff:ff:ff:ff:ff:ff", src=DEVICE_MAC) / ARP(
        op=1, hwsrc=DEVICE_MAC, psrc=router4, pdst=str(mine.ipv4)
    )
    reply = answer(bytes(asked), 7)
    assert reply is not None
    assert (reply.dst, reply[ARP].op, reply[ARP].hwsrc, reply[ARP].psrc) == (DEVICE_MAC, 2, mac, str(mine.ipv4))
    assert (reply[ARP].hwdst, reply[ARP].pdst, len(reply)) == (DEVICE_MAC, router4, 60)
    assert answer(bytes(asked), 8) is None

    body = IPv6(src=router6, dst="ff02::1:ff00:2", hlim=255) / ICMPv6ND_NS(tgt=str(mine.ipv6))
    solicited = Ether(dst="33:33:ff:00:00:02", src=DEVICE_MAC) / body / ICMPv6NDOptSrcLLAddr(lladdr=DEVICE_MAC)
    reply = answer(bytes(solicited), 7)
    assert reply is not None
    assert (reply.dst, reply[IPv6].dst, reply[ICMPv6ND_NA].tgt) == (DEVICE_MAC, router6, str(mine.ipv6))
    assert reply[ICMPv6NDOptDstLLAddr].lladdr == mac
    flags = reply[ICMPv6ND_NA]
    assert (flags.R, flags.S, flags.O, reply[IPv6].hlim) == (0, 1, 1, 255)
    shown = flags.cksum
    del flags.cksum
    assert Ether(bytes(reply))[ICMPv6ND_NA].cksum == shown


def test_questions_reach_the_router_and_only_its_answer_counts() -> None:
    mine, other = station_hosts([station(3)]), station_hosts([station(4)])
    asked, solicited = (Ether(sent.frame) for sent in outgoing(mine.hosts.questions([(3, 4), (3, 6)])))
    assert (asked.dst, IPv4Address(asked[ARP].pdst)) == ("ff:ff:ff:ff:ff:ff", station(3).router_ipv4)
    reply = Ether(dst=asked.src, src=DEVICE_MAC) / ARP(op=2, hwsrc=DEVICE_MAC, psrc=asked[ARP].pdst)
    for hosts, port in ((mine, 3), (other, 4)):
        assert list(hosts.on_frame(port, bytes(reply), 0)) == []
    assert mine.hosts.routers == {(3, 4): bytes.fromhex(DEVICE_MAC.replace(":", ""))}
    assert other.hosts.routers == {}
    assert (solicited.dst, solicited[IPv6].hlim) == ("33:33:ff:00:00:01", 255)
    assert solicited[ICMPv6ND_NS].tgt == str(station(3).router_ipv6)
    assert solicited[ICMPv6NDOptSrcLLAddr].lladdr == station(3).mac.hex(":")
    shown = solicited[ICMPv6ND_NS].cksum
    del solicited[ICMPv6ND_NS].cksum
    assert Ether(bytes(solicited))[ICMPv6ND_NS].cksum == shown


def test_a_router_that_forgets_its_neighbours_is_answered_before_its_queue_is_full() -> None:
    """It asks every 3 ms, and keeps 4 packets meanwhile: 0.4 ms of the stream, and no loss."""
    forgetful = changed(
        "router-4x1g",
        ("    latency_ns: 3000\n", "    latency_ns: 3000\n    neighbours: {lifetime_s: 0.003, waiting_packets: 4}\n"),
    )
    stream = Stream("s", 128, Fraction(10_000), 400, Pairs(), PORTS[:2], PORTS[2:], UDP_OVER_IPV4, routed=True)
    with open_measurer(forgetful) as measurer:
        result = measurer.measure(TrialSpec("forgetful", (stream,), 40_000_000, Learning(wait_ns=1_000_000)))
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.tx_frames, result.rx_frames, result.reordered_frames) == (800, 800, 0)
    assert result.latency is not None
    # A packet that waits is held up by the question, the answer, and the answer's way through the router at most.
    assert 4_000 < result.latency.max_ns < 12_000
