"""The emulated devices of a configuration: their interfaces with addresses and gateways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from p4mesh.otg.elements import Element, refusal
from p4mesh.otg.ports import Port, port_of

Address = IPv4Address | IPv6Address
_UNSPECIFIED = bytes(6)


@dataclass(frozen=True)
class Interface:
    """One IP address of a device."""

    name: str
    ethernet: str
    """Name of the Ethernet interface that it is on."""
    port: Port
    mac: bytes
    address: Address
    prefix_bits: int
    gateway: Address
    gateway_mac: bytes | None = None
    """MAC address of the gateway; None: it is asked for."""


@dataclass(frozen=True)
class Devices:
    """All devices."""

    interfaces: tuple[Interface, ...] = ()
    names: Mapping[str, tuple[Interface, ...]] | None = None
    """Interfaces by the names that a flow may give: of addresses, Ethernet interfaces and devices."""

    def named(self, path: str, name: str) -> tuple[Interface, ...]:
        """Interfaces of a name; raises OtgError for an unknown one."""
        names = self.names or {}
        if name not in names:
            raise refusal(path, f"'{name}' is no device, and no interface of one", names)
        return names[name]


def read_devices(elements: Sequence[Element], ports: Mapping[str, Port]) -> Devices:
    """Read the list ``devices``."""
    names: dict[str, tuple[Interface, ...]] = {}
    found: list[Interface] = []
    for element in elements:
        with element.whole():
            device = element.text("name")
            of_device: list[Interface] = []
            for ethernet in element.elements("ethernets"):
                interfaces = _ethernet(ethernet, ports)
                names |= {interface.name: (interface,) for interface in interfaces}
                names[ethernet.text("name")] = tuple(interfaces)
                of_device += interfaces
            names[device] = tuple(of_device)
            found += of_device
    return Devices(tuple(found), names)


def _ethernet(element: Element, ports: Mapping[str, Port]) -> list[Interface]:
    with element.whole():
        name, mac = element.text("name"), element.text("mac")
        element.integer("mtu")
        with element.element("connection").whole() as connection:
            connection.choice("port_name", default="port_name")
            port = port_of(connection.at("port_name"), connection.text("port_name"), ports)
        if not mac:
            raise refusal(element.at("mac"), "is missing", "a MAC address")
        number = bytes.fromhex(mac.replace(":", ""))
        return [
            _interface(item, name, port, number)
            for key in ("ipv4_addresses", "ipv6_addresses")
            for item in element.elements(key)
        ]


def _interface(element: Element, ethernet: str, port: Port, mac: bytes) -> Interface:
    with element.whole():
        address, gateway = ip_address(element.text("address")), ip_address(element.text("gateway"))
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
