"""The target ``live``: the embedded engine on Linux interfaces, in wall-clock time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from p4mesh.errors import EngineMissingError, TargetError
from p4mesh.network.netns import NetnsNetwork
from p4mesh.target.base import ProgramPorts
from p4mesh.target.loop import LoopModel
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.topology import Topology

_DEVICE_ID = 1


class LiveTarget(NamespaceTarget):
    """The engine with the interfaces of the topology, in a network namespace of its own."""

    name = "live"
    tick_ps = 1000
    loop = LoopModel(rate_bps=100_000_000_000, latency_ps=5_000_000, passes_per_s=1_000_000)
    """Passes that the engine managed on a core, with a core beside it that lets the kernel send; a slower machine makes
    trials INVALID at loads that it cannot carry."""
    start_lead_ns = 20_000_000

    @classmethod
    @contextmanager
    def open(cls, topology: Topology, ports: ProgramPorts) -> Iterator[LiveTarget]:
        """Build the network and start the engine on it."""
        try:
            from p4mesh import _engine
        except ImportError as error:
            raise EngineMissingError(f"p4mesh._engine does not load: {error}", hint="run make setup") from None
        with NetnsNetwork(topology) as network:
            interfaces = [(port.number, network.interface(port.number)) for port in topology.tester_ports]
            try:
                with network.entered():
                    switch = _engine.LiveSwitch(
                        interfaces, cpu_port=ports.cpu, timestamp_tick_ps=cls.tick_ps, own_cores=True
                    )
                address = f"127.0.0.1:{switch.serve('127.0.0.1:0', _DEVICE_ID)}"
                switch.start()
            except _engine.EngineError as error:
                raise TargetError(f"live: {error}", hint="raw sockets need root") from None
            try:
                yield cls(topology, address, network)
            finally:
                switch.stop()
