"""The interfaces of a node as commands and files configure them: addresses, tags and gateways, also in texts of FRR."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface

from p4mesh.containerlab.links import Address


@dataclass
class Configured:
    """Effect of commands and files of a node."""

    addresses: dict[str, list[Address]] = field(default_factory=dict)
    """Addresses of each interface."""
    tags: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The interface below each VLAN interface, and the identifier."""
    gateways: list[IPv4Address | IPv6Address] = field(default_factory=list)
    """Next hops of routes."""

    def at(self, interface: str) -> tuple[list[Address], int]:
        """Addresses at an interface with the VLAN in which they are; 0: untagged."""
        tagged = ((name, tag) for name, (below, tag) in self.tags.items() if below == interface)
        for name, tag in ((interface, 0), *tagged):
            if name in self.addresses:
                return self.addresses[name], tag
        return [], 0

    def read_frr(self, text: str) -> None:
        """Take what a configuration of FRR (zebra, vtysh) says; whatever it has beside that is not looked at."""
        interface = ""
        for line in text.splitlines():
            match line.split():
                case ["interface", name, *_]:
                    interface = name
                case ["ip" | "ipv6", "address", address, *_] if interface and "/" in address:
                    try:
                        self.addresses.setdefault(interface, []).append(ip_interface(address))
                    except ValueError:
                        continue
                case ["ip" | "ipv6", "route", _, via, *_]:
                    try:
                        self.gateways.append(ip_address(via))
                    except ValueError:
                        continue
                case ["exit" | "router" | "vrf", *_]:
                    interface = ""
