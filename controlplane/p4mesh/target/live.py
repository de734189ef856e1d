"""The target ``live``: the embedded engine on Linux interfaces, in wall-clock time."""

from __future__ import annotations

from types import TracebackType

from p4mesh.errors import EngineMissingError, TargetError
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.tester.contract import Contract
from p4mesh.tester.pacing import LoopModel
from p4mesh.topology import Topology

TICK_PS = 1000
_LOOP = LoopModel(rate_bps=100_000_000_000, latency_ps=5_000_000, passes_per_s=200_000)
"""Loop passes that the engine manages on one core beside its frames, with room to spare."""


class LiveTarget(NamespaceTarget):
    """The engine with the interfaces of the topology, in a network namespace of its own."""

    name = "live"
    start_lead_ns = 20_000_000

    def __init__(self, topology: Topology, contract: Contract) -> None:
        super().__init__(topology, contract, tick_ps=TICK_PS, loop=_LOOP)
        self._address = ""

    def __enter__(self) -> LiveTarget:
        """Build the network and start the engine on it."""
        try:
            from p4mesh import _engine
        except ImportError as error:
            raise EngineMissingError(f"p4mesh._engine does not load: {error}", hint="run make setup") from None
        self._network.__enter__()
        ports = [(port.number, self._network.interface(port.number)) for port in self.topology.tester_ports]
        try:
            with self._network.entered():
                self._switch = _engine.LiveSwitch(
                    ports, cpu_port=self._contract["PORT_CPU"], timestamp_tick_ps=self.tick_ps
                )
            self._address = f"127.0.0.1:{self._switch.serve('127.0.0.1:0', self.device_id)}"
            self._switch.start()
        except _engine.EngineError as error:
            self._network.__exit__(None, None, None)
            raise TargetError(f"live: {error}", hint="raw sockets need root") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the engine and remove the network."""
        self._switch.stop()
        self._network.__exit__(kind, error, traceback)

    @property
    def address(self) -> str:
        """HOST:PORT of the server on the loopback interface."""
        return self._address
