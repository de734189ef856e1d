"""The target ``live``: the embedded engine on Linux interfaces, in wall-clock time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from p4mesh.causes import engine_network_hint
from p4mesh.engine_module import load_engine
from p4mesh.errors import TargetError
from p4mesh.network.machine import busy_threads, driver_of, machine_facts, port_facts, shared_processors
from p4mesh.network.netns import NetnsNetwork
from p4mesh.network.open_files import allow_open_files
from p4mesh.network.session_priority import remembered
from p4mesh.target.base import CountedPayload, LinkState, MacCounts, Pauses, ProgramPorts
from p4mesh.target.capabilities import Capabilities
from p4mesh.target.loop import LoopModel
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.target.own_server import own_address
from p4mesh.topology import Topology
from p4mesh.traffic.stamps import Delays, PortStamps, most_of, port_stamps

if TYPE_CHECKING:
    from p4mesh._engine import LiveSwitch

_T = TypeVar("_T")
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
    """The engine with the interfaces of the topology, in a network namespace of its own.

    Each switch of the tester is an engine with cores of its own, on the clock of all of them.
    """

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
        switches: list[LiveSwitch],
        cable_ns: float = 0.0,
    ) -> None:
        """``cable_ns``: what a latency has of the virtual cables at most; 0 where ports are none of their ends."""
        super().__init__(topology, address, network)
        self._switches = switches
        self._cable_ns = cable_ns
        self._links_before: dict[int, LinkState] = {}
        self._dropped = self._dropped_at_links = 0

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """Capabilities of the engine here, with the passes that the topology declares for this machine."""
        declared = replace(super().declare(topology), checks_payload=True, captures_faults=topology.switches == 1)
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
            interfaces = [network.interface(port.number) for port in topology.tester_ports]
            addresses = [address, *(f"{address}{number}" for number in range(2, topology.switches + 1))]
            switches: list[LiveSwitch] = []
            try:
                try:
                    cable_ns = _cable_ns(network, interfaces, topology.live.access)
                    for number, own in enumerate(addresses):
                        switches.append(cls._switch(topology, network, ports.cpu, switches))
                        switches[-1].serve(own, _DEVICE_ID + number)
                        switches[-1].start()
                except _engine.EngineError as error:
                    raise TargetError(f"live: {error}", hint=engine_network_hint(str(error))) from None
                target = cls(topology, address, network, switches, cable_ns)
                target.other_addresses = tuple(addresses[1:])
                yield target
            finally:
                # Interfaces are given back next: the last reference to a switch holds their XDP programs.
                while switches:
                    switches.pop().stop()

    @classmethod
    def _switch(cls, topology: Topology, network: NetnsNetwork, cpu_port: int, beside: list[LiveSwitch]) -> LiveSwitch:
        """The next switch of a tester, on the interfaces of its ports."""
        places = topology.program_ports[len(beside)]
        with network.entered():
            switch: LiveSwitch = load_engine().LiveSwitch(
                [(place, network.interface(port)) for place, port in places.items()],
                cpu_port=cpu_port,
                timestamp_tick_ps=cls.tick_ps,
                access=topology.live.access,
                own_cores=_threads(network, topology.switches),
                beside=beside,
            )
        return switch

    def facts(self) -> tuple[str, ...]:
        """Kernel, cores, ports with their drivers and offloads, devices, and where time stamps come from."""
        interfaces = {port.number: self.network.interface(port.number) for port in self.topology.tester_ports}
        accesses = self._of_ports(lambda switch: switch.ports())
        parts = [f"{node.device.name} is {node.software}" for node in self.network.nodes]
        parts += [f"{name} is not made by this run, at {', '.join(at)}" for name, at in self.network.outside.items()]
        processors, switches = os.sched_getaffinity(0), self.topology.switches
        return (
            *machine_facts(),
            f"threads: {'; '.join(_cores_text(*switch.cores) for switch in self._switches)}",
            *shared_processors(self._competing(), len(processors), _threads(self.network, switches), switches),
            *port_facts(self.network.namespace, interfaces, accesses),
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
        taken = [Pauses(*switch.take_pauses()) for switch in self._switches]
        return Pauses(max(it.longest_ns for it in taken), sum(it.late_ns for it in taken))

    def begin_departures(self, rate_fps: Fraction) -> None:
        """Let the kernel stamp departures too, unless there are so many that they must take the fastest way."""
        for switch in self._switches:
            switch.begin_departures(rate_fps <= MOST_STAMPED_FPS)

    def expect_payload(self, payload: CountedPayload) -> None:
        """Let frames be compared as they come in, in front of the program."""
        for switch in self._switches:
            switch.set_payload(list(payload.offsets_bytes), list(payload.mark), payload.counts_behind_bytes)

    def mac_counts(self) -> dict[int, MacCounts]:
        """Frames with another payload than they were sent with; interfaces tell nothing else of their MACs."""
        corrupted = self._of_ports(lambda switch: switch.damaged_payloads())
        ports = (port.number for port in self.topology.tester_ports)
        return {port: MacCounts(corrupted_received=corrupted.get(port, 0)) for port in ports}

    def port_stamps(self) -> dict[int, PortStamps]:
        """Source of the time stamps of each port, and the error of departures."""
        return {
            port: port_stamps(port, arrivals, delays, self._cable_ns)
            for port, (arrivals, delays) in self._of_ports(lambda switch: switch.stamps()).items()
        }

    def drop_counts(self) -> dict[str, int]:
        """Frames that the kernel has dropped between program and cables, without those of times without a link.

        What a virtual cable refuses is not the tester's: its far end has a shorter MTU, or no room.
        """
        links = self.links()
        lost = ("drop_no_room",) if self._cable_ns else ("drop_no_room", "drop_refused")
        counters = [switch.counters() for switch in self._switches]
        dropped = sum(counts[name] for counts in counters for name in lost)
        if links != self._links_before or not all(link.up for link in links.values()):
            self._dropped_at_links += dropped - self._dropped
        self._links_before, self._dropped = links, dropped
        return {"the kernel": dropped - self._dropped_at_links}

    def _of_ports(self, told: Callable[[LiveSwitch], Mapping[int, _T]]) -> dict[int, _T]:
        """Joins what the switches tell of their ports, by the number of the tester port."""
        parts = zip(self.topology.program_ports, self._switches, strict=True)
        return {ports[place]: value for ports, switch in parts for place, value in told(switch).items()}


def _cores_text(program: int | None, transmitter: int | None) -> str:
    if program is None:
        return "no core of its own"
    if transmitter is None:
        return f"program and sending on core {program}"
    return f"program on core {program}, sending on core {transmitter}"


def _threads(network: NetnsNetwork, switches: int) -> int:
    """Busy threads of each switch of the tester beside the devices that this run makes."""
    devices = sum(node.in_user_space for node in network.nodes)
    return busy_threads(devices, len(os.sched_getaffinity(0)), switches)


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
