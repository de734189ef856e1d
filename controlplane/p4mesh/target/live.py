"""The target ``live``: the embedded engine on Linux interfaces, in wall-clock time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from p4mesh.causes import engine_network_hint
from p4mesh.engine_module import load_engine
from p4mesh.errors import TargetError
from p4mesh.network.machine import busy_threads, driver_of, machine_facts, port_facts, shared_processors
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.open_files import allow_open_files
from p4mesh.network.session_priority import remembered
from p4mesh.target.base import CountedPayload, MacCounts, Pauses, ProgramPorts
from p4mesh.target.capabilities import Capabilities
from p4mesh.target.loop import LoopModel
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.target.own_server import own_address
from p4mesh.topology import Topology
from p4mesh.traffic.stamps import Delays, PortStamps, most_of, port_stamps

if TYPE_CHECKING:
    from p4mesh._engine import LiveSwitch

_DEVICE_ID = 1
_VIRTUAL_CABLE = "veth"
_OPEN_FILES, _OPEN_FILES_PER_PORT = 512, 8
"""Descriptors of the process: a port has sockets, an XDP program and its tables."""
MOST_STAMPED_FPS = 100_000
"""Departures of all ports together. The kernel stamps those of packet sockets, which are slower than AF_XDP."""
_STAMPS = (
    "time stamps: of departures by the program, before the kernel sends; where the kernel stamps them too, averages "
    "are less by the average difference and single values by the smallest, else they contain the way through the "
    "sending kernel"
)


class LiveTarget(NamespaceTarget):
    """The engine with the interfaces of the topology, in a network namespace of its own."""

    name = "live"
    tick_ps = 1000
    loop = LoopModel(rate_bps=100_000_000_000, latency_ps=5_000_000, passes_per_s=2_000_000)
    """More than the 1.5 million departures/s that were measured on two cores; not calibrated. A slower machine makes
    trials INVALID at loads that it cannot carry; ``tester.live.passes_per_s`` declares another rate."""
    start_lead_ns = 20_000_000

    def __init__(
        self,
        topology: Topology,
        address: str,
        network: NetnsNetwork,
        switch: LiveSwitch,
        cable_ns: float = 0.0,
    ) -> None:
        super().__init__(topology, address, network)
        self._switch: LiveSwitch | None = switch
        self._cable_ns = cable_ns

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """Capabilities of the engine here, with the passes that the topology declares for this machine."""
        declared = replace(super().declare(topology), checks_payload=True)
        if topology.live.passes_per_s is None:
            return declared
        return replace(declared, loop=replace(cls.loop, passes_per_s=topology.live.passes_per_s))

    @classmethod
    @contextmanager
    def open(cls, topology: Topology, ports: ProgramPorts) -> Iterator[LiveTarget]:
        """Build the network and start the engine on it."""
        _engine = load_engine()
        allow_open_files(_OPEN_FILES + _OPEN_FILES_PER_PORT * len(topology.tester_ports))
        with remembered(), own_address() as address, NetnsNetwork(topology) as network:
            interfaces = [(port.number, network.interface(port.number)) for port in topology.tester_ports]
            try:
                cable_ns = _cable_ns(network, [name for _, name in interfaces], topology.live.access)
                with network.entered():
                    switch = _engine.LiveSwitch(
                        interfaces,
                        cpu_port=ports.cpu,
                        timestamp_tick_ps=cls.tick_ps,
                        access=topology.live.access,
                        own_cores=_threads(network),
                    )
                switch.serve(address, _DEVICE_ID)
                switch.start()
            except _engine.EngineError as error:
                raise TargetError(f"live: {error}", hint=engine_network_hint(str(error))) from None
            try:
                target = cls(topology, address, network, switch, cable_ns)
                yield target
            finally:
                switch.stop()
                # Interfaces are given back next: the last reference holds their XDP programs.
                target._switch = None
                del switch

    def facts(self) -> tuple[str, ...]:
        """Kernel, cores, ports with their drivers and offloads, devices, and where time stamps come from."""
        interfaces = {port.number: self.network.interface(port.number) for port in self.topology.tester_ports}
        program, transmitter = self._open_switch.cores
        cores = (
            "no core of its own"
            if program is None
            else f"program and sending on core {program}"
            if transmitter is None
            else f"program on core {program}, sending on core {transmitter}"
        )
        parts = [f"{node.device.name} is {node.software}" for node in self.network.nodes]
        parts += [f"{name} is not made by this run, at {', '.join(at)}" for name, at in self.network.outside.items()]
        processors = os.sched_getaffinity(0)
        return (
            *machine_facts(),
            f"threads: {cores}",
            *shared_processors(self._competing(), len(processors), _threads(self.network)),
            *port_facts(self.network.namespace, interfaces, self._open_switch.ports()),
            *([f"devices: {', '.join(parts)}"] if parts else []),
            _STAMPS,
        )

    def _competing(self) -> list[str]:
        """Devices in user space of this machine, as far as that can be told: a virtual cable does not leave it."""
        with self.network.entered():
            outside = [name for name, at in self.network.outside.items() if driver_of(at[0]).startswith(_VIRTUAL_CABLE)]
        return [node.device.name for node in self.network.nodes if node.in_user_space] + outside

    def take_pauses(self) -> Pauses:
        """How long the loop of the program, or the thread that sends, stood still."""
        return Pauses(*self._open_switch.take_pauses())

    def begin_departures(self, rate_fps: Fraction) -> None:
        """Let the kernel stamp departures too, unless there are so many that they must take the fastest way."""
        self._open_switch.begin_departures(rate_fps <= MOST_STAMPED_FPS)

    def expect_payload(self, payload: CountedPayload) -> None:
        """Let frames be compared as they come in, in front of the program."""
        self._open_switch.set_payload(list(payload.offsets_bytes), list(payload.mark), payload.counts_behind_bytes)

    def mac_counts(self) -> dict[int, MacCounts]:
        """Frames with another payload than they were sent with; interfaces tell nothing else of their MACs."""
        corrupted = self._open_switch.damaged_payloads()
        ports = (port.number for port in self.topology.tester_ports)
        return {port: MacCounts(corrupted_received=corrupted.get(port, 0)) for port in ports}

    def port_stamps(self) -> dict[int, PortStamps]:
        """Source of the time stamps of each port, and the error of departures."""
        return {
            port: port_stamps(port, arrivals, delays, self._cable_ns)
            for port, (arrivals, delays) in self._open_switch.stamps().items()
        }

    @property
    def _open_switch(self) -> LiveSwitch:
        assert self._switch is not None, "the target is closed"
        return self._switch


def _threads(network: NetnsNetwork) -> int:
    """Busy threads of the tester beside the devices that this run makes."""
    devices = sum(node.in_user_space for node in network.nodes)
    return busy_threads(devices, len(os.sched_getaffinity(0)))


def _cable_ns(network: NetnsNetwork, interfaces: Sequence[str], access: str) -> float:
    """Most that a latency has of the virtual cables, to the device and back; 0 for other ports.

    Measured on a spare one: from the kernel's stamp of a departure to its stamp at the device, and from there to that
    of the arrival at the tester.
    """
    with network.entered():
        if not all(driver_of(name).startswith(_VIRTUAL_CABLE) for name in interfaces):
            return 0.0
    with network.spare_cable() as (near, far), network.entered():
        return sum(most_of(_cable_delays(near, far, kind)) for kind in ("af_packet", access))


def _cable_delays(near: str, far: str, access: str) -> Delays:
    found: Delays = load_engine().cable_delays(near, far, access)
    return found
