"""Test addresses: the destinations of streams, and the port that owns each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_interface
from typing import Any

from p4mesh.errors import ParameterError
from p4mesh.layers import Ethernet, ethernet
from p4mesh.tester.histogram import blocks
from p4mesh.topology import TESTER, Topology
from p4mesh.traffic.addresses import host_in_network, ipv6_host_behind, station_ipv4, station_ipv6, station_mac
from p4mesh.traffic.patterns import Destination
from p4mesh.traffic.stream import FieldModifier, Progression, PseudoRandom, Stream, ValueList

MAC_BITS = 48
FULL_MASK = (1 << MAC_BITS) - 1
_RECEIVER_TAGS = 255
ROUTER = "router"
"""Device whose interfaces a topology gives addresses."""


@dataclass(frozen=True)
class Station:
    """A test address: its owner port and its addresses of every layer."""

    port: int
    mac: bytes
    ipv4: IPv4Address
    ipv6: IPv6Address
    routers: tuple[IPv4Address, IPv6Address] | None = None
    """Addresses of its router; None: host 1 of each of its networks."""

    @property
    def receiver_tag(self) -> int:
        """Receiver tag of frames to this station; 0 for an address of many ports."""
        return receiver_tag(self.port) if self.port else 0

    @property
    def router_ipv4(self) -> IPv4Address:
        """Host 1 of the station's network: the device, where it is a router (RFC 2544 C.2.2)."""
        return self.routers[0] if self.routers else self.ipv4 - 1

    @property
    def router_ipv6(self) -> IPv6Address:
        """Host 1 of the station's network (RFC 5180 5.2)."""
        return self.routers[1] if self.routers else self.ipv6 - 1


@dataclass(frozen=True)
class Receiver:
    """Destinations that a port owns: all addresses that agree with ``mac`` under ``mask``."""

    port: int
    mac: bytes
    flow_offset: int
    mask: int = FULL_MASK
    tag: int = 0
    """Receiver tag of frames to these destinations; 0 for an address of many ports."""


def receiver_tag(port: int) -> int:
    """Tag of a receiving port, 1 to 255: ports whose numbers are 255 apart share one."""
    return 1 + port % _RECEIVER_TAGS


@cache
def station(port: int) -> Station:
    """The one test address of a port."""
    return Station(port, station_mac(port), _ipv4(port), station_ipv6(port))


def stations_of(topology: Topology) -> dict[int, Station]:
    """The stations of the tester's ports: in the networks of their routers, where the topology gives those others, and
    with the MAC addresses that it gives them."""
    found = {
        port.number: replace(usual, mac=port.station_mac) if port.station_mac else usual
        for port in topology.tester_ports
        for usual in (station(port.number),)
    }
    routers = {device.name: device for device in topology.devices if device.device == ROUTER}
    for link in topology.links:
        for near, far in (link.ends, link.ends[::-1]):
            if near.node == TESTER and far.node in routers:
                interfaces: list[dict[str, Any]] = routers[far.node].model["interfaces"]
                given = next((item for item in interfaces if item["port"] == far.port), {})
                addresses = [ip_interface(address) for address in given.get("addresses", ())]
                found[near.port] = _beside(found[near.port], addresses)
    return found


def _beside(usual: Station, interfaces: Sequence[IPv4Interface | IPv6Interface]) -> Station:
    """A station in the network of the first address of each IP version that its router has, if not in the usual one."""
    own: list[Any] = [usual.ipv4, usual.ipv6]
    routers: list[Any] = [usual.router_ipv4, usual.router_ipv6]
    for place, version in enumerate((4, 6)):
        given = [item for item in interfaces if item.version == version]
        if given and not any(item.ip == routers[place] for item in given):
            router = given[0]
            host = next((host for host in router.network.hosts() if host != router.ip), None)
            if host is not None:
                own[place], routers[place] = host, router.ip
    if (own[0], own[1]) == (usual.ipv4, usual.ipv6):
        return usual
    return replace(usual, ipv4=own[0], ipv6=own[1], routers=(routers[0], routers[1]))


def own_station(stream: Stream, port: int) -> Station:
    """The station of a port for the frames of a stream."""
    usual = station(port)
    for own in stream.own_addresses:
        if own.port == port:
            return replace(usual, ipv4=own.ipv4, ipv6=own.ipv6, mac=own.mac or usual.mac)
    return usual


def addresses_of(stream: Stream, port: int) -> list[bytes]:
    """MAC addresses of a stream behind a port; the station's is the first."""
    first = int.from_bytes(own_station(stream, port).mac, "big")
    return [((first + place) & FULL_MASK).to_bytes(6, "big") for place in range(stream.addresses_per_port)]


def destinations_of(stream: Stream, source: int = 0) -> list[Station]:
    """Destination list of a stream: its stations, or addresses of many.

    A routed stream has a list for each transmit port, number ``source``: the stations behind its router, in the order
    of its flows where routers have MAC addresses of their own, else those of all ports.
    """
    if stream.has_own_lists:
        router = stream.router_macs[source]
        return [replace(_station_of(stream, flow, source), mac=router) for flow in stream.pattern.flows(stream, source)]
    stations = [_station_of(stream, entry, source) for entry in stream.pattern.destinations(stream)]
    mac = stream.router_macs[0] if stream.router_macs else stream.destination_mac
    return [replace(usual, mac=mac) for usual in stations] if mac else stations


def _station_of(stream: Stream, destination: Destination, source: int) -> Station:
    if destination.shared is not None:
        return Station(0, destination.shared.mac, destination.shared.ipv4, destination.shared.ipv6)
    (port,) = destination.ports
    if stream.advertised_networks:
        distance = (source - _places(stream.rx_ports)[port]) % len(stream.tx_ports)
        number = (distance + stream.network) % stream.advertised_networks
        return host_in(own_station(stream, port), stream.address_version, number)
    if stream.advertised_prefix_bits:
        return host_behind(own_station(stream, port), stream.address_version, stream.advertised_prefix_bits)
    return own_station(stream, port)


@lru_cache(maxsize=8)
def _places(ports: tuple[int, ...]) -> dict[int, int]:
    return {port: place for place, port in enumerate(ports)}


def host_behind(owner: Station, version: int, prefix_bits: int) -> Station:
    """Host of one IP version behind a station: in a network of ``prefix_bits``, or of 24 bits of IPv4."""
    if version == 4:
        return replace(owner, ipv4=station_ipv4(owner.port, output_half=True))
    return replace(owner, ipv6=ipv6_host_behind(owner.port, prefix_bits))


def host_in(owner: Station, version: int, number: int) -> Station:
    """Host of one IP version in network ``number`` of many behind a station."""
    address = host_in_network(owner.port, version, number)
    return replace(owner, ipv4=address) if isinstance(address, IPv4Address) else replace(owner, ipv6=address)


def receivers_of(streams: Sequence[Stream], shared_ports: tuple[int, ...], range_length: int) -> tuple[Receiver, ...]:
    """Destinations of each port; the flow offset of an address of many is the port's range of flows."""
    receivers = {
        _receiver(stream, port) for stream in streams if not stream.pattern.to_many for port in stream.rx_ports
    }
    ordered = sorted(receivers, key=lambda receiver: (receiver.port, receiver.mac, receiver.mask))
    many = [stream for stream in streams if stream.pattern.to_many]
    addressed = (stream for stream in many if not stream.received_in_tunnel and not stream.received_at_any_address)
    owned = sorted({block for stream in addressed for block in _shared_blocks(stream)})
    if any(stream.received_at_any_address for stream in many):
        owned.append((bytes(MAC_BITS // 8), 0))
    shared = [receiver for block in owned for receiver in _shared(block, shared_ports, range_length)]
    ends = {port: own_station(stream, port) for stream in many if stream.received_in_tunnel for port in stream.rx_ports}
    if both := sorted(ends.keys() & {receiver.port for receiver in receivers}):
        raise ParameterError(
            f"port {both[0]} is to receive unicast frames and frames in tunnels, which its address does not tell apart",
            hint="send unicast frames to other ports than the ends of tunnels",
        )
    tunnels = (
        Receiver(port, ends[port].mac, place * range_length) for place, port in enumerate(shared_ports) if port in ends
    )
    return (*ordered, *shared, *tunnels)


def counting_receivers_of(
    streams: Sequence[Stream], shared_ports: tuple[int, ...], ranges: Sequence[tuple[set[int], int, int]]
) -> tuple[Receiver, ...]:
    """Destinations that each port owns where groups are counted.

    ``ranges`` are (addresses, flow offset of the first port, distance of the offsets of two ports).
    """
    unicast = receivers_of([stream for stream in streams if not stream.pattern.to_many], (), 1)
    shared = (
        receiver
        for macs, first, distance in ranges
        for value, mask in blocks(macs, MAC_BITS)
        for receiver in _shared((value.to_bytes(6, "big"), mask), shared_ports, distance, first)
    )
    return (*unicast, *shared)


def _shared(block: tuple[bytes, int], ports: tuple[int, ...], distance: int, first: int = 0) -> Iterator[Receiver]:
    mac, mask = block
    return (Receiver(port, mac, first + place * distance, mask) for place, port in enumerate(ports))


def _receiver(stream: Stream, port: int) -> Receiver:
    """Destinations that ``port`` owns: its address, and all that modifiers of the stream make of it."""
    if stream.received_at_any_address:
        return Receiver(port, bytes(MAC_BITS // 8), 0, 0, receiver_tag(port))
    mac, mask = _owned(stream, stream.destination_mac or own_station(stream, port).mac)
    return Receiver(port, mac, 0, mask, receiver_tag(port))


def _shared_blocks(stream: Stream) -> list[tuple[bytes, int]]:
    """Aligned blocks, as (value, mask) pairs, that cover exactly the addresses of many of a stream."""
    macs = {entry.shared.mac for entry in stream.pattern.destinations(stream) if entry.shared is not None}
    if changes_of_destination(stream):
        return [_owned(stream, mac) for mac in macs]
    numbers = {int.from_bytes(mac, "big") for mac in macs}
    return [(value.to_bytes(6, "big"), mask) for value, mask in blocks(numbers, MAC_BITS)]


def changes_of_destination(stream: Stream) -> list[FieldModifier]:
    """List what changes the destination address of the outermost Ethernet header, by whichever name."""
    of_frame = stream.frame.place_of(ethernet.DESTINATION)
    return [
        modifier
        for modifier in stream.modifiers
        if (modifier.field.layer, modifier.field.field) == (Ethernet, ethernet.DESTINATION.field)
        and stream.frame.place_of(modifier.field) == of_frame
    ]


def _owned(stream: Stream, mac: bytes) -> tuple[bytes, int]:
    """(value, mask) of ``mac`` and of all addresses that the stream's modifiers make of it."""
    first = int.from_bytes(mac, "big")
    changed = 0
    for modifier in changes_of_destination(stream):
        changed |= _bits_changed(first, modifier.values)
    mask = FULL_MASK & ~changed
    return (first & mask).to_bytes(6, "big"), mask


def _bits_changed(first: int, values: Progression | ValueList | PseudoRandom) -> int:
    """Mask of the low bits in which ``first`` plus any of the values may differ from it."""
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


def _ipv4(port: int) -> IPv4Address:
    if port <= 255:
        return station_ipv4(port)
    # The plan of RFC 2544 C.2.2 has one octet for the port; later ports have networks of 30 bits.
    return IPv4Address(int(IPv4Address("198.19.0.0")) + (port << 2) + 2)
