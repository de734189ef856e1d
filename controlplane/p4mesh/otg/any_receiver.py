"""Traffic to one address of which any of several ports may receive each frame, wherever the network takes it."""

from __future__ import annotations

from dataclasses import dataclass

from p4mesh.traffic.patterns.base import Destination, Pattern, Places, Ports, SharedAddress


@dataclass(frozen=True)
class AnyReceiver(Pattern):
    """Frames to one address, counted on each receive port that they come to."""

    address: SharedAddress

    to_many = True

    def destinations(self, ports: Ports) -> tuple[Destination, ...]:
        """The one address of all receive ports."""
        return (Destination(ports.rx_ports, self.address),)

    def places(self, ports: Ports, source: int) -> Places:
        """Stay at the one address."""
        return Places(0, 1, 1)
