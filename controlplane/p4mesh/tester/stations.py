"""Test addresses: who is sent to, and which port owns which destination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address

from p4mesh.errors import ParameterError
from p4mesh.traffic.addresses import BROADCAST_MAC, group_mac, ipv6_host_behind, station_ipv4, station_ipv6, station_mac
from p4mesh.traffic.stream import ModifiedField, PatternKind, Progression, PseudoRandom, Stream, ValueList

FULL_MASK = (1 << 48) - 1
_RECEIVER_TAGS = 255
TO_MANY = (PatternKind.BROADCAST, PatternKind.MULTICAST)
"""Patterns whose frames are expected on several ports."""


@dataclass(frozen=True)
class Station:
    """A test address: its owner port and its addresses of every layer."""

    port: int
    mac: bytes
    ipv4: IPv4Address
    ipv6: IPv6Address

    @property
    def receiver_tag(self) -> int:
        """What frames to this station carry as the tag of their receiver; 0 for an address of many ports."""
        return receiver_tag(self.port) if self.port else 0

    @property
    def router_ipv4(self) -> IPv4Address:
        """Host 1 of the station's network: the device, where it is a router (RFC 2544 C.2.2)."""
        return self.ipv4 - 1

    @property
    def router_ipv6(self) -> IPv6Address:
        """Host 1 of the station's network (RFC 5180 5.2)."""
        return self.ipv6 - 1


@dataclass(frozen=True)
class Receiver:
    """Destinations that a port owns: all addresses that agree with ``mac`` under ``mask``."""

    port: int
    mac: bytes
    flow_offset: int
    mask: int = FULL_MASK
    tag: int = 0
    """What frames to these destinations carry as the tag of their receiver; 0 for an address of many ports."""


def receiver_tag(port: int) -> int:
    """Return the tag of a receiving port, 1 to 255: ports whose numbers are 255 apart share one."""
    return 1 + port % _RECEIVER_TAGS


def station(port: int) -> Station:
    """Return the one test address of a port."""
    return Station(port, station_mac(port), _ipv4(port), station_ipv6(port))


def addresses_of(port: int, count: int) -> list[bytes]:
    """Return the ``count`` MAC addresses behind a port; the station's is the first."""
    first = int.from_bytes(station(port).mac, "big")
    return [((first + place) & FULL_MASK).to_bytes(6, "big") for place in range(count)]


def destinations_of(stream: Stream, source: int = 0) -> list[Station]:
    """Return the destination list of a stream: its stations, or the one address of many.

    A routed stream has a list for each transmit port, number ``source``: stations behind its router.
    """
    if stream.pattern in TO_MANY:
        return [_group_station(stream)]
    stations = [station(port) for port in stream.rx_ports]
    if stream.advertised_prefix_bits:
        bits = stream.advertised_prefix_bits
        stations = [host_behind(usual, stream.template.ip_version, bits) for usual in stations]
    if stream.router_macs:
        if stream.pattern is PatternKind.PAIRS:
            stations = [stations[source]]
        return [replace(usual, mac=stream.router_macs[source]) for usual in stations]
    if stream.destination_mac:
        stations = [replace(usual, mac=stream.destination_mac) for usual in stations]
    return stations


def host_behind(owner: Station, ip_version: int | None, prefix_bits: int) -> Station:
    """Return the host of one IP version behind a station: in a network of ``prefix_bits``, or of 24 bits of IPv4."""
    if ip_version == 4:
        return replace(owner, ipv4=station_ipv4(owner.port, output_half=True))
    return replace(owner, ipv6=ipv6_host_behind(owner.port, prefix_bits))


def shared_ports_of(streams: Sequence[Stream]) -> tuple[int, ...]:
    """Return the ports that receive frames addressed to many, in one order for all streams."""
    ports = {port for stream in streams if stream.pattern in TO_MANY for port in (*stream.rx_ports, *stream.tx_ports)}
    return tuple(sorted(ports))


def receivers_of(streams: Sequence[Stream], shared_ports: tuple[int, ...]) -> tuple[Receiver, ...]:
    """Return what each port owns; the flow offset of a group address is the port's place in ``shared_ports``."""
    receivers = {
        _receiver(stream, port) for stream in streams if stream.pattern not in TO_MANY for port in stream.rx_ports
    }
    ordered = sorted(receivers, key=lambda receiver: (receiver.port, receiver.mac, receiver.mask))
    groups = {_group_receiver(stream) for stream in streams if stream.pattern in TO_MANY}
    shared = [
        Receiver(port, mac, place, mask) for mac, mask in sorted(groups) for place, port in enumerate(shared_ports)
    ]
    return (*ordered, *shared)


def _receiver(stream: Stream, port: int) -> Receiver:
    """Return what ``port`` owns: its address, and all that modifiers of the stream make of it."""
    mac, mask = _owned(stream, stream.destination_mac or station(port).mac)
    return Receiver(port, mac, 0, mask, receiver_tag(port))


def _group_receiver(stream: Stream) -> tuple[bytes, int]:
    return _owned(stream, _group_station(stream).mac)


def _owned(stream: Stream, mac: bytes) -> tuple[bytes, int]:
    """Return (value, mask) of ``mac`` and of all addresses that the stream's modifiers make of it."""
    first = int.from_bytes(mac, "big")
    changed = 0
    for modifier in stream.modifiers:
        if modifier.field is ModifiedField.ETHERNET_DST:
            changed |= _bits_changed(first, modifier.values)
    mask = FULL_MASK & ~changed
    return (first & mask).to_bytes(6, "big"), mask


def _bits_changed(first: int, values: Progression | ValueList | PseudoRandom) -> int:
    """Return a mask of the low bits in which ``first`` plus any of the values may differ from it."""
    added: tuple[int, ...]
    if isinstance(values, Progression):
        added = (0, values.step * (values.count - 1))
    elif isinstance(values, ValueList):
        added = values.values
    else:
        added = (0, values.mask)
    different = 0
    for value in added:
        different |= first ^ ((first + value) & FULL_MASK)
    return (1 << different.bit_length()) - 1


def _group_station(stream: Stream) -> Station:
    """Return the address of a broadcast or of a multicast group."""
    if stream.pattern is PatternKind.BROADCAST:
        return Station(0, BROADCAST_MAC, IPv4Address("255.255.255.255"), IPv6Address("ff02::1"))
    try:
        group = ip_address(stream.multicast_group)
        mac = group_mac(group)
    except ValueError as error:
        raise ParameterError(f"stream '{stream.name}': {error}", hint="use a group such as 225.1.1.1") from None
    if group.version != (stream.template.ip_version or group.version):
        raise ParameterError(
            f"stream '{stream.name}': group {group} does not fit IPv{stream.template.ip_version} frames",
            hint="give an address of the same IP version",
        )
    if isinstance(group, IPv4Address):
        return Station(0, mac, group, IPv6Address("ff02::1"))
    return Station(0, mac, IPv4Address("224.0.0.1"), group)


def _ipv4(port: int) -> IPv4Address:
    if port <= 255:
        return station_ipv4(port)
    return IPv4Address(int(IPv4Address("198.19.0.0")) + (port << 2) + 2)
