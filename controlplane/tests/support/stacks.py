"""Stacks of headers that the program for v1model sends and finds signatures behind: chosen ones, and all of a depth."""

from __future__ import annotations

import random
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from p4mesh.layers import (
    Bth,
    ControlWord,
    DestinationOptions,
    Ethernet,
    Frame,
    Geneve,
    Gre,
    Gtpu,
    GtpuOptions,
    HopByHop,
    Icmp,
    Icmpv6,
    IPv4,
    IPv6,
    Layer,
    Mpls,
    OwnBytes,
    PduSession,
    Pppoe,
    Routing,
    SegmentRouting,
    ServiceTag,
    Tcp,
    Udp,
    Vlan,
    Vxlan,
    VxlanGpe,
)

END4: dict[str, Any] = {"source": IPv4Address("198.51.100.1"), "destination": IPv4Address("198.51.100.2")}
END6: dict[str, Any] = {"source": IPv6Address("2001:db8:f::1"), "destination": IPv6Address("2001:db8:f::2")}
SEGMENTS = b"".join(IPv6Address(f"2001:db8:f::{place}").packed for place in range(2, 7))
OUTER4, OUTER6 = IPv4(ttl=9, **END4), IPv6(flow_label=7, **END6)
ROUTING = SegmentRouting(segments_left=4, segments=SEGMENTS)
UDP4, UDP6 = (IPv4(), Udp()), (IPv6(), Udp())
BRIDGED: tuple[Layer, ...] = (Ethernet(), *UDP4)
OWN = OwnBytes(b"twelve bytes")
OTHER = Ethernet(ether_type=0x88B5)

STACKS: dict[str, tuple[Layer, ...]] = {
    "provider tag": (Ethernet(), ServiceTag(vid=200), Vlan(vid=7), *UDP4),
    "four tags": (Ethernet(), ServiceTag(vid=1), ServiceTag(vid=2), Vlan(vid=3), Vlan(vid=4), *UDP6),
    "labels": (Ethernet(), *(Mpls(16 + place) for place in range(8)), *UDP6),
    "pseudowire": (Ethernet(), Mpls(16), Mpls(17), ControlWord(), *BRIDGED),
    "pppoe": (Ethernet(), Pppoe(), *UDP4),
    "ipv4 options": (Ethernet(), IPv4(options=b"\x94\x04\0\0"), Udp()),
    "tcp": (Ethernet(), IPv4(), Tcp(options=bytes.fromhex("020405b4"))),
    "tcp over ipv6": (Ethernet(), Vlan(vid=5), IPv6(), HopByHop(), Tcp(flags=0x12)),
    "tcp behind options": (Ethernet(), IPv4(options=bytes.fromhex("01010101")), Tcp()),
    "icmp": (Ethernet(), IPv4(), Icmp(identifier=3)),
    "icmpv6": (Ethernet(), IPv6(), Icmpv6(identifier=3)),
    "ip in ip": (Ethernet(), OUTER6, DestinationOptions(), OUTER4, *UDP4),
    "gre": (Ethernet(), OUTER4, Gre(), *UDP6),
    "gre with key": (Ethernet(), OUTER6, Gre(key=7, sequence=9), *BRIDGED),
    "segments": (Ethernet(), OUTER6, ROUTING, IPv4(), Tcp()),
    "segments and a frame": (Ethernet(), OUTER6, ROUTING, *BRIDGED),
    "vxlan": (Ethernet(), OUTER4, Udp(49152), Vxlan(vni=0xABCDEF), Ethernet(), Vlan(vid=9), *UDP6),
    "vxlan over ipv6": (Ethernet(), Vlan(vid=5), OUTER6, Udp(), Vxlan(), Ethernet(), IPv6(), Tcp()),
    "vxlan-gpe": (Ethernet(), OUTER4, Udp(), VxlanGpe(vni=5), *UDP6),
    "geneve": (Ethernet(), OUTER6, Udp(), Geneve(vni=5, options=bytes.fromhex("01028001aabbccdd")), *BRIDGED),
    "gtp-u": (Ethernet(), OUTER4, Udp(2152), Gtpu(teid=77), *UDP4),
    "gtp-u of a session": (Ethernet(), OUTER4, Udp(), Gtpu(), GtpuOptions(), PduSession(qfi=9), *UDP6),
    "labels in udp": (Ethernet(), OUTER4, Udp(), Mpls(), *UDP4),
    "tunnels in tunnels": (Ethernet(), Mpls(), OUTER4, Udp(), Vxlan(), Ethernet(), OUTER4, Gre(), IPv4(), Icmp()),
    "an ethertype": (OTHER,),
    "own bytes": (OTHER, OWN),
    "own bytes in udp": (Ethernet(), *UDP6, OWN),
    "own bytes in tcp": (Ethernet(), IPv4(), Tcp(), OWN),
    "a protocol": (Ethernet(), IPv4(protocol=200)),
    "labels behind a list": (Ethernet(), OUTER6, ROUTING, Mpls(16), *UDP4),
    "vxlan behind a list": (Ethernet(), OUTER6, ROUTING, Udp(), Vxlan(), *BRIDGED),
    "vxlan behind options": (Ethernet(), OUTER6, DestinationOptions(), Udp(), Vxlan(), *BRIDGED),
    "addresses left": (Ethernet(), IPv6(), Routing(segments_left=1, addresses=SEGMENTS[:32]), Udp()),
    **{
        f"{count} segments, {left} left, {ends[-1].kind} over {ends[0].kind}": (
            *(Ethernet(), OUTER6 if isinstance(ends[0], IPv4) else IPv6()),
            SegmentRouting(segments_left=left, segments=SEGMENTS[: count * 16]),
            *(ends if isinstance(ends[0], IPv4) else ends[1:]),
        )
        for count in range(2, 6)
        for left in (0, count - 1)
        for ends in (UDP4, UDP6, (IPv6(), Tcp()), (IPv6(), Icmpv6()))
    },
    "124 bytes of one's own": (Ethernet(), *UDP6, OwnBytes(bytes(range(124)))),
    "rdma": (Ethernet(), IPv4(), Udp(49152), Bth()),
    "rdma in a tunnel": (*(Ethernet(), OUTER4, Udp(), Vxlan(), Ethernet(), IPv6(), Udp(), Bth()), OwnBytes(bytes(8))),
    "the port of a tunnel": (Ethernet(), IPv6(), Udp(destination=4789)),
}

_IN_UDP = ["vxlan", "vxlan_gpe", "geneve", "gtpu"]
_BEHIND_ETHERNET = ["vlan", "service_tag", "mpls", "pppoe", "ipv4", "ipv6"]
_FOLLOWS: dict[str, list[str]] = {
    "ethernet": _BEHIND_ETHERNET,
    "vlan": _BEHIND_ETHERNET,
    "service_tag": _BEHIND_ETHERNET,
    "mpls": ["mpls", "control_word", "ipv4", "ipv6"],
    "control_word": ["ethernet"],
    "pppoe": ["mpls", "ipv4", "ipv6"],
    "ipv4": ["ipv4", "ipv6", "gre", "mpls", *_IN_UDP],
    "ipv6": ["ipv4", "ipv6", "gre", "mpls", *_IN_UDP, "segment_routing", "hop_by_hop"],
    "segment_routing": ["ipv4", "ipv6", "gre", "mpls", "ethernet", *_IN_UDP],
    "hop_by_hop": ["ipv4", "ipv6", "gre", "mpls", "ethernet", *_IN_UDP],
    "gre": ["ipv4", "ipv6", "ethernet", "mpls", "vlan"],
    "vxlan": ["ethernet"],
    "vxlan_gpe": ["ipv4", "ipv6", "ethernet", "mpls"],
    "geneve": ["ipv4", "ipv6", "ethernet"],
    "gtpu": ["ipv4", "ipv6"],
}
"""Layers behind each layer; those of UDP have it in front of them."""
_LAYERS: dict[str, tuple[Layer, ...]] = {
    "ethernet": (Ethernet(),),
    "vlan": (Vlan(vid=7),),
    "service_tag": (ServiceTag(vid=8),),
    "mpls": (Mpls(100),),
    "control_word": (ControlWord(),),
    "pppoe": (Pppoe(),),
    "ipv4": (OUTER4,),
    "ipv6": (OUTER6,),
    "segment_routing": (SegmentRouting(segments_left=1, segments=SEGMENTS[:32]),),
    "hop_by_hop": (HopByHop(),),
    "gre": (Gre(),),
    "vxlan": (Udp(), Vxlan()),
    "vxlan_gpe": (Udp(), VxlanGpe()),
    "geneve": (Udp(), Geneve()),
    "gtpu": (Udp(), Gtpu()),
}
_INNERMOST: dict[int, tuple[tuple[Layer, ...], ...]] = {
    4: ((Udp(),), (Tcp(),), (Icmp(),), (Udp(), Bth())),
    6: ((Udp(),), (Tcp(),), (Icmpv6(),), (ROUTING, Udp()), (ROUTING, Tcp()), (Udp(), Bth())),
}


def stacks_of_depth(depth: int, seed: int = 0) -> Iterator[Frame]:
    """Yield a frame for every way of ``depth`` layers behind Ethernet; what ends it is drawn."""
    draw = random.Random(seed)
    for way in _ways("ethernet", depth):
        layers: list[Layer] = [Ethernet(), *(layer for kind in way for layer in _LAYERS[kind])]
        possible = [kind for kind in ("ipv4", "ipv6") if kind in _FOLLOWS[way[-1]]]
        if way.count("ethernet") > 1:
            continue
        if possible:
            version = 4 if draw.choice(possible) == "ipv4" else 6
            layers += [IPv4() if version == 4 else IPv6(), *draw.choice(_INNERMOST[version])]
        elif _FOLLOWS[way[-1]] == ["ethernet"]:
            if "ethernet" in way:
                continue
            layers += BRIDGED
        yield Frame(tuple(layers))


def _ways(kind: str, depth: int) -> Iterator[tuple[str, ...]]:
    if depth == 0:
        yield ()
        return
    for following in _FOLLOWS[kind]:
        for rest in _ways(following, depth - 1):
            yield (following, *rest)
