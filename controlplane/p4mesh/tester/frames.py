"""Bytes of seeds and of learning frames. Built once per stream, never per frame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.packet import Packet
from scapy.utils import checksum

from p4mesh.errors import ParameterError
from p4mesh.traffic.stream import TUNNEL_BYTES, FrameTemplate

ETHERTYPE_TEST = 0xFFFF
ETHERTYPE_VLAN = 0x8100
SIGNATURE_BYTES = 18
FCS_BYTES = 4
_LEARNING_FRAME_BYTES = 60
_UDP = 17
_GRE = 47
_ETHERTYPES = {4: 0x0800, 6: 0x86DD}
_UDP_BYTES = 8
_ENCAPSULATION = "esp"
_NEXT_HEADER = {
    "hop_by_hop": 0,
    "destination": 60,
    "routing": 43,
    "fragment": 44,
    "ah": 51,
    _ENCAPSULATION: 50,
    "mobility": 135,
}
_SECURITY_ASSOCIATION = (0x100).to_bytes(4, "big") + (1).to_bytes(4, "big")
"""The first index that is not reserved (RFC 4303 2.1), and the first sequence number, which stays."""
_EXTENSIONS = {
    # Padding only (RFC 8200 4.3): no option that a router must act on.
    "hop_by_hop": bytes(IPv6ExtHdrHopByHop()),
    "destination": bytes(IPv6ExtHdrDestOpt()),
    "routing": bytes(IPv6ExtHdrRouting(addresses=["::1"], segleft=0)),
    "fragment": bytes(IPv6ExtHdrFragment(id=1)),
    # RFC 4302 2.2: length in units of 4 bytes less 2, integrity check value of 12 zeros.
    "ah": bytes([59, 4, 0, 0]) + _SECURITY_ASSOCIATION + bytes(12),
    # RFC 4303 with null encryption: UDP follows unencrypted, without the trailer that would name it.
    _ENCAPSULATION: _SECURITY_ASSOCIATION,
    # Binding refresh request (RFC 6275 6.1.2): no payload, length 0, checksum 0.
    "mobility": bytes([59, 0, 0, 0, 0, 0, 0, 0]),
}
"""One header of each kind, 8 to 24 bytes (RFC 5180 5.3)."""


def headers_of(template: FrameTemplate, frame_size_bytes: int) -> bytes:
    """Return the headers of a test frame with zero addresses, lengths filled in."""
    layers: Packet = Ether(dst="00:00:00:00:00:00", src="00:00:00:00:00:00")
    for vlan_id in template.vlan_ids:
        layers /= Dot1Q(vlan=vlan_id, prio=template.vlan_priority)
    if template.ip_version is None:
        layers.lastlayer().type = ETHERTYPE_TEST
        return bytes(layers)
    udp = UDP(sport=template.udp_source, dport=template.udp_destination, chksum=0)
    if template.tunnel:
        outer_bytes = frame_size_bytes - len(layers) - FCS_BYTES
        source, destination = template.tunnel.source, template.tunnel.destination
        layers /= IP(src=source, dst=destination, ttl=template.ttl, id=0, flags="DF", len=outer_bytes, proto=_GRE)
        layers /= GRE(proto=_ETHERTYPES[template.ip_version])
    l3_bytes = frame_size_bytes - len(layers) - FCS_BYTES
    extensions = b""
    if template.ip_version == 4:
        layers /= IP(
            src="0.0.0.0", dst="0.0.0.0", ttl=template.ttl, tos=template.dscp << 2, id=0, len=l3_bytes, proto=_UDP
        )
        udp.len = l3_bytes - len(IP())
    else:
        extensions = _extension_headers(template.ipv6_extensions)
        first = _NEXT_HEADER[template.ipv6_extensions[0]] if extensions else _UDP
        payload_bytes = l3_bytes - len(IPv6())
        layers /= IPv6(src="::", dst="::", hlim=template.ttl, tc=template.dscp << 2, nh=first, plen=payload_bytes)
        udp.len = payload_bytes - len(extensions)
    if udp.len < len(UDP()):
        raise _too_short(template, frame_size_bytes)
    return bytes(layers) + extensions + bytes(udp)


def _extension_headers(names: tuple[str, ...]) -> bytes:
    """Return the chain of extension headers in front of UDP."""
    chain = b""
    following = [_NEXT_HEADER[name] for name in names[1:]] + [_UDP]
    for name, number in zip(names, following, strict=False):
        header = _EXTENSIONS[name]
        chain += header if name == _ENCAPSULATION else bytes([number]) + header[1:]
    return chain


def extension_sizes(names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the bytes of IPv6 extension headers."""
    return tuple(len(_EXTENSIONS[name]) for name in names)


@lru_cache(maxsize=64)
def seed_payload(template: FrameTemplate, frame_size_bytes: int) -> bytes:
    """Return the bytes of a seed behind its loop header, which has the size of the signature.

    The loop header and these bytes are ``frame_size_bytes`` - 4 long: a seed is as long as the
    frames made from it. The payload is incrementing (methodology 0.2).
    """
    headers = headers_of(template, frame_size_bytes)
    rest = frame_size_bytes - FCS_BYTES - SIGNATURE_BYTES - len(headers)
    if rest < 0:
        raise _too_short(template, frame_size_bytes)
    payload = _payload(rest)
    if template.ip_version == 6:
        headers = headers[:-2] + _udp_checksum(headers[-_UDP_BYTES:], payload)
    return headers + payload


def payload_sums(template: FrameTemplate, frame_sizes_bytes: Sequence[int]) -> list[int]:
    """Return the ones' complement sum of the payload behind the signature of a frame of each size.

    Only the UDP checksum of IPv6 covers it; it is 0 in other frames.
    """
    if template.ip_version != 6:
        return [0] * len(frame_sizes_bytes)
    others = FCS_BYTES + SIGNATURE_BYTES + len(headers_of(template, max(frame_sizes_bytes)))
    payload = _payload(max(frame_sizes_bytes) - others)
    return [~checksum(payload[: size - others]) & 0xFFFF for size in frame_sizes_bytes]


def _payload(length_bytes: int) -> bytes:
    return bytes(index & 0xFF for index in range(length_bytes))


def _udp_checksum(udp: bytes, payload: bytes) -> bytes:
    """Return the UDP checksum over IPv6 (RFC 8200 8.1) between addresses of zeros.

    The signature in front of the payload adds nothing to it: its own checksum makes its sum zero. Tofino does not see a
    whole frame: it changes this checksum by its changes to the headers.
    """
    pseudo_header = udp[4:6] + _UDP.to_bytes(2, "big")
    return (checksum(pseudo_header + udp + payload) or 0xFFFF).to_bytes(2, "big")


def learning_frame(source_mac: bytes, vlan_ids: tuple[int, ...] = ()) -> bytes:
    """Return a broadcast frame from which a bridge learns ``source_mac`` in a VLAN (methodology 0.3 b)."""
    tags = b"".join(ETHERTYPE_VLAN.to_bytes(2, "big") + vlan_id.to_bytes(2, "big") for vlan_id in vlan_ids)
    frame = b"\xff" * 6 + source_mac + tags + ETHERTYPE_TEST.to_bytes(2, "big")
    return frame.ljust(_LEARNING_FRAME_BYTES + len(tags), b"\0")


def minimum_frame_bytes(template: FrameTemplate) -> int:
    """Return the shortest frame of this template that still carries a signature."""
    return len(headers_of(template, 1518)) + SIGNATURE_BYTES + FCS_BYTES


def _too_short(template: FrameTemplate, frame_size_bytes: int) -> ParameterError:
    minimum = minimum_frame_bytes(template)
    kind = "plain Ethernet" if template.ip_version is None else f"IPv{template.ip_version}/UDP"
    tags = f" with {len(template.vlan_ids)} VLAN tags" if template.vlan_ids else ""
    tags += " in a GRE tunnel" if template.tunnel else ""
    without = f" ({minimum - TUNNEL_BYTES} without the tunnel)" if template.tunnel else ""
    return ParameterError(
        f"frame size {frame_size_bytes}: {kind}{tags} and the 18-byte signature need {minimum} bytes",
        hint=f"use {minimum} bytes or more{without}, or a shorter frame format",
    )
