"""Settings of a Xena file for all of its tests: sizes, load axis, latency, headers, resets."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES
from p4mesh.xena.document import Node
from p4mesh.xena.entries import Parameters, plain, toggled
from p4mesh.xena.ports import XenaPort, bits_per_s

IEEE_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
_LATENCY = {
    "last_to_last": "LILO",
    "first_to_first": "FIFO",
    "last_to_first": "LIFO",
    "first_to_last": "FILO",
}
_FRAME_RATES = ("pps", "ratepps")
_LINE_RATES = ("l1bps", "bpsl1", "ratebpsl1", "l1_bps")
_RATE_KINDS = ("fraction", *_FRAME_RATES, *_LINE_RATES, "l2bps", "bpsl2", "ratebpsl2", "l2_bps")
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
    found.parameters |= _axis(options.node("RateDefinition"), root.node("PortHandler"), list(ports))
    found.parameters |= _flows(options.node("FlowCreationOptions"))
    found.parameters |= _frames(root.node("StreamProfileHandler"))
    found.parameters |= latency_definition(options)
    if options.flag("ToggleSyncState", False):
        found.parameters |= toggled(options)
    options.leave_out("the links stay on", "SyncOffDuration", "SyncOnDuration")
    found.parameters["stop_on_los"] = options.flag("ShouldStopOnLos", True)
    steps = options.number("PortStaggerSteps", 0)
    if steps:
        found.parameters["start_stagger_us"] = round(steps * _STAGGER_STEP_US)
    if not options.flag("UsePortSyncStart", True):
        options.not_used("UsePortSyncStart", "ports start together; start_skew_ns of a port delays it")
    options.leave_out("every trial has a tester without state of an earlier one", "PortReset", "PortResetDelay")
    return found


def latency_definition(options: Node) -> Parameters:
    """Which bits of a frame delimit its latency; nothing where the file does not say."""
    if not options.has("LatencyMode"):
        return {}
    return {"latency_definition": _LATENCY[options.word("LatencyMode", "", _LATENCY)]}


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
            options.not_used("SwPacketEndSize", f"{kept}: at most {_MOST_SIZES} sizes, of {_SIZES_TEXT}")
    else:
        options.not_used("PacketSizeType", "a test has one frame size at a time: those of the RFC are used")
    options.leave_out("another kind of sizes is chosen")
    return tuple(sizes)


def _custom_sizes(options: Node) -> list[int]:
    """The sizes of the list that a test can have; each other value is left out by itself."""
    key = "CustomPacketSizes"
    found: list[int] = []
    options.accounts.use((*options.path, key))
    listed = options.data.get(key)
    for place, value in enumerate(listed if isinstance(listed, list) else ()):
        path = (*options.path, key, place)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise options.accounts.wrong(path, value, "a number of bytes")
        if not _is_size(value):
            options.accounts.forget(path)
            options.accounts.leave_out(path, f"no size of a test: whole numbers of {_SIZES_TEXT}", changes=True)
        elif int(value) not in found:
            found.append(int(value))
    return found


def _is_size(value: float) -> bool:
    return SMALLEST_FRAME_BYTES <= value <= LARGEST_FRAME_BYTES and value == int(value)


def _axis(options: Node, handler: Node, ports: list[XenaPort]) -> Parameters:
    """Rate of a port that is 100 % of a load: a rate in bit/s on the line is a cap, another rate is ``full_load``."""
    caps = [port.cap_bps for port in ports if port.cap_bps is not None]
    cap = min(caps, default=None)
    found: Parameters = {} if cap is None else {"port_rate_cap_mbps": plain(cap / _BPS_PER_MBPS)}
    kind = options.word("RateType", "Fraction", _RATE_KINDS)
    if kind == "fraction":
        fraction = options.number("RateFraction", 100)
        if fraction != 100:
            found["rate_fraction_pct"] = plain(fraction)
    elif kind in _LINE_RATES:
        rate = bits_per_s(options, "RateBpsL1", "RateBpsL1Unit")
        found["port_rate_cap_mbps"] = plain(min(rate, cap or rate) / _BPS_PER_MBPS)
    else:
        pps = kind in _FRAME_RATES
        rate = options.number("RatePps", 0) if pps else bits_per_s(options, "RateBpsL2", "RateBpsL2Unit")
        found = {"full_load": f"{Decimal(str(plain(rate))):f} {'frames/s' if pps else 'bit/s L2'}"}
        _caps_not_used(handler, ports, f"100 % of a load is {found['full_load']}, whatever the cap")
    if cap is not None:
        reason = f"100 % of a load is the smallest cap, {plain(cap / _BPS_PER_MBPS)} Mbit/s, on every port"
        _caps_not_used(handler, ports, reason, besides=cap)
    options.leave_out("another kind of rate is chosen")
    return found


def _caps_not_used(handler: Node, ports: list[XenaPort], reason: str, besides: float | None = None) -> None:
    """Name the caps that do not hold: all of them ``besides`` one, also those of ports that have none."""
    for entity, port in zip(handler.nodes("EntityList"), ports, strict=True):
        if port.cap_bps is None and besides is not None:
            entity.not_used("EnablePortRateCap", reason)
        elif port.cap_bps is not None and port.cap_bps != besides:
            entity.not_used("PortRateCapValue", reason)


def _flows(options: Node) -> Parameters:
    found: Parameters = {}
    streams = options.number("PerPortStreamCount", 1)
    if options.flag("EnableMultiStream", False):
        if streams in _ADDRESS_COUNTS:
            found["addresses_per_port"] = round(streams)
        else:
            options.not_used("PerPortStreamCount", f"valid are {', '.join(map(str, _ADDRESS_COUNTS))}")
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
    if chosen is None:
        handler.leave_out("no port has this profile")
        return {}
    found: Parameters = {}
    for name, profile in profiles.items():
        if name != chosen:
            profile.accounts.forget(profile.path)
            if name not in assigned:
                profile.leave_out("no port has this profile")
            elif _headers(profile) != _headers(profiles[chosen]):
                for segment in profile.node("StreamConfig").nodes("HeaderSegments"):
                    segment.not_used("SegmentType", "frames of all ports have the headers of the first profile")
            profile.leave_out("another profile with the same headers")
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
                segment.not_used("SegmentType", "frames are Ethernet, or UDP over IPv4 or IPv6")
            segment.leave_out("fields are those of RFC 2544 appendix C", "SegmentValue")
        if not found.get("vlan_id", 1):
            del found["vlan_id"]
        stream.node("PayloadDefinition").leave_out("payload behind the signature is the tester's own")
        stream.leave_out("fields of frames do not change", "HwModifiers", "FieldValueRanges", changes=_modified(stream))
        stream.leave_out("rates, sizes and modifiers are those of each test")
        profile.leave_out("bookkeeping of the Xena program", "ParentID", "Label")
    return found


def _headers(profile: Node) -> list[str]:
    return [str(segment.data.get("SegmentType")) for segment in profile.node("StreamConfig").nodes("HeaderSegments")]


def _modified(stream: Node) -> bool:
    return bool(stream.data.get("HwModifiers") or stream.data.get("FieldValueRanges"))


def _vlan(segment: Node) -> int:
    """The VLAN of a header of two tags and a type; 0 where it has none, or where it is another tag."""
    try:
        header = base64.b64decode(segment.text("SegmentValue"), validate=True)
    except (binascii.Error, ValueError):
        header = b""
    vlan = int.from_bytes(header[:2], "big") & 0xFFF if len(header) >= 4 else 0
    if not vlan:
        segment.not_used("SegmentValue", "a tag without a VLAN; frames are sent untagged")
    return vlan
