"""The target ``bmv2``: simple_switch_grpc on veth interfaces, started and stopped by the controller."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from p4mesh.errors import UnsupportedError
from p4mesh.network.netns import NetnsNetwork
from p4mesh.target.base import ProgramPorts, require_one_switch
from p4mesh.target.capabilities import Capabilities
from p4mesh.target.loop import LoopModel
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.target.simple_switch import SimpleSwitch, simple_switch
from p4mesh.topology import TESTER, Topology

if TYPE_CHECKING:
    from p4mesh.target.p4_devices import P4Devices

_DEVICE_ID = 1


class Bmv2Target(NamespaceTarget):
    """simple_switch_grpc with the interfaces of the topology, in a network namespace of its own.

    The network runs the devices under test; events of P4 devices happen on the switches that stand for them.
    """

    name = "bmv2"
    tick_ps = 1_000_000
    loop = LoopModel(rate_bps=10_000_000_000, latency_ps=50_000_000, passes_per_s=20_000)
    """Loop passes that simple_switch certainly manages on one core."""
    start_lead_ns = 50_000_000

    def __init__(self, topology: Topology, network: NetnsNetwork, switch: SimpleSwitch, devices: P4Devices) -> None:
        super().__init__(topology, switch.address, network)
        self._switch = switch
        self._devices = devices

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """Capabilities of software on Linux interfaces; tables and links of P4 devices change when asked to."""
        require_one_switch(cls.name, topology)
        return replace(super().declare(topology), causes_failures=True, sums_payload=True)

    @classmethod
    @contextmanager
    def open(cls, topology: Topology, ports: ProgramPorts) -> Iterator[Bmv2Target]:
        """Build the network and start the switches."""
        # It loads gRPC, which takes longer than anything that is said before a target is opened.
        from p4mesh.target.p4_devices import P4Devices

        with (
            tempfile.TemporaryDirectory(prefix="p4mesh-bmv2-") as name,
            NetnsNetwork(topology) as network,
        ):
            directory = Path(name)
            interfaces = {port.number: network.interface(port.number) for port in topology.tester_ports}
            with (
                simple_switch(network.command, interfaces, _DEVICE_ID, directory, ports.cpu) as switch,
                P4Devices(topology, network) as devices,
            ):
                yield cls(topology, network, switch, devices)

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep, unless a switch has ended or an event of a device has been refused."""
        self._switch.require_running()
        self._devices.require_running()
        super().wait(duration_ns, packet_outs)

    def set_link(self, port: int, up: bool) -> None:
        """Switch the far end of a cable off or on: simple_switch sends nothing more on an interface that was down."""
        if self.network.far_end(TESTER, port) is None:
            raise UnsupportedError(
                f"switching the link of port {port} is not supported on {self.name}: no device is at its cable",
                hint="use --target sim or live, or a topology with a device",
            )
        super().set_link(port, up)

    def cause_failures(self, count: int) -> int:
        """Let failures of the P4 devices begin now."""
        return self._devices.cause_failures(count)
