"""Settings of a Xena file for all of its tests: sizes, load axis, latency, headers, resets."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field

from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES
from p4mesh.xena.document import Node
from p4mesh.xena.entries import Parameters, toggled
from p4mesh.xena.ports import XenaPort, bits_per_s

IEEE_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
_LATENCY = {
    "last_to_last": "LILO",
    "first_to_first": "FIFO",
    "last_to_first": "LIFO",
    "first_to_last": "FILO",
}
_FORMATS = {"ETHERNET": "ethernet", "IP": "ipv4", "IPV4": "ipv4", "IPV6": "ipv6"}
_STAGGER_STEP_US = 64
_ADDRESS_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_MOST_SIZES = 200
_LONGEST_RANGE = 1_000_000
_SIZES_TEXT = f"{SMALLEST_FRAME_BYTES} to {LARGEST_FRAME_BYTES} bytes"
_BPS_PER_MBPS = 1_000_000


@dataclass
class Shared:
    """Parameters and sizes of all tests."""

    parameters: Parameters = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    """Empty: those of the RFC."""


def shared_of(root: Node, ports: Iterable[XenaPort]) -> Shared:
    """Options that hold for all tests."""
    options = root.node("TestOptions")
    found = Shared(sizes=_sizes(options.node("PacketSizes")))
    found.parameters |= _axis(options.node("RateDefinition"), list(ports))
    found.parameters |= _flows(options.node("FlowCreationOptions"))
    found.parameters |= _frames(root.node("StreamProfileHandler"))
    mode = options.text("LatencyMode", "Last_To_Last")
    if definition := _LATENCY.get(mode.lower()):
        found.parameters["latency_definition"] = definition
    else:
        _not_used(options, "LatencyMode", f"valid are {', '.join(_LATENCY)}")
    if options.flag("ToggleSyncState", False):
        found.parameters |= toggled(options)
    options.leave_out("the links stay on", "SyncOffDuration", "SyncOnDuration")
    found.parameters["stop_on_los"] = options.flag("ShouldStopOnLos", True)
    steps = options.number("PortStaggerSteps", 0)
    if steps:
        found.parameters["start_stagger_us"] = round(steps * _STAGGER_STEP_US)
    if not options.flag("UsePortSyncStart", True):
        _not_used(options, "UsePortSyncStart", "ports start together; start_skew_ns of a port delays it")
    options.leave_out("every trial has a tester without state of an earlier one", "PortReset", "PortResetDelay")
    return found


def _sizes(options: Node) -> tuple[int, ...]:
    """The sizes; empty where the file has none that a test can take one by one."""
    kind = options.text("PacketSizeType", "IEEEDefault").lower()
    sizes: Iterable[int] = ()
    if kind in ("ieeedefault", "ieee_default"):
        sizes = IEEE_SIZES
    elif kind.startswith("custom"):
        sizes = _custom_sizes(options)
    elif kind in ("specified", "range", "rangesizes"):
        first, last = options.number("SwPacketStartSize", 64), options.number("SwPacketEndSize", 1518)
        step = max(1, round(options.number("SwPacketStepSize", 1)))
        asked = range(round(first), round(last) + 1, step)
        sizes = [size for size in asked[:_LONGEST_RANGE] if _is_size(size)][:_MOST_SIZES]
        if len(sizes) < len(asked):
            kept = f"{sizes[0]} to {sizes[-1]}" if sizes else "none"
            _not_used(options, "SwPacketEndSize", f"{kept}: at most {_MOST_SIZES} sizes, of {_SIZES_TEXT}")
    else:
        _not_used(options, "PacketSizeType", "a test has one frame size at a time: those of the RFC are used")
    options.leave_out("another kind of sizes is chosen")
    return tuple(sizes)


def _custom_sizes(options: Node) -> list[int]:
    """The sizes of the list that a test can have; each other value is left out by itself."""
    key = "CustomPacketSizes"
    found: list[int] = []
    options.accounts.use((*options.path, key))
    listed = options.data.get(key)
    for place, value in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(value, int | float) and _is_size(value) and int(value) not in found:
            found.append(int(value))
        else:
            path = (*options.path, key, place)
            options.accounts.forget(path)
            options.accounts.leave_out(path, f"no size of its own: whole numbers, each once, of {_SIZES_TEXT}")
    return found


def _is_size(value: float) -> bool:
    return SMALLEST_FRAME_BYTES <= value <= LARGEST_FRAME_BYTES and value == int(value)


def _axis(options: Node, ports: list[XenaPort]) -> Parameters:
    """Rate of a port that is 100 % of a load."""
    found: Parameters = {}
    caps = {port.cap_bps for port in ports}
    cap = min((value for value in caps if value is not None), default=None)
    if cap is not None:
        found["port_rate_cap_mbps"] = _plain(cap / _BPS_PER_MBPS)
    kind = options.text("RateType", "Fraction").lower()
    if kind == "fraction":
        fraction = options.number("RateFraction", 100)
        if fraction != 100:
            found["rate_fraction_pct"] = _plain(fraction)
    elif kind in ("l1bps", "bpsl1", "ratebpsl1", "l1_bps"):
        rate = bits_per_s(options.number("RateBpsL1", 0), options.text("RateBpsL1Unit", "Mbps"))
        if rate > 0:
            found["port_rate_cap_mbps"] = _plain(min(rate, cap or rate) / _BPS_PER_MBPS)
    else:
        _not_used(options, "RateType", "100 % is line rate; this rate depends on the frame size")
    options.leave_out("another kind of rate is chosen")
    return found


def _flows(options: Node) -> Parameters:
    found: Parameters = {}
    streams = options.number("PerPortStreamCount", 1)
    if options.flag("EnableMultiStream", False):
        if streams in _ADDRESS_COUNTS:
            found["addresses_per_port"] = round(streams)
        else:
            _not_used(options, "PerPortStreamCount", f"valid are {', '.join(map(str, _ADDRESS_COUNTS))}")
    options.text("FlowCreationType")
    options.leave_out(
        "addresses of ports are those of RFC 4814; mac_base of the address tests has a base of its own",
        *("MacBaseAddress", "MultiStreamMacBaseAddress", "MultiStreamAddressOffset", "MultiStreamAddressIncrement"),
    )
    options.leave_out("routed tests find the gateway by ARP and neighbour discovery", "UseGatewayMacAsDmac")
    options.leave_out("every frame has a whole signature", "UseMicroTpldOnDemand")
    return found


def _frames(handler: Node) -> Parameters:
    """The headers of the profile that the ports have; the first one where they have several."""
    assigned = [handler.node("ProfileAssignmentMap").text(key) for key in handler.node("ProfileAssignmentMap").data]
    profiles = {profile.text("ItemID"): profile for profile in handler.nodes("EntityList")}
    chosen = next((name for name in assigned if name in profiles), None)
    found: Parameters = {}
    for name, profile in profiles.items():
        if name != chosen:
            profile.accounts.forget(profile.path)
            profile.leave_out("another profile" if name in assigned else "no port has this profile")
            continue
        stream = profile.node("StreamConfig")
        for segment in stream.nodes("HeaderSegments"):
            kind = segment.text("SegmentType").upper()
            if kind == "VLAN":
                found["vlan_id"] = _vlan(segment)
            elif kind in _FORMATS:
                found["frame_format"] = _FORMATS[kind]
                segment.leave_out("fields are those of RFC 2544 appendix C", "SegmentValue")
            elif kind != "UDP":
                _not_used(segment, "SegmentType", "frames are Ethernet, or UDP over IPv4 or IPv6")
            segment.leave_out("fields are those of RFC 2544 appendix C", "SegmentValue")
        if not found.get("vlan_id", 1):
            del found["vlan_id"]
        stream.node("PayloadDefinition").leave_out("payload behind the signature is the tester's own")
        stream.leave_out("rates, sizes and modifiers are those of each test")
        profile.leave_out("bookkeeping of the Xena program", "ParentID", "Label")
    return found


def _vlan(segment: Node) -> int:
    """The VLAN of a header of two tags and a type; 0 where it has none, or where it is another tag."""
    try:
        header = base64.b64decode(segment.text("SegmentValue"), validate=True)
    except (binascii.Error, ValueError):
        header = b""
    vlan = int.from_bytes(header[:2], "big") & 0xFFF if len(header) >= 4 else 0
    if not vlan:
        _not_used(segment, "SegmentValue", "a tag without a VLAN; frames are sent untagged")
    return vlan


def _not_used(node: Node, key: str, reason: str) -> None:
    node.accounts.forget((*node.path, key))
    node.leave_out(reason, key)


def _plain(number: float) -> int | float:
    return int(number) if number == int(number) else number
