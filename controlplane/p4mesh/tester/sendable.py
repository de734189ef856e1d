"""Headers that a program of the tester takes: those that its parser finds the signature behind, unchanged (p4src)."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from p4mesh.errors import ParameterError, UnsupportedError
from p4mesh.layers import (
    Bth,
    Ethernet,
    Fragment,
    Frame,
    IPv4,
    IPv6,
    OwnBytes,
    Routing,
    SegmentRouting,
    Udp,
)
from p4mesh.layers.extension import ExtensionHeader, extension_kinds
from p4mesh.layers.layer import Layer, Role, all_layers
from p4mesh.layers.network import NetworkLayer
from p4mesh.tester.seed_layout import WORD_BYTES, layout_of

_TAG = "( vlan| service_tag)"
_EXTENSION = "|".join(extension_kinds())
_CARRYING_EXTENSION = "hop_by_hop|routing|segment_routing|destination"
_GTPU = "gtpu( gtpu_options( pdu_session)*)?"
_TUNNEL = (
    rf"( ipv4| ipv6( ({_CARRYING_EXTENSION}))?| gre| udp (vxlan|vxlan_gpe|geneve|{_GTPU})| udp(?= mpls)| mpls"
    rf"| control_word(?= ethernet)| pppoe| ethernet|{_TAG})"
)
_TRANSPORT = "( (udp( bth)?|tcp|icmp|icmpv6))?"
_STACKS = re.compile(rf"ethernet{_TAG}*{_TUNNEL}*( (ipv4|ipv6( ({_EXTENSION}))*){_TRANSPORT})?( bytes)*")
"""Names of the layers, the outermost first; each must name the next one, too."""
_VALID = "a stack of docs/HEADERS.md, such as vlan/ipv4/udp or mpls/ipv6/tcp"
_STACKS_OF_TOFINO = re.compile(rf"ethernet({_TAG}( vlan)?)?(( mpls)* (ipv4|ipv6( (?!segment)({_EXTENSION}))*) udp)?")
_VALID_ON_TOFINO = (
    "Ethernet, up to two VLAN tags, of which the outer one may be a service_tag, then nothing, or UDP over IPv4 or "
    "IPv6 with extension headers, behind MPLS labels or without"
)
_MOST_EXTENSION_BYTES = 88
_MOST_WORDS = {"outer": 10, "inner": 10, "own": 31}
_WORDS = {
    "outer": "between the outermost Ethernet header with its first IP header and the innermost IP header",
    "inner": "between the inner Ethernet header and the innermost IP header",
    "own": "between the innermost header and the signature",
}
_MOST_ETHERNETS = 2
_FIRST_UNIT_BYTES, _SEGMENT_BYTES, _MOST_SEGMENTS = 8, 16, 5
_LONGEST_LIST_BYTES = _FIRST_UNIT_BYTES + _MOST_SEGMENTS * _SEGMENT_BYTES
_MOST_OPTION_BYTES = 12
_MOST_WORDS_OF_CRC = 10
"""Words of the base transport header and of the bytes behind it."""
_ENDS = ("", "udp", "ipv4 udp", "ethernet ipv4 udp", "vxlan ethernet ipv4 udp", "udp vxlan ethernet ipv4 udp")
"""Ends of stacks, one of which a stack that has begun well can have."""
_OTHER_PROTOCOLS = {0x0806: "ARP", 0x8808: "MAC control", 0x88CC: "LLDP"}
MAGIC = b"PM"
"""First bytes of a signature."""
_NAMES_PAYLOAD = ("ethernet", "vlan", "service_tag", "gre", "geneve", "udp", "tcp", "icmp", "icmpv6", "bytes")


def require_sendable(stream: str, frame: Frame) -> None:
    """Raise ParameterError for headers that no program of the tester sends as they are."""
    kinds = " ".join(layer.kind for layer in frame.layers)
    if re.search(r"\bbytes (?!bytes)", kinds):
        raise ParameterError(
            f"stream '{stream}': bytes in front of another header, which no header says the length of",
            hint="put them behind the last header, or into options of ipv4, hop_by_hop, destination or geneve",
        )
    if not _STACKS.fullmatch(kinds) or not _is_followed(frame):
        obstacle, valid = _obstacle(tuple(kinds.split()))
        raise ParameterError(
            f"stream '{stream}': the tester does not send frames of {kinds.replace(' ', ', ')}"
            f"{_misnamed(frame) or obstacle}",
            hint=f"{valid}use {_VALID}",
        )
    if frame.wrong_fields:
        raise ParameterError(
            f"stream '{stream}': {', '.join(frame.wrong_fields)} cannot be given",
            hint="leave it out: the tester writes lengths and checksums; checksum=bad is wrong in every frame",
        )
    if len(frame.bad_checksums) > 1:
        raise ParameterError(
            f"stream '{stream}': {len(frame.bad_checksums)} bad checksums in a frame",
            hint="use one: a device drops the frame for the first that it looks at",
        )
    for place, layer in enumerate(frame.layers):
        if problem := _problem(frame, place, layer):
            raise ParameterError(f"stream '{stream}': {layer.kind} {problem[0]}", hint=problem[1])
    for stack, words in layout_of(frame).words.items():
        if words > _MOST_WORDS[stack]:
            raise ParameterError(
                f"stream '{stream}': {WORD_BYTES * words} bytes of headers {_WORDS[stack]}",
                hint=f"use {WORD_BYTES * _MOST_WORDS[stack]} bytes or less there",
            )


def require_plain_headers(stream: str, frame: Frame, target: str) -> None:
    """Raise UnsupportedError for headers that a program without the stacks of words does not parse."""
    kinds = " ".join(layer.kind for layer in frame.layers)
    if frame.bad_checksums:
        raise UnsupportedError(
            f"not supported on {target}: stream '{stream}' has a bad checksum",
            hint="leave it out, or use --target sim",
        )
    options = any(isinstance(layer, IPv4) and layer.options for layer in frame.layers)
    left = any(layer.final_destination for layer in frame.layers)
    if not _STACKS_OF_TOFINO.fullmatch(kinds) or options or left or frame.layers[0] != Ethernet():
        raise UnsupportedError(
            f"not supported on {target}: stream '{stream}' has frames of {kinds.replace(' ', ', ')}"
            f"{' with options, segments left or an EtherType' if _STACKS_OF_TOFINO.fullmatch(kinds) else ''}",
            hint=f"its parser takes {_VALID_ON_TOFINO}; use those, or --target sim",
        )


@lru_cache(maxsize=256)
def _is_followed(frame: Frame) -> bool:
    """Whether a reader finds every header by what the one in front says, and none in the payload.

    Behind an encapsulation nothing is named: there is UDP.
    """
    kinds_in_order = [layer.kind for layer in frame.layers]
    if "esp" in kinds_in_order:
        return kinds_in_order[kinds_in_order.index("esp") + 1 :] == ["udp"]
    headers = tuple(layer for layer in frame.layers if not isinstance(layer, OwnBytes))
    # As in a seed, bytes count up behind the headers.
    read, _ = Frame.read(frame.write(bytes(range(64))))
    kinds = [type(layer) for layer in headers]
    if [type(layer) for layer in read.layers[: len(kinds)]] != kinds:
        return False
    extra = read.layers[len(kinds) :]
    # A port is a tunnel's only in frames with tunnels: others may have any.
    is_udp = isinstance(headers[-1], Udp) and not layout_of(frame).in_tunnel
    return (not extra or is_udp) and (frame.network is not None or frame.layers[-1].kind in _NAMES_PAYLOAD)


def _obstacle(kinds: tuple[str, ...]) -> tuple[str, str]:
    """Name the first layer of a stack that no stack has there, and what may stand there; empty where each may."""
    for place in range(1, len(kinds) + 1):
        in_front, here = kinds[:place], kinds[place : place + 1]
        if (here and _begins_a_stack((*in_front, *here))) or (not here and _is_a_stack(in_front)):
            continue
        valid = sorted(layer.kind for layer in all_layers() if _begins_a_stack((*in_front, layer.kind)))
        if not valid:
            return "", ""
        nothing = " or nothing" if _is_a_stack(in_front) else ""
        behind = " ".join(in_front[-1:])
        return (
            f": {f'{here[0]} does not stand behind {behind}' if here else f'{behind} is not the last layer'}",
            f"behind {behind} put {', '.join(valid)}{nothing}; ",
        )
    return "", ""


def _begins_a_stack(kinds: tuple[str, ...]) -> bool:
    return any(_is_a_stack((*kinds, *end.split())) for end in _ENDS)


@lru_cache(maxsize=1024)
def _is_a_stack(kinds: tuple[str, ...]) -> bool:
    """Whether layers of these kinds, with their usual values, follow each other in a stack that is sent."""
    return bool(_STACKS.fullmatch(" ".join(kinds))) and _is_followed(
        Frame(tuple(Layer.of_kind(kind)() for kind in kinds))
    )


def _misnamed(frame: Frame) -> str:
    """Say which header names another protocol than the one behind it; empty where none does."""
    for layer, following in pairwise(frame.layers):
        for name, wire in layer.wires:
            right = following.numbers.get(wire.registry) if wire.registry else None
            if right is not None and getattr(layer, name) not in (None, right):
                return f": {layer.kind} has {name}={getattr(layer, name)}, and {following.kind} follows {name}={right}"
    return ""


def _problem(frame: Frame, place: int, layer: Layer) -> tuple[str, str] | None:
    """Say why a layer cannot be sent, and what can; None where it can."""
    following = frame.layers[place + 1] if place + 1 < len(frame.layers) else None
    names_none = following is None or isinstance(following, OwnBytes)
    for name, wire in layer.wires:
        value = getattr(layer, name)
        if wire.role is Role.NEXT and value is not None and not (isinstance(layer, Udp) or names_none):
            return f"has {name}={value}", "leave it open: it names the layer that follows"
        # Parsers go by the number alone: a header that the bytes do not make would hide the signature.
        other = layer.next_kind(bytes(_MOST_OPTION_BYTES)) if wire.role is Role.NEXT and value is not None else None
        if other and not isinstance(layer, Udp):
            return f"has {name}={value}, the number of {other.kind}", f"put {other.kind} behind it, or change {name}"
        on_path = name == "destination" and layer is frame.network and bool(frame.path)
        if on_path and frame.destination_of_path is None:
            return f"has no {name}, and no list of segments has it", f"give {name}, the active segment"
        if wire.role is Role.ADDRESS and value is not None and layer is frame.network and not on_path:
            return f"has {name}={value}", "leave it open: frames have the addresses of stations"
        is_outer = isinstance(layer, NetworkLayer) and layer is not frame.network
        if wire.role is Role.ADDRESS and value is None and is_outer:
            return f"has no {name}", "give it: only the innermost IP header has the addresses of stations"
    match layer:
        case Ethernet():
            return _ethernet_problem(frame, place, layer)
        case Bth() if place - 1 in frame.bad_checksums:
            return "has a bad checksum in front", "use bth(icrc=bad): UDP in front of it has no checksum"
        case Bth() if frame.layers[place - 2] is not frame.network or getattr(frame.network, "options", None):
            return "has options or extension headers in front", "put it behind ipv4/udp or ipv6/udp: RoCEv2 has neither"
        case Bth() if layout_of(frame).words["own"] > _MOST_WORDS_OF_CRC:
            most = WORD_BYTES * _MOST_WORDS_OF_CRC - layer.header_bytes
            return "has more bytes behind it than its CRC takes in", f"use {most} bytes or less"
        case IPv4() | Fragment() if layer.is_fragment:
            return "is a fragment", "use whole packets"
        case IPv4() if layer.options and layer is not frame.network:
            return "has options in front of another IP header", "give options to the innermost one"
        case IPv4() if len(layer.options) > _MOST_OPTION_BYTES:
            return f"has {len(layer.options)} bytes of options", f"use {_MOST_OPTION_BYTES} bytes or less"
        case Udp() if place < _innermost(frame) and any(isinstance(outer, Ethernet) for outer in frame.layers[1:place]):
            # The compiler lets the parser look for the port in the checksum there.
            return "leads into a tunnel behind the inner Ethernet header", "use ipv4, ipv6, gre or mpls there"
        case IPv4() | IPv6() if layer.version != type(layer)().version:
            return f"has version={layer.version}", f"use {type(layer)().version}"
        case ExtensionHeader() if layout_of(frame).places[place].header == "first_extension" and (
            layer.header_bytes % _SEGMENT_BYTES != _FIRST_UNIT_BYTES or layer.header_bytes > _LONGEST_LIST_BYTES
        ):
            return (
                f"has {layer.header_bytes} bytes",
                f"use {_FIRST_UNIT_BYTES} bytes and up to {_MOST_SEGMENTS} times {_SEGMENT_BYTES} in a tunnel",
            )
        case Routing() | SegmentRouting() if layer.segments_left > (count := len(layer.path) // _SEGMENT_BYTES):
            return f"has segments_left={layer.segments_left} of {count} segments", f"use 0 to {count}"
        case OwnBytes() if len(layer.content) % WORD_BYTES:
            return f"has {len(layer.content)} bytes", f"use a multiple of {WORD_BYTES}"
        case OwnBytes() | Bth():
            packed = layer.pack()
            words = (packed[begin : begin + len(MAGIC)] for begin in range(0, len(packed), WORD_BYTES))
            if MAGIC in words:
                return f"has a word that begins with {MAGIC.hex()}", "change it: it looks like a signature"
        case ExtensionHeader() if place > _innermost(frame):
            length = _extension_bytes(frame)
            if length > _MOST_EXTENSION_BYTES:
                return (
                    f"is one of {length} bytes of extension headers",
                    f"use {_MOST_EXTENSION_BYTES} bytes or less in all",
                )
    return None


def _ethernet_problem(frame: Frame, place: int, layer: Ethernet) -> tuple[str, str] | None:
    if place == 0:
        ends = len(frame.all_of(Ethernet)) > 1
        if layer.source is not None or (layer.destination is not None and not ends):
            name = "source" if layer.source is not None else "destination"
            return (
                f"has {name}={getattr(layer, name).hex(':')}",
                "leave it open: frames have the addresses of stations; the outer one of two may have a destination",
            )
    if len(frame.all_of(Ethernet)) > _MOST_ETHERNETS:
        return "is there three times", f"use {_MOST_ETHERNETS} Ethernet headers at most"
    if protocol := _OTHER_PROTOCOLS.get(layer.ether_type or 0):
        return f"has ether_type={layer.ether_type:#06x}", f"use another one: ports take such frames for {protocol}"
    return None


def _extension_bytes(frame: Frame) -> int:
    """Add up the extension headers that a receiver keeps together: the station's and one in front of a tunnel's UDP."""
    innermost = _innermost(frame)
    return sum(
        layer.header_bytes
        for place, (layer, following) in enumerate(pairwise((*frame.layers, None)))
        if isinstance(layer, ExtensionHeader) and (place > innermost or isinstance(following, Udp))
    )


def _innermost(frame: Frame) -> int:
    return max(place for place, layer in enumerate(frame.layers) if isinstance(layer, NetworkLayer))
