"""The kernel's interfaces, addresses and routes in one namespace, with the errors of this program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4mesh.causes import network_hint
from p4mesh.errors import TargetError
from p4mesh.network.namespaces import entered, refused

if TYPE_CHECKING:
    from pyroute2 import IPRoute

_NEWER_BRIDGE_ATTRIBUTES = (
    (45, "IFLA_BR_VLAN_STATS_PER_PORT", "uint8"),
    (46, "IFLA_BR_MULTI_BOOLOPT", "hex"),
    (47, "IFLA_BR_MCAST_QUERIER_STATE", "hex"),
    (48, "IFLA_BR_FDB_N_LEARNED", "uint32"),
    (49, "IFLA_BR_FDB_MAX_LEARNED", "uint32"),
)
_UP = 1
_LOWER_UP = 1 << 16


@contextmanager
def opened(namespace: str) -> Iterator[Netlink]:
    """Open the kernel's side of a namespace.

    The socket is made in the namespace by the calling thread: a process with threads of gRPC must not fork for it.
    """
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    _know_newer_attributes()
    with entered(namespace), IPRoute() as route:
        try:
            yield Netlink(route)
        except NetlinkError as error:
            raise refused(namespace, error.args[0], error.args[1]) from None


def _know_newer_attributes() -> None:
    """Add the attributes of bridges that Linux has and pyroute2 0.9 does not know; the order is the kernel's."""
    from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg

    data = ifinfmsg.ifinfo.bridge_data
    if len(data.nla_map) <= _NEWER_BRIDGE_ATTRIBUTES[0][0]:
        data.nla_map = (*data.nla_map, *(names for _, *names in _NEWER_BRIDGE_ATTRIBUTES))


class Netlink:
    """Interfaces by their names."""

    def __init__(self, route: IPRoute) -> None:
        self.route = route

    def index(self, interface: str) -> int:
        """The kernel's number of an interface."""
        found: list[int] = self.route.link_lookup(ifname=interface)
        if not found:
            raise TargetError(f"interface '{interface}': no such interface", hint="ip link shows those that exist")
        return found[0]

    def add(self, interface: str, kind: str, **settings: Any) -> None:
        """Make an interface."""
        self.route.link("add", ifname=interface, kind=kind, **settings)

    def set(self, interface: str, **settings: Any) -> None:
        """Change settings of an interface."""
        self.route.link("set", index=self.index(interface), **settings)

    def address(self, interface: str, address: str, prefix_bits: int) -> None:
        """Give an interface an address."""
        self.route.addr("add", index=self.index(interface), address=address, prefixlen=prefix_bits)

    def names(self) -> dict[str, str]:
        """The name of each interface by each name that it has: its own and its other ones (altname)."""
        found: dict[str, str] = {}
        for link in self.route.get_links():
            own = str(link.get("ifname"))
            others = link.get("prop_list")
            found |= dict.fromkeys([own, *(others.get_attrs("IFLA_ALT_IFNAME") if others else ())], own)
        return found

    def links(self) -> dict[str, dict[str, Any]]:
        """All interfaces: on, ready (frames pass, or it is off), up (on, with a carrier), and others."""
        found = {}
        for link in self.route.get_links():
            info = link.get("linkinfo")
            found[str(link.get("ifname"))] = {
                "on": bool(link["flags"] & _UP),
                "ready": link.get("state") != "up" or link.get("operstate") in ("UP", "UNKNOWN"),
                "up": bool(link["flags"] & _UP and link["flags"] & _LOWER_UP),
                "mtu": link.get("mtu"),
                "kind": info.get("kind") if info else None,
            }
        return found


def set_kernel_value(key: str, value: int | str) -> None:
    """Write a value of /proc/sys, of the namespace that the calling thread is in.

    As in sysctl, a dot in the name of an interface is a slash in ``key``.
    """
    path = Path("/proc/sys").joinpath(*(part.replace("/", ".") for part in key.split(".")))
    try:
        path.write_text(f"{value}\n", encoding="utf-8")
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror}", hint=network_hint(error.errno)) from None
