"""The target ``sim``: the embedded engine in virtual time, with the devices of the topology."""

from __future__ import annotations

import json
from fractions import Fraction
from types import TracebackType

from p4mesh.errors import EngineMissingError, TargetError
from p4mesh.target.base import Target
from p4mesh.target.contract import Contract
from p4mesh.topology import Topology
from p4mesh.topology.engine_config import SpecialPorts, engine_config
from p4mesh.trial.pacing import LoopModel

_DROP_PORT = 511
_PS_PER_S = 10**12


class SimTarget(Target):
    """A simulated network with one tester; its clock moves only in :meth:`wait`."""

    name = "sim"
    start_lead_ns = 2_000
    exact_clock = True
    scheduling_jitter_ns = 0

    def __init__(self, topology: Topology, contract: Contract) -> None:
        self.topology = topology
        self.tick_ps = topology.clock_tick_ps
        self.loop = LoopModel(topology.loop.rate_bps, round(topology.loop.latency_ns * 1000))
        self._special = SpecialPorts(loop=contract["PORT_LOOP"], cpu=contract["PORT_CPU"], drop=_DROP_PORT)
        self._address = ""

    def __enter__(self) -> SimTarget:
        """Build the network and start its P4Runtime server on a free loopback port."""
        try:
            from p4mesh import _engine
        except ImportError as error:
            raise EngineMissingError(f"p4mesh._engine does not load: {error}", hint="run make setup") from None
        try:
            self._network = _engine.SimNetwork(json.dumps(engine_config(self.topology, self._special)))
            port = self._network.serve("127.0.0.1:0", self.device_id)
        except _engine.EngineError as error:
            raise TargetError(f"sim: {error}", hint="check the topology with: p4mesh topology check FILE") from None
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

    def align(self, packet_outs: int) -> None:
        """Advance to the next whole second of virtual time."""
        self._network.advance(-self._network.now_ps % _PS_PER_S, packet_outs)

    def in_flight(self) -> int:
        """Return the frames on wires and in devices."""
        return int(self._network.in_flight())
