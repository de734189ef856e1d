"""The target ``sim``: the embedded engine in virtual time, with the devices of the topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from p4mesh.errors import TargetError
from p4mesh.target.base import BadFcsRule, CountedPayload, LinkState, MacCounts, PacketIO, ProgramPorts, Target
from p4mesh.target.capabilities import Architecture, Capabilities, Stamps
from p4mesh.target.loop import LoopModel
from p4mesh.target.own_server import own_address
from p4mesh.topology import TESTER, Topology
from p4mesh.topology.engine_config import SpecialPorts
from p4mesh.topology.engine_network import build_network
from p4mesh.traffic.line_rate import LARGEST_FRAME_BYTES, PS_PER_S
from p4mesh.traffic.refused_routes import RefusedRoutes

if TYPE_CHECKING:
    from p4mesh import _engine

_DEVICE_ID = 1
_DROP_PORT = 511
_PACKET_IN_TIMEOUT_S = 10
"""Time for the controller's thread to take a packet-in that the server has sent."""


class SimTarget(Target):
    """A simulated network with one tester; its clock moves only in :meth:`wait`."""

    name = "sim"

    def __init__(self, topology: Topology, address: str, network: _engine.SimNetwork) -> None:
        super().__init__(topology, address)
        self._network = network

    @classmethod
    def declare(cls, topology: Topology) -> Capabilities:
        """The capabilities of the simulation: all, exact to the picosecond, with the loop of the topology."""
        return Capabilities(
            target=cls.name,
            setting="simulated devices, virtual time",
            architecture=Architecture.V1MODEL,
            real_time=False,
            stamps=Stamps(topology.clock_tick_ps),
            loop=LoopModel(topology.loop.rate_bps, round(topology.loop.latency_ns * 1000)),
            start_lead_ns=2_000,
            scheduling_jitter_ns=0,
            bad_fcs=True,
            checks_payload=True,
            captures_faults=topology.switches == 1,
            largest_frame_bytes=LARGEST_FRAME_BYTES,
            resets_devices=True,
            causes_failures=True,
        )

    @classmethod
    @contextmanager
    def open(cls, topology: Topology, ports: ProgramPorts) -> Iterator[SimTarget]:
        """Build the network and start its P4Runtime server."""
        network = build_network(topology, SpecialPorts(loop=ports.loop, cpu=ports.cpu, drop=_DROP_PORT))
        with own_address() as address:
            addresses = [address, *(f"{address}{number}" for number in range(2, topology.switches + 1))]
            try:
                for number, own in enumerate(addresses):
                    network.serve(own, _DEVICE_ID + number)
                target = cls(topology, address, network)
                target.other_addresses = tuple(addresses[1:])
                yield target
            finally:
                network.stop()

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Advance virtual time once the packet-outs have been handled."""
        self._network.advance(int(duration_ns * 1000), packet_outs)

    def wait_for_packet_in(self, duration_ps: int, packets: PacketIO) -> None:
        """Advance virtual time to the event that sends a packet-in, once the packet-outs have been handled."""
        if packets.packet_ins_taken == self._network.packet_ins_total:
            self._network.advance_to_packet_in(duration_ps, packets.packet_outs_sent)
        while packets.packet_ins_taken < self._network.packet_ins_total:
            if not packets.take_packet_in(_PACKET_IN_TIMEOUT_S):
                raise TargetError("sim: a packet-in did not reach the controller", hint="run with --debug to see where")

    @property
    def now_ps(self) -> int:
        """Virtual time."""
        return self._network.now_ps

    @property
    def alignment_ns(self) -> Fraction:
        """Time to the next whole second of virtual time."""
        return Fraction(-self._network.now_ps % PS_PER_S, 1000)

    def reseed(self, packet_outs: int, number: int) -> None:
        """Process all events that are due now, and start the random numbers of this trial."""
        self._network.advance(0, packet_outs)
        self._network.reseed(number)

    def set_bad_fcs(self, rules: Mapping[int, Sequence[BadFcsRule]]) -> None:
        """Tell the MACs of the tester's ports which frames to damage."""
        for port in self.topology.tester_ports:
            self._network.set_bad_fcs(port.number, list(rules.get(port.number, ())))

    def expect_payload(self, payload: CountedPayload) -> None:
        """Tell the MACs of the tester's ports which payload marked frames have."""
        expected = list(payload.offsets_bytes), list(payload.mark), payload.counts_behind_bytes
        for port in self.topology.tester_ports:
            self._network.set_payload(port.number, *expected)

    def mac_counts(self) -> dict[int, MacCounts]:
        """The counts of the MACs of the tester's ports."""
        corrupted = dict(self._network.damaged_payloads())
        return {
            port: MacCounts(sent, received, corrupted_received=corrupted[port])
            for port, sent, received in self._network.bad_fcs_counts()
        }

    def links(self) -> dict[int, LinkState]:
        """The links of the tester's ports."""
        return {port: LinkState(up, losses) for port, up, losses in self._network.links()}

    def set_links(self, up: bool) -> None:
        """Switch the links of all tester ports on or off at this virtual time."""
        for port in self.topology.tester_ports:
            self._network.set_link(TESTER, port.number, up)

    def set_link(self, port: int, up: bool) -> None:
        """Switch the link of one tester port on or off at this virtual time."""
        self._network.set_link(TESTER, port, up)

    def reset_device(self, device: str, off_ns: int) -> None:
        """Reset a device; the topology says how long that takes."""
        self._network.reset_device(device, off_ns * 1000)

    def take_refused_routes(self) -> tuple[RefusedRoutes, ...]:
        """The routes that routers had no room for since the last call."""
        return tuple(RefusedRoutes(*refused) for refused in self._network.take_refused_routes())

    def cause_failures(self, count: int) -> int:
        """Let failures of the devices begin at this virtual time."""
        return -(-self._network.cause_failures(count) // 1000)

    def in_flight(self) -> int:
        """The frames on wires and in devices."""
        return int(self._network.in_flight())
