"""Messages of hosts and multicast routers: IGMPv2 (RFC 2236), IGMPv3 (RFC 3376), MLDv1 (RFC 2710), MLDv2 (RFC 3810).

Scapy builds and reads them. Frames go from the destination address on, without FCS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, lru_cache
from ipaddress import IPv4Address, IPv6Address

from scapy.config import conf
from scapy.layers.igmp import IGMP, IGMP_MQ, IGMPv2_LG, IGMPv2_MR, IGMPv3_MQ, IGMPv3_MR, IGMPv3_MR_Group
from scapy.layers.inet import IP, IPOption_Router_Alert
from scapy.layers.inet6 import (
    ICMPv6MLDMultAddrRec,
    ICMPv6MLDone,
    ICMPv6MLQuery,
    ICMPv6MLQuery2,
    ICMPv6MLReport,
    ICMPv6MLReport2,
    IPv6,
    IPv6ExtHdrHopByHop,
    RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

from p4mesh.tester.responders.base import PuntRule
from p4mesh.traffic.addresses import group_mac
from p4mesh.traffic.memberships import Version

# Scapy reads lists of 100 elements unless told otherwise; a frame of 1500 bytes has room for 367 sources.
conf.max_list_count = max(conf.max_list_count, 400)

Group = IPv4Address | IPv6Address

_MIN_FRAME_BYTES = 60
_MTU_BYTES = 1500
MAX_MESSAGE_BYTES = 14 + _MTU_BYTES
"""Of the longest frame with a message, without FCS."""
_ALL_SYSTEMS, _ALL_NODES = IPv4Address("224.0.0.1"), IPv6Address("ff02::1")
_ALL_ROUTERS_V4, _ALL_ROUTERS_V6 = IPv4Address("224.0.0.2"), IPv6Address("ff02::2")
_REPORTS_V4, _REPORTS_V6 = IPv4Address("224.0.0.22"), IPv6Address("ff02::16")
_IPV4_HEADER_BYTES, _IPV6_HEADER_BYTES = 24, 48
"""With Router Alert."""
_REPORT_HEADER_BYTES = 8
_ICMPV6 = 58
_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000
_LARGEST_CODE = 127
_IGMP_UNIT_NS = 100 * _NS_PER_MS


def ether_type(version: Version) -> int:
    """Return the EtherType of the protocol's frames."""
    return 0x0800 if version.ip_version == 4 else 0x86DD


def punted(version: Version) -> PuntRule:
    """Return all frames to groups of the IP version: queries and reports go to several."""
    macs = (0x01005E000000, 0xFFFFFF800000) if version.ip_version == 4 else (0x333300000000, 0xFFFF00000000)
    return PuntRule.of(ether_type=ether_type(version), destination_mac=macs)


class RecordKind(IntEnum):
    """Type of a record of IGMPv3 and MLDv2 (RFC 3376 4.2.12, RFC 3810 5.2.12)."""

    IS_INCLUDE = 1
    IS_EXCLUDE = 2
    TO_INCLUDE = 3
    TO_EXCLUDE = 4
    ALLOW_NEW = 5
    BLOCK_OLD = 6


@dataclass(frozen=True)
class Record:
    """A group record."""

    kind: RecordKind
    group: Group
    sources: tuple[Group, ...] = ()


@dataclass(frozen=True, eq=False)
class RecordReport:
    """Records of one IGMPv3 or MLDv2 report. Hosts that tell the same share it, so that it is built once."""

    records: tuple[Record, ...]

    def frame(self, host: Host) -> bytes:
        """Return the report of a host."""
        if isinstance(self.records[0].group, IPv4Address):
            return _igmp_frame(host, _REPORTS_V4, self._message)
        return _mld_frame(host, _REPORTS_V6, self._message)

    @cached_property
    def _message(self) -> bytes:
        if isinstance(self.records[0].group, IPv4Address):
            return _igmpv3_message(self.records)
        return _mldv2_message(self.records)


@dataclass(frozen=True)
class Host:
    """Sender of a message."""

    mac: bytes
    ipv4: IPv4Address

    @property
    def link_local(self) -> IPv6Address:
        """The address that MLD is sent from (RFC 2710 3), of the MAC address (RFC 4291 appendix A)."""
        identifier = bytes([self.mac[0] ^ 2]) + self.mac[1:3] + b"\xff\xfe" + self.mac[3:]
        return IPv6Address(b"\xfe\x80" + bytes(6) + identifier)


@dataclass(frozen=True)
class Query:
    """A router asks who receives: all groups, one group, or some sources of one."""

    version: Version
    group: Group | None
    sources: tuple[Group, ...]
    max_response_ns: int
    sender: Group | None = field(default=None, compare=False)


@dataclass(frozen=True)
class OtherReport:
    """Another host has told that it receives a group (IGMPv2, MLDv1)."""

    group: Group


@dataclass(frozen=True)
class Departure:
    """A host has told that it receives less of a group: nothing of it, or not from some sources."""

    group: Group
    sources: tuple[Group, ...] = ()


def report(host: Host, group: Group) -> bytes:
    """Return an IGMPv2 or MLDv1 report of one group, which goes to the group itself."""
    if isinstance(group, IPv4Address):
        return _igmp_frame(host, group, bytes(IGMPv2_MR(gaddr=str(group), mrcode=0)))
    return _mld_frame(host, group, bytes(ICMPv6MLReport(mladdr=str(group), cksum=0)))


def leave(host: Host, group: Group) -> bytes:
    """Return an IGMPv2 leave or an MLDv1 done of one group."""
    if isinstance(group, IPv4Address):
        return _igmp_frame(host, _ALL_ROUTERS_V4, bytes(IGMPv2_LG(gaddr=str(group), mrcode=0)))
    return _mld_frame(host, _ALL_ROUTERS_V6, bytes(ICMPv6MLDone(mladdr=str(group), cksum=0)))


def reports(host: Host, records: Sequence[Record]) -> Iterator[bytes]:
    """Yield IGMPv3 or MLDv2 reports of some records."""
    for part in packed(records):
        yield part.frame(host)


def query_frame(host: Host, query: Query, robustness: int, interval_ns: int) -> bytes:
    """Return a query: a general one goes to all hosts, one of a group to the group.

    Times are as exact as a code below 128 tells them, 12.7 s at most with IGMP and 32.767 s with MLD; the interval,
    which hosts only pass on, is limited to the largest value of a code.
    """
    interval_s = min(interval_ns // _NS_PER_S, _LARGEST_CODE)
    sources = [str(source) for source in query.sources]
    if query.version.ip_version == 4:
        group = query.group or IPv4Address(0)
        code = query.max_response_ns // _IGMP_UNIT_NS
        body: Packet = IGMP_MQ(mrcode=code, gaddr=str(group))
        if query.version.has_records:
            body = IGMPv3_MQ(mrcode=code, gaddr=str(group), qrv=robustness, qqic=interval_s, srcaddrs=sources)
        return _igmp_frame(host, IPv4Address(query.group or _ALL_SYSTEMS), bytes(body))
    address, delay_ms = str(query.group or "::"), query.max_response_ns // _NS_PER_MS
    if query.version.has_records:
        message: Packet = ICMPv6MLQuery2(
            mladdr=address,
            mrd=delay_ms,
            QRV=robustness,
            QQIC=interval_s,
            sources=sources,
            sources_number=len(sources),
            cksum=0,
        )
    else:
        message = ICMPv6MLQuery(mladdr=address, mrd=delay_ms, cksum=0)
    return _mld_frame(host, IPv6Address(query.group or _ALL_NODES), bytes(message))


def departures(frame: bytes) -> tuple[Departure, ...]:
    """Return the groups that hosts no longer receive by their report, leave or done; nothing for any other frame."""
    packet = Ether(frame)
    if IGMPv2_LG in packet:
        return (Departure(IPv4Address(packet[IGMPv2_LG].gaddr)),)
    if ICMPv6MLDone in packet:
        return (Departure(IPv6Address(packet[ICMPv6MLDone].mladdr)),)
    found: list[Departure] = []
    if IGMPv3_MR in packet:
        for record in packet[IGMPv3_MR].records:
            sources = tuple(IPv4Address(source) for source in record.srcaddrs)
            found += _departure(record.rtype, IPv4Address(record.maddr), sources)
    elif ICMPv6MLReport2 in packet:
        # Scapy reads a record as the payload of the one before.
        record = next(iter(packet[ICMPv6MLReport2].records), None)
        while isinstance(record, ICMPv6MLDMultAddrRec):
            senders = tuple(IPv6Address(source) for source in record.sources)
            found += _departure(record.rtype, IPv6Address(record.dst), senders)
            record = record.payload
    return tuple(found)


def _departure(kind: int, group: Group, sources: tuple[Group, ...]) -> tuple[Departure, ...]:
    if kind == RecordKind.TO_INCLUDE:
        return (Departure(group),)
    return (Departure(group, sources),) if kind == RecordKind.BLOCK_OLD else ()


def read(frame: bytes) -> Query | OtherReport | None:
    """Return the message of a frame to hosts; None for any other frame."""
    packet = Ether(frame)
    if IP in packet:
        return _read_igmp(packet[IP])
    return _read_mld(packet[IPv6]) if IPv6 in packet else None


def _read_igmp(packet: Packet) -> Query | OtherReport | None:
    message = packet.getlayer(IGMP)
    if message is None:
        return None
    if isinstance(message, IGMPv2_MR):
        return OtherReport(IPv4Address(message.gaddr))
    if message.type != 0x11:
        return None
    group = None if message.gaddr == "0.0.0.0" else IPv4Address(message.gaddr)
    code = bytes(message)[1]
    if not isinstance(message, IGMPv3_MQ):
        # A query of IGMPv1 has no code; hosts take it as 10 s (RFC 2236 4).
        return Query(Version.IGMPV2, group, (), (code or 100) * _IGMP_UNIT_NS, IPv4Address(packet.src))
    sources = tuple(IPv4Address(source) for source in message.srcaddrs or ())
    return Query(Version.IGMPV3, group, sources, _floating(code, 8) * _IGMP_UNIT_NS, IPv4Address(packet.src))


def _read_mld(packet: Packet) -> Query | OtherReport | None:
    if ICMPv6MLReport in packet:
        return OtherReport(IPv6Address(packet[ICMPv6MLReport].mladdr))
    for kind, version in ((ICMPv6MLQuery2, Version.MLDV2), (ICMPv6MLQuery, Version.MLDV1)):
        if kind in packet:
            message = packet[kind]
            group = IPv6Address(message.mladdr)
            later = version is Version.MLDV2
            sources = tuple(IPv6Address(source) for source in message.sources) if later else ()
            delay_ms = _floating(message.mrd, 16) if later else message.mrd
            asked = group if int(group) else None
            return Query(version, asked, sources, delay_ms * _NS_PER_MS, IPv6Address(packet.src))
    return None


def _floating(code: int, bits: int) -> int:
    """Return the value of a code whose upper half is a small floating-point number (RFC 3376 4.1.1, RFC 3810 5.1.3)."""
    if not code >> bits - 1:
        return code
    mantissa_bits = bits - 4
    mantissa, exponent = code & (1 << mantissa_bits) - 1, code >> mantissa_bits & 7
    return (mantissa | 1 << mantissa_bits) << exponent + 3


def packed(records: Sequence[Record]) -> tuple[RecordReport, ...]:
    """Return the records by report: as many as fit into 1500 bytes."""
    found: list[RecordReport] = []
    part: list[Record] = []
    left_bytes = 0
    for record in records:
        address_bytes = record.group.max_prefixlen // 8
        size_bytes = 4 + address_bytes * (1 + len(record.sources))
        if not part or size_bytes > left_bytes:
            if part:
                found.append(RecordReport(tuple(part)))
            part = []
            header_bytes = _IPV4_HEADER_BYTES if address_bytes == 4 else _IPV6_HEADER_BYTES
            left_bytes = _MTU_BYTES - header_bytes - _REPORT_HEADER_BYTES
        part.append(record)
        left_bytes -= size_bytes
    return (*found, RecordReport(tuple(part))) if part else ()


def _igmpv3_message(records: Sequence[Record]) -> bytes:
    return bytes(
        IGMPv3_MR(
            records=[
                IGMPv3_MR_Group(
                    rtype=int(record.kind), maddr=str(record.group), srcaddrs=[str(source) for source in record.sources]
                )
                for record in records
            ]
        )
    )


def _mldv2_message(records: Sequence[Record]) -> bytes:
    """Return a report without its checksum."""
    return bytes(
        ICMPv6MLReport2(
            cksum=0,
            records=[
                ICMPv6MLDMultAddrRec(
                    rtype=int(record.kind), dst=str(record.group), sources=[str(source) for source in record.sources]
                )
                for record in records
            ],
        )
    )


def _igmp_frame(host: Host, to: IPv4Address, message: bytes) -> bytes:
    return (_igmp_head(host, to, len(message)) + message).ljust(_MIN_FRAME_BYTES, b"\0")


@lru_cache(maxsize=1024)
def _igmp_head(host: Host, to: IPv4Address, message_bytes: int) -> bytes:
    """Return what is in front of messages of one length."""
    # As Linux has it: never fragmented, and without an identification (RFC 6864 4.1).
    header = IP(
        src=str(host.ipv4), dst=str(to), ttl=1, tos=0xC0, proto=2, id=0, flags="DF", options=[IPOption_Router_Alert()]
    )
    return _head(host, to, header, message_bytes)


def _mld_frame(host: Host, to: IPv6Address, message: bytes) -> bytes:
    """Return a frame with a message whose checksum is missing."""
    lengths = len(message).to_bytes(4, "big") + _ICMPV6.to_bytes(4, "big")
    total: int = checksum(host.link_local.packed + to.packed + lengths + message)
    message = message[:2] + total.to_bytes(2, "big") + message[4:]
    return (_mld_head(host, to, len(message)) + message).ljust(_MIN_FRAME_BYTES, b"\0")


@lru_cache(maxsize=1024)
def _mld_head(host: Host, to: IPv6Address, message_bytes: int) -> bytes:
    """Return what is in front of messages of one length."""
    header = IPv6(src=str(host.link_local), dst=str(to), hlim=1)
    return _head(host, to, header / IPv6ExtHdrHopByHop(nh=_ICMPV6, options=[RouterAlert()]), message_bytes)


def _head(host: Host, to: Group, header: Packet, message_bytes: int) -> bytes:
    packet = Ether(dst=group_mac(to).hex(":"), src=host.mac.hex(":")) / header
    whole = bytes(packet / Raw(bytes(message_bytes)))
    return whole[: len(whole) - message_bytes]
