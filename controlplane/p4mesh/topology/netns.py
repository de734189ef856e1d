"""Builds a topology from Linux parts in a network namespace of its own.

An Ethernet switch becomes a Linux bridge, a link a veth pair; a P4 device has interfaces, on which the target runs a
switch. What Linux cannot model (latency, queues, line rates) is left out; the numbers of such a run belong to the
Linux bridge.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from p4mesh.errors import TargetError, UnsupportedError
from p4mesh.topology.model import TESTER, PortRef, Topology
from p4mesh.topology.namespaces import new_name, remove_abandoned, run_command

_BRIDGED = "ethernet_switch"
_MTU_BYTES = 9500
_CLONE_NEWNET = 0x40000000


class NetnsNetwork:
    """A namespace with one interface per tester port, ``t1``, ``t2``, ...; removed on exit."""

    def __init__(self, topology: Topology, switched: Collection[str] = ()) -> None:
        """Prepare to build ``topology``; the caller runs the devices of the models ``switched``."""
        self._topology = topology
        self._switched = switched
        self.namespace = new_name()

    def __enter__(self) -> NetnsNetwork:
        """Create the namespace, the bridges and the links."""
        for device in self._topology.devices:
            if device.device != _BRIDGED and device.device not in self._switched:
                models = " or ".join([_BRIDGED, *self._switched])
                raise UnsupportedError(
                    f"not supported on Linux interfaces: node '{device.name}' is a {device.device}",
                    hint=f"use nodes of device {models}, or --target sim",
                )
        for link in self._topology.links:
            if link.outages:
                raise UnsupportedError(
                    f"not supported on Linux interfaces: outages of the link from {link.ends[0]} to {link.ends[1]}",
                    hint="leave outages out, or use --target sim",
                )
        remove_abandoned()
        self._ip("netns", "add", self.namespace)
        try:
            self._build()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the namespace with everything in it."""
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False, capture_output=True)

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that runs ``arguments`` inside the namespace."""
        return ["ip", "netns", "exec", self.namespace, *arguments]

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let the calling thread be in the namespace, so that sockets made meanwhile belong to it."""
        libc = ctypes.CDLL(None, use_errno=True)
        with Path("/proc/thread-self/ns/net").open() as home, Path(f"/run/netns/{self.namespace}").open() as away:
            self._set_namespace(libc, away.fileno())
            try:
                yield
            finally:
                self._set_namespace(libc, home.fileno())

    def _set_namespace(self, libc: ctypes.CDLL, descriptor: int) -> None:
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            raise TargetError(
                f"cannot enter network namespace {self.namespace}: {os.strerror(ctypes.get_errno())}",
                hint="network namespaces need root",
            )

    def interface(self, port: int) -> str:
        """Return the name of a tester port's interface."""
        return f"t{port}"

    def interfaces_of(self, device: str) -> dict[int, str]:
        """Return the names of a device's interfaces by port; a port without a cable has none."""
        return {
            end.port: self._end_name(end, number, side)
            for number, link in enumerate(self._topology.links)
            for side, end in enumerate(link.ends)
            if end.node == device
        }

    def set_link_of(self, device: str, port: int, up: bool) -> None:
        """Switch the cable of a device's port off or on: at its far end, or at this one where that is the tester's."""
        for number, link in enumerate(self._topology.links):
            for side, end in enumerate(link.ends):
                if end == PortRef(device, port):
                    far = link.ends[1 - side]
                    wanted, at = (end, side) if far.node == TESTER else (far, 1 - side)
                    name = self._end_name(wanted, number, at)
                    self._inside("link", "set", name, "up" if up else "down")

    def carriers(self) -> dict[int, tuple[bool, int]]:
        """Return, per tester port, whether its link is up and how often it has gone down."""
        command = ["ip", "-n", self.namespace, "-json", "-statistics", "-statistics", "link", "show"]
        shown = {item["ifname"]: item for item in json.loads(run_command(*command))}
        found = {}
        for port in self._topology.tester_ports:
            item = shown[self.interface(port.number)]
            up = "LOWER_UP" in item["flags"]
            # The carrier comes and goes in turns.
            changes = item["stats64"]["tx"]["carrier_changes"]
            found[port.number] = (up, (changes + (not up)) // 2)
        return found

    def set_links(self, up: bool, target: str) -> None:
        """Switch the far ends of the tester's cables on or off; the tester's own interfaces stay as they are."""
        for number, link in enumerate(self._topology.links):
            nodes = [end.node for end in link.ends]
            if nodes.count(TESTER) == len(nodes):
                raise UnsupportedError(
                    f"toggle_link is not supported on {target} for the cable from {link.ends[0]} to {link.ends[1]}",
                    hint="both of its ends are the tester's; use another reset_between",
                )
            for side, end in enumerate(link.ends):
                if TESTER in nodes and end.node != TESTER:
                    name = self._end_name(end, number, side)
                    self._inside("link", "set", name, "up" if up else "down")

    def _build(self) -> None:
        self._inside("link", "set", "lo", "up")
        bridges = {}
        for number, device in enumerate(self._topology.devices):
            if device.device != _BRIDGED:
                continue
            bridges[device.name] = f"br{number}"
            self._inside("link", "add", bridges[device.name], "type", "bridge", "mcast_snooping", "0")
            self._quiet(bridges[device.name])
        for number, link in enumerate(self._topology.links):
            names = [self._end_name(end, number, side) for side, end in enumerate(link.ends)]
            self._inside("link", "add", names[0], "type", "veth", "peer", "name", names[1])
            for name, end in zip(names, link.ends, strict=True):
                self._quiet(name)
                if end.node in bridges:
                    self._inside("link", "set", name, "master", bridges[end.node])
                self._inside("link", "set", name, "mtu", str(_MTU_BYTES), "up")
        for bridge in bridges.values():
            self._inside("link", "set", bridge, "up")

    def _end_name(self, end: PortRef, link: int, side: int) -> str:
        return self.interface(end.port) if end.node == TESTER else f"d{link}{'ab'[side]}"

    def _quiet(self, interface: str) -> None:
        """Keep the kernel's own IPv6 frames off the interface."""
        run_command(*self.command("sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1"))

    def _inside(self, *arguments: str) -> None:
        run_command("ip", "-n", self.namespace, *arguments)

    def _ip(self, *arguments: str) -> None:
        run_command("ip", *arguments)
