"""The headers that the API and the tester both have, and how each field of the API is spelled there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from p4mesh.layers import Ethernet, Gre, Gtpu, Icmp, Icmpv6, IPv4, IPv6, Layer, Mpls, OwnBytes, Tcp, Udp, Vlan, Vxlan
from p4mesh.otg.elements import Element
from p4mesh.otg.patterns import Patterns, read_tag

_ECHO, _ECHO_V6 = 8, 128
_HAS_VNI = 8
_WORD_BYTES = 4
_TCP_FLAGS = ("ecn_ns", "ecn_cwr", "ecn_echo", "ctl_urg", "ctl_ack", "ctl_psh", "ctl_rst", "ctl_syn", "ctl_fin")


@dataclass(frozen=True)
class Header:
    """How the API spells a layer: its fields by their names there."""

    layer: type[Layer]
    fields: Mapping[str, str] = field(default_factory=dict)
    """Fields of the layer that a pattern gives."""
    follows: Mapping[str, str] = field(default_factory=dict)
    """Fields that follow from the rest of the frame: a value must be that one."""
    written: Sequence[str] = ()
    """Lengths and checksums, which the tester writes."""
    fixed: Mapping[str, int] = field(default_factory=dict)
    """Fields with one valid value."""
    left_out: Mapping[str, int | None] = field(default_factory=dict)
    """Values of fields of the layer that are left out, where they are not 0; None: the tester's."""
    nested: str = ""
    """Object in which the fields are."""
    parts: Callable[[Element, Patterns], Mapping[str, Any]] = lambda *_: {}
    """Reads what is spelled in another way."""
    without_effect: Mapping[str, str] = field(default_factory=dict)
    """Properties that are no fields of the frame, and the reason why they change nothing."""


def _ipv4_parts(element: Element, patterns: Patterns) -> dict[str, int]:
    found = {"flags": patterns.bits(element, ("reserved", "dont_fragment", "more_fragments"))}
    with element.element("priority").whole() as priority:
        kind = priority.choice("raw", "tos", "dscp", default="dscp")
        if kind == "raw":
            octet = patterns.constant(priority, "raw", 8)
        elif kind == "dscp":
            with priority.element("dscp").whole() as dscp:
                octet = patterns.constant(dscp, "phb", 6) << 2 | patterns.constant(dscp, "ecn", 2)
        else:
            with priority.element("tos").whole() as tos:
                delays = patterns.bits(tos, ("delay", "throughput", "reliability", "monetary", "unused"))
                octet = patterns.constant(tos, "precedence", 3) << 5 | delays
    return found | {"dscp": octet >> 2, "ecn": octet & 3}


def _ipv6_parts(element: Element, patterns: Patterns) -> dict[str, int]:
    octet = patterns.constant(element, "traffic_class", 8)
    return {"dscp": octet >> 2, "ecn": octet & 3}


def _tcp_parts(element: Element, patterns: Patterns) -> dict[str, int]:
    return {"flags": patterns.bits(element, _TCP_FLAGS)}


def _custom_parts(element: Element, patterns: Patterns) -> dict[str, bytes]:
    content = element.octets("bytes")
    for tag in element.elements("metric_tags"):
        patterns.tags.append(read_tag(tag, int.from_bytes(content, "big"), 8 * len(content)))
    # The tester keeps such bytes in whole words; those that fill one up are payload.
    return {"content": content + bytes(-len(content) % _WORD_BYTES)}


_ECHO_FIELDS = {"type": "type", "code": "code", "identifier": "identifier", "sequence_number": "sequence"}
HEADERS = {
    "ethernet": Header(
        Ethernet,
        {"dst": "destination", "src": "source"},
        {"ether_type": "ether_type"},
        without_effect={"pfc_queue": "ports have one queue for all frames of a stream"},
        left_out={"destination": None},
    ),
    "vlan": Header(Vlan, {"priority": "priority", "cfi": "drop_eligible", "id": "vid"}, fixed={"tpid": 0x8100}),
    "ipv4": Header(
        IPv4,
        {
            "src": "source",
            "dst": "destination",
            "identification": "identification",
            "fragment_offset": "fragment_offset",
            "time_to_live": "ttl",
        },
        {"protocol": "protocol"},
        ("header_length", "total_length", "header_checksum"),
        {"version": 4},
        {"ttl": 64},
        parts=_ipv4_parts,
    ),
    "ipv6": Header(
        IPv6,
        {"src": "source", "dst": "destination", "flow_label": "flow_label", "hop_limit": "ttl"},
        {"next_header": "next_header"},
        ("payload_length",),
        {"version": 6},
        {"ttl": 64},
        parts=_ipv6_parts,
    ),
    "udp": Header(Udp, {"src_port": "source", "dst_port": "destination"}, written=("length", "checksum")),
    "tcp": Header(
        Tcp,
        {
            "src_port": "source",
            "dst_port": "destination",
            "seq_num": "sequence",
            "ack_num": "acknowledgment",
            "window": "window",
        },
        {"data_offset": "header_words"},
        ("checksum",),
        parts=_tcp_parts,
    ),
    "icmp": Header(Icmp, _ECHO_FIELDS, written=("checksum",), left_out={"type": _ECHO}, nested="echo"),
    "icmpv6": Header(Icmpv6, _ECHO_FIELDS, written=("checksum",), left_out={"type": _ECHO_V6}, nested="echo"),
    "vxlan": Header(
        Vxlan,
        {"flags": "flags", "reserved0": "reserved", "vni": "vni", "reserved1": "reserved_byte"},
        left_out={"flags": _HAS_VNI},
    ),
    "mpls": Header(
        Mpls,
        {"label": "label", "traffic_class": "traffic_class", "time_to_live": "ttl"},
        {"bottom_of_stack": "bottom"},
        left_out={"label": 16, "ttl": 64},
    ),
    "gre": Header(Gre, follows={"protocol": "protocol"}, fixed={"checksum_present": 0, "reserved0": 0, "version": 0}),
    "gtpv1": Header(
        Gtpu,
        {"teid": "teid", "message_type": "message_type"},
        {"e_flag": "extension_present", "s_flag": "sequence_present", "pn_flag": "number_present"},
        fixed={"version": 1, "protocol_type": 1, "reserved": 0},
    ),
    "custom": Header(OwnBytes, parts=_custom_parts),
}
"""A new layer is a line here."""
