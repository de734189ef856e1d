"""Names the places at which a tester takes the time stamps of frames."""

from __future__ import annotations

from enum import Enum


class StampKind(str, Enum):
    """Places of the two stamps of a frame, sent and received."""

    FIRST_BIT = "first bit"
    """First bit sent to first bit received, on the wire."""
    SOFTWARE = "software"
    """Taken by software around whole frames: after the whole frame was received, before it is sent."""
    PARSER = "egress parser"
    """From the egress parser of a chip to the first bit received. The parser is behind the queue of the port and in
    front of deparser and MAC: what they take is part of every latency until a measurement over a wire gives it."""
