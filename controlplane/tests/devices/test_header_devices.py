"""P4 devices that add, take off and rewrite headers: what leaves them by Scapy's opinion, and every frame counted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet
from support.hosted_network import HostedNetwork
from support.networks import TOPOLOGIES, changed, shipped

from p4mesh.layers.ipv4 import DESTINATION
from p4mesh.layers.layer import Modifiable
from p4mesh.layers.notation import frame_of_text
from p4mesh.run.options import RunOptions
from p4mesh.run.single import run
from p4mesh.tester.stations import station
from p4mesh.topology.engine_config import SpecialPorts, engine_config
from p4mesh.traffic.patterns import Pairs
from p4mesh.traffic.stream import FieldModifier, Progression, Stream, ValueList
from p4mesh.trial.opening import open_measurer
from p4mesh.trial.spec import Learning, TrialSpec
from p4mesh.verdict import Verdict

MPLS_SWITCH, SRV6, NAT44, VXLAN_GATEWAY = "p4-mpls-4ports", "p4-srv6-2ports", "p4-nat44-2ports", "p4-vxlan-2ports"
HOSTS = {n: (str(station(n).ipv4), str(station(n).ipv6)) for n in (1, 2)}
NODE, FIRST, SECOND, THIRD = (f"2001:db8:{n}::{n if n == 1 else 1}" for n in (1, 2, 3, 4))
DATA = bytes(range(64))


def received(topology: str, packet: Packet, port: int = 1) -> list[tuple[int, bytes]]:
    """Send a frame to a port of a new device; return what it sends, with the ports."""
    (node,) = engine_config(shipped(topology), SpecialPorts(509, 510, 511))["nodes"]
    lab = HostedNetwork(tuple(item["number"] for item in node["ports"]), device=node)
    lab.send(port, bytes(packet))
    lab.network.advance(10**9)
    return list(lab.received())


def leaving(topology: str, packet: Packet, port: int = 1) -> Packet:
    """The one frame that leaves, at the partner of the port."""
    ((at, frame),) = received(topology, packet, port)
    assert at == 3 - port
    return Ether(frame)


def framed(packet: Packet, *, to: int = 2) -> Packet:
    """The packet between the stations, or between the device and the station of a port."""
    return Ether(src=station(3 - to).mac.hex(":"), dst=station(to).mac.hex(":")) / packet


def sent(packet: Packet, *, to: int = 2) -> Packet:
    return Ether(src=f"02:00:00:00:01:{to:02x}", dst=station(to).mac.hex(":")) / packet


def ipv4(src: str = HOSTS[1][0], dst: str = HOSTS[2][0], *, ttl: int = 9, transport: Packet | None = None) -> Packet:
    return IP(src=src, dst=dst, ttl=ttl, id=7, tos=0xB8) / (transport or UDP(sport=20001, dport=20001) / DATA)


def ipv6(*, hops: int = 9) -> Packet:
    return IPv6(src=HOSTS[1][1], dst=HOSTS[2][1], hlim=hops) / UDP(sport=20001, dport=20001) / DATA


def label(number: int, ttl: int, *, bottom: int = 1, traffic_class: int = 0) -> Packet:
    return MPLS(label=number, ttl=ttl, s=bottom, cos=traffic_class)


def segments(packet: Packet, to: str, addresses: list[str], left: int, hops: int) -> Packet:
    kind = 4 if IP in packet else 41
    header = IPv6ExtHdrSegmentRouting(addresses=addresses, segleft=left, lastentry=len(addresses) - 1, nh=kind)
    return IPv6(src=NODE, dst=to, hlim=hops, nh=43) / header / packet


@pytest.mark.parametrize(
    ("came", "left"),
    [
        pytest.param(ipv4(), label(200, 8, traffic_class=5) / ipv4(ttl=8), id="push"),
        pytest.param(ipv6(), label(200, 8) / ipv6(hops=8), id="push_ipv6"),
        pytest.param(label(100, 7, traffic_class=3) / ipv4(), label(200, 6, traffic_class=3) / ipv4(), id="swap"),
        pytest.param(
            label(100, 7, bottom=0) / label(9, 5) / ipv6(),
            label(200, 6, bottom=0) / label(9, 5) / ipv6(),
            id="swap_of_two",
        ),
        pytest.param(label(101, 7) / ipv4(), ipv4(ttl=6), id="pop"),
        pytest.param(label(101, 7, bottom=0) / label(9, 200) / ipv4(), label(9, 6) / ipv4(), id="pop_of_two"),
        pytest.param(label(102, 7) / ipv4(), ipv4(ttl=6), id="pop_and_route"),
        pytest.param(label(102, 7) / ipv6(), ipv6(hops=6), id="pop_and_route_ipv6"),
    ],
)  # fmt: skip
def test_a_label_switch_pushes_swaps_and_pops(came: Packet, left: Packet) -> None:
    """The time to live is that of the label on top, also of what is under it (RFC 3443, uniform)."""
    assert bytes(leaving(MPLS_SWITCH, framed(came))) == bytes(sent(left))


def test_a_label_switch_drops_unknown_labels_and_what_has_no_time_left() -> None:
    assert received(MPLS_SWITCH, framed(label(99, 7) / ipv4())) == []
    assert received(MPLS_SWITCH, framed(label(100, 1) / ipv4())) == []
    assert received(MPLS_SWITCH, framed(ipv4(ttl=1))) == []


@pytest.mark.parametrize(
    ("came", "left"),
    [
        pytest.param(ipv4(), segments(ipv4(ttl=8), FIRST, [THIRD, SECOND, FIRST], 2, 64), id="source"),
        pytest.param(
            segments(ipv6(), f"{NODE[:-1]}e", [THIRD, FIRST, f"{NODE[:-1]}e"], 2, 9),
            segments(ipv6(), FIRST, [THIRD, FIRST, f"{NODE[:-1]}e"], 1, 8),
            id="end",
        ),
        pytest.param(segments(ipv4(), f"{NODE[:-1]}4", [f"{NODE[:-1]}4", FIRST], 0, 9), ipv4(ttl=8), id="end_dx4"),
        pytest.param(segments(ipv4(), f"{NODE[:-1]}d4", [f"{NODE[:-1]}d4"] * 5, 0, 9), ipv4(ttl=8), id="end_dt4"),
        pytest.param(IPv6(src=FIRST, dst=f"{NODE[:-1]}d4", nh=4) / ipv4(), ipv4(ttl=8), id="end_dt4_reduced"),
        pytest.param(segments(ipv6(), f"{NODE[:-1]}d6", [f"{NODE[:-1]}d6"], 0, 9), ipv6(hops=8), id="end_dt6"),
    ],
)  # fmt: skip
def test_a_node_of_srv6_encapsulates_goes_on_and_takes_out(came: Packet, left: Packet) -> None:
    assert bytes(leaving(SRV6, framed(came))) == bytes(sent(left))


def test_a_segment_end_point_drops_what_its_segment_does_not_allow() -> None:
    """RFC 8986 4.1 and 4.8: End has a segment left, a decapsulation none."""
    assert received(SRV6, framed(segments(ipv4(), f"{NODE[:-1]}e", [f"{NODE[:-1]}e"], 0, 9))) == []
    assert received(SRV6, framed(segments(ipv4(), f"{NODE[:-1]}d4", [FIRST, f"{NODE[:-1]}d4"], 1, 9))) == []
    assert received(SRV6, framed(segments(ipv4(), f"{NODE[:-1]}e", [FIRST, f"{NODE[:-1]}e"], 1, 1))) == []


@pytest.mark.parametrize("kind", [UDP, TCP])
def test_a_translator_rewrites_both_ways_and_keeps_checksums(kind: type[Packet]) -> None:
    out = ipv4(transport=kind(sport=20002, dport=80) / DATA)
    outside = ipv4("203.0.113.1", ttl=8, transport=kind(sport=30002, dport=80) / DATA)
    assert bytes(leaving(NAT44, framed(out))) == bytes(sent(outside))
    back = ipv4(HOSTS[2][0], "203.0.113.1", transport=kind(sport=80, dport=30002) / DATA)
    inside = ipv4(HOSTS[2][0], HOSTS[1][0], ttl=8, transport=kind(sport=80, dport=20002) / DATA)
    assert bytes(leaving(NAT44, framed(back, to=1), 2)) == bytes(sent(inside, to=1))


def test_a_translator_keeps_a_datagram_without_a_checksum_and_drops_what_is_not_bound() -> None:
    left = leaving(NAT44, framed(ipv4(transport=UDP(sport=20001, dport=7, chksum=0) / DATA)))
    outside = UDP(sport=30001, dport=7, chksum=0) / DATA
    assert bytes(left) == bytes(sent(ipv4("203.0.113.1", ttl=8, transport=outside)))
    assert received(NAT44, framed(ipv4(transport=UDP(sport=20009) / DATA))) == []


def test_a_gateway_puts_frames_into_its_segment_and_takes_them_out() -> None:
    frame = framed(ipv4())
    left = leaving(VXLAN_GATEWAY, frame)
    source = left[UDP].sport
    assert source >= 0xC000
    tunnel = IP(src="192.0.2.1", dst="192.0.2.2", flags="DF", id=0) / UDP(sport=source, dport=4789, chksum=0)
    assert bytes(left) == bytes(sent(tunnel / VXLAN(vni=5000, flags=8) / frame))
    back = framed(ipv4(), to=1)
    tunnel = IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=5, dport=4789, chksum=0) / VXLAN(vni=5000, flags=8)
    assert bytes(leaving(VXLAN_GATEWAY, framed(tunnel / back, to=1), 2)) == bytes(back)


TO_OUTSIDE = (int(IPv4Address("203.0.113.1")) - int(station(1).ipv4)) % (1 << 32)
BOUND = FieldModifier(Modifiable.of_name("udp.source"), Progression(4))
BACK = (
    FieldModifier(DESTINATION, ValueList((TO_OUTSIDE,))),
    FieldModifier(Modifiable.of_name("udp_dst"), Progression(4)),
)
SID = "ipv6(source=2001:db8:7::1, destination=2001:db8:1::{})"
LIST = "segment_routing(segments={}, segments_left={})"
STREAMS: dict[str, tuple[str, int, str, tuple[FieldModifier, ...]]] = {
    "push": (MPLS_SWITCH, 1, "ipv4/udp", ()),
    "push_ipv6_tcp": (MPLS_SWITCH, 2, "ipv6/tcp", ()),
    "swap": (MPLS_SWITCH, 1, "mpls(label=100)/ipv4/udp", ()),
    "swap_of_three": (MPLS_SWITCH, 2, "mpls(label=100)/mpls(label=7)/mpls(label=8)/ipv6/udp", ()),
    "pop": (MPLS_SWITCH, 1, "mpls(label=101)/ipv4(ttl=2)/icmp", ()),
    "pop_of_two": (MPLS_SWITCH, 1, "mpls(label=101)/mpls(label=7)/ipv4/udp", ()),
    "pop_and_route": (MPLS_SWITCH, 2, "mpls(label=102)/ipv6/udp", ()),
    "source": (SRV6, 1, "ipv4/udp", ()),
    "end": (SRV6, 1, f"{SID.format('e')}/{LIST.format('2001:db8:2::1 2001:db8:1::e', 1)}/ipv4/udp", ()),
    "end_of_datagrams": (SRV6, 1, f"ipv6/{LIST.format('2001:db8:2::1 2001:db8:1::e', 1)}/udp", ()),
    "end_of_a_reduced_list": (SRV6, 1, f"ipv6(destination=2001:db8:1::e)/{LIST.format('2001:db8:2::1', 1)}/tcp", ()),
    "end_dx4": (SRV6, 1, f"{SID.format('4')}/{LIST.format('2001:db8:1::4', 0)}/ipv4/udp", ()),
    "end_dt4": (SRV6, 1, f"{SID.format('d4')}/ipv4/tcp", ()),
    "end_dt6": (SRV6, 2, f"{SID.format('d6')}/{LIST.format('2001:db8:1::d6 2001:db8:3::1', 0)}/ipv6/udp", ()),
    "to_outside": (NAT44, 1, "ipv4/udp(source=20001)", (BOUND,)),
    "to_inside": (NAT44, 2, "ipv4/udp(destination=30001)", BACK),
    "to_inside_tcp": (NAT44, 2, "ipv4/tcp(destination=30001)", BACK[:1]),
    "into_tunnel": (VXLAN_GATEWAY, 1, "ipv4/udp", ()),
    "into_tunnel_without_ip": (VXLAN_GATEWAY, 1, "ethernet(ether_type=0x88b5)", ()),
    "out_of_tunnel": (
        VXLAN_GATEWAY, 2, "ipv4(source=192.0.2.2, destination=192.0.2.1)/udp/vxlan(vni=5000)/ethernet/ipv4/udp", ()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_every_frame_is_counted_behind_what_a_device_adds_takes_off_and_rewrites(name: str) -> None:
    """Goal: as many received as sent, none lost, flooded, foreign or damaged."""
    topology, port, headers, modifiers = STREAMS[name]
    stream = Stream(
        name, 256, Fraction(100_000), 100, Pairs(), (port,), (3 - port,), frame_of_text(headers), modifiers=modifiers
    )
    with open_measurer(shipped(topology)) as measurer:
        result = measurer.measure(TrialSpec(name, (stream,), 10**6, Learning(enabled=False), 10**6, 0, per_flow=True))
    assert (result.status, result.reason) == (Verdict.MEASURED, "")
    assert (result.tx_frames, result.rx_frames, result.lost_frames) == (100, 100, 0)
    assert (result.flooded_frames, result.misdirected_frames, result.foreign_frames) == (0, 0, 0)
    assert (result.duplicate_frames, result.reordered_frames, result.corrupted_frames) == (0, 0, 0)


NOISE = """\
nodes:
  - name: noise
    device: ethernet_switch
    ports:
      - {numbers: 1-2, rate_bps: 1000000000, queue_frames: 200}
    impairments: {corrupt_ppb: 1000000000}
"""


@pytest.mark.parametrize(
    ("name", "added_bytes"),
    [
        ("push", 4),
        ("pop", -4),
        ("source", 96),
        ("end", 0),
        ("end_dx4", -64),
        ("end_dt4", -40),
        ("end_dt6", -80),
        ("into_tunnel", 50),
        ("out_of_tunnel", -50),
    ],
)
def test_a_changed_payload_is_found_behind_what_a_device_adds_and_takes_off(name: str, added_bytes: int) -> None:
    """Goal: a switch behind the device changes one bit of each frame, in the payload of most: all of these are found.

    In the others it is in a header or in the signature: they are received, or are foreign or damaged.
    """
    topology, port, headers, modifiers = STREAMS[name]
    size, count, receiver = 1000, 400, 3 - port
    ports = 4 if topology == MPLS_SWITCH else 2
    links = [(f"tester:{port}", f"dut:{port}"), (f"dut:{receiver}", "noise:1"), ("noise:2", f"tester:{receiver}")]
    links += [(f"tester:{other}", f"dut:{other}") for other in range(3, ports + 1)]
    noisy = changed(
        topology,
        ("nodes:\n", NOISE),
        (
            f"  - {{from: tester:1-{ports}, to: dut:1-{ports}, latency_ns: 5}}\n",
            "".join(f"  - {{from: {end}, to: {other}, latency_ns: 5}}\n" for end, other in links),
        ),
    )
    frame = frame_of_text(headers)
    stream = Stream(name, size, Fraction(50_000), count, Pairs(), (port,), (receiver,), frame, modifiers=modifiers)
    with open_measurer(noisy) as measurer:
        result = measurer.measure(TrialSpec(name, (stream,), 8 * 10**6, Learning(enabled=False), 10**6, 0))
    in_payload = (size - 4 - frame.header_bytes - 18) / (size - 4 + added_bytes - 14)
    deviation = (in_payload * (1 - in_payload) / count) ** 0.5
    assert result.corrupted_frames / count == pytest.approx(in_payload, abs=4 * deviation)
    assert result.rx_frames / count < 1 - in_payload + 4 * deviation


def test_address_and_port_change_in_step_through_65536_values() -> None:
    """Goal: a translator that binds each third pair of address and port passes the frames of these pairs, no others."""
    count = 1 << 16
    topology = shipped(NAT44)
    first = int(station(1).ipv4)
    bound = [
        {
            "table": "inside",
            "key": {"address": str(IPv4Address(first + n)), "protocol": 17, "port": (20001 + n) % count},
            "action": "to_outside",
            "params": ["203.0.113.1", n],
        }
        for n in range(0, count, 3)
    ]
    (nat,) = topology.devices
    others = [entry for entry in nat.model["entries"] if entry["table"] != "inside"]
    translator = replace(nat, model={**nat.model, "entries": [*others, *bound]})
    names = ("ipv4_src", "udp_src")
    modifiers = tuple(FieldModifier(Modifiable.of_name(name), Progression(count)) for name in names)
    stream = Stream("all", 128, Fraction(500_000), count, Pairs(), (1,), (2,), modifiers=modifiers)
    with open_measurer(replace(topology, devices=(translator,))) as measurer:
        spec = TrialSpec("all", (stream,), count * 2000, Learning(enabled=False), 10**6, 0)
        result = measurer.measure(spec)
    assert (result.status, result.tx_frames, result.rx_frames) == (Verdict.MEASURED, count, len(bound))


NO_UNICAST = {"p4-tunnels-4ports"}
"""Devices that forward groups alone: the tests of tunnels in RFC 3918 run on them."""


@pytest.mark.parametrize("name", sorted({path.stem for path in TOPOLOGIES.glob("p4-*.yaml")} - NO_UNICAST))
def test_a_shipped_p4_device_has_a_throughput_without_further_settings(tmp_path: Path, name: str) -> None:
    """Goal: `p4mesh run rfc2544.throughput --topology NAME` gives a number that can be trusted."""
    options = RunOptions(
        "rfc2544.throughput", name, "128", ("scaled_frames=200", "search_resolution_pct=5"), tmp_path / "out", 1
    )
    outcome = run(options).outcome
    (row,) = outcome.tables[0].rows
    assert outcome.state is Verdict.MEASURED
    assert isinstance(row["throughput_fps"], float) and row["throughput_fps"] > 0
