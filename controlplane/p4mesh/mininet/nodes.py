"""Nodes of a Mininet network: the tester, nodes of topology files, and P4 switches for scripts of one's own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from mininet.node import Node, Switch

from p4mesh.engine_module import engine_hint
from p4mesh.errors import TargetError
from p4mesh.network import namespaces
from p4mesh.network.nodes.base import LinuxNode, find_program, prepare_interface
from p4mesh.network.nodes.p4 import SwitchNode
from p4mesh.network.nodes.table import node_class
from p4mesh.topology.model import Device, DevicePort

_UNKNOWN_RATE_BPS = 0
"""Cables of Linux have no rate."""


class TopologyNode(Switch):  # type: ignore[misc]
    """The Linux part of a device of a topology; port N is interface ``pN`` in its namespace."""

    controlIntf = None

    def __init__(self, name: str, device: Device, **params: Any) -> None:
        # Mininet wants a number for OpenFlow, which nodes here do not speak.
        super().__init__(name, dpid=f"{crc32(name.encode()):x}", **{**params, "inNamespace": True})
        self._device = device
        self._namespace = f"{namespaces.new_name()}-{name.lower()}"
        self.part: LinuxNode | None = None

    def device(self) -> Device:
        """Description of the device that the node is."""
        return self._device

    def start(self, _controllers: Sequence[object]) -> None:
        """Make a device of the node's interfaces."""
        for port, interface in self.intfs.items():
            if interface.name != f"p{port}":
                interface.rename(f"p{port}")
        namespaces.attach(self._namespace, self.pid)
        device = self.device()
        self.part = node_class(device)(device, self._namespace, namespaces.STATE / self._namespace)
        self.part.directory.mkdir(parents=True, exist_ok=True)
        for name in self.part.interfaces():
            prepare_interface(self._namespace, name)
        self.part.start()

    def stop(self, deleteIntfs: bool = True) -> None:
        """End the device, then the node."""
        if self.part is not None:
            self.part.stop()
        namespaces.detach(self._namespace)
        super().stop(deleteIntfs)


class P4Switch(TopologyNode):
    """A switch with a P4 program: the name of one in p4src/compiled, or p4c's JSON with P4Info beside it.

    ``groups`` and ``entries`` are those of a p4 node in a topology file.
    """

    software: str

    def __init__(
        self,
        name: str,
        program: str,
        groups: Sequence[Mapping[str, Any]] = (),
        entries: Sequence[Mapping[str, Any]] = (),
        **params: Any,
    ) -> None:
        path = str(Path(program).resolve()) if program.endswith(".json") else program
        model = {"program": path, "groups": list(groups), "entries": list(entries)}
        super().__init__(name, Device(name, "p4", (), model, on_linux=self.software), **params)

    def device(self) -> Device:
        """The switch with the ports that it has been given."""
        ports = tuple(DevicePort(port, _UNKNOWN_RATE_BPS) for port in sorted(self.intfs))
        return Device(self._device.name, self._device.device, ports, self._device.model, self.software)

    @property
    def address(self) -> str:
        """Address of its P4Runtime server, for another controller."""
        if not isinstance(self.part, SwitchNode):
            raise TargetError(f"switch '{self.name}' has not been started", hint="start the network first")
        return self.part.address


class P4MeshSwitch(P4Switch):
    """``p4mesh switch``: the embedded engine."""

    software = "p4mesh_switch"


class SimpleSwitchGrpc(P4Switch):
    """p4lang's reference switch."""

    software = "simple_switch_grpc"


class Tester(Node):  # type: ignore[misc]
    """A node without addresses, whose interfaces are the ports of the tester in their order."""

    def __init__(self, name: str, **params: Any) -> None:
        super().__init__(name, **{**params, "inNamespace": True})

    def config(self, **_: object) -> dict[str, object]:
        """Give the interfaces no addresses: the tester's stations have their own."""
        found: dict[str, object] = super().config(lo="up")
        return found

    def interfaces(self) -> tuple[str, ...]:
        """Names of the interfaces in the order of the tester's ports."""
        return tuple(interface.name for _, interface in sorted(self.intfs.items()))

    def p4mesh(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command such as ``run TEST --topology FILE`` on these interfaces; return its code and its output."""
        place = ["nsenter", f"--net=/proc/{self.pid}/ns/net"]
        own = ["--target", "live", "--interfaces", ",".join(self.interfaces())]
        program = find_program("p4mesh")
        if program is None:
            raise TargetError("p4mesh is not beside the Python that runs, nor in PATH", hint=engine_hint())
        command = [*place, program, *words, *own]
        return subprocess.run(command, check=False, capture_output=True, text=True)
