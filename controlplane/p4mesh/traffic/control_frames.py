"""Frames of control protocols that a device may have to process among the test frames (RFC 2544 11, appendix C).

Bytes from the destination address on, without FCS. Multicast and broadcast destinations are complete;
frames to the device itself go to its broadcast address unless the caller puts in another one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from p4mesh.layers import Ethernet, Frame, IPv4, IPv6, Udp
from p4mesh.layers.network import NetworkLayer
from p4mesh.traffic.addresses import BROADCAST_MAC, group_mac

IPAddress = IPv4Address | IPv6Address

SNMP_PORT = 161
RIP_PORT = 520
RIPNG_PORT = 521
_MIN_FRAME_BYTES = 60
_RIP_RESPONSE, _RIP_VERSION = 2, 1
_AF_INET = 2
_RIP_GROUP_V6 = IPv6Address("ff02::9")
_RIP_BROADCAST_V4 = IPv4Address("255.255.255.255")
# SNMPv1 GetRequest of sysUpTime.0, community public, request number 1 (RFC 1157 4.1).
_SNMP_GET_UPTIME = bytes.fromhex("302602010004067075626c6963a019020101020100020100300e300c06082b060102010103000500")


def management_query(source_mac: bytes, source: IPAddress, device: IPAddress) -> bytes:
    """SNMP query for sysUpTime from a station to the device (RFC 2544 11.2)."""
    return _frame(BROADCAST_MAC, source_mac, source, device, SNMP_PORT, _SNMP_GET_UPTIME)


def routing_update(
    source_mac: bytes, source: IPAddress, networks: Sequence[IPv4Network | IPv6Network], metric: int
) -> bytes:
    """RIP (RFC 1058) or RIPng (RFC 2080) response for ``networks``, metric 1 to 16 (unreachable)."""
    if source.version == 4:
        entries = [struct.pack("!HH4s8xI", _AF_INET, 0, net.network_address.packed, metric) for net in networks]
        target: IPAddress = _RIP_BROADCAST_V4
        port, mac = RIP_PORT, BROADCAST_MAC
    else:
        entries = [struct.pack("!16sHBB", net.network_address.packed, 0, net.prefixlen, metric) for net in networks]
        target, port, mac = _RIP_GROUP_V6, RIPNG_PORT, group_mac(_RIP_GROUP_V6)
    body = struct.pack("!BBH", _RIP_RESPONSE, _RIP_VERSION, 0) + b"".join(entries)
    return _frame(mac, source_mac, source, target, port, body, ttl=255)


def _frame(
    destination: bytes, source_mac: bytes, source: IPAddress, target: IPAddress, port: int, body: bytes, ttl: int = 64
) -> bytes:
    """Write a datagram between two hosts, from a port to the same one, with both checksums."""
    network: NetworkLayer
    if isinstance(source, IPv4Address) and isinstance(target, IPv4Address):
        network = IPv4(ttl=ttl, source=source, destination=target)
    else:
        assert isinstance(source, IPv6Address) and isinstance(target, IPv6Address)
        network = IPv6(ttl=ttl, source=source, destination=target)
    layers = Ethernet(destination, source_mac), network, Udp(port, port).summed(network, body)
    return Frame(layers).write(body).ljust(_MIN_FRAME_BYTES, b"\0")
