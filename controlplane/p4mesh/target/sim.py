"""The target ``sim``: the embedded engine in virtual time, with the devices of the topology."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING

from p4mesh.errors import EngineMissingError
from p4mesh.target.base import BadFcsRule, LinkState, Target
from p4mesh.tester.contract import Contract
from p4mesh.tester.pacing import LoopModel
from p4mesh.topology import TESTER, Topology
from p4mesh.topology.engine_config import SpecialPorts, engine_config
from p4mesh.topology.engine_errors import topology_error

if TYPE_CHECKING:
    from p4mesh import _engine

_DROP_PORT = 511
_ANY_PORTS = SpecialPorts(loop=65_533, cpu=65_534, drop=65_535)
"""Where no program runs."""
_PS_PER_S = 10**12


def build_network(topology: Topology, special: SpecialPorts = _ANY_PORTS) -> _engine.SimNetwork:
    """Build the network of a topology; raise TopologyError where its models do not fit together."""
    try:
        from p4mesh import _engine
    except ImportError as error:
        raise EngineMissingError(f"p4mesh._engine does not load: {error}", hint="run make setup") from None
    try:
        return _engine.SimNetwork(json.dumps(engine_config(topology, special)))
    except _engine.ConfigError as error:
        raise topology_error(topology, error.place, error.problem, error.valid) from None


class SimTarget(Target):
    """A simulated network with one tester; its clock moves only in :meth:`wait`."""

    name = "sim"
    start_lead_ns = 2_000
    exact_clock = True
    damages_fcs = True
    scheduling_jitter_ns = 0

    def __init__(self, topology: Topology, contract: Contract) -> None:
        self.topology = topology
        self.tick_ps = topology.clock_tick_ps
        self.loop = LoopModel(topology.loop.rate_bps, round(topology.loop.latency_ns * 1000))
        self._special = SpecialPorts(loop=contract["PORT_LOOP"], cpu=contract["PORT_CPU"], drop=_DROP_PORT)
        self._address = ""

    def __enter__(self) -> SimTarget:
        """Build the network and start its P4Runtime server on a free loopback port."""
        self._network = build_network(self.topology, self._special)
        port = self._network.serve("127.0.0.1:0", self.device_id)
        self._address = f"127.0.0.1:{port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server."""
        self._network.stop()

    @property
    def address(self) -> str:
        """HOST:PORT of the server on the loopback interface."""
        return self._address

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Advance virtual time once the packet-outs have been handled."""
        self._network.advance(int(duration_ns * 1000), packet_outs)

    def align(self, packet_outs: int, number: int) -> None:
        """Advance to the next whole second of virtual time, and start the random numbers of this trial."""
        self._network.advance(-self._network.now_ps % _PS_PER_S, packet_outs)
        self._network.reseed(number)

    def set_bad_fcs(self, rules: Mapping[int, Sequence[BadFcsRule]]) -> None:
        """Tell the MACs of the tester's ports which frames to damage."""
        for port in self.topology.tester_ports:
            self._network.set_bad_fcs(port.number, list(rules.get(port.number, ())))

    def bad_fcs_counts(self) -> dict[int, tuple[int, int]]:
        """Return what the MACs of the tester's ports have counted."""
        return {port: (sent, received) for port, sent, received in self._network.bad_fcs_counts()}

    def links(self) -> dict[int, LinkState]:
        """Return the links of the tester's ports."""
        return {port: LinkState(up, losses) for port, up, losses in self._network.links()}

    def set_links(self, up: bool) -> None:
        """Switch the links of all tester ports on or off at this virtual time."""
        for port in self.topology.tester_ports:
            self._network.set_link(TESTER, port.number, up)

    def reset_device(self, device: str, off_ns: int) -> None:
        """Reset a device; the topology says how long that takes."""
        self._network.reset_device(device, off_ns * 1000)

    def in_flight(self) -> int:
        """Return the frames on wires and in devices."""
        return int(self._network.in_flight())
