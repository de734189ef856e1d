"""The kernel as an IPv4 and IPv6 router."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface
from typing import Any, ClassVar

from p4mesh.errors import UnsupportedError
from p4mesh.network.netlink import Netlink, opened
from p4mesh.network.nodes.base import LinuxNode
from p4mesh.topology.model import Device


class RouterNode(LinuxNode):
    """Forwards between the addresses of its interfaces, with the routes and static neighbours of the model."""

    software = "linux"
    routes_groups: ClassVar[bool] = False
    """Whether it forwards packets to groups."""

    @classmethod
    def check(cls, device: Device) -> None:
        """Refuse multicast where no program routes it."""
        super().check(device)
        if "multicast" in device.model and not cls.routes_groups:
            raise UnsupportedError(
                f"not supported by on_linux: {cls.software}: multicast of node '{device.name}'",
                hint="use on_linux: smcroute for fixed routes of groups, or --target sim",
            )

    def start(self) -> None:
        """Turn forwarding on, give the interfaces their addresses, then the routes."""
        self.start_interfaces()
        with opened(self.namespace) as kernel:
            for route in self.device.model.get("routes", []):
                self._route(kernel, route)

    def start_interfaces(self) -> None:
        """Forwarding, addresses and static neighbours."""
        values: dict[str, int | str] = {
            "net.ipv4.ip_forward": 1,
            "net.ipv4.conf.all.rp_filter": 0,
            "net.ipv4.conf.default.rp_filter": 0,
            "net.ipv4.conf.all.send_redirects": 0,
            "net.ipv6.conf.all.forwarding": 1,
            "net.ipv4.fib_multipath_hash_policy": 1,
            "net.ipv6.fib_multipath_hash_policy": 1,
        }
        for entry in self.device.model["interfaces"]:
            interface = f"p{entry['port']}"
            # An address is used at once: nobody else has it.
            values |= {f"net.ipv6.conf.{interface}.disable_ipv6": 0, f"net.ipv6.conf.{interface}.accept_dad": 0}
            values |= {f"net.ipv4.conf.{interface}.rp_filter": 0, f"net.ipv4.conf.{interface}.send_redirects": 0}
        self.kernel_values(values)
        with opened(self.namespace) as kernel:
            for entry in self.device.model["interfaces"]:
                interface = f"p{entry['port']}"
                kernel.set(interface, address=entry["mac"], state="up")
                for address in entry["addresses"]:
                    kernel.address(interface, *_parts(address))
            for neighbour in self.device.model.get("static_neighbours", []):
                index = kernel.index(self._interface_to(neighbour["address"]))
                kernel.route.neigh("add", dst=neighbour["address"], lladdr=neighbour["mac"], ifindex=index, state=128)

    def _route(self, kernel: Netlink, route: dict[str, Any]) -> None:
        hops = [{"gateway": hop} for hop in route["next_hops"]]
        if len(hops) == 1:
            kernel.route.route("add", dst=route["prefix"], gateway=route["next_hops"][0])
        else:
            kernel.route.route("add", dst=route["prefix"], multipath=hops)

    def _interface_to(self, address: str) -> str:
        """The interface whose network has the address; the topology was checked for it."""
        wanted = ip_address(address)
        for entry in self.device.model["interfaces"]:
            if any(wanted in ip_interface(own).network for own in entry["addresses"]):
                return f"p{entry['port']}"
        raise AssertionError(f"no interface for {address}")


def _parts(address: str) -> tuple[str, int]:
    parsed = ip_interface(address)
    return str(parsed.ip), parsed.network.prefixlen
