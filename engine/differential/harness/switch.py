"""Defines the interface of a switch to the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType

from harness.programs import CompiledProgram
from harness.scenario import Outputs
from p4mesh.p4runtime import Client, P4RuntimeError, PacketIn
from p4mesh.p4runtime.stubs import p4r

CPU_PORT = 510
PORTS = range(8)
"""Frames that leave by other ports are not compared: the engine has only these."""

WAIT_S = 20.0
"""A switch that does not answer for so long has failed."""


class HarnessError(Exception):
    """A switch could not run a scenario, so that nothing can be compared."""


class Switch(ABC):
    """A fresh switch that runs one program, for one scenario."""

    client: Client

    @abstractmethod
    def start(self, program: CompiledProgram) -> None:
        """Start it and load the program."""

    @abstractmethod
    def stop(self) -> None:
        """End it."""

    @abstractmethod
    def frame(self, port: int, data: bytes) -> Outputs:
        """Let a frame arrive, wait until all its effects are over, return the frames that left."""

    @abstractmethod
    def packet_out(self, data: bytes, metadata: dict[str, int]) -> Outputs:
        """Send a frame from the controller and wait likewise."""

    @abstractmethod
    def packet_ins(self) -> list[PacketIn]:
        """All packet-ins so far."""

    def digests(self, samples: int) -> list[p4r.DigestList]:
        """Digest lists with so many samples, or fewer when no more come."""
        lists: list[p4r.DigestList] = []
        while sum(len(item.data) for item in lists) < samples:
            try:
                lists.append(self.client.next_digest(timeout_s=WAIT_S))
            except P4RuntimeError:
                break
            self.client.acknowledge_digest(lists[-1])
        return lists

    def __enter__(self) -> Switch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def known_ports(outputs: Outputs) -> Outputs:
    """The frames that left by ports that are compared."""
    return {port: outputs[port] for port in sorted(outputs) if port in PORTS}
