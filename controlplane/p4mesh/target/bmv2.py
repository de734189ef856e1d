"""The target ``bmv2``: simple_switch_grpc on veth interfaces, started and stopped by the controller."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from types import TracebackType

from p4mesh.errors import EnvironmentFault, TargetError
from p4mesh.target.namespace import NamespaceTarget
from p4mesh.tester.contract import Contract
from p4mesh.tester.pacing import LoopModel
from p4mesh.topology import Topology

PROGRAM = "simple_switch_grpc"
TICK_PS = 1_000_000
_LOOP = LoopModel(rate_bps=10_000_000_000, latency_ps=50_000_000, passes_per_s=20_000)
"""Loop passes that simple_switch manages on one core with room to spare."""
_STOP_S = 10


class Bmv2Target(NamespaceTarget):
    """simple_switch_grpc with the interfaces of the topology, in a network namespace of its own."""

    name = "bmv2"
    start_lead_ns = 50_000_000

    def __init__(self, topology: Topology, contract: Contract) -> None:
        super().__init__(topology, contract, tick_ps=TICK_PS, loop=_LOOP)

    def __enter__(self) -> Bmv2Target:
        """Build the network and start the switch."""
        if shutil.which(PROGRAM) is None:
            raise EnvironmentFault(
                f"{PROGRAM} is not installed",
                hint="install it from p4lang's packages (p4lang-bmv2), or use --target sim",
            )
        self._network.__enter__()
        self._directory = tempfile.TemporaryDirectory(prefix="p4mesh-bmv2-")
        self._log = Path(self._directory.name) / "switch.log"
        interfaces = []
        for port in self.topology.tester_ports:
            interfaces += ["-i", f"{port.number}@{self._network.interface(port.number)}"]
        command = [PROGRAM, "--no-p4", "--device-id", str(self.device_id), *interfaces, "--"]
        command += ["--grpc-server-addr", self.address, "--cpu-port", str(self._contract["PORT_CPU"])]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(self._network.command(*command), stdout=log, stderr=subprocess.STDOUT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the switch and remove the network."""
        self._process.terminate()
        self._process.wait(_STOP_S)
        self._network.__exit__(kind, error, traceback)
        self._directory.cleanup()

    @property
    def address(self) -> str:
        """Unix socket of the server: it is reachable from outside the namespace."""
        return f"unix:{self._directory.name}/p4runtime.sock"

    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Sleep, unless the switch has ended."""
        if self._process.poll() is not None:
            raise TargetError(
                f"{PROGRAM} ended with exit code {self._process.returncode}: {self._log.read_text()[-500:]}"
            )
        super().wait(duration_ns, packet_outs)
