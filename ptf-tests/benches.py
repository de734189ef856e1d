"""Starts the benches: the embedded engine in virtual time, simple_switch_grpc on veth interfaces, or a Tofino; and the
sources of the program for Tofino on an interpreter, which takes minutes.

All give the same: a P4Runtime client, ports 1 to 4 in the form of PTF's data plane, and a way to
let time pass.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import ptf.dataplane
from support.hosted_network import HostedNetwork
from support.interpreted_tofino import InterpretedTofino

from p4mesh.p4runtime import Client
from p4mesh.target.chips import TOFINO_1
from p4mesh.target.tofino import TofinoTarget
from p4mesh.tester.contract import SUMMING_TESTER, Contract, load_contract
from p4mesh.tester.dataplane import DataPlane, SwitchPorts
from p4mesh.tester.opening import credentials_of, dataplane_of
from p4mesh.tester.programs import contract_of
from p4mesh.tester.tofino_contract import load_tofino_contract
from p4mesh.tester.tofino_dataplane import InBandTofinoDataPlane
from p4mesh.topology import Topology

PORTS = (1, 2, 3, 4)
_LAST_RUN = 255
_LONGEST_FRAME_BYTES = 9216
_LINE_RATE_BPS = 10_000_000_000
_TOFINO_PASS_NS = 10_000
_INTERPRETER_PATIENCE_S = 300
"""The interpreter answers after all frames that came before, on a busy machine a thousand of them."""
_LOOP = {"rate_bps": 100_000_000_000, "latency_ns": 500}


class Bench(ABC):
    """A running tester with its ports in reach."""

    name: str
    tick_ps: int
    exact: bool
    """True where the clock is virtual, so that times can be asserted to the tick."""
    port_numbers = PORTS
    mac_addend_bits = 48
    """Width of what a modifier adds to a MAC address, and of the part of the address that changes."""
    shortest_frame_bytes = 40
    """Shortest frame of a stream."""
    long_extension_is_last = False
    """Whether only the last IPv6 extension header may have more than 8 bytes."""
    ports: Any
    client: Client
    contract: Contract
    tester: DataPlane

    def __init__(self, contract: Contract | None = None) -> None:
        self.contract = contract or load_contract()
        self._runs = 0

    def next_run(self) -> int:
        """A run number that no test has used: tags of the duplicate window are not cleared."""
        self._runs += 1
        if self._runs > _LAST_RUN:
            raise RuntimeError("more tests than run numbers")
        return self._runs

    def port_of_program(self, port: int) -> int:
        """The number of one of ports 1 to 4 in the program."""
        return port

    @abstractmethod
    def wait(self, duration_ns: int) -> None:
        """Let time pass after all packet-outs so far."""

    settle_ns: int

    def settle(self) -> None:
        """Let frames on their way cross links and pipeline."""
        self.wait(self.settle_ns)

    @abstractmethod
    def close(self) -> None:
        """Stop everything that the bench has started."""

    @abstractmethod
    def wait_passes(self, passes: int) -> None:
        """Let a lone frame make this many rounds of the loop."""

    def _load(self, address: str) -> None:
        self.client = Client(address, 1).__enter__()
        self.tester = DataPlane(self.client, self.contract)
        self.tester.load_program()


class EnginePorts(ptf.dataplane.DataPlane):
    """PTF's data plane over a simulated network: a host at every tester port, no wall clock."""

    def __init__(self, hosted: HostedNetwork | InterpretedTofino, advance: Callable[[int], None]) -> None:
        self._hosted = hosted
        self._advance = advance
        self._queues: dict[int, list[bytes]] = {port: [] for port in PORTS}

    def send(self, device_number: int, port_number: int, packet: bytes) -> int:
        """Send from the host behind a tester port."""
        self._hosted.send(port_number, packet)
        return len(packet)

    def poll(
        self,
        device_number: int = 0,
        port_number: int | None = None,
        timeout: float | None = None,
        exp_pkt: Any = None,
        filters: Any = (),
    ) -> Any:
        """The next frame (that matches ``exp_pkt``) without waiting for the wall clock."""
        self._advance(1_000_000)
        self._collect()
        for port, queue in self._queues.items():
            if port_number not in (None, port):
                continue
            while queue:
                packet = queue.pop(0)
                if exp_pkt is None or ptf.dataplane.match_exp_pkt(exp_pkt, packet):
                    return self.PollSuccess(0, port, packet, exp_pkt, 0.0)
        return self.PollFailure(exp_pkt, [], 0)

    def flush(self) -> None:
        """Forget the received frames."""
        self._collect()
        for queue in self._queues.values():
            queue.clear()

    def take(self, port: int) -> list[bytes]:
        """All frames received from a tester port."""
        self._collect()
        frames = list(self._queues[port])
        self._queues[port].clear()
        return frames

    def _collect(self) -> None:
        for port, frame in self._hosted.received():
            self._queues[port].append(frame)


class EngineBench(Bench):
    """The embedded engine: tester ports 1 to 4, with a host at each of them."""

    name = "engine"
    tick_ps = 1000
    exact = True
    settle_ns = 100_000

    def __init__(self, contract: Contract | None = None) -> None:
        super().__init__(contract)
        tester = {
            "loop": {"port": self.contract["PORT_LOOP"], **_LOOP},
            "cpu_port": self.contract["PORT_CPU"],
            "clock_tick_ps": self.tick_ps,
        }
        unpadded = {"pad_to_minimum": False}
        hosted = HostedNetwork(PORTS, _LINE_RATE_BPS, tester=tester, tester_port=unpadded, latency_ns=5)
        self.network = hosted.network
        self._load(hosted.serve())
        self.ports = EnginePorts(hosted, self.wait)

    def wait(self, duration_ns: int) -> None:
        """Advance virtual time."""
        self.network.advance(duration_ns * 1000, self.client.packet_outs_sent)

    def captured(self, port: int) -> list[bytes]:
        """All frames that have left a port since the last look."""
        return self.ports.take(port)

    def wait_passes(self, passes: int) -> None:
        """Advance by the time of ``passes`` rounds."""
        self.wait(passes * 1_000)

    def close(self) -> None:
        """Stop client and server."""
        self.client.__exit__(None, None, None)
        self.network.stop()


class Bmv2Bench(Bench):
    """simple_switch_grpc on veth pairs in the network namespace that the test process is in."""

    name = "bmv2"
    tick_ps = 1_000_000
    exact = False
    settle_ns = 50_000_000
    program = "simple_switch_grpc"

    def __init__(self) -> None:
        super().__init__(load_contract(SUMMING_TESTER))
        self._directory = tempfile.TemporaryDirectory(prefix="p4mesh-ptf-")
        socket = f"unix:{self._directory.name}/p4runtime.sock"
        interfaces = []
        for port in PORTS:
            _ip("link", "add", f"dut{port}", "type", "veth", "peer", "name", f"ptf{port}")
            for name in (f"dut{port}", f"ptf{port}"):
                Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
                _ip("link", "set", name, "mtu", "9500", "up")
            interfaces += ["-i", f"{port}@dut{port}"]
        with (Path(self._directory.name) / "switch.log").open("w") as log:
            self._process = subprocess.Popen(
                [self.program, "--no-p4", "--device-id", "1", *interfaces, "--",
                 "--grpc-server-addr", socket, "--cpu-port", str(self.contract["PORT_CPU"])],
                stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._load(socket)
        self.ports = ptf.dataplane.DataPlane(
            config={"qlen": 1000, "platform": "local", "socket_recv_size": _LONGEST_FRAME_BYTES}
        )
        for port in PORTS:
            self.ports.port_add(f"ptf{port}", 0, port)

    @classmethod
    def available(cls) -> bool:
        """Whether simple_switch_grpc is installed."""
        return shutil.which(cls.program) is not None

    def wait(self, duration_ns: int) -> None:
        """Sleep: the switch runs on the wall clock."""
        time.sleep(duration_ns / 1e9)

    def wait_passes(self, passes: int) -> None:
        """Sleep long enough for ``passes`` rounds at 10,000 a second."""
        self.wait(20_000_000 + passes * 100_000)

    def close(self) -> None:
        """Stop the switch; the interfaces end with the namespace."""
        self.client.__exit__(None, None, None)
        self.ports.kill()
        self._process.terminate()
        self._process.wait(10)
        self._directory.cleanup()


class TofinoBench(Bench):
    """A switch with a Tofino that is there already, as a topology names it; this machine is cabled to its ports."""

    name = "tofino"
    exact = False
    mac_addend_bits, shortest_frame_bytes, long_extension_is_last = 32, 64, True
    settle_ns = 50_000_000

    def __init__(self, topology: Topology, interfaces: Sequence[str]) -> None:
        super().__init__(contract_of(TofinoTarget, topology))
        target = TofinoTarget(topology)
        self.tick_ps = target.capabilities.stamps.tick_ps
        self.client = Client(
            target.address, target.device_id, target.election_id, tls=credentials_of(target)
        ).__enter__()
        self.tester = dataplane_of(target, self.client, self.contract)
        self.tester.load_program()
        self._devices = {port.number: port.device_port for port in topology.tester_ports}
        self.ports = ptf.dataplane.DataPlane(
            config={"qlen": 1000, "platform": "local", "socket_recv_size": _LONGEST_FRAME_BYTES}
        )
        for port, interface in enumerate(interfaces, 1):
            self.ports.port_add(interface, 0, port)

    def port_of_program(self, port: int) -> int:
        """The device port."""
        device = self._devices[port]
        assert device is not None, "target tofino requires device ports"
        return device

    def wait(self, duration_ns: int) -> None:
        """Sleep: the switch runs on the wall clock."""
        time.sleep(duration_ns / 1e9)

    def wait_passes(self, passes: int) -> None:
        """Sleep as long as a lone frame needs."""
        self.wait(self.settle_ns + passes * _TOFINO_PASS_NS)

    def close(self) -> None:
        """Leave the switch as it is."""
        self.client.__exit__(None, None, None)
        self.ports.kill()


class SourcesBench(Bench):
    """The sources of the program for Tofino 1, interpreted in virtual time; its ports are in pipe 0."""

    name = "tofino"
    tick_ps = 1000
    exact = False
    mac_addend_bits, shortest_frame_bytes = TofinoBench.mac_addend_bits, TofinoBench.shortest_frame_bytes
    long_extension_is_last = TofinoBench.long_extension_is_last
    settle_ns = 20_000
    _devices: ClassVar = {1: 4, 2: 8, 3: 12, 4: 16}
    _round_ticks = 740

    def __init__(self) -> None:
        super().__init__(load_tofino_contract(TOFINO_1, None))
        self._switch = InterpretedTofino(self._devices).__enter__()
        self.client = Client(self._switch.address, 1, timeout_s=_INTERPRETER_PATIENCE_S).__enter__()
        self.tester = InBandTofinoDataPlane(self.client, self.contract, SwitchPorts(self._devices))
        self.tester.load_program()
        self.ports = EnginePorts(self._switch, self.wait)

    def port_of_program(self, port: int) -> int:
        """The device port."""
        return self._devices[port]

    def wait(self, duration_ns: int) -> None:
        """Let virtual time pass after all packet-outs so far."""
        self.client.round_trip()
        self._switch.wait(duration_ns)
        self.client.round_trip()

    def wait_passes(self, passes: int) -> None:
        """Let the time of ``passes`` rounds pass."""
        self.wait(passes * self._round_ticks)

    def close(self) -> None:
        """Stop client and server."""
        self.client.__exit__(None, None, None)
        self._switch.__exit__()


BENCHES = ("engine", "bmv2", "tofino", "sources")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
