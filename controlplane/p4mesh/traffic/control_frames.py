"""Frames of control protocols that a device may have to process among the test frames (RFC 2544 11, appendix C).

Bytes from the destination address on, without FCS. Multicast and broadcast destinations are complete;
frames to the device itself go to its broadcast address unless the caller puts in another one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from p4mesh.traffic.addresses import BROADCAST_MAC, group_mac

IPAddress = IPv4Address | IPv6Address

SNMP_PORT = 161
RIP_PORT = 520
RIPNG_PORT = 521
_MIN_FRAME_BYTES = 60
_UDP = 17
_ETHERTYPE = {4: 0x0800, 6: 0x86DD}
_RIP_RESPONSE, _RIP_VERSION = 2, 1
_AF_INET = 2
_RIP_GROUP_V6 = IPv6Address("ff02::9")
_RIP_BROADCAST_V4 = IPv4Address("255.255.255.255")
# SNMPv1 GetRequest of sysUpTime.0, community public, request number 1 (RFC 1157 4.1).
_SNMP_GET_UPTIME = bytes.fromhex("302602010004067075626c6963a019020101020100020100300e300c06082b060102010103000500")


def management_query(source_mac: bytes, source: IPAddress, device: IPAddress) -> bytes:
    """Return an SNMP query for sysUpTime from a station to the device (RFC 2544 11.2)."""
    return _frame(BROADCAST_MAC, source_mac, _udp(source, device, SNMP_PORT, SNMP_PORT, _SNMP_GET_UPTIME))


def routing_update(
    source_mac: bytes, source: IPAddress, networks: Sequence[IPv4Network | IPv6Network], metric: int
) -> bytes:
    """Return a RIP (RFC 1058) or RIPng (RFC 2080) response for ``networks``, metric 1 to 16 (unreachable)."""
    if source.version == 4:
        entries = [struct.pack("!HH4s8xI", _AF_INET, 0, net.network_address.packed, metric) for net in networks]
        target: IPAddress = _RIP_BROADCAST_V4
        port, mac = RIP_PORT, BROADCAST_MAC
    else:
        entries = [struct.pack("!16sHBB", net.network_address.packed, 0, net.prefixlen, metric) for net in networks]
        target, port, mac = _RIP_GROUP_V6, RIPNG_PORT, group_mac(_RIP_GROUP_V6)
    body = struct.pack("!BBH", _RIP_RESPONSE, _RIP_VERSION, 0) + b"".join(entries)
    return _frame(mac, source_mac, _udp(source, target, port, port, body, hop_limit=255))


def _frame(destination: bytes, source: bytes, packet: bytes) -> bytes:
    header = destination + source + _ETHERTYPE[packet[0] >> 4].to_bytes(2, "big")
    return (header + packet).ljust(_MIN_FRAME_BYTES, b"\0")


def _udp(source: IPAddress, target: IPAddress, sport: int, dport: int, body: bytes, hop_limit: int = 64) -> bytes:
    """Return the IP packet of a UDP datagram, both checksums filled in."""
    length = 8 + len(body)
    pseudo = source.packed + target.packed + struct.pack("!II", length, _UDP)
    head = struct.pack("!HHH", sport, dport, length)
    datagram = head + struct.pack("!H", _checksum(pseudo + head + b"\0\0" + body) or 0xFFFF) + body
    if source.version == 6:
        return struct.pack("!IHBB", 6 << 28, length, _UDP, hop_limit) + source.packed + target.packed + datagram
    first = struct.pack("!BBHHHBB", 0x45, 0, 20 + length, 0, 0, hop_limit, _UDP)
    addresses = source.packed + target.packed
    return first + struct.pack("!H", _checksum(first + addresses)) + addresses + datagram


def _checksum(data: bytes) -> int:
    """Return the ones' complement checksum of RFC 1071."""
    total: int = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
