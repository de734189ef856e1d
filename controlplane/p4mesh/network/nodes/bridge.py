"""The kernel's bridge as an Ethernet switch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from p4mesh.errors import UnsupportedError
from p4mesh.network.netlink import Netlink, opened
from p4mesh.network.nodes.base import MTU_BYTES, LinuxNode
from p4mesh.topology.model import Device, DevicePort

_BRIDGE = "br0"
_SNOOPING = {"forward_by": "group", "flood_unknown": False, "max_groups": None}
"""The only values that the kernel has; other keys have any value, or are left out like all times of the processor."""
_LAST_MEMBER_COUNT = 2
"""Questions about a group that a host leaves, of the kernel."""
_ALWAYS_A_ROUTER = 2
_PER_SECOND = 100
"""Ticks of the bridge's times."""
_NS_PER_S = 1_000_000_000
_WITHOUT_TAG = 0x02 | 0x04
"""BRIDGE_VLAN_INFO_PVID and UNTAGGED: frames of the VLAN come and go without a tag."""
_PERMANENT = 0x80
_SELF = 0x02
"""NUD_PERMANENT and NTF_SELF: addresses of interfaces, which the bridge has not learned."""


class BridgeNode(LinuxNode):
    """``br0`` with all ports of the node; learning, aging, table size, snooping and VLANs are those of the model."""

    software = "bridge"

    @classmethod
    def check(cls, device: Device) -> None:
        """Refuse VLANs where the kernel's bridge has none, and snooping that it does otherwise."""
        super().check(device)
        snooping = device.model.get("snooping", {})
        if further := sorted(key for key in snooping if snooping[key] != _SNOOPING.get(key, snooping[key])):
            raise UnsupportedError(
                f"not supported on Linux bridges: the value of snooping.{further[0]} of node '{device.name}'",
                hint="leave it out: a bridge forwards by group, drops groups without members, and floods when it is "
                "full; or use --target sim",
            )
        if "vlans" in device.model and not Path("/proc/net/vlan").exists():
            raise UnsupportedError(
                f"not supported by this kernel's bridge: VLANs of node '{device.name}'",
                hint="load the kernel module 8021q, use on_linux: openvswitch, or --target sim",
            )

    def start(self) -> None:
        """Make the bridge and enslave the ports."""
        model = self.device.model
        with opened(self.namespace) as kernel:
            vlans = {"br_vlan_filtering": 1, "br_vlan_default_pvid": 0} if "vlans" in model else {}
            kernel.add(_BRIDGE, "bridge", br_mcast_snooping=int("snooping" in model), **vlans)
            self.kernel_values({f"net.ipv6.conf.{_BRIDGE}.disable_ipv6": 1})
            self._set_times(kernel, model)
            bridge = kernel.index(_BRIDGE)
            for interface in self.interfaces():
                kernel.set(interface, master=bridge)
                if not model.get("learning", True):
                    kernel.route.brport("set", index=kernel.index(interface), learning=0)
            for port, vlan in port_vlans(self.device) if vlans else ():
                kernel.route.vlan_filter("add", index=kernel.index(f"p{port}"), vlan_info=vlan)
            for port in model.get("snooping", {}).get("router_ports", []):
                kernel.route.brport("set", index=kernel.index(f"p{port}"), multicast_router=_ALWAYS_A_ROUTER)
            kernel.set(_BRIDGE, mtu=MTU_BYTES, state="up")
        table = model.get("mac_table", {})
        if "entries" in table:
            self._limit_table(table["entries"])

    def _set_times(self, kernel: Netlink, model: dict[str, Any]) -> None:
        settings: dict[str, Any] = {}
        if "aging_s" in model.get("mac_table", {}):
            settings["br_ageing_time"] = round(model["mac_table"]["aging_s"] * _PER_SECOND)
        if "snooping" in model:
            snooping = model["snooping"]
            settings["br_mcast_membership_intvl"] = round(snooping.get("membership_s", 260) * _PER_SECOND)
            questions = snooping.get("last_member_queries") or _LAST_MEMBER_COUNT
            delay_s = snooping.get("leave_delay_ns", 2 * _NS_PER_S) / _NS_PER_S
            settings["br_mcast_last_member_cnt"] = questions
            settings["br_mcast_last_member_intvl"] = round(delay_s * _PER_SECOND / questions)
        if settings:
            kernel.set(_BRIDGE, kind="bridge", **settings)

    def _limit_table(self, entries: int) -> None:
        """Bound the learned addresses; raises UnsupportedError where the kernel cannot."""
        with opened(self.namespace) as kernel:
            kernel.set(_BRIDGE, kind="bridge", br_fdb_max_learned=entries)
        if self.table_limit() != entries:
            raise UnsupportedError(
                f"this kernel's bridge has no limit of learned addresses (node '{self.device.name}')",
                hint="Linux 6.7 and later have it; leave mac_table.entries out, or use --target sim",
            )

    def table_limit(self) -> int | None:
        """How many addresses the bridge learns at most; 0 = any number, None where the kernel does not say."""
        with opened(self.namespace) as kernel:
            link = kernel.route.get_links(kernel.index(_BRIDGE))[0]
            found: int | None = link.get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA", "IFLA_BR_FDB_MAX_LEARNED")
            return found

    def learned(self) -> dict[str, int]:
        """The addresses that the bridge has learned, each with the port that it belongs to."""
        with opened(self.namespace) as kernel:
            ports = {kernel.index(name): port.number for name, port in self._named_ports()}
            entries = [entry for entry in kernel.route.fdb("dump") if entry["ifindex"] in ports]
        return {
            str(entry.get("lladdr")): ports[entry["ifindex"]]
            for entry in entries
            if not entry["state"] & _PERMANENT and not entry["flags"] & _SELF
        }

    def _named_ports(self) -> Iterator[tuple[str, DevicePort]]:
        yield from zip(self.interfaces(), self.device.ports, strict=True)


def port_vlans(device: Device) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the VLANs of each port of a switch, as the kernel takes them; ports that are not named are in VLAN 1."""
    modes = {entry["port"]: entry["mode"] for entry in device.model["vlans"]["ports"]}
    for port in device.ports:
        mode = modes.get(port.number, {"access": 1})
        trunk = mode.get("trunk", {})
        bare = mode.get("access", trunk.get("native"))
        if bare is not None:
            yield port.number, {"vid": bare, "flags": _WITHOUT_TAG}
        for vid in trunk.get("vids", ()):
            if vid != bare:
                yield port.number, {"vid": vid, "flags": 0}
