"""Shared part of targets on Linux interfaces: the topology in a network namespace of its own, and the wall clock."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import ClassVar

from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.own_namespaces import require_rights
from p4mesh.target.base import LinkState, Target
from p4mesh.target.capabilities import Architecture, Capabilities, Stamps
from p4mesh.target.loop import LoopModel
from p4mesh.topology import TESTER, Topology
from p4mesh.traffic.stamps import StampKind

_SCHEDULING_JITTER_NS = 20_000_000


class NamespaceTarget(Target):
    """A software switch on the veth interfaces of a topology; subclasses start and stop it."""

    tick_ps: ClassVar[int]
    loop: ClassVar[LoopModel]
    start_lead_ns: ClassVar[int]

    def __init__(self, topology: Topology, address: str, network: NetnsNetwork) -> None:
        super().__init__(topology, address)
        self._network = network

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """The capabilities of software on Linux interfaces: it takes stamps around whole frames, on the wall
        clock.
        """
        return Capabilities(
            target=cls.name,
            setting="devices on Linux interfaces of this machine, real time",
            architecture=Architecture.V1MODEL,
            real_time=True,
            stamps=Stamps(cls.tick_ps, StampKind.SOFTWARE),
            loop=cls.loop,
            start_lead_ns=cls.start_lead_ns,
            scheduling_jitter_ns=_SCHEDULING_JITTER_NS,
            software_devices=True,
        )

    @classmethod
    def check(cls, topology: Topology) -> None:
        """Raise what the network would: parts that Linux lacks, rights that this process lacks."""
        super().check(topology)
        NetnsNetwork.check(topology)
        require_rights([port.interface for port in topology.tester_ports if port.interface])

    @property
    def network(self) -> NetnsNetwork:
        """The network of Linux parts."""
        return self._network

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep; the switch runs on the wall clock."""
        time.sleep(float(duration_ns) / 1e9)

    def links(self) -> dict[int, LinkState]:
        """The carrier of the tester's interfaces."""
        return {port: LinkState(up, losses) for port, (up, losses) in self._network.carriers().items()}

    def set_links(self, up: bool) -> None:
        """Switch the devices' ends of the cables on or off."""
        self._network.set_links(up, self.name)

    def set_link(self, port: int, up: bool) -> None:
        """Switch the cable of a tester port off or on."""
        self._network.set_link_of(TESTER, port, up)

    def in_flight(self) -> int:
        """0: neither Linux nor the switch tells; the settle time of the trial covers it."""
        return 0
