"""The ports of a Xena file, and the topology that they make with one simulated switch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from p4mesh.xena.document import Node

GUID = "guid_"
_PREAMBLE_BYTES = 8
_USUAL_OVERHEAD_BYTES = 20
_USUAL_RATE_BPS = 1_000_000_000
_UNITS_BPS = {"bps": 1, "kbps": 1_000, "mbps": 1_000_000, "gbps": 1_000_000_000}
_SPEED = re.compile(r"F?([0-9]+(?:\.[0-9]+)?)([MG])")
_BPS = {"M": 1_000_000, "G": 1_000_000_000}
_LINE = ("AutoNegEnabled", "AnltEnabled", "MdiMdixMode", "FecMode", "EnableFec", "BrrMode")
_ADDRESSES = (
    *("IpV4Address", "IpV4RoutingPrefix", "IpV4Gateway", "IpV6Address", "IpV6RoutingPrefix", "IpV6Gateway"),
    *("IpGatewayMacAddress", "PublicIpAddress", "PublicIpRoutingPrefix", "PublicIpAddressV6"),
    *("PublicIpRoutingPrefixV6", "RemoteLoopIpAddress", "RemoteLoopIpAddressV6", "RemoteLoopMacAddress"),
)


@dataclass(frozen=True)
class XenaPort:
    """One port, numbered from 1 in the order of the file."""

    number: int
    place: str
    """Chassis, module and port."""
    rate_bps: int
    cap_bps: float | None
    overhead_bytes: int
    ppm: float
    pause: bool


def rate_of(text: str) -> int | None:
    """The rate of a port speed such as ``F100M`` or ``F10G``; None for AUTO and unknown ones."""
    found = _SPEED.match(text.upper())
    return int(float(found[1]) * _BPS[found[2]]) if found else None


def bits_per_s(value: float, unit: str) -> float:
    """A rate in bit/s; an unknown unit is taken for Mbit/s."""
    return value * _UNITS_BPS.get(unit.lower().replace("it/s", "ps"), _UNITS_BPS["mbps"])


def ports_of(handler: Node) -> dict[str, XenaPort]:
    """The ports by their identifiers."""
    found: dict[str, XenaPort] = {}
    for number, entity in enumerate(handler.nodes("EntityList"), 1):
        reference = entity.node("PortRef")
        chassis = reference.text("ChassisId")[:8]
        module, port = reference.number("ModuleIndex", 0), reference.number("PortIndex", 0)
        speed = rate_of(entity.text("PortSpeed", "AUTO"))
        if speed is None:
            entity.accounts.forget((*entity.path, "PortSpeed"))
            entity.leave_out("1 Gbit/s is taken; change rate_bps in the topology", "PortSpeed")
        capped = entity.flag("EnablePortRateCap", False)
        cap = bits_per_s(entity.number("PortRateCapValue", 0), entity.text("PortRateCapUnit", "Mbps"))
        entity.text("PortRateCapProfile")
        if entity.number("LatencyOffset", 0):
            entity.accounts.forget((*entity.path, "LatencyOffset"))
            entity.leave_out("measure the wires with p4mesh calibrate instead", "LatencyOffset")
        overhead = round(entity.number("InterFrameGap", _USUAL_OVERHEAD_BYTES))
        if overhead > _USUAL_OVERHEAD_BYTES:
            entity.accounts.forget((*entity.path, "InterFrameGap"))
            entity.leave_out("100 % of a load has 12 bytes between frames; lower the highest load", "InterFrameGap")
        found[entity.text("ItemID", str(number))] = XenaPort(
            number,
            f"chassis {chassis or '-'}, module {module:g}, port {port:g}",
            speed or _USUAL_RATE_BPS,
            cap if capped and cap > 0 else None,
            min(overhead, _USUAL_OVERHEAD_BYTES),
            entity.number("AdjustPpm", 0),
            entity.flag("PauseModeOn", False),
        )
        entity.leave_out("set where the ports are: they negotiate nothing here", *_LINE)
        entity.leave_out("addresses are those of RFC 2544 appendix C", *_ADDRESSES)
        entity.leave_out("stations answer ARP in routed tests, and no pings", "ReplyArpRequests", "ReplyPingRequests")
        entity.leave_out("roles are those of each test", "PortGroup", "PairPeerRef", "PairPeerId", "MulticastRole")
        entity.leave_out("no streams of the user's own", "MultiStreamMap")
        entity.leave_out("bookkeeping of the Xena program", "ParentID", "Label")
    return found


def topology_text(name: str, source: str, ports: list[XenaPort], gap_delta_bytes: int) -> str:
    """A topology: the ports, each cabled to one simulated switch.

    ``gap_delta_bytes`` is by how much ports may shorten their gaps (RFC 2889 5.6.1).
    """
    lines = [
        f"# The ports of {source}, each cabled to a simulated switch. It stands for the device under test:",
        "# replace it by a model of yours (docs/DEVICES.md), or run on another target.",
        f"name: {name}",
        f"description: {len(ports)} ports of {source} on a simulated switch",
        "",
        "tester:",
        "  ports:",
        "    # Gaps may be shorter than 96 bits for forward pressure; frames below 64 bytes leave as they are.",
    ]
    for port in ports:
        gap = max(0, port.overhead_bytes - _PREAMBLE_BYTES - gap_delta_bytes)
        more = ", pad_to_minimum: false"
        more += f", clock_offset_ppm: {port.ppm:g}" if port.ppm else ""
        more += ", honours_pause: true" if port.pause else ""
        lines += [
            f"    # {port.place}",
            f"    - {{numbers: {port.number}, rate_bps: {port.rate_bps}, ifg_bytes: {gap}{more}}}",
        ]
    lines += ["", "nodes:", "  - name: dut", "    device: ethernet_switch", "    latency_ns: 2000", "    ports:"]
    for port in ports:
        overhead = max(0, port.overhead_bytes - _PREAMBLE_BYTES)
        lines.append(f"      - {{numbers: {port.number}, rate_bps: {port.rate_bps}, ifg_bytes: {overhead}}}")
    lines += ["", "links:", f"  - {{from: tester:1-{len(ports)}, to: dut:1-{len(ports)}}}", ""]
    return "\n".join(lines)
