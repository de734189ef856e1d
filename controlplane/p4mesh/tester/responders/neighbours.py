"""ARP (RFC 826) and neighbour discovery (RFC 4861) for the test stations: their questions and answers.

Questions go to the router of a port's network, host 1 (RFC 2544 C.2.2); a device that asks for a station gets its
answer before, during and after transmission.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address

from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import ARP, Ether

from p4mesh.tester.responders.base import Outgoing, PuntRule
from p4mesh.tester.stations import Station

Neighbour = tuple[int, int]
"""Port and IP version."""

_ARP, _IPV6 = 0x0806, 0x86DD
_REQUEST, _REPLY = 1, 2
_SOLICITATION, _ADVERTISEMENT = 135, 136
_ARP_OPERATION_AT, _NEXT_HEADER_AT, _ICMPV6_TYPE_AT = 21, 20, 54
_ICMPV6 = 58
_MIN_FRAME_BYTES = 60
_SOLICITED_NODE = int(IPv6Address("ff02::1:ff00:0"))
_ANY = "00:00:00:00:00:00"
_BROADCAST = "ff:ff:ff:ff:ff:ff"


class Neighbours:
    """The stations of some ports: answers for them, and finds their routers."""

    def __init__(self, stations: Mapping[int, Station]) -> None:
        self._stations = stations
        self.routers: dict[Neighbour, bytes] = {}
        """MAC addresses of the routers that have answered."""

    def wants(self) -> Collection[PuntRule]:
        """Return ARP and all of IPv6: neighbour discovery has no EtherType of its own."""
        return (PuntRule.of(ether_type=_ARP), PuntRule.of(ether_type=_IPV6))

    def questions(self, wanted: Iterable[Neighbour]) -> Iterable[Outgoing]:
        """Return the questions for the routers that are wanted and not known."""
        for port, version in sorted(set(wanted) - self.routers.keys()):
            yield Outgoing(port, question(self._stations[port], version))

    def on_frame(self, port: int, frame: bytes, now_ns: int) -> Iterable[Outgoing]:
        """Answer a question for the station of the port, and keep the answer of its router."""
        station = self._stations.get(port)
        found = _message(frame)
        if station is None or found is None:
            return ()
        version, kind = found
        if kind in (_REQUEST, _SOLICITATION):
            reply = answer(frame, station)
            return () if reply is None else (Outgoing(port, reply),)
        mac = router_mac(frame, station, version)
        if mac is not None:
            self.routers[port, version] = mac
        return ()

    def next_event(self) -> int | None:
        """Return None: the caller that waits for the routers decides when to ask again."""
        return None

    def on_time(self, now_ns: int) -> Iterable[Outgoing]:
        """Return nothing."""
        return ()


def _message(frame: bytes) -> tuple[int, int] | None:
    """Return IP version and kind of a message of ARP or neighbour discovery; None for any other frame.

    It is asked of every frame that comes to the controller, so the few bytes that tell are looked at first.
    """
    ether_type = int.from_bytes(frame[12:14], "big")
    if ether_type == _ARP and frame[_ARP_OPERATION_AT : _ARP_OPERATION_AT + 1] in (b"\x01", b"\x02"):
        return 4, frame[_ARP_OPERATION_AT]
    if ether_type == _IPV6 and len(frame) > _ICMPV6_TYPE_AT and frame[_NEXT_HEADER_AT] == _ICMPV6:
        kind = frame[_ICMPV6_TYPE_AT]
        return (6, kind) if kind in (_SOLICITATION, _ADVERTISEMENT) else None
    return None


def question(station: Station, ip_version: int) -> bytes:
    """Return the frame with which a station asks for the MAC address of its router."""
    if ip_version == 4:
        body = ARP(
            op=_REQUEST,
            hwsrc=_text(station.mac),
            psrc=str(station.ipv4),
            hwdst=_ANY,
            pdst=str(station.router_ipv4),
        )
        return _padded(Ether(dst=_BROADCAST, src=_text(station.mac)) / body)
    target = station.router_ipv6
    group = IPv6Address(_SOLICITED_NODE | int(target) & 0xFFFFFF)
    header = IPv6(src=str(station.ipv6), dst=str(group), hlim=255)
    option = ICMPv6NDOptSrcLLAddr(lladdr=_text(station.mac))
    mac = "33:33:" + _text((int(group) & 0xFFFFFFFF).to_bytes(4, "big"))
    return _padded(Ether(dst=mac, src=_text(station.mac)) / header / ICMPv6ND_NS(tgt=str(target)) / option)


def router_mac(frame: bytes, station: Station, ip_version: int) -> bytes | None:
    """Return the MAC address that ``frame`` gives for the station's router; None when it is no such answer."""
    packet = Ether(frame)
    if ip_version == 4:
        arp = packet.getlayer(ARP)
        if arp is None or arp.op != _REPLY or IPv4Address(arp.psrc) != station.router_ipv4:
            return None
        return _bytes(arp.hwsrc)
    answer = packet.getlayer(ICMPv6ND_NA)
    if answer is None or IPv6Address(answer.tgt) != station.router_ipv6:
        return None
    option = packet.getlayer(ICMPv6NDOptDstLLAddr)
    return _bytes(option.lladdr if option is not None else packet.src)


def answer(frame: bytes, station: Station) -> bytes | None:
    """Return the answer to a question for the station's MAC address; None when the frame asks no such thing."""
    packet = Ether(frame)
    asked = packet.getlayer(ARP)
    mac = _text(station.mac)
    if asked is not None:
        if asked.op != _REQUEST or IPv4Address(asked.pdst) != station.ipv4:
            return None
        body = ARP(op=_REPLY, hwsrc=mac, psrc=str(station.ipv4), hwdst=asked.hwsrc, pdst=asked.psrc)
        return _padded(Ether(dst=asked.hwsrc, src=mac) / body)
    solicitation = packet.getlayer(ICMPv6ND_NS)
    if solicitation is None or IPv6Address(solicitation.tgt) != station.ipv6:
        return None
    header = IPv6(src=str(station.ipv6), dst=packet[IPv6].src, hlim=255)
    advertisement = ICMPv6ND_NA(tgt=str(station.ipv6), R=0, S=1, O=1)
    return _padded(Ether(dst=packet.src, src=mac) / header / advertisement / ICMPv6NDOptDstLLAddr(lladdr=mac))


def _padded(packet: Ether) -> bytes:
    return bytes(packet).ljust(_MIN_FRAME_BYTES, b"\0")


def _text(mac: bytes) -> str:
    return ":".join(f"{byte:02x}" for byte in mac)


def _bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
