"""Test addresses of RFC 4814 (MAC), RFC 2544 appendix C.2.2 (IPv4) and RFC 5180 5.2 (IPv6).

Pseudo-random bytes come from SplitMix64 of (seed, port, host): a pure function, so every trial and
every target sees the same addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from p4mesh.traffic.random_numbers import splitmix64

BROADCAST_MAC = b"\xff" * 6
_IPV4_BASE = int(IPv4Address("198.18.0.0"))
_IPV6_BASE = int(IPv6Address("2001:2::"))
_MAX_PORT = 0xFFFF
_ADVERTISED_SUBNETS = {64: 0x8000, 126: 0xC000, 128: 0xE000}
"""First of the networks with hosts behind the ports, in the destination half of 2001:2::/48, by prefix length."""
ADVERTISED_PREFIX_BITS = (48, *_ADVERTISED_SUBNETS)
MAX_ADVERTISED_PORT = 0x1FFF
_NETWORKS_IPV4 = int(IPv4Address("10.0.0.0"))
MAX_NETWORKS_PORT = 256
MAX_NETWORKS_PER_PORT = 256
NETWORK_BITS = {4: 24, 6: 64}
"""Prefix length of the networks of which there are many behind a port, by IP version."""


@dataclass(frozen=True)
class OwnAddresses:
    """Addresses of the station of a port, where they are others than those of the RFCs."""

    port: int
    ipv4: IPv4Address
    ipv6: IPv6Address
    mac: bytes = field(default=b"", metadata={"stored": "if set"})
    """Empty: that of RFC 4814."""


def station_mac(port: int, host: int = 0, seed: int = 0) -> bytes:
    """MAC address ``(RR & 0xFC):PP:PP:RR:RR:RR`` of RFC 4814 section 4.2, PP:PP the 1-based port number."""
    _check_port(port)
    random = splitmix64((seed << 40) ^ (port << 20) ^ host)
    # 0xFC: the address is neither a group's nor locally administered.
    return bytes([random >> 56 & 0xFC]) + port.to_bytes(2, "big") + (random & 0xFFFFFF).to_bytes(3, "big")


def group_mac(group: IPv4Address | IPv6Address) -> bytes:
    """MAC address of a multicast group (RFC 1112 6.4, RFC 2464 7); raises ValueError for another address."""
    if not group.is_multicast:
        raise ValueError(f"{group} is not a multicast group")
    if isinstance(group, IPv4Address):
        return b"\x01\x00\x5e" + (int(group) & 0x7FFFFF).to_bytes(3, "big")
    return b"\x33\x33" + (int(group) & 0xFFFFFFFF).to_bytes(4, "big")


def random_offsets(count: int, seed: int = 0) -> tuple[int, ...]:
    """Different numbers below 2^24, ``count`` of them, to be added to an address; the same for equal seeds."""
    offsets: dict[int, None] = {}
    step = 0
    while len(offsets) < count:
        offsets.setdefault(splitmix64((seed << 40) ^ step) & 0xFFFFFF)
        step += 1
    return tuple(offsets)


def station_ipv4(port: int, host: int = 2, *, output_half: bool = False) -> IPv4Address:
    """Host on the subnet of ``port`` (RFC 2544 C.2.2): 198.18.0.0/16 for inputs, 198.19.0.0/16 for outputs.

    The device is host 1, the first tester host 2; one /24 per port, ports 1..255.
    """
    if not 1 <= port <= 255 or not 1 <= host <= 254:
        raise ValueError(f"port {port} (1..255) or host {host} (1..254) has no RFC 2544 address")
    return IPv4Address(_IPV4_BASE + (int(output_half) << 16) + (port << 8) + host)


def station_ipv6(port: int, host: int = 2, *, output_half: bool = False) -> IPv6Address:
    """Host on the /64 of ``port`` inside 2001:2::/48 (RFC 5180 5.2); the upper half serves outputs."""
    _check_port(port)
    subnet = port + (0x8000 if output_half else 0)
    return IPv6Address(_IPV6_BASE + (subnet << 64) + host)


def ipv6_host_behind(port: int, prefix_bits: int) -> IPv6Address:
    """Host one hop behind the station of ``port``, in a network that a device has a route to (RFC 5180 5.2).

    No route of another length leads to it: networks of 64, 126 and 128 bits are apart in the destination half of
    2001:2::/48, and those of 48 bits are 2001:2:N::/48, N the port, as the range of the RFC is only one of them.
    """
    if prefix_bits not in ADVERTISED_PREFIX_BITS or not 1 <= port <= MAX_ADVERTISED_PORT:
        raise ValueError(
            f"no host behind port {port} (1..{MAX_ADVERTISED_PORT}) in a network of {prefix_bits} bits "
            f"{ADVERTISED_PREFIX_BITS}"
        )
    subnet = _ADVERTISED_SUBNETS[prefix_bits] + port if prefix_bits in _ADVERTISED_SUBNETS else port << 16 | 0x8000
    return IPv6Address(_IPV6_BASE + (subnet << 64) + 2)


def host_in_network(port: int, version: int, number: int) -> IPv4Address | IPv6Address:
    """Host in network ``number`` (0..255) of many behind the station of ``port`` (1..256).

    The networks are 10.P.N.0/24 and 2001:2:P:N::/64, P the port less 1 in IPv4, the port in IPv6, where they lie in the
    network of 48 bits of the port.
    """
    if not 1 <= port <= MAX_NETWORKS_PORT or not 0 <= number < MAX_NETWORKS_PER_PORT:
        raise ValueError(f"no network {number} (0..{MAX_NETWORKS_PER_PORT - 1}) behind port {port}")
    if version == 4:
        return IPv4Address(_NETWORKS_IPV4 + ((port - 1) << 16) + (number << 8) + 2)
    return IPv6Address(_IPV6_BASE + ((port << 16 | number) << 64) + 2)


def _check_port(port: int) -> None:
    if not 1 <= port <= _MAX_PORT:
        raise ValueError(f"port number {port} is not in 1..{_MAX_PORT}")
