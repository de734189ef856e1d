"""What targets on Linux interfaces share: the topology in a network namespace of its own, and the wall clock."""

from __future__ import annotations

import time
from fractions import Fraction

from p4mesh.target.base import LinkState, Target
from p4mesh.tester.contract import Contract
from p4mesh.tester.pacing import LoopModel
from p4mesh.topology import Topology
from p4mesh.topology.netns import NetnsNetwork


class NamespaceTarget(Target):
    """A software switch on the veth interfaces of a topology; subclasses start and stop it."""

    exact_clock = False
    scheduling_jitter_ns = 20_000_000

    def __init__(self, topology: Topology, contract: Contract, *, tick_ps: int, loop: LoopModel) -> None:
        self.topology = topology
        self.tick_ps = tick_ps
        self.loop = loop
        self._contract = contract
        self._network = NetnsNetwork(topology)

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep; the switch runs on the wall clock."""
        time.sleep(float(duration_ns) / 1e9)

    def align(self, packet_outs: int, number: int) -> None:
        """Do nothing: trials on the wall clock differ anyway."""

    def links(self) -> dict[int, LinkState]:
        """Return the carrier of the tester's interfaces."""
        return {port: LinkState(up, losses) for port, (up, losses) in self._network.carriers().items()}

    def set_links(self, up: bool) -> None:
        """Switch the devices' ends of the cables on or off."""
        self._network.set_links(up, self.name)

    def in_flight(self) -> int:
        """Return 0: neither Linux nor the switch tells; the settle time of the trial covers it."""
        return 0
