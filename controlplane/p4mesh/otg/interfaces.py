"""An IP address of an emulated device."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from p4mesh.otg.ports import Port
from p4mesh.otg.tags import Tag

Address = IPv4Address | IPv6Address


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
    tags: tuple[Tag, ...] = ()
    """VLAN tags of the Ethernet interface, the outermost first."""
    via: str = ""
    """Name of the address that it is reached by, for loopbacks and hosts behind a device; empty: its own."""

    @property
    def network(self) -> IPv4Network | IPv6Network:
        """The network that the address is in."""
        return ip_network((self.address, self.prefix_bits), strict=False)
