"""Builds a topology from Linux parts: a namespace for the tester, one for each node, veth pairs between them.

What Linux cannot model (latency, queues, line rates) is left out; the numbers of such a run belong to the Linux parts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from p4mesh.errors import P4MeshError, TargetError, UnsupportedError
from p4mesh.network import namespaces
from p4mesh.network.borrowed import borrow, own_names
from p4mesh.network.carriers import carriers
from p4mesh.network.keeper import Keeper
from p4mesh.network.netlink import opened
from p4mesh.network.nodes.base import MTU_BYTES, LinuxNode, find_program, prepare_interface
from p4mesh.network.nodes.table import node_class
from p4mesh.network.outside import outside_nodes
from p4mesh.network.removal import remove_abandoned, remove_network_namespace
from p4mesh.quantities import number_text
from p4mesh.topology.model import TESTER, Link, PortRef, Topology

_READY_S = 10.0
_POLL_S = 0.05


class NetnsNetwork:
    """A network with one interface per tester port, ``t1``, ``t2``, ... in the tester's namespace; removed on exit.

    Ports that are interfaces of this machine keep their names; what is cabled to them is outside of the network.
    """

    def __init__(self, topology: Topology, name: str = "") -> None:
        self._topology = topology
        self.namespace = name or namespaces.new_name()
        self._named = {port.number: port.interface for port in topology.tester_ports if port.interface}
        self._keeper: Keeper | None = None
        self._outside = outside_nodes(topology)
        self._links = tuple(link for link in topology.links if not self._is_outside(link))
        self.nodes = tuple(
            node_class(device)(
                device, f"{self.namespace}-{device.name}", namespaces.STATE / self.namespace / device.name
            )
            for device in topology.devices
            if device.name not in self._outside
        )

    @staticmethod
    def check(topology: Topology) -> None:
        """Raise what building the network would raise because of the topology or of programs that are missing."""
        outside = outside_nodes(topology)
        for device in topology.devices:
            if device.name not in outside:
                node_class(device).check(device)
        for link in topology.links:
            if link.outages:
                raise UnsupportedError(
                    f"not supported on Linux interfaces: outages of the link from {link.ends[0]} to {link.ends[1]}",
                    hint="leave outages out, or use --target sim",
                )

    def __enter__(self) -> NetnsNetwork:
        """Build the network."""
        self.check(self._topology)
        remove_abandoned()
        try:
            self.build()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the network with everything in it; raise TargetError where an interface cannot be given back."""
        for node in self.nodes:
            node.stop()
        lost: tuple[str, ...] = ()
        for name in self.names():
            try:
                lost += remove_network_namespace(name)
            except P4MeshError:
                if kind is None:
                    raise
        shutil.rmtree(namespaces.STATE / self.namespace, ignore_errors=True)
        if self._keeper is not None:
            # An interrupt has the last word of this process; that of the keeper comes after it.
            self._keeper.end(lost if kind is not None else ())
        if lost and kind is None:
            raise TargetError(f"not given back: {'; '.join(lost)}", hint="ip link shows where interfaces are")

    def stay(self) -> None:
        """Let the network be there after the end of this process."""
        if self._keeper is not None:
            self._keeper.dismiss()

    def names(self) -> tuple[str, ...]:
        """The namespaces of the network, the tester's first."""
        return (self.namespace, *(node.namespace for node in self.nodes))

    def node(self, name: str) -> LinuxNode:
        """The Linux part of a node."""
        return next(node for node in self.nodes if node.device.name == name)

    def command(self, *arguments: str) -> list[str]:
        """The command line that runs ``arguments`` in the tester's namespace."""
        return [find_program("ip") or "ip", "netns", "exec", self.namespace, *arguments]

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let the calling thread be in the tester's namespace, so that sockets made meanwhile belong to it."""
        with namespaces.entered(self.namespace):
            yield

    def interface(self, port: int) -> str:
        """The name of a tester port's interface."""
        return self._named.get(port, f"t{port}")

    @property
    def outside(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes that are outside of this machine, each with the interfaces that it is cabled to."""
        return {
            name: tuple(
                self._named[far.port]
                for link in self._topology.links
                for near, far in (link.ends, link.ends[::-1])
                if near.node == name and far.node == TESTER
            )
            for name in sorted(self._outside)
        }

    def _is_outside(self, link: Link) -> bool:
        return any(end.node in self._outside or (end.node == TESTER and end.port in self._named) for end in link.ends)

    @contextmanager
    def spare_cable(self) -> Iterator[tuple[str, str]]:
        """Two interfaces in the tester's namespace, with a virtual cable like those of the network, for a while."""
        near, far = "spare1", "spare2"
        with opened(self.namespace) as kernel:
            kernel.add(near, "veth", peer={"ifname": far})
        try:
            for end in (near, far):
                prepare_interface(self.namespace, end)
            yield near, far
        finally:
            with opened(self.namespace) as kernel:
                kernel.route.link("del", index=kernel.index(near))

    def set_link_of(self, node: str, port: int, up: bool) -> None:
        """Switch the cable of a port off or on: at its far end, or at this one where the far end is the tester's or
        outside of this machine.
        """
        wanted = self.far_end(node, port) or PortRef(node, port)
        with opened(self._namespace_of(wanted)) as kernel:
            kernel.set(self._end_name(wanted), state="up" if up else "down")

    def far_end(self, node: str, port: int) -> PortRef | None:
        """The far end of the cable of a port; None where that is the tester's or outside of this machine."""
        own = PortRef(node, port)
        far_ends = (far for link in self._links for end, far in (link.ends, link.ends[::-1]) if end == own)
        return next((far for far in far_ends if far.node != TESTER), None)

    def carriers(self) -> dict[int, tuple[bool, int]]:
        """Whether the link of each tester port is up, and how often it has gone down; by port number."""
        shown = carriers(self.namespace)
        found = {}
        for port in self._topology.tester_ports:
            link = shown[self.interface(port.number)]
            # The carrier comes and goes in turns.
            found[port.number] = (link.up, (link.changes + (not link.up)) // 2)
        return found

    def set_links(self, up: bool, target: str) -> None:
        """Switch the far ends of the tester's cables on or off; the tester's own interfaces stay as they are."""
        for link in self._topology.links:
            if self._is_outside(link):
                raise UnsupportedError(
                    f"toggle_link is not supported on {target} for the cable from {link.ends[0]} to {link.ends[1]}",
                    hint="it leaves this machine; use another reset_between",
                )
        for link in self._links:
            nodes = [end.node for end in link.ends]
            if nodes.count(TESTER) == len(nodes):
                raise UnsupportedError(
                    f"toggle_link is not supported on {target} for the cable from {link.ends[0]} to {link.ends[1]}",
                    hint="both of its ends are the tester's; use another reset_between",
                )
            for end in link.ends:
                if TESTER in nodes and end.node != TESTER:
                    with opened(self._namespace_of(end)) as kernel:
                        kernel.set(self._end_name(end), state="up" if up else "down")
        if up:
            self._wait_until_ready()

    def build(self) -> None:
        """Make the namespaces, the cables and the nodes; the caller removes them."""
        for name in self.names():
            namespaces.create(name)
            with opened(name) as kernel:
                kernel.set("lo", state="up")
        self._named = own_names(self._named)
        if self._named:
            self._keeper = Keeper(self.namespace)
        borrow(tuple(self._named.values()), self.namespace)
        for link in self._links:
            near, far = link.ends
            with opened(self._namespace_of(near)) as kernel:
                peer = {"ifname": self._end_name(far), "net_ns_fd": self._namespace_of(far)}
                kernel.add(self._end_name(near), "veth", peer=peer)
        for link in self._links:
            for end in link.ends:
                self._prepare(end)
        self._add_ports_without_a_cable()
        for node in self.nodes:
            node.directory.mkdir(parents=True, exist_ok=True)
            node.start()
        self._wait_until_ready()

    def _add_ports_without_a_cable(self) -> None:
        """Make interfaces that lose what is sent there; nodes expect one for each of their ports.

        Each is one half of a veth pair: not every kernel has the kind "dummy".
        """
        cabled = {end for link in self._links for end in link.ends}
        for node in self.nodes:
            for end in {PortRef(node.device.name, port.number) for port in node.device.ports} - cabled:
                with opened(node.namespace) as kernel:
                    kernel.add(self._end_name(end), "veth", peer={"ifname": f"{self._end_name(end)}-end"})
                    kernel.set(f"{self._end_name(end)}-end", state="up")
                self._prepare(end)

    def _prepare(self, end: PortRef) -> None:
        mtu_bytes = MTU_BYTES if end.node == TESTER else self.node(end.node).mtu_bytes
        prepare_interface(self._namespace_of(end), self._end_name(end), mtu_bytes)

    def _wait_until_ready(self) -> None:
        """Wait for the kernel, which lets frames pass up to a second after a link has come up."""
        end = time.monotonic() + _READY_S
        for name in self.names():
            while True:
                with opened(name) as kernel:
                    waiting = [interface for interface, link in kernel.links().items() if not link["ready"]]
                if not waiting:
                    break
                if time.monotonic() > end:
                    raise TargetError(
                        f"interface {waiting[0]} in {name} is not up after {number_text(_READY_S)} s",
                        hint=f"look at it with: ip -n {name} link",
                    )
                time.sleep(_POLL_S)

    def _namespace_of(self, end: PortRef) -> str:
        return self.namespace if end.node == TESTER else self.node(end.node).namespace

    def _end_name(self, end: PortRef) -> str:
        return self.interface(end.port) if end.node == TESTER else f"p{end.port}"
