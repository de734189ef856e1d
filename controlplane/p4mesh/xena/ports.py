"""The ports of a Xena file, and the topology that they make with one simulated switch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from p4mesh.quantities import number_text, typed_text
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
    group: str = ""
    """EAST or WEST of a file of RFC 2544."""
    peer: str = ""
    """Identifier of the other port of a pair."""
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks in which the port has an address and a gateway."""


def rate_of(text: str) -> int | None:
    """The rate of a port speed such as ``F100M`` or ``F10G``; None for AUTO and unknown ones."""
    found = _SPEED.match(text.upper())
    return int(float(found[1]) * _BPS[found[2]]) if found else None


def bits_per_s(node: Node, key: str, unit: str) -> float:
    """The rate at a key in bit/s, 0 where there is none; ``unit`` is the key of its unit."""
    return node.number(key, 0) * _UNITS_BPS[node.word(unit, "Mbps", _UNITS_BPS)]


def ports_of(handler: Node, *, grouped: bool) -> dict[str, XenaPort]:
    """The ports by their identifiers; in files of RFC 2544 (``grouped``) they have groups, peers and addresses."""
    found: dict[str, XenaPort] = {}
    for number, entity in enumerate(handler.nodes("EntityList"), 1):
        reference = entity.node("PortRef")
        chassis = reference.text("ChassisId")[:8]
        module, port = reference.number("ModuleIndex", 0), reference.number("PortIndex", 0)
        speed = rate_of(entity.text("PortSpeed", "AUTO"))
        if speed is None:
            entity.not_used("PortSpeed", "1 Gbit/s is taken; change rate_bps in the topology")
        capped = entity.flag("EnablePortRateCap", False)
        cap = bits_per_s(entity, "PortRateCapValue", "PortRateCapUnit")
        if capped and not cap:
            raise entity.accounts.wrong(
                (*entity.path, "PortRateCapValue"), entity.data.get("PortRateCapValue"), "a rate"
            )
        entity.text("PortRateCapProfile")
        if entity.signed("LatencyOffset", 0):
            entity.not_used("LatencyOffset", "measure the wires with p4mesh calibrate instead")
        networks = _networks(entity, "V4") + _networks(entity, "V6") if grouped else ()
        overhead = round(entity.number("InterFrameGap", _USUAL_OVERHEAD_BYTES))
        if overhead > _USUAL_OVERHEAD_BYTES:
            entity.not_used("InterFrameGap", "100 % of a load has 12 bytes between frames; lower the highest load")
        found[entity.text("ItemID", str(number))] = XenaPort(
            number,
            f"chassis {chassis or '-'}, module {number_text(module)}, port {number_text(port)}",
            speed or _USUAL_RATE_BPS,
            cap if capped else None,
            min(overhead, _USUAL_OVERHEAD_BYTES),
            entity.signed("AdjustPpm", 0),
            entity.flag("PauseModeOn", False),
            entity.text("PortGroup").upper() if grouped else "",
            entity.text("PairPeerId") if grouped else "",
            networks,
        )
        entity.leave_out("set where the ports are: they negotiate nothing here", *_LINE)
        entity.leave_out("stations answer ARP in routed tests, and no pings", "ReplyArpRequests", "ReplyPingRequests")
        entity.leave_out("roles are those of each test", "PortGroup", "PairPeerRef", "PairPeerId", "MulticastRole")
        entity.leave_out("no streams of the user's own", "MultiStreamMap")
        entity.leave_out("bookkeeping of the Xena program", "ParentID", "Label")
    return found


def leave_out_addresses(handler: Node, *, routed: bool) -> None:
    """Say which addresses stations have instead of those of the file; a router must be set up for them."""
    for entity in handler.nodes("EntityList"):
        if routed:
            entity.leave_out(
                "stations are 198.18.N.2 and 2001:2:0:N::2 on port N, their gateway host 1: give the router these",
                *("IpV4Address", "IpV4Gateway", "IpV6Address", "IpV6Gateway"),
                changes=True,
            )
        entity.leave_out("addresses are those of RFC 2544 appendix C", *_ADDRESSES)


def _networks(entity: Node, version: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """The network of a port that has an address and a gateway."""
    words = {key: entity.data.get(f"Ip{version}{key}") for key in ("Address", "Gateway")}
    if not all(words.values()):
        return ()
    for key, word in words.items():
        try:
            if not int(ip_address(str(word))):
                return ()
        except ValueError:
            raise entity.accounts.wrong(
                (*entity.path, f"Ip{version}{key}"), word, f"an IP{version.lower()} address"
            ) from None
    prefix = entity.data.get(f"Ip{version}RoutingPrefix")
    try:
        return (ip_network(f"{words['Address']}/{prefix}", strict=False),)
    except ValueError:
        raise entity.accounts.wrong(
            (*entity.path, f"Ip{version}RoutingPrefix"), prefix, "a length of a prefix"
        ) from None


def routed(ports: list[XenaPort], frame_format: str) -> bool:
    """Whether a router is between the ports: each has a gateway, in a network of its own."""
    version = {"ipv4": 4, "ipv6": 6}.get(frame_format, 0)
    found = [network for port in ports for network in port.networks if network.version == version]
    return len(set(found)) == len(found) == len(ports) > 1


def topology_text(name: str, source: str, ports: list[XenaPort], gap_delta_bytes: int, *, router: bool = False) -> str:
    """A topology: the ports, each cabled to one simulated switch or router.

    ``gap_delta_bytes`` is by how much ports may shorten their gaps (RFC 2889 5.6.1).
    """
    device = "router" if router else "switch"
    lines = [
        f"# The ports of {source}, each cabled to a simulated {device}. It stands for the device under test:",
        "# replace it by a model of yours (docs/DEVICES.md), or run on another target.",
        f"name: {name}",
        f"description: {len(ports)} ports of {source} on a simulated {device}",
        "",
        "tester:",
        "  ports:",
        "    # Gaps may be shorter than 96 bits for forward pressure; frames below 64 bytes leave as they are.",
    ]
    for port in ports:
        gap = max(0, port.overhead_bytes - _PREAMBLE_BYTES - gap_delta_bytes)
        more = ", pad_to_minimum: false"
        more += f", clock_offset_ppm: {typed_text(port.ppm)}" if port.ppm else ""
        more += ", honours_pause: true" if port.pause else ""
        lines += [
            f"    # {port.place}",
            f"    - {{numbers: {port.number}, rate_bps: {port.rate_bps}, ifg_bytes: {gap}{more}}}",
        ]
    lines += [
        "",
        "nodes:",
        "  - name: dut",
        f"    device: {'router' if router else 'ethernet_switch'}",
        "    latency_ns: 2000",
        "    ports:",
    ]
    for port in ports:
        overhead = max(0, port.overhead_bytes - _PREAMBLE_BYTES)
        lines.append(f"      - {{numbers: {port.number}, rate_bps: {port.rate_bps}, ifg_bytes: {overhead}}}")
    if router:
        lines += [
            "    # Addresses of RFC 2544 C.2.2 and RFC 5180 5.2: stations of the tester are host 2 of a network.",
            "    interfaces:",
        ]
        for port in ports:
            addresses = f'198.18.{port.number}.1/24, "2001:2:0:{port.number:x}::1/64"'
            mac = f"02:00:00:00:01:{port.number:02x}"
            lines.append(f'      - {{port: {port.number}, mac: "{mac}", addresses: [{addresses}]}}')
    lines += ["", "links:", f"  - {{from: tester:1-{len(ports)}, to: dut:1-{len(ports)}}}", ""]
    return "\n".join(lines)
