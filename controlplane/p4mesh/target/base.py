"""What a trial needs from any target: an address, a clock and its limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from types import TracebackType

from p4mesh.topology import Topology
from p4mesh.trial.pacing import LoopModel


class Target(ABC):
    """A running tester switch. Entering the context starts it, leaving it stops it."""

    name: str
    device_id = 1
    topology: Topology
    tick_ps: int
    """Length of one tick of the time stamps that the program sees, in picoseconds."""
    loop: LoopModel
    start_lead_ns: int
    """Time between the start request and the first departure that the target needs at least."""
    exact_clock: bool
    """True where time passes only in :meth:`wait`."""
    scheduling_jitter_ns: int
    """How late the target may run besides its loop; bounds what a short trial shows of its load."""

    @abstractmethod
    def __enter__(self) -> Target:
        """Start the target; afterwards ``address`` accepts P4Runtime."""

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the target and everything that was started with it."""

    @property
    @abstractmethod
    def address(self) -> str:
        """HOST:PORT of the P4Runtime server."""

    @abstractmethod
    def wait(self, duration_ns: int | Fraction, packet_outs: int) -> None:
        """Let ``duration_ns`` of the target's time pass after ``packet_outs`` packet-outs in total."""

    @abstractmethod
    def align(self, packet_outs: int) -> None:
        """Go on to a round time, where the clock allows it: a trial then does not depend on those before it."""

    @abstractmethod
    def in_flight(self) -> int:
        """Return the number of frames known to be between the ports; 0 where it cannot be known."""

    @property
    def rate_bps_of(self) -> dict[int, int]:
        """Line rate of each tester port."""
        return {port.number: port.rate_bps for port in self.topology.tester_ports}
