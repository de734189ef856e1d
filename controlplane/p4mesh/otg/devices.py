"""The emulated devices of a configuration: their interfaces with addresses and gateways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from p4mesh.otg.bgp import MOST_PEERS, BgpPeer, read_bgp
from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.interfaces import Interface
from p4mesh.otg.ports import Port, port_of, read_mtu
from p4mesh.otg.tags import Tag

MOST_ADDRESSES = 2048
"""Most addresses of all devices together: they take a second or two at the start."""
_UNSPECIFIED = bytes(6)


@dataclass(frozen=True)
class Devices:
    """All devices."""

    interfaces: tuple[Interface, ...] = ()
    loopbacks: tuple[Interface, ...] = ()
    names: Mapping[str, tuple[Interface, ...]] = field(default_factory=dict)
    """Interfaces by the names that a flow may give: of addresses, Ethernet interfaces, devices and ranges of routes."""
    peers: Mapping[str, BgpPeer] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """On what has no effect."""

    def named(self, path: str, name: str) -> tuple[Interface, ...]:
        """Interfaces of a name; raises OtgError for an unknown one."""
        if name not in self.names:
            raise refusal(path, f"'{name}' is no device, and no interface of one", self.names)
        return self.names[name]


def read_devices(elements: Sequence[Element], ports: Mapping[str, Port]) -> Devices:
    """Read the list ``devices``."""
    names: dict[str, tuple[Interface, ...]] = {}
    found: list[Interface] = []
    loopbacks: list[Interface] = []
    peers: dict[str, BgpPeer] = {}
    warnings: list[str] = []
    for element in elements:
        with element.whole():
            device = element.text("name")
            of_device: list[Interface] = []
            for ethernet in element.elements("ethernets"):
                warnings += read_mtu(ethernet)
                interfaces = _ethernet(ethernet, ports)
                names |= {interface.name: (interface,) for interface in interfaces}
                names[ethernet.text("name")] = tuple(interfaces)
                of_device += interfaces
            behind = [
                _loopback(item, of_device) for version in (4, 6) for item in element.elements(f"ipv{version}_loopbacks")
            ]
            names |= {interface.name: (interface,) for interface in behind}
            names[device] = tuple(of_device)
            found += of_device
            loopbacks += behind
            speaks = element.element("bgp")
            if "bgp" in element:
                for peer in read_bgp(speaks, names):
                    if len(peers) == MOST_PEERS:
                        raise refusal(speaks.path, f"has peer {MOST_PEERS + 1}", f"up to {MOST_PEERS} peers")
                    peers[peer.name] = peer
                    warnings += peer.warnings
                    names |= {routes.name: (routes.host,) for routes in peer.routes}
    return Devices(tuple(found), tuple(loopbacks), names, peers, tuple(warnings))


def _ethernet(element: Element, ports: Mapping[str, Port]) -> list[Interface]:
    with element.whole():
        name, mac = element.text("name"), element.text("mac")
        with element.element("connection").whole() as connection:
            connection.choice("port_name", default="port_name")
            port = port_of(connection.at("port_name"), connection.text("port_name"), ports)
        if not mac:
            raise refusal(element.at("mac"), "is missing", "a MAC address")
        number = bytes.fromhex(mac.replace(":", ""))
        tags = tuple(map(_tag, element.elements("vlans")))
        return [
            replace(_interface(item, name, port, number), tags=tags)
            for key in ("ipv4_addresses", "ipv6_addresses")
            for item in element.elements(key)
        ]


def _tag(element: Element) -> Tag:
    with element.whole():
        element.text("name")
        kind = int(element.text("tpid", "x8100").removeprefix("x"), 16)
        return Tag(kind, element.integer("id", 1), element.integer("priority"))


def _loopback(element: Element, interfaces: Sequence[Interface]) -> Interface:
    """Read an address behind the first one of its version on an Ethernet interface: frames go by way of that."""
    with element.whole():
        name, ethernet, address = element.text("name"), element.text("eth_name"), element.address("address")
        via = next((it for it in interfaces if it.ethernet == ethernet and it.address.version == address.version), None)
        if via is None:
            valid = {it.ethernet for it in interfaces if it.address.version == address.version}
            raise refusal(element.at("eth_name"), f"'{ethernet}' has no address of IPv{address.version}", sorted(valid))
        return replace(via, name=name, address=address, prefix_bits=address.max_prefixlen, via=via.name)


def _interface(element: Element, ethernet: str, port: Port, mac: bytes) -> Interface:
    with element.whole():
        address, gateway = element.address("address"), element.address("gateway")
        with element.element("gateway_mac").whole() as given:
            fixed = given.choice("auto", "value", default="auto") == "value"
            gateway_mac = bytes.fromhex(given.text("value").replace(":", "")) if fixed else _UNSPECIFIED
        prefix_bits = element.integer("prefix", 24 if address.version == 4 else 64)
        return Interface(
            element.text("name"),
            ethernet,
            port,
            mac,
            address,
            prefix_bits,
            gateway,
            gateway_mac if gateway_mac != _UNSPECIFIED else None,
        )
