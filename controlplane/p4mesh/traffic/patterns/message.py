"""Messages: back-to-back bursts of n frames in which every position is a flow of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from p4mesh.errors import ParameterError
from p4mesh.traffic.patterns.base import Carrier, Destination, Pattern, Places, Ports


@dataclass(frozen=True)
class PositionClass:
    """Positions in a message whose frames are measured together, from 1; both ends belong to it."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """A number, or a range such as 2..7."""
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"


@dataclass(frozen=True)
class Message(Pattern):
    """Messages of ``frames`` frames; message m goes where ``order`` sends its frame m.

    The data plane keeps every position apart, so that a class of positions is exact whatever it is.
    """

    kind: ClassVar[str] = "message"
    order: Pattern
    frames: int
    classes: tuple[PositionClass, ...] = ()
    """Every position is in one of them; empty = each position by itself."""

    def destinations(self, ports: Ports) -> tuple[Destination, ...]:
        """Destination list of ``order``, with each entry once per position."""
        parts = self._parts()
        return tuple(
            Destination(entry.ports, entry.shared, part) for entry in self.order.destinations(ports) for part in parts
        )

    def places(self, ports: Ports, source: int) -> Places:
        """Go through all positions at each entry of ``order``."""
        places = self.order.places(ports, source)
        return Places(places.first * self.frames, places.positions * self.frames, places.length * self.frames)

    def check(self, stream: Carrier) -> None:
        """Require whole messages that leave back to back, and classes that have every position once."""
        if isinstance(self.order, Message) or self.order.to_many or not self.order.in_step:
            raise ParameterError(
                f"stream '{stream.name}': messages cannot go out in the order '{self.order.kind}'",
                hint="use full_mesh, rotate, pairs or in_phase",
            )
        self.order.check(stream)
        if self.frames < 1:
            raise ParameterError(f"stream '{stream.name}': messages of {self.frames} frames", hint="use 1 or more")
        if self.frames > 1 and stream.burst_frames != self.frames:
            raise ParameterError(
                f"stream '{stream.name}': messages of {self.frames} frames in bursts of {stream.burst_frames}",
                hint="a message leaves back to back: give the bursts as many frames",
            )
        if stream.frame_count % self.frames:
            raise ParameterError(
                f"stream '{stream.name}': {stream.frame_count} frames are not whole messages of {self.frames} frames",
                hint=f"send a multiple of {self.frames} frames",
            )
        covered = sorted(position for part in self.classes for position in range(part.first, part.last + 1))
        if self.classes and covered != list(range(1, self.frames + 1)):
            raise ParameterError(
                f"stream '{stream.name}': the classes {', '.join(part.name for part in self.classes)} "
                f"do not have each position 1 to {self.frames} once",
                hint="name every position in exactly one class",
            )

    def for_each_address(self) -> Pattern:
        """Order of the messages: single frames reach the same receivers."""
        return self.order

    @property
    def frames_together(self) -> int:
        """Frames of a message: sources begin with a whole one."""
        return self.frames

    def _parts(self) -> tuple[str, ...]:
        names = {position: part.name for part in self.classes for position in range(part.first, part.last + 1)}
        return tuple(names.get(position, str(position)) for position in range(1, self.frames + 1))
