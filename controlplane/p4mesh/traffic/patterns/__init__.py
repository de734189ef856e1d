"""Defines the destinations of a source and their order: one class per traffic pattern (methodology 0.4).

A pattern is a value. Its parameters are its own; the ports, frames and times are those of the stream that has it.
"""

from p4mesh.traffic.patterns.base import Destination, Pattern, Places, Ports, SharedAddress
from p4mesh.traffic.patterns.message import Message, PositionClass
from p4mesh.traffic.patterns.to_many import Broadcast, GroupRange, Multicast
from p4mesh.traffic.patterns.unicast import FullMesh, InPhase, MeshStreams, Pairs, Rotate

__all__ = [
    "Broadcast",
    "Destination",
    "FullMesh",
    "GroupRange",
    "InPhase",
    "MeshStreams",
    "Message",
    "Multicast",
    "Pairs",
    "Pattern",
    "Places",
    "Ports",
    "PositionClass",
    "Rotate",
    "SharedAddress",
]
