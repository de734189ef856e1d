"""What a method knows of the test set-up: the tester's ports, in configuration order."""

from __future__ import annotations

from dataclasses import dataclass

from p4mesh.errors import TopologyError
from p4mesh.traffic.line_rate import STANDARD_IFG_BYTES


@dataclass(frozen=True)
class TestPort:
    """One tester port: its number in streams and results, its name for people, its line rate."""

    __test__ = False

    number: int
    name: str
    rate_bps: int
    ifg_bytes: int = STANDARD_IFG_BYTES
    attached_to: str = ""
    """Node at the other end of the cable."""
    pads_short_frames: bool = True
    """Whether frames below 64 bytes leave with padding, as on most hardware."""


@dataclass(frozen=True)
class TestBed:
    """The ports of one topology. Their order is the order 1..N of methodology 0.4."""

    __test__ = False

    topology: str
    ports: tuple[TestPort, ...]
    uplink_rate_bps: int = 0
    """Rate of all links between devices together; 0 when there is none."""

    @property
    def port_numbers(self) -> tuple[int, ...]:
        """Port numbers in configuration order."""
        return tuple(port.number for port in self.ports)

    def require_ports(self, test: str, minimum: int) -> None:
        """Raise TopologyError when the pattern of ``test`` needs more ports than there are."""
        if len(self.ports) < minimum:
            raise TopologyError(
                f"{test} needs at least {minimum} tester ports, topology '{self.topology}' has {len(self.ports)}",
                hint="add ports under tester.ports and links for them",
            )

    def common_rate_bps(self, test: str) -> int:
        """Return the line rate that all ports share; raise TopologyError when they differ."""
        rates = sorted({port.rate_bps for port in self.ports})
        if len(rates) > 1:
            listed = ", ".join(f"{rate} bit/s" for rate in rates)
            raise TopologyError(
                f"{test} needs tester ports of one line rate, topology '{self.topology}' has {listed}",
                hint="give every entry of tester.ports the same rate_bps",
            )
        return rates[0]
