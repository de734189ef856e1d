"""Patterns whose frames each go to one port."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.traffic.line_rate import NS_PER_S
from p4mesh.traffic.patterns.base import Carrier, Destination, Pattern, Places, Ports


class _Unicast(Pattern):
    """Goes through the list of the receive ports."""

    def destinations(self, ports: Ports) -> tuple[Destination, ...]:
        return tuple(Destination((port,)) for port in ports.rx_ports)


@dataclass(frozen=True)
class FullMesh(_Unicast):
    """RFC 2889 5.1.3: ``dst(i, k) = 1 + ((i + (k mod (N-1))) mod N)``; transmit ports = receive ports."""

    kind: ClassVar[str] = "full_mesh"

    def places(self, ports: Ports, source: int) -> Places:
        """Begin behind the source, and leave it out."""
        count = len(ports.rx_ports)
        return Places(source + 1, count - 1, count)

    def check(self, stream: Carrier) -> None:
        """Require two or more ports that send and receive."""
        if stream.tx_ports != stream.rx_ports or len(stream.tx_ports) < 2:
            raise ParameterError(
                f"stream '{stream.name}': a full mesh needs two or more ports, the same to transmit and to receive",
                hint="use the pattern rotate for partial meshes",
            )


@dataclass(frozen=True)
class MeshStreams(FullMesh):
    """Full mesh as testers send it whose ports are not in step.

    One stream per (source, destination), each with its share of the port's rate, and no common phase of the ports.
    """

    kind: ClassVar[str] = "mesh_streams"
    in_step: ClassVar[bool] = False
    seed: int = 0
    ports_in_step: int = 1
    """Neighbouring ports that have a phase in common, as those of one module of a tester."""

    @property
    def sent_as(self) -> Pattern:
        """A full mesh; the start offsets take its ports out of step."""
        return FullMesh()

    def start_offsets_ns(self, stream: Carrier) -> tuple[int, ...]:
        """Start offsets with which every port leaves out a pseudo-random number of departures.

        The number is smaller than the number of destinations.
        The destinations of a moment are then no permutation: outputs are over-subscribed for short times.
        """
        random = Random(self.seed)
        interval_ns = Fraction(NS_PER_S) / stream.rate_fps
        asked = stream.start_offset_ns or (0,) * len(stream.tx_ports)
        together = self.ports_in_step
        skipped = [random.randrange(len(stream.rx_ports) - 1) for _ in range(0, len(asked), together)]
        return tuple(offset + round(skipped[place // together] * interval_ns) for place, offset in enumerate(asked))


@dataclass(frozen=True)
class Rotate(_Unicast):
    """RFC 2889 5.3.3 and 5.4: ``dst(i, k) = r[(i - 1 + k) mod K]``; also one-to-many and many-to-one."""

    kind: ClassVar[str] = "rotate"

    def places(self, ports: Ports, source: int) -> Places:
        """Begin with the source's own place in the list."""
        count = len(ports.rx_ports)
        return Places(source % count, count, count)


@dataclass(frozen=True)
class InPhase(_Unicast):
    """RFC 2544 section 16: every source sends the same sequence r[k mod K]."""

    kind: ClassVar[str] = "in_phase"

    def places(self, ports: Ports, source: int) -> Places:
        """Begin with the first receiver."""
        count = len(ports.rx_ports)
        return Places(0, count, count)


@dataclass(frozen=True)
class Pairs(_Unicast):
    """Transmit port i to receive port i only."""

    kind: ClassVar[str] = "pairs"

    def places(self, ports: Ports, source: int) -> Places:
        """Stay at the source's own place in the list."""
        return Places(source, 1, len(ports.rx_ports))

    def check(self, stream: Carrier) -> None:
        """Require as many ports that send as ports that receive."""
        if len(stream.tx_ports) != len(stream.rx_ports):
            raise ParameterError(
                f"stream '{stream.name}': {len(stream.tx_ports)} transmit and {len(stream.rx_ports)} receive ports "
                "cannot be paired",
                hint="name equally many ports",
            )
