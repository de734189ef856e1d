"""The target ``bmv2``: simple_switch_grpc on veth interfaces, started and stopped by the controller."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from p4mesh.errors import EnvironmentFault, TargetError
from p4mesh.network.netns import NetnsNetwork
from p4mesh.target.base import ProgramPorts
from p4mesh.target.loop import LoopModel
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.topology import Topology

PROGRAM = "simple_switch_grpc"
_DEVICE_ID = 1
_STOP_S = 10


class Bmv2Target(NamespaceTarget):
    """simple_switch_grpc with the interfaces of the topology, in a network namespace of its own."""

    name = "bmv2"
    tick_ps = 1_000_000
    loop = LoopModel(rate_bps=10_000_000_000, latency_ps=50_000_000, passes_per_s=20_000)
    """Loop passes that simple_switch manages on one core with room to spare."""
    start_lead_ns = 50_000_000

    def __init__(
        self, topology: Topology, address: str, network: NetnsNetwork, process: subprocess.Popen[bytes], log: Path
    ) -> None:
        super().__init__(topology, address, network)
        self._process = process
        self._log = log

    @classmethod
    @contextmanager
    def open(cls, topology: Topology, ports: ProgramPorts) -> Iterator[Bmv2Target]:
        """Build the network and start the switch; its server has a Unix socket, which namespaces share."""
        if shutil.which(PROGRAM) is None:
            raise EnvironmentFault(
                f"{PROGRAM} is not installed",
                hint="install it from p4lang's packages (p4lang-bmv2), or use --target sim",
            )
        with (
            tempfile.TemporaryDirectory(prefix="p4mesh-bmv2-") as directory,
            NetnsNetwork(topology) as network,
        ):
            address, log = f"unix:{directory}/p4runtime.sock", Path(directory) / "switch.log"
            interfaces = []
            for port in topology.tester_ports:
                interfaces += ["-i", f"{port.number}@{network.interface(port.number)}"]
            command = [PROGRAM, "--no-p4", "--device-id", str(_DEVICE_ID), *interfaces, "--"]
            command += ["--grpc-server-addr", address, "--cpu-port", str(ports.cpu)]
            with log.open("w") as output:
                process = subprocess.Popen(network.command(*command), stdout=output, stderr=subprocess.STDOUT)
            try:
                yield cls(topology, address, network, process, log)
            finally:
                process.terminate()
                process.wait(_STOP_S)

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep, unless the switch has ended."""
        if self._process.poll() is not None:
            raise TargetError(
                f"{PROGRAM} ended with exit code {self._process.returncode}: {self._log.read_text()[-500:]}"
            )
        super().wait(duration_ns, packet_outs)
